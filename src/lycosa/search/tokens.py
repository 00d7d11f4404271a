"""Texts to what is indexed of them: stems, words of Chinese by dictionary, pairs where a script has no spaces.

A query goes through the same as the pages; where its language is open, through that of each language there is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from lycosa.page.stems import stemmer
from lycosa.search.query import base_code

# Stands between the parts of a title and between headings, and where they begin and end: `| exact | match |`.
BAR = "|"
MAX_TEXT_CHARS = 1_000_000
_MAX_TOKEN_CHARS = 40
# Distinct words of which the stems are remembered, per language; then all are forgotten.
_MAX_STEMS = 400_000

_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f々"
_KANA = "\u3041-\u309f\u30a1-\u30ff\uff66-\uff9f"
_OTHERS = "\uac00-\ud7a3\u0e01-\u0e4e\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Hangul, Thai, Lao, Burmese, Khmer
# ASCII letters in lower case; what is neither a letter nor a digit becomes a space.
_ASCII_WORDS = bytes(
    byte if byte >= 0x80 else ord(chr(byte).lower()) if chr(byte).isalnum() else 0x20 for byte in range(256)
)
# Signs belong to their letter.
_WORD = re.compile(
    rf"[{_HAN}{_KANA}]+|[{_OTHERS}]+|(?:[^\W_{_HAN}{_KANA}{_OTHERS}]|[\u0300-\u036f\u0591-\u05bd\u064b-\u0655\u0900-\u0dff])+"
)
_SPACELESS = re.compile(f"[{_HAN}{_KANA}{_OTHERS}]")
_HAS_KANA = re.compile(f"[{_KANA}]")
_HAS_HAN = re.compile(f"[{_HAN}]")

_TITLE_PARTS = re.compile(r"\s+[–—|·»:-]\s+|:\s+|¶|\n")
# The number of a chapter is apart from its name: both are found exactly.
_NUMBER = re.compile(r"^((?:chapter|appendix|part|section)\s+)?([\dA-Z]{1,2}(?:[.]\d+)*[.:]?)\s+", re.IGNORECASE)


class _Stems(dict[bytes, str]):
    """What stands between spaces and ASCII signs, in UTF-8, to what is indexed of it; found once each."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language
        self._stem = stemmer(language)

    def __missing__(self, piece: bytes) -> str:
        if piece.isascii():
            return self._kept(piece, self._stem(piece[:_MAX_TOKEN_CHARS].decode()))
        text = unicodedata.normalize("NFKC", piece.decode("utf-8", "replace")).lower()
        words = _WORD.findall(text)
        if _SPACELESS.search(text):
            # A run of those is hardly ever met again.
            return " ".join(token for word in words for token in self._split(word))
        return self._kept(piece, " ".join(_folded(self._stem(word[:_MAX_TOKEN_CHARS])) for word in words))

    def _kept(self, piece: bytes, tokens: str) -> str:
        if len(self) > _MAX_STEMS:
            self.clear()
        self[piece] = tokens
        return tokens

    def _split(self, word: str) -> Iterable[str]:
        """A run of one script to tokens."""
        if not _SPACELESS.match(word):
            return (_folded(self._stem(word[:_MAX_TOKEN_CHARS])),)
        if _HAS_HAN.match(word) and self._language != "ja" and not _HAS_KANA.search(word):
            return [token for token in _segmenter().cut_for_search(word, True) if token[0].isalnum()]
        return [word[at : at + 2] for at in range(len(word) - 1)] or [word]


def analysed(text: str, language: str) -> str:
    """What is indexed of a text: its tokens in order, parted by spaces.

    By bytes, since most of a text is ASCII, and its other letters can be looked at where they are met first: a tenth of
    what a regular expression over the text costs.
    """
    pieces = text[:MAX_TEXT_CHARS].encode("utf-8", "replace").translate(_ASCII_WORDS).split()
    return " ".join(map(_stems(base_code(language)).__getitem__, pieces))


def tokens_of(text: str, language: str) -> list[str]:
    """The same as a list."""
    return analysed(text, language).split()


def barred_tokens_of(texts: Iterable[str], language: str) -> list[str]:
    """The tokens of several short texts, each between bars."""
    tokens = [BAR]
    for text in texts:
        for part in _parts(text):
            if found := tokens_of(part, language):
                tokens += found
                tokens.append(BAR)
    return tokens if len(tokens) > 1 else []


def is_spaceless(token: str) -> bool:
    """Whether a token is of a script without spaces."""
    return bool(_SPACELESS.match(token))


def words_in(text: str) -> list[str]:
    """The words of a query as they are written, in lower case; those of scripts without spaces are whole runs."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower())


def _parts(text: str) -> Iterator[str]:
    for part in _TITLE_PARTS.split(text):
        if number := _NUMBER.match(part):
            yield number[0]
            yield part[number.end() :]
        else:
            yield part


@cache
def _stems(language: str) -> _Stems:
    return _Stems(language)


def _folded(word: str) -> str:
    """Latin letters without their accents; those of other scripts are letters of their own."""
    if word.isascii():
        return word
    kept: list[str] = []
    for char in unicodedata.normalize("NFKD", word):
        if not (unicodedata.combining(char) and kept and kept[-1].isascii()):
            kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


@cache
def _segmenter() -> Any:
    # Its dictionary takes 0.1 s to load, which only those who segment Chinese should pay.
    import rjieba

    return rjieba.Jieba()
