"""Parts of a URL that change nothing on their site: session ids, views, orders. Learnt from pairs of pages. Pure.

A part is `?name` (a variable anywhere on its origin), `/path?name` (a variable of one path), `;name` (one that is set
within a path) or `/2` (the second segment, where it looks drawn by lot).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from zlib import crc32

import msgspec

from lycosa.url.template import is_drawn

# Agreements that are enough, and on how many different pages: for values that look drawn by lot, and for others.
ENOUGH_DRAWN, ENOUGH = (2, 2), (4, 2)
AGREEMENTS_PER_CONTRADICTION = 20
# A path with more variables than this is a search form: each would be looked at with each.
MAX_PARTS = 12
# Links of a page that are compared with those of another, each as one of so many bits.
MAX_COMPARED_LINKS, LINK_BITS = 64, 512
_SETTING = re.compile(r";([^/;=]+)=([^/;]*)")


class Sameness(msgspec.Struct, frozen=True, array_like=True):
    """How often two URLs that differ in one part only had the same content, on how many pages, and how often not."""

    same: int = 0
    pages: int = 0
    different: int = 0


def after_pair(before: Sameness, *, is_same: bool, is_new_page: bool = False) -> Sameness:
    """The counters after one more pair; the page is what is left of the two URLs without the part."""
    if not is_same:
        return Sameness(before.same, before.pages, before.different + 1)
    return Sameness(before.same + 1, before.pages + is_new_page, before.different)


def is_meaningless(counts: Sameness, *, is_drawn: bool = False) -> bool:
    """Whether the part can be left out of the dedup key. One contradiction outweighs twenty agreements.

    Never from one page alone: two copies of a document, or a door that is shut to all, must not make one page of many.
    """
    same, pages = ENOUGH_DRAWN if is_drawn else ENOUGH
    return counts.pages >= pages and counts.same >= same + AGREEMENTS_PER_CONTRADICTION * counts.different


class UrlPart(msgspec.Struct, frozen=True):
    """One part of a URL that may mean nothing, and what is left of the URL without it."""

    names: tuple[str, ...]  # under which it is counted: for its origin, and for a variable also for its path
    rest: str
    is_drawn: bool


def parts_of(key: str, *, has_drawn_segment: bool) -> list[UrlPart]:
    """The parts of a path and query, which are sorted and without tracking already, as dedup keys are."""
    path, _, query = key.partition("?")
    parts = []
    if query:
        variables = query.split("&")[:MAX_PARTS]
        for place, variable in enumerate(variables):
            name, _, value = variable.partition("=")
            others = [other for at, other in enumerate(variables) if at != place]
            rest = f"{path}?{'&'.join(others)}" if others else path
            parts.append(UrlPart((f"?{name}", f"{path}?{name}"), rest, is_drawn(value)))
    for name, value in _SETTING.findall(path)[:MAX_PARTS] if ";" in path else ():
        parts.append(UrlPart((f";{name}",), without(key, {f";{name}"}), is_drawn(value)))
    if has_drawn_segment:
        segments = path.split("/")
        for place, segment in enumerate(segments):
            if is_drawn(segment):
                parts.append(UrlPart((f"/{place}",), without(key, {f"/{place}"}), is_drawn=True))
    return parts


def without(key: str, meaningless: Collection[str]) -> str:
    """A path and query without the parts that change nothing: the dedup key within its origin."""
    path, _, query = key.partition("?")
    variables = [
        variable
        for variable in query.split("&")
        if variable and not {f"?{(name := variable.partition('=')[0])}", f"{path}?{name}"} & {*meaningless}
    ]
    if ";" in path:
        path = _SETTING.sub(lambda found: "" if f";{found[1]}" in meaningless else found[0], path)
    if any(part[0] == "/" and part[1:].isdecimal() for part in meaningless):
        segments = path.split("/")
        for place, segment in enumerate(segments):
            if f"/{place}" in meaningless and is_drawn(segment):
                segments[place] = "*"
        path = "/".join(segments)
    return f"{path}?{'&'.join(variables)}" if variables else path


def masked(tail: str, names: Collection[str]) -> str:
    """A path and query without these variables, and without what looks drawn by lot."""
    path, _, query = tail.partition("?")
    if ";" in path:
        path = _SETTING.sub(lambda found: "" if found[1] in names or is_drawn(found[2]) else found[0], path)
    if not query:
        return "/".join("*" if is_drawn(part) else part for part in path.split("/"))
    segments = "/".join("*" if is_drawn(part) else part for part in path.split("/"))
    pairs = (variable.partition("=") for variable in query.split("&"))
    kept = (f"{name}={value}" for name, _, value in pairs if name not in names and not is_drawn(value))
    return f"{segments}?{'&'.join(sorted(kept))}"


def _find_compiled_bits() -> Callable[[list[str], str, tuple[str, ...], int], bytes] | None:
    try:
        from lycosa.site._native import link_bits
    except ImportError:  # not built: `masked` gives bits that are as good
        return None
    return link_bits


compiled_bits = _find_compiled_bits()


def links_shown(targets: list[str], origin: str, names: Collection[str]) -> int:
    """Where a page leads on its own origin, each link as one of some bits, masked."""
    if compiled_bits:
        return int.from_bytes(compiled_bits(targets, origin, tuple(names), MAX_COMPARED_LINKS), "little")
    bits = 0
    for target in targets[:MAX_COMPARED_LINKS]:
        if target.startswith(origin):
            bits |= 1 << crc32(masked(target[len(origin) :], names).encode("utf-8", "replace")) % LINK_BITS
    return bits
