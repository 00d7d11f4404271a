"""How much of a page is new on its site: by lines of text that no page of it had before. Pure but for being changed.

Lists of known items in another order, menus, calendars and the echo of a URL say nothing new, whatever their number.
"""

from __future__ import annotations

import re
from enum import IntEnum
from zlib import crc32

from lycosa.site.soft_404 import without_echo

# Lines are remembered in two generations of at most this many.
MAX_LINES = 4096
# Lines of one page that are looked at.
MAX_PAGE_LINES = 512
_DIGITS = {ord(digit): None for digit in "0123456789"}
_WORDS = re.compile(r"[^\W\d_]+")
_NUMBERS = re.compile(r"\d+")


class News(IntEnum):
    """What a page says that was not said before."""

    NOTHING = 0
    NUMBERS = 1
    WORDS = 2


class LineMemory:
    """The lines of the pages of a site, and what their numbers were. Bounded; lives as long as the worker."""

    __slots__ = ("_old", "_young")

    def __init__(self) -> None:
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def news_in(self, text: str, tail: str) -> News:
        """What a text says for the first time, apart from words and numbers of its own URL."""
        lines = {line.strip() for line in without_echo(text, tail).lower().split("\n")[:MAX_PAGE_LINES]}
        own = set(_WORDS.findall(tail.lower()))
        is_new = False
        for line in lines:
            letters = line.translate(_DIGITS)
            if self._add(hash(letters)) and not is_new:
                is_new = any(word not in own for word in _WORDS.findall(letters))
        numbers = set(_NUMBERS.findall(tail))
        told = " ".join(number for number in _NUMBERS.findall(text) if number not in numbers)
        has_new_numbers = self._add(crc32(told.encode())) and bool(told)
        return News.WORDS if is_new else News.NUMBERS if has_new_numbers else News.NOTHING

    def _add(self, mark: int) -> bool:
        """Whether this was not there yet; now it is."""
        if mark in self._young:
            return False
        self._young.add(mark)
        is_new = mark not in self._old
        if len(self._young) > MAX_LINES:
            self._old, self._young = self._young, set()
        return is_new


def made_up(tail: str) -> str:
    """A path and query of the same kind that nobody linked to: the last part that has digits or letters, changed."""
    path, mark, query = tail.partition("?")
    if query:
        head, equals, value = query.rpartition("=")
        return f"{path}{mark}{head}{equals}{_changed(value)}" if equals else f"{path}{mark}{_changed(query)}"
    stem, slash, last = path.rstrip("/").rpartition("/")
    return f"{stem}{slash}{_changed(last)}{'/' if path.endswith('/') else ''}"


def _changed(name: str) -> str:
    """A name of the same shape that is not likely to be there."""
    stem, dot, extension = name.rpartition(".")
    stem, extension = (stem, dot + extension) if stem else (name, "")
    if stem.isdecimal():
        return f"{stem}{crc32(stem.encode()) % 9000 + 1000}{extension}"
    turned = "".join(run[::-1] if run.isalpha() else run for run in re.split(r"([^\W\d_]+)", stem))
    return f"{turned}x{extension}" if turned == stem else turned + extension
