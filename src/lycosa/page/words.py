"""The words of a text in any language: Chinese by dictionary, other scripts by what Unicode says of them."""

from __future__ import annotations

import re
from functools import cache
from typing import Protocol

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_KANA = r"\u3040-\u30ff\uff66-\uff9f"
_HAS_HAN = re.compile(f"[{_HAN}]")
_HAS_KANA = re.compile(f"[{_KANA}]")

# Signs that belong to a letter: `\w` knows letters alone.
_SIGNS = (
    r"\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0963\u0971-\u0dff\u0f71-\u0fbc\u102b-\u103e\u17b4-\u17d3"
)
_LETTER = rf"(?:[^\W\d_{_HAN}{_KANA}\u0e01-\u0e4e]|[{_SIGNS}])"
# What stands together: numbers with their points, Japanese by script, Thai by cluster, words with apostrophes.
_WORD = (
    r"\d+(?:[.,:]\d+)*%?"
    rf"|[{_HAN}々]+"
    r"|[\u3041-\u309f]+"
    r"|[\u30a0-\u30ff\uff66-\uff9f]+"
    r"|[\u0e40-\u0e44]?[\u0e01-\u0e2e][\u0e30-\u0e3a\u0e45-\u0e4e]*"
    rf"|{_LETTER}+(?:['’·\u00ad\u200c\u200d]{_LETTER}+)*"
    r"|\w"
)
# ASCII letters in lower case, and what is neither a letter nor a digit as a space.
_ASCII_WORDS = bytes(
    byte if byte >= 0x80 else ord(chr(byte).lower()) if chr(byte).isalnum() else 0x20 for byte in range(256)
)
_UNDERSCORES = str.maketrans("_", " ")


class _Segmenter(Protocol):
    def cut(self, text: str, hmm: bool = True) -> list[str]: ...


def words_of(text: str) -> list[str]:
    """The words in order, in lower case, without punctuation; of Japanese the runs of one script, of Thai clusters."""
    if _HAS_HAN.search(text) and not _HAS_KANA.search(text):
        return [word.lower() for word in _segmenter().cut(text) if word[0].isalnum()]
    return _words().findall(text.translate(_UNDERSCORES).lower())


def spaced_words_of(text: str) -> list[str]:
    """The words in no order and without the dictionary, for whoever looks for those of scripts with spaces alone.

    Most of most texts is ASCII, which takes a tenth of the time of the regular expression.
    """
    pieces = text.encode("utf-8", "replace").translate(_ASCII_WORDS).decode().split()
    if text.isascii():
        return pieces
    others = " ".join(piece for piece in pieces if not piece.isascii())
    return [piece for piece in pieces if piece.isascii()] + _words().findall(others.lower())


@cache
def _words() -> re.Pattern[str]:
    # Takes 8 ms to compile, which only those who summarise should pay.
    return re.compile(_WORD)


@cache
def _segmenter() -> _Segmenter:
    # Its dictionary takes 0.1 s to load, which only those who segment Chinese should pay.
    import rjieba

    segmenter: _Segmenter = rjieba.Jieba()
    return segmenter
