"""Endless sections of a host: a calendar, session ids, and relative links that go ever deeper.

Knows only paths: a trap answers any path under its prefix with more such paths, deterministically. The truth
names the prefixes; how much of a trap a crawler may take is the crawler's affair.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import parse_qs, urlsplit

from .layout import PageRef, SimHost

TRAP_PREFIXES = ("/calendar/", "/shop/", "/deep/")
SHOP_ITEMS = 30

_MONTH = re.compile(r"/calendar/([0-9]{4})/([0-9]{2})$")
_ITEM = re.compile(r"/shop/item-([0-9]{1,3})$")
_LEVEL = re.compile(r"/deep/(?:(?:more|next)/)*$")


def trap_entries(host: SimHost, page: PageRef) -> tuple[str, ...]:
    """The paths by which a page leads into its host's traps; only home pages do."""
    if not host.has_traps or page.page != 0:
        return ()
    return ("/calendar/2024/01", "/shop/item-0?sid=start", "/deep/")


def trap_page(host: SimHost, target: str) -> str | None:
    """The page of the trap at this path and query, if there is one."""
    if not host.has_traps:
        return None
    parts = urlsplit(target)
    if match := _MONTH.match(parts.path):
        return _calendar(int(match[1]), int(match[2]))
    if (match := _ITEM.match(parts.path)) and int(match[1]) < SHOP_ITEMS:
        return _item(int(match[1]), parse_qs(parts.query).get("sid", ["none"])[0])
    if _LEVEL.match(parts.path):
        return _page("Level", ["more/", "next/", "../"])
    return None


def _calendar(year: int, month: int) -> str:
    before, after = divmod(year * 12 + month - 2, 12), divmod(year * 12 + month, 12)
    links = [f"/calendar/{y:04}/{m + 1:02}" for y, m in (before, after) if 0 <= y <= 9999]
    return _page(f"Events of {year:04}-{month:02}", links)


def _item(number: int, session: str) -> str:
    """An item whose links carry a session id that no page carried before."""
    fresh = hashlib.blake2b(f"{session}/{number}".encode(), digest_size=8).hexdigest()
    near = [(number + step) % SHOP_ITEMS for step in (1, 2, 5)]
    return _page(f"Item {number}", [f"/shop/item-{item}?sid={fresh}" for item in near])


def _page(title: str, links: list[str]) -> str:
    items = "\n".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body><h1>{title}</h1><p>Nothing else happens here.</p>\n<ul>\n{items}\n</ul></body></html>\n"
    )
