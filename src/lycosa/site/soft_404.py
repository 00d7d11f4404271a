"""Pages that say "not found" with status 200: they say what a URL that cannot exist is answered with. Pure."""

from __future__ import annotations

import re
from urllib.parse import unquote
from zlib import crc32

# Runs of words that are kept of an answer; of a longer one a share of them, drawn by their hashes.
SKETCH_NUMBERS = 512
# What a page may say that the answer to a URL that cannot exist does not, in runs of words; and what it may leave out.
MAX_OWN, MAX_LEFT_OUT = 3, 4
_SHINGLE_WORDS = 3
# Shorter ones stand in every text.
_MIN_OWN_LETTERS = 4
_LETTERS = re.compile(r"[^\W\d_]+")


def sketch(text: str, url: str = "") -> list[int]:
    """A text as hashes of its runs of three words, the smallest first, without the words of its own URL.

    Such pages like to repeat their URL.
    """
    text = without_echo(text, url)
    own = {word for word in _LETTERS.findall(url.lower()) if len(word) >= _MIN_OWN_LETTERS}
    words = [word for word in _LETTERS.findall(text.lower()) if word not in own]
    runs = range(max(1, len(words) - _SHINGLE_WORDS + 1))
    hashes = {crc32(" ".join(words[at : at + _SHINGLE_WORDS]).encode("utf-8", "replace")) for at in runs}
    return sorted(hashes)[:SKETCH_NUMBERS]


def without_echo(text: str, url: str) -> str:
    """A text without the path that it was asked for, which some like to repeat."""
    path = url.partition("?")[0]
    name = path.rpartition("/")[2]
    if name and "%" not in name and name not in text:
        # All of them end in it, or have it before a query: four fifths of the search are saved.
        return text
    for echo in dict.fromkeys((url, path, unquote(path), path.strip("/"), name)):
        if len(echo) >= _MIN_OWN_LETTERS:
            text = text.replace(echo, " ")
    return text


def is_soft_404(page: list[int], probe: list[int]) -> bool:
    """Whether a page is what its host answers to any URL; `probe` is the answer to a URL that cannot exist.

    Not by how much they have in common, which is their menu: by how little one says that the other does not.
    """
    limit = min(_end(page), _end(probe))
    ours = {number for number in page if number <= limit}
    theirs = {number for number in probe if number <= limit}
    return len(ours - theirs) <= MAX_OWN and len(theirs - ours) <= MAX_LEFT_OUT


def _end(numbers: list[int]) -> int:
    """Up to which hash a sketch is whole."""
    return numbers[-1] if len(numbers) >= SKETCH_NUMBERS else 1 << 32
