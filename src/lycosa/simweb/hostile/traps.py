"""Sites without an end: each answers any of its URLs with more of them, deterministically.

A trap knows its paths and which of its pages are worth finding (`wanted`). How much of it a crawler takes is measured
by whoever runs it.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from ..http import Ask, Reply, make_reply

Page = Callable[[Ask], str | None]


class Trap(NamedTuple):
    """One endless site. `wanted` are the paths that a good crawler finds; `is_trap` tells the others from them."""

    name: str
    row: str
    says: str
    domain: str
    page: Page
    wanted: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    has_any_host: bool = False
    robots: str = ""
    honeypot: str = ""

    def answer(self, ask: Ask) -> Reply:
        """The answer to any request for one of the trap's hosts."""
        if ask.target == "/robots.txt":
            return make_reply(200 if self.robots else 404, self.robots.encode(), {"Content-Type": "text/plain"})
        body = self.page(ask)
        if body is None:
            return make_reply(404, b"no such page", {"Content-Type": "text/plain"})
        return make_reply(200, body.encode(), {"Content-Type": "text/html; charset=utf-8"})

    def has_host(self, name: str) -> bool:
        """Whether a name belongs to the trap."""
        return name in (self.domain, *self.aliases) or (self.has_any_host and name.endswith(f".{self.domain}"))


def html(title: str, links: Iterable[str] = (), text: str = "", more: str = "") -> str:
    """A plain page."""
    items = "".join(f'<li><a href="{link}">{_anchor(link)}</a></li>' for link in links)
    body = f"<h1>{title}</h1><p>{text}</p><ul>{items}</ul>{more}"
    return f"<!doctype html><html><head><title>{title}</title></head><body>{body}</body></html>"


def _anchor(link: str) -> str:
    """What a person would call a link: the last part of its path, unless that was drawn by lot."""
    name = link.partition("?")[0].rstrip("/").rpartition("/")[2]
    return "more" if not name or re.fullmatch(r"[0-9a-f]{16}(\..*)?", name) else name.replace("-", " ")


def babble(seed: str, words: int = 120) -> str:
    """Words that follow one another by chance, the same for the same seed."""
    draw = random.Random(seed)
    return " ".join(draw.choice(_WORDS) for _ in range(words))


def fresh(*parts: object) -> str:
    """Sixteen hexadecimal digits that depend on the parts alone."""
    return hashlib.blake2b("/".join(map(str, parts)).encode(), digest_size=8).hexdigest()


_WORDS = (
    "river", "stone", "lantern", "orchard", "winter", "harbour", "copper", "meadow", "signal", "thread", "marble",
    "cedar", "engine", "window", "letter", "garden", "mountain", "paper", "silver", "ladder", "bridge", "feather",
    "candle", "compass", "harvest", "island", "jacket", "kettle", "linen", "mirror", "needle", "ocean", "pepper",
    "quarry", "ribbon", "saddle", "timber", "umbrella", "valley", "whistle", "yarn", "zenith", "anchor", "basket",
    "canyon", "dagger", "ember", "fabric", "glacier", "hammer", "ivory", "jungle", "kernel", "lagoon", "magnet",
    "nectar", "onyx", "parcel", "quiver", "rocket", "sponge", "tunnel", "urchin", "velvet", "walnut",
)  # fmt: skip


# ---- T2: a calendar without an end

_MONTH = re.compile(r"/calendar/([0-9]{4})/([0-9]{2})$")
_EVENTS = 48


def _calendar(ask: Ask) -> str | None:
    path = urlsplit(ask.target).path
    if path == "/":
        return html("Events of our town", ["/calendar/2026/01", "/calendar/2027/01"], babble("calendar"))
    if match := re.fullmatch(r"/event/([0-9]{1,3})", path):
        return html(f"Event {match[1]}", ["/"], babble(path)) if int(match[1]) < _EVENTS else None
    if not (match := _MONTH.match(path)):
        return None
    year, month = int(match[1]), int(match[2])
    before, after = divmod(year * 12 + month - 2, 12), divmod(year * 12 + month, 12)
    months = [f"/calendar/{y:04}/{m + 1:02}" for y, m in (before, after) if 0 < y <= 9999]
    views = [f"{path}?view={view}" for view in ("week", "list")]
    first = (year - 2026) * 24 + (month - 1) * 2
    events = [f"/event/{number}" for number in (first, first + 1) if 0 <= number < _EVENTS]
    return html(f"{year:04}-{month:02}", months + views + events, "Nothing else happens this month.")


# ---- T3: session ids in path and query

_ITEMS = 60


