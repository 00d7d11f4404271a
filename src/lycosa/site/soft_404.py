"""Pages that say "not found" with status 200: they look like the answer to a URL that cannot exist. Pure."""

from __future__ import annotations

import re
from zlib import crc32

LIKENESS = 0.8
SKETCH_NUMBERS = 64
_SHINGLE_WORDS = 3
_LETTERS = re.compile(r"[^\W\d_]+")


def sketch(text: str, url: str = "") -> list[int]:
    """A text as the smallest hashes of its runs of three words, without the words of its own URL.

    Such pages like to repeat their URL.
    """
    own = set(_LETTERS.findall(url.lower()))
    words = [word for word in _LETTERS.findall(text.lower()) if word not in own]
    runs = range(max(1, len(words) - _SHINGLE_WORDS + 1))
    hashes = {crc32(" ".join(words[at : at + _SHINGLE_WORDS]).encode("utf-8", "replace")) for at in runs}
    return sorted(hashes)[:SKETCH_NUMBERS]


def likeness(one: list[int], other: list[int]) -> float:
    """How much two texts have in common, from 0 to 1: of the smallest hashes of both, those that both have."""
    smallest = sorted({*one, *other})[:SKETCH_NUMBERS]
    return len({*smallest} & {*one} & {*other}) / len(smallest) if smallest else 1.0


def is_soft_404(page: list[int], probe: list[int]) -> bool:
    """Whether a page is what its host answers to any URL; `probe` is the answer to a URL that cannot exist."""
    return likeness(page, probe) >= LIKENESS
