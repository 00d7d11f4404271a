"""The listing of a folder as a page: its entries as links, a thousand to a page. Pure; knows no network and no disk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

PAGE_ENTRIES = 1000
LISTING_TYPE = "text/html; charset=utf-8"

# What precedes a name: of Unix servers the date, of others date, time and size.
_UNIX = re.compile(rb"\s(?:[^\s\d]\S{1,8}\s+\d{1,2}|\d{4}-\d\d-\d\d)\s+(?:\d{1,2}:\d\d|\d{4})\s(?=\S)")
_DOS = re.compile(rb"\d\d-\d\d-\d{2,4}\s+\d\d:\d\d(?:[AP]M)?\s+(<DIR>|\d+)\s+")
_PAGE = re.compile(r"page=([1-9]\d{0,5})")


class Listed(NamedTuple):
    """An entry of a folder; its name in the bytes in which it was told."""

    name: bytes
    is_folder: bool


def listed_by_server(text: bytes) -> list[Listed]:
    """The entries of what an FTP server says of a folder, in either of the two usual forms; other lines are none."""
    return [listed for line in text.splitlines() if (listed := _listed(line)) and _is_entry(listed.name)]


def _listed(line: bytes) -> Listed | None:
    if found := _DOS.match(line):
        return Listed(line[found.end() :], found[1] == b"<DIR>")
    if line[:1] in (b"d", b"l", b"-") and (found := _UNIX.search(line, 10, 200)):
        name = line[found.end() :]
        # Where a link leads is not told in a way that can be trusted.
        return Listed(name.partition(b" -> ")[0] if line[:1] == b"l" else name, line[:1] == b"d")
    return None


def _is_entry(name: bytes) -> bool:
    return name not in (b"", b".", b"..") and b"/" not in name and b"\0" not in name


def split_listing_url(url: str) -> tuple[str, int]:
    """A URL without its query, and which page of a listing it names, from 1."""
    place, _, query = url.partition("#")[0].partition("?")
    page = _PAGE.fullmatch(query)
    return place, int(page[1]) if page else 1


def listing_page(path: str, entries: Sequence[Listed], number: int) -> bytes:
    """A page of a listing. Folders end in a slash, so that what they hold is told apart from them."""
    first = (number - 1) * PAGE_ENTRIES
    title = f"Index of {escape(_shown(unquote_to_bytes(path)))}"
    links = "\n".join(_links(sorted(entries)[first : first + PAGE_ENTRIES]))
    further = f'\n<a rel="next" href="?page={number + 1}">more</a>' if len(entries) > first + PAGE_ENTRIES else ""
    return f"<!doctype html><title>{title}</title><h1>{title}</h1>\n{links}{further}\n".encode()


def _links(entries: Sequence[Listed]) -> Iterator[str]:
    for name, is_folder in entries:
        slash = "/" if is_folder else ""
        # `./`: a name may hold a colon, and be no scheme.
        yield f'<a href="./{quote_from_bytes(name)}{slash}">{escape(_shown(name))}{slash}</a>'


def _shown(name: bytes) -> str:
    return name.decode("utf-8", "replace")
