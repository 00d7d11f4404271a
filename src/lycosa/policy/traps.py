"""Where a site stops being worth a visit: templates of URLs, budgets of domains, variables that change nothing.

Everything is a function of small counters. Who keeps them, how many and for how long is decided elsewhere: a template,
a variable or a domain that was forgotten merely begins anew.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from hashlib import blake2b
from zlib import crc32

import msgspec

# ---- templates: URLs that differ only in numbers, dates, identifiers and titles are one kind of page

MAX_TEMPLATE_SEGMENTS = 8
_NUMBER = re.compile(r"[0-9]+")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?=[0-9a-f]*[0-9])[0-9a-f]{8,}", re.IGNORECASE)
# Sixteen and more letters and digits, mixed: what no person would choose as a name.
_TOKEN = re.compile(r"(?=[a-z]*[0-9])(?=[0-9]*[a-z])[0-9a-z_-]{16,}", re.IGNORECASE)
_SLUG = re.compile(r"[^./]*[^./-]-[^./]*|[^./]{25,}")
_EXTENSION = re.compile(r"\.[a-z][a-z0-9]{0,4}$", re.IGNORECASE)


def template_of(path_and_query: str) -> str:
    """The template of a URL within its host: `/2026/05/a-title.html?p=3` is `/{n}/{n}/{slug}.html?p={n}`."""
    path, question_mark, query = path_and_query.partition("?")
    segments = path.split("/")[1:]
    shapes = [_shape(segment) for segment in segments[:MAX_TEMPLATE_SEGMENTS]]
    if len(segments) > MAX_TEMPLATE_SEGMENTS:
        shapes.append("{deeper}")
    names = sorted({variable.partition("=")[0] for variable in query.split("&") if variable})
    values = {variable.partition("=")[0]: variable.partition("=")[2] for variable in query.split("&")}
    variables = [f"{_shape(name)}={_shape(values[name])}" for name in names]
    return "/" + "/".join(shapes) + (f"?{'&'.join(variables)}" if question_mark else "")


def family_of(template: str) -> str:
    """The templates that differ in their queries only are one family: a facet search has thousands of them."""
    path, question_mark, _ = template.partition("?")
    return f"{path}?{{any}}" if question_mark else path


def _shape(segment: str) -> str:
    stem, extension = segment, ""
    if found := _EXTENSION.search(segment):
        stem, extension = segment[: found.start()], found[0]
    if not stem:
        return segment
    if _NUMBER.fullmatch(stem):
        return "{n}" + extension
    if _UUID.fullmatch(stem) or _HEX.fullmatch(stem):
        return "{hex}" + extension
    if _TOKEN.fullmatch(stem):
        return "{token}" + extension
    if _SLUG.fullmatch(stem):
        return "{slug}" + extension
    return _NUMBER.sub("{n}", stem) + extension


# ---- yield: what visits of a template have brought

# A template is looked at this often before it can be closed; a family, which may have good members, more often.
TEMPLATE_PATIENCE = 20
FAMILY_PATIENCE = 120


class Yield(msgspec.Struct, frozen=True, array_like=True):
    """What a template, or a family of them, has brought so far: visits, useful ones, and useless ones in a row."""

    visits: int = 0
    useful: int = 0
    barren: int = 0


def after_visit(before: Yield, *, is_useful: bool) -> Yield:
    """The counters after one more visit."""
    return Yield(before.visits + 1, before.useful + is_useful, 0 if is_useful else before.barren + 1)


def is_useful(*, has_new_content: bool, new_elsewhere: int) -> bool:
    """Whether a visit brought something: content not met before, or links to productive pages of another family."""
    return has_new_content or new_elsewhere > 0


def is_productive(counts: Yield) -> bool:
    """Whether links to pages of this kind are worth something: it is young, or one visit in ten was useful."""
    return counts.visits < TEMPLATE_PATIENCE or counts.useful * 10 >= counts.visits


def is_open(counts: Yield, patience: int = TEMPLATE_PATIENCE) -> bool:
    """Whether pages of this kind are still visited. The more it has brought, the longer a drought it may have."""
    return counts.barren < patience + counts.useful // 4


def content_digest(text: str) -> bytes:
    """What a text says, whatever stands between its words: for telling whether two URLs show the same page."""
    return blake2b(" ".join(text.split()).encode("utf-8", "replace"), digest_size=8).digest()


def shape_digest(text: str) -> bytes:
    """What a text says, apart from its numbers: months, counters and dates alone make no new content."""
    words = _LETTERS.findall(text.lower())
    return blake2b(" ".join(words).encode("utf-8", "replace"), digest_size=8).digest()


_LETTERS = re.compile(r"[^\W\d_]+")


# ---- domains: how much a registered domain may take

DOMAIN_PAGES = 50
MAX_REFERRING = 1_000
# By how many new URLs of its own domain a page with new content opened up. A finite site opens up one per page in the
# long run, a maze five or ten on every page. Always less than 1 where there is any, or a chain would pay for itself.
_CREDITS = (1.0, 0.9, 0.8, 0.6, 0.4, 0.2)
_LEAST_CREDIT = 0.1


def credit(*, has_new_content: bool, new_on_domain: int) -> float:
    """What a visit earns its domain: more, the less of the same it opened up."""
    if not has_new_content:
        return 0.0
    return _CREDITS[new_on_domain] if new_on_domain < len(_CREDITS) else _LEAST_CREDIT


def domain_budget(referring_domains: int, earned: float, *, is_seeded: bool = False) -> int:
    """How many requests a registered domain may take: by how many others link to it, and by what its pages earned.

    A domain that the operator named has no limit here: its templates have.
    """
    if is_seeded:
        return 2**62
    return DOMAIN_PAGES * (1 + min(referring_domains, MAX_REFERRING)) + int(earned)


# ---- variables that change nothing, learnt from pairs of pages of one host

# Agreements that are enough, and on how many different pages: for values that look drawn by lot, and for others.
ENOUGH_DRAWN, ENOUGH = (2, 2), (4, 2)
# Where there is one page only, as in /document/<hash>, two copies of a document must not make one of them all.
ENOUGH_ON_ONE_PAGE = 20


class Sameness(msgspec.Struct, frozen=True, array_like=True):
    """How often two URLs that differ in one thing only had the same content, on how many pages, and how often not."""

    same: int = 0
    pages: int = 0
    different: int = 0


def after_pair(before: Sameness, *, is_same: bool, is_new_page: bool = False) -> Sameness:
    """The counters after one more pair; the page is what is left of the two URLs without the thing."""
    if not is_same:
        return Sameness(before.same, before.pages, before.different + 1)
    return Sameness(before.same + 1, before.pages + is_new_page, before.different)


def is_meaningless(counts: Sameness, *, is_drawn: bool = False) -> bool:
    """Whether the thing can be left out of the dedup key. One contradiction outweighs twenty agreements."""
    same, pages = ENOUGH_DRAWN if is_drawn else ENOUGH
    if counts.pages < pages:
        same = ENOUGH_ON_ONE_PAGE
    return counts.same >= same + 20 * counts.different


def is_drawn(value: str) -> bool:
    """Whether a value looks drawn by lot: a long run of hexadecimal digits, or of letters and digits mixed."""
    return _shape(value) in ("{hex}", "{token}")


def difference(one: str, other: str) -> str:
    """The one thing in which two paths with queries differ: `?name` a variable, `/2` a segment, `order` the order.

    Empty where they are the same, or differ in more than one thing.
    """
    path, _, query = one.partition("?")
    other_path, _, other_query = other.partition("?")
    if path == other_path:
        return _variable_difference(_variables(query), _variables(other_query))
    segments, others = path.split("/"), other_path.split("/")
    if query != other_query or len(segments) != len(others):
        return ""
    places = [place for place, pair in enumerate(zip(segments, others, strict=True)) if pair[0] != pair[1]]
    # A title or a number names a page; only what is drawn by lot can be a session.
    is_drawn = len(places) == 1 and all(
        _shape(names[places[0]]) in ("{hex}", "{token}") for names in (segments, others)
    )
    return f"/{places[0]}" if is_drawn else ""


def _variable_difference(ours: list[tuple[str, str]], theirs: list[tuple[str, str]]) -> str:
    if sorted(ours) == sorted(theirs):
        return "order" if ours != theirs else ""
    names = {name for name, _ in set(ours) ^ set(theirs)}
    return f"?{names.pop()}" if len(names) == 1 else ""


def _variables(query: str) -> list[tuple[str, str]]:
    parts = (variable.partition("=") for variable in query.split("&") if variable)
    return [(name, value) for name, _, value in parts]


def without(path_and_query: str, meaningless: Collection[str]) -> str:
    """A path and query without what is known to change nothing on its host: the dedup key within that host."""
    path, _, query = path_and_query.partition("?")
    segments = path.split("/")
    for place, segment in enumerate(segments):
        if f"/{place}" in meaningless and is_drawn(segment):
            segments[place] = "*"
    variables = [pair for pair in _variables(query) if f"?{pair[0]}" not in meaningless]
    if "order" in meaningless:
        variables.sort()
    kept = "&".join(f"{name}={value}" for name, value in variables)
    return "/".join(segments) + (f"?{kept}" if kept else "")


# ---- soft 404: pages that look like the answer to a URL that cannot exist

SOFT_404_LIKENESS = 0.8
_SHINGLE_WORDS = 3


def shingles(text: str, url: str = "") -> frozenset[int]:
    """The runs of three words of a text, without the words of its own URL, which such pages like to repeat."""
    own = set(_LETTERS.findall(url.lower()))
    words = [word for word in _LETTERS.findall(text.lower()) if word not in own]
    runs = range(max(1, len(words) - _SHINGLE_WORDS + 1))
    return frozenset(crc32(" ".join(words[at : at + _SHINGLE_WORDS]).encode("utf-8", "replace")) for at in runs)


def likeness(one: frozenset[int], other: frozenset[int]) -> float:
    """How much two texts have in common, from 0 to 1 (Jaccard)."""
    return len(one & other) / len(one | other) if one or other else 1.0


def is_soft_404(page: frozenset[int], probe: frozenset[int]) -> bool:
    """Whether a page is what its host answers to any URL; `probe` is the answer to a URL that cannot exist."""
    return likeness(page, probe) >= SOFT_404_LIKENESS


# ---- mirrors: two hosts with the same pages under the same paths

MIN_MIRRORED = 10


def are_mirrors(counts: Sameness) -> bool:
    """Whether two hosts show the same site, from paths met on both and whether their contents were the same."""
    return counts.same >= MIN_MIRRORED and counts.different * 10 <= counts.same
