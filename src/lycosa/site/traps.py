"""Where a site stops being worth a visit: templates that bring nothing new, domains that never end, mirrors.

Everything is a function of small counters. Who keeps them, how many and for how long is decided elsewhere: a template
or a domain that was forgotten merely begins anew.
"""

from __future__ import annotations

import msgspec

from lycosa.site.variants import Sameness

# ---- yield: what visits of a template have brought

# A template is looked at this often before it can be closed; a family, which may have good members, more often.
TEMPLATE_PATIENCE = 20
FAMILY_PATIENCE = 120


class Yield(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a template, or a family of them, has brought so far: visits, useful ones, and useless ones in a row."""

    visits: int = 0
    useful: int = 0
    barren: int = 0


def after_visit(before: Yield, *, is_useful: bool) -> Yield:
    """The counters after one more visit.

    A visit is useful if it brought content not met before, or links to productive pages of another family.
    """
    return Yield(before.visits + 1, before.useful + is_useful, 0 if is_useful else before.barren + 1)


def is_productive(counts: Yield) -> bool:
    """Whether links to pages of this kind are worth something: it is young, or one visit in ten was useful."""
    return counts.visits < TEMPLATE_PATIENCE or counts.useful * 10 >= counts.visits


def is_open(counts: Yield, patience: int = TEMPLATE_PATIENCE) -> bool:
    """Whether pages of this kind are still visited. The more it has brought, the longer a drought it may have."""
    return counts.barren < patience + counts.useful // 4


# ---- domains: what a visit costs its registered domain, and how much that may be

MAX_REFERRING = 128
# Of a new host of the domain: a farm has no end of them.
ROBOTS_PRICE = 1.0
# Of a visit that opened nothing up and brought nothing: what opens nothing cannot be endless.
IDLE_PRICE = 0.02
# What a page with new content pays back if it opened nothing up. A finite site has many of them.
_REFUND = 0.02
# A page that leads to so many new ones, and to nothing else, costs 1.
MANY_LINKS = 8
_LEAST_PRICE = 0.01
_LEAST_PRICE_OF_THE_SAME = 0.25


def page_price(*, has_new_content: bool, new: int, known: int) -> float:
    """What a page costs its domain, by how many links to new and to known pages of the domain it has.

    Real sites repeat their navigation on every page: with ten such links, opening up two hundred new pages costs
    0.02. In a maze every link of every page is new, and each costs 1.
    """
    if not new:
        return -_REFUND if has_new_content else IDLE_PRICE
    price = min(new / MANY_LINKS, 1.0) * (new / (new + known)) ** 3 * (2 / (2 + known)) ** 2
    return max(price, _LEAST_PRICE if has_new_content else _LEAST_PRICE_OF_THE_SAME)


def allowance(domain_pages: int, referring_domains: int) -> int:
    """How much a registered domain may cost: by how many others link to it."""
    return domain_pages * (1 + min(referring_domains, MAX_REFERRING))


# ---- mazes: sites without any navigation, where every page leads to new ones only

MAZE_PAGES = 200
_MIN_STRANGE_LINKS = 3
_ORDINARY_WEIGHT = 5


def after_page(strange: int, *, new: int, known: int) -> int:
    """How strange a domain is after one more page: more by each that leads to new pages only, less by any other.

    A page of which nearly nothing is known may also be an index. But an index has pages that it leads to, which lead
    back; and a real site has a few links that stand on every page.
    """
    is_strange = new >= _MIN_STRANGE_LINKS and known <= min(2, new // 8)
    return strange + 1 if is_strange else max(0, strange - _ORDINARY_WEIGHT)


def is_maze(strange: int) -> bool:
    """Whether a domain has shown nothing but strange pages for long."""
    return strange >= MAZE_PAGES


# ---- mirrors: two origins with the same pages under the same paths

MIN_MIRRORED = 8


def are_mirrors(counts: Sameness, *, is_one_domain: bool) -> bool:
    """Whether two origins show the same site, from paths met on both and whether their contents were the same.

    Of two domains it is only known which pages the second had in common with the first, and which it had not.
    """
    tolerated = counts.same // 10 if is_one_domain else counts.same // 3
    return counts.same >= MIN_MIRRORED and counts.different <= tolerated


def is_before(origin: str, other: str) -> bool:
    """Whether of two mirrors the first is the one that is crawled: the shorter host, then https. A total order."""
    return _rank(origin) < _rank(other)


def _rank(origin: str) -> tuple[int, str, str]:
    scheme, _, authority = origin.partition("://")
    # "https" stands before "http" if the longer word comes first.
    return len(authority), authority, "" if scheme == "https" else scheme