def _sessions(ask: Ask) -> str | None:
    parts = urlsplit(ask.target)
    if parts.path == "/":
        return html("Shop", [_item(0, "start"), _item(1, "start")], babble("shop"))
    session = dict(parse_qsl(parts.query)).get("sid", "")
    if match := re.fullmatch(r"/s/([0-9a-f]{16})/item-([0-9]{1,2})", parts.path):
        session = match[1]
    elif not (match := re.fullmatch(r"/(shop)/item-([0-9]{1,2})", parts.path)):
        return None
    number = int(match[2])
    if number >= _ITEMS:
        return None
    near = [_item((number + step) % _ITEMS, f"{session}{number}") for step in (1, 2, 7, 14)]
    return html(f"Item {number}", near, babble(f"item {number}"))


def _item(number: int, session: str) -> str:
    sid = fresh(session, number)
    return f"/s/{sid}/item-{number}" if number % 2 else f"/shop/item-{number}?sid={sid}"


# ---- T4: relative links that go ever deeper


def _loops(ask: Ask) -> str | None:
    path = urlsplit(ask.target).path
    return (
        html("Products", ["products/", "about/", "about/team.html", "./", "../news/"], babble("loops"))
        if path
        else None
    )


# ---- T5: one page under many queries

_NAMES = ("lang", "sort", "view", "size", "theme")


def _permutations(ask: Ask) -> str | None:
    parts = urlsplit(ask.target)
    if parts.path == "/":
        return html("Start", ["/list"], babble("start"))
    if parts.path != "/list":
        return None
    draw = random.Random(ask.target)
    links = []
    for _ in range(10):
        names = draw.sample(_NAMES, draw.randrange(1, len(_NAMES) + 1))
        variables = [(name, "1") for name in names]
        if draw.random() < 0.5:
            variables.append(("utm_campaign", f"{draw.getrandbits(32):x}"))
        links.append(f"/list?{urlencode(variables)}")
    return html("The list", links, babble("list"))


# ---- T6: faceted navigation

_FACETS, _VALUES, _PRODUCTS, _PER_PAGE = 12, 10, 300, 20


