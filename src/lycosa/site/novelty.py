"""How much of a page is new on its site: by lines of text that no page of it had before. Pure but for being changed.

Lists of known items in another order, menus, calendars and the echo of a URL say nothing new, whatever their number.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from itertools import islice
from typing import Protocol
from zlib import crc32

import re2

from lycosa.site.soft_404 import without_echo

# Lines are remembered in two generations of at most this many.
MAX_LINES = 4096
# Lines of one page that are looked at.
MAX_PAGE_LINES = 512
# Pictures of a page that are looked at: their sources, as they stand there.
MAX_PICTURES = 32
# RE2, since whoever wrote the page may want us to look for long.
_PICTURE = re2.compile(rb"""(?i)<img\s[^>]*?\bsrc\s*=\s*["']?([^"'>\s?]+)["'>\s]""")
_DIGITS = {ord(digit): None for digit in "0123456789"}
_WORDS = re.compile(r"[^\W\d_]+")
_NUMBERS = re.compile(r"\d+")
_MAX_DIGITS = 18
# A year by itself or at the beginning of a date; the first digit of seconds since 1970 counts as one, too.
_YEAR = re.compile(r"(?<![0-9])(?:(?:19|20)[0-9]{2}(?=(?:[01][0-9][0-3][0-9])?(?![0-9]))|1(?=[0-9]{9}(?![0-9])))")
_YEARS_AHEAD = 700


class News(IntEnum):
    """What a page says that was not said before."""

    NOTHING = 0
    NUMBERS = 1
    WORDS = 2


_NEWS = tuple(News)


class KnownLines(Protocol):
    """Lines that were met, as hashes; bounded."""

    def __len__(self) -> int: ...

    def news_in(self, text: str, without_echo: str, words: tuple[str, ...], numbers: tuple[str, ...], /) -> int:
        """What a text says for the first time, apart from its URL and the words and numbers of that."""


def _find_compiled_lines() -> Callable[[int], KnownLines] | None:
    try:
        from lycosa.site._native import Lines as compiled
    except ImportError:  # not built: the sets below find the same
        return None
    return compiled


compiled_lines = _find_compiled_lines()


class LineMemory:
    """The lines of the pages of a site, and what their numbers were. Bounded; lives as long as the worker."""

    __slots__ = ("_lines",)

    def __init__(self, make: Callable[[int], KnownLines] | None = compiled_lines) -> None:
        self._lines = (make or LineSets)(MAX_LINES)

    def __len__(self) -> int:
        return len(self._lines)

    def news_in(self, text: str, tail: str) -> News:
        """What a text says for the first time, apart from words and numbers of its own URL."""
        words, numbers = _WORDS.findall(tail.lower()), _NUMBERS.findall(tail)
        return _NEWS[self._lines.news_in(text, without_echo(text, tail), tuple(words), tuple(numbers))]


class LineSets:
    """The twin of the compiled lines, several times slower."""

    __slots__ = ("_most", "_old", "_young")

    def __init__(self, most: int) -> None:
        self._most = most
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def news_in(self, text: str, without_echo: str, words: tuple[str, ...], numbers: tuple[str, ...], /) -> int:
        own = set(words)
        is_new = False
        for line in without_echo.lower().split("\n", MAX_PAGE_LINES)[:MAX_PAGE_LINES]:
            letters = line.strip().translate(_DIGITS)
            if self._add(hash(letters)) and self._says_more(letters, own):
                is_new = True
        told = " ".join(number for number in _NUMBERS.findall(text) if number not in numbers)
        has_new_numbers = self._add(hash((told, "numbers"))) and bool(told)
        return News.WORDS if is_new else News.NUMBERS if has_new_numbers else News.NOTHING

    def _says_more(self, letters: str, own: set[str]) -> bool:
        """Whether a new line is more than a known one with words of its page's URL in it."""
        words = _WORDS.findall(letters)
        rest = [word for word in words if word not in own]
        return bool(rest) and (len(rest) == len(words) or self._add(hash(tuple(rest))))

    def _add(self, mark: int) -> bool:
        """Whether this was not there yet; now it is."""
        if mark in self._young:
            return False
        self._young.add(mark)
        is_new = mark not in self._old
        if len(self._young) > self._most:
            self._old, self._young = self._young, set()
        return is_new


def pictures_in(body: bytes) -> list[int]:
    """The pictures that a page shows, but for those that a program draws anew for each request."""
    return [crc32(found[1]) for found in islice(_PICTURE.finditer(body), MAX_PICTURES)]


def made_up(tail: str) -> list[str]:
    """Paths and queries of the same kind that nobody linked to: if none of them is there, names stand for something.

    The name or number that tells pages apart is changed; and where there is a year, only that, to one far ahead: a
    calendar has every year, but no month of eight digits.
    """
    path, mark, query = tail.partition("?")
    if query:
        other = f"{path}{mark}{_changed_query(query)}"
    else:
        stem, slash, last = path.rstrip("/").rpartition("/")
        other = f"{stem}{slash}{_changed(last)}{'/' if path.endswith('/') else ''}"
    far = _YEAR.sub(_far_ahead, tail, count=1)
    return [other] if far == tail else [far, other]


def _far_ahead(year: re.Match[str]) -> str:
    return "4" if year[0] == "1" else f"{int(year[0]) + _YEARS_AHEAD}"


def _changed_query(query: str) -> str:
    """The largest number among the values is changed, or the last value where there is none."""
    pairs = [pair.partition("=") for pair in query.split("&")]
    numbers = [int(value) if value.isdecimal() and len(value) <= _MAX_DIGITS else -1 for _, _, value in pairs]
    place = max(range(len(pairs)), key=lambda at: (numbers[at], at))
    name, equals, value = pairs[place]
    pairs[place] = (name, equals, _changed(value)) if equals else (_changed(name), "", "")
    return "&".join("".join(pair) for pair in pairs)


def _changed(name: str) -> str:
    """A name of the same shape that is not likely to be there."""
    stem, dot, extension = name.rpartition(".")
    stem, extension = (stem, dot + extension) if stem else (name, "")
    if numbers := list(_NUMBERS.finditer(stem)):
        end = numbers[-1].end()
        return f"{stem[:end]}{crc32(stem.encode('utf-8', 'replace')) % 9000 + 1000}{stem[end:]}{extension}"
    turned = "".join(run[::-1] if run.isalpha() else run for run in re.split(r"([^\W\d_]+)", stem))
    return f"{turned}x{extension}" if turned == stem else turned + extension