def _facets(ask: Ask) -> str | None:
    parts = urlsplit(ask.target)
    if match := re.fullmatch(r"/product/([0-9]{1,3})", parts.path):
        return html(f"Product {match[1]}", ["/"], babble(parts.path)) if int(match[1]) < _PRODUCTS else None
    if parts.path == "/":
        return html(
            "Catalogue",
            [f"/list?page={page}" for page in range(_PRODUCTS // _PER_PAGE)] + _facet_links({}),
            babble("facets"),
        )
    chosen = dict(parse_qsl(parts.query))
    if parts.path == "/list":
        page = int(chosen.get("page", "0")) if chosen.get("page", "0").isdecimal() else 0
        shown = range(page * _PER_PAGE, min((page + 1) * _PER_PAGE, _PRODUCTS))
        return html(f"All products, {page}", [f"/product/{number}" for number in shown])
    if parts.path != "/search":
        return None
    fitting = [number for number in range(_PRODUCTS) if all(_has(number, *pair) for pair in chosen.items())]
    return html(
        "Search",
        [f"/product/{number}" for number in fitting[:_PER_PAGE]] + _facet_links(chosen),
        f"{len(fitting)} found",
    )


def _facet_links(chosen: dict[str, str]) -> list[str]:
    free = [f"f{number}" for number in range(_FACETS) if f"f{number}" not in chosen]
    return [f"/search?{urlencode({**chosen, name: str(value)})}" for name in free for value in range(_VALUES)]


def _has(product: int, facet: str, value: str) -> bool:
    return str(int(fresh(product, facet), 16) % _VALUES) == value


# ---- T7: a farm of hosts under a wildcard name


def _farm(ask: Ask) -> str | None:
    if urlsplit(ask.target).path not in ("/", "/about"):
        return None
    port = ask.headers.get("host", "").partition(":")[2]
    suffix = f"farm.test:{port}" if port else "farm.test"
    links = [f"http://{fresh(ask.name, number)}.{suffix}/" for number in range(10)]
    return html(f"Welcome to {ask.name}", [*links, "/about"], babble(ask.name + ask.target))


# ---- T8: soft 404, endless pagination, mirrors

_REAL_PAGES, _MIRRORED, _FULL_PAGES = 30, 200, 15


def _soft_404(ask: Ask) -> str | None:
    path = urlsplit(ask.target).path
    match = re.fullmatch(r"/page-([0-9]{1,2})", path)
    if path == "/" or (match and int(match[1]) < _REAL_PAGES):
        links = [f"/page-{number}" for number in range(_REAL_PAGES)]
        return html(f"Page {path}", [*links, f"/old/{fresh(path)}"], babble(f"soft {path}"))
    wrong = [f"/old/{fresh(path, number)}" for number in range(3)]
    return html("Oops", ["/", *wrong], f"Sorry, we could not find {path}. It may have moved. " + babble("sorry", 40))


def _pagination(ask: Ask) -> str | None:
    parts = urlsplit(ask.target)
    if match := re.fullmatch(r"/entry/([0-9]{1,4})", parts.path):
        return html(f"Entry {match[1]}", ["/"], babble(parts.path)) if int(match[1]) < _FULL_PAGES * 5 else None
    number = dict(parse_qsl(parts.query)).get("page", "1")
    if parts.path != "/" or not number.isdecimal():
        return None
    page = int(number)
    entries = [f"/entry/{entry}" for entry in range((page - 1) * 5, page * 5)] if 0 < page <= _FULL_PAGES else []
    return html(
        "Archive", [*entries, f"/?page={page + 1}"], babble(f"archive {page}") if entries else "No more entries."
    )


def _mirrors(ask: Ask) -> str | None:
    path = urlsplit(ask.target).path
    match = re.fullmatch(r"/doc-([0-9]{1,3})", path)
    if path != "/" and not (match and int(match[1]) < _MIRRORED):
        return None
    number = int(match[1]) if match else 0
    near = {(number * 2 + step) % _MIRRORED for step in (1, 2)} | {(number + 1) % _MIRRORED}
    port = ask.headers.get("host", "").partition(":")[2]
    aliases = [f"http://{alias}{f':{port}' if port else ''}/" for alias in _ALIASES]
    return html(f"Document {number}", [f"/doc-{each}" for each in sorted(near)] + aliases, babble(f"doc {number}"))


_ALIASES = ("mirror.test", "www.mirror.test", "m.mirror.test", "mirror-too.test")


# ---- T11: mazes and honeypots


def _maze(ask: Ask) -> str | None:
    path = ask.name + urlsplit(ask.target).path
    draw = random.Random(path)
    links = [f"/{draw.choice(_WORDS)}/{draw.choice(_WORDS)}-{draw.getrandbits(24):x}" for _ in range(8)]
    return html(draw.choice(_WORDS).title(), links, babble(path, 300))


def _honeypots(ask: Ask) -> str | None:
    path = urlsplit(ask.target).path
    if path.startswith("/honeypot/"):
        return html("Got you", [f"/honeypot/{fresh(path, number)}" for number in range(5)])
    if path not in ("/", "/news", "/about"):
        return None
    hidden = (
        '<a rel="nofollow" style="display:none" href="/honeypot/1">x</a>'
        '<a rel="external NOFOLLOW" href="/honeypot/2"></a>'
        '<form action="/honeypot/3"></form><!-- <a href="/honeypot/4">x</a> -->'
        '<template><a href="/honeypot/5">x</a></template>'
        '<script>var x = "<a href=/honeypot/6>"</script><a href="/honeypot/allowed-by-nobody">x</a>'
    )
    return html(f"A page {path}", ["/news", "/about"], babble(path), hidden)


def _traps() -> Iterable[Trap]:
    yield Trap(
        "calendar",
        "T2",
        "Months before and after, for ever; 48 events.",
        "calendar.test",
        _calendar,
        tuple(f"/event/{number}" for number in range(_EVENTS)),
    )
    yield Trap(
        "sessions", "T3", "Sixty items whose links carry a new session id each time.", "sessions.test", _sessions
    )
    yield Trap("loops", "T4", "Relative links without an end, every path a page.", "loops.test", _loops)
    yield Trap(
        "permutations",
        "T5",
        "One page under every order of five variables and any campaign.",
        "permutations.test",
        _permutations,
    )
    yield Trap(
        "facets",
        "T6",
        "Twelve facets of ten values over 300 products.",
        "facets.test",
        _facets,
        tuple(f"/product/{number}" for number in range(_PRODUCTS)),
    )
    yield Trap(
        "farm",
        "T7",
        "Every name under the domain is a host, and each links to ten more.",
        "farm.test",
        _farm,
        has_any_host=True,
    )
    yield Trap(
        "soft-404",
        "T8",
        "Thirty pages; every other URL says sorry, with status 200.",
        "soft.test",
        _soft_404,
        tuple(f"/page-{number}" for number in range(_REAL_PAGES)),
    )
    yield Trap(
        "pagination",
        "T8",
        "Fifteen pages of entries, then empty ones without an end.",
        "pages.test",
        _pagination,
        tuple(f"/entry/{number}" for number in range(_FULL_PAGES * 5)),
    )
    yield Trap(
        "mirrors",
        "T8",
        "The same 200 pages on four hosts.",
        "mirror.test",
        _mirrors,
        tuple(f"/doc-{number}" for number in range(_MIRRORED)),
        aliases=_ALIASES[1:],
    )
    yield Trap("maze", "T11", "Babble with eight links on every page, without an end.", "maze.test", _maze)
    yield Trap(
        "honeypots",
        "T11",
        "Links that only a robot would follow, all of them forbidden.",
        "honey.test",
        _honeypots,
        ("/news", "/about"),
        robots="User-agent: *\nDisallow: /honeypot/allowed-by-nobody\n",
        honeypot="/honeypot/",
    )


TRAPS: dict[str, Trap] = {trap.name: trap for trap in _traps()}
