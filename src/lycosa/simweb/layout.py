"""Where everything of a planned web is: which page is what, at which path, linking where.

The one place of decisions: rendering, robots, sitemaps and truth all ask here. It knows no HTML, no HTTP
and no port. Every answer is computed from the plan in constant time, so any size of web costs nothing.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from .draw import Draws, popular
from .names import SimNames
from .plan import WebPlan

# Trees that hold a web together: every page links to its children, every home page to its child hosts.
# Only leaves become special, so that no plain page hides behind a redirect, an error or a robots rule.
_PAGE_CHILDREN = 8
_HOST_CHILDREN = 6
_NAVIGATION_PAGES = 5

_OPEN_SECTIONS = ("news", "articles", "products", "forum", "blog", "private/press")
_CLOSED_SECTIONS = ("private", "news/drafts")
_PAGE_PATH = re.compile(r"/[a-z/]+(?:-|\?id=)([0-9]{1,12})(?:\.html)?$")
# Of a web of strewn links: an article by its name, an item in some colour, a page of a topic.
_STREWN_PATH = re.compile(
    r"/[a-z/]+(?:-([0-9]{1,12})\.html|\?colour=[a-z]+&item=([0-9]{1,12})|\?id=([0-9]{1,12})&page=([0-9]{1,2}))$"
)
_TOPIC_PAGES = 4
# Of the pages of a host: those about its topic, and those about another; how often a page about one is drawn for.
_HOST_TOPIC_SHARE, _OTHER_TOPIC_SHARE = 0.5, 0.25
_TOPIC_DRAWS = 60
TRACKING = "utm_"
_HOP_PATH = re.compile(r"/go/([0-9]{1,12})/([0-9])$")
_LEGACY_ENCODINGS = {
    "en": ("windows-1252", "iso-8859-1"),
    "de": ("windows-1252", "iso-8859-1"),
    "fr": ("windows-1252", "iso-8859-1"),
    "es": ("windows-1252", "iso-8859-1"),
    "ru": ("windows-1251", "koi8-r"),
    "zh": ("gbk", "gb18030"),
    "zh-Hant": ("big5",),
    "ja": ("shift_jis", "euc-jp"),
    "ko": ("euc-kr",),
}


class PageRef(NamedTuple):
    """A page by the number of its host and its own number there; page 0 is the home page."""

    host: int
    page: int


class Link(NamedTuple):
    """A link to a page, and whether it carries `rel=nofollow`."""

    to: PageRef
    nofollow: bool


class PageKind(Enum):
    """What a page is; every page is exactly one of these."""

    PLAIN = "plain"
    DISALLOWED = "disallowed"  # in a section that the host's robots.txt closes
    REDIRECT = "redirect"
    MISSING = "missing"
    GONE = "gone"
    BROKEN = "broken"
    UNAVAILABLE = "unavailable"
    THROTTLED = "throttled"
    COPY = "copy"  # the same bytes as another page
    NEAR_COPY = "near-copy"  # another page with a few words changed
    UNFOLLOWED = "unfollowed"  # every link to it is nofollow
    ORPHAN = "orphan"  # in the sitemap only
    NOINDEX = "noindex"


STATUS_OF = {
    PageKind.MISSING: 404,
    PageKind.GONE: 410,
    PageKind.BROKEN: 500,
    PageKind.UNAVAILABLE: 503,
    PageKind.THROTTLED: 429,
}


class RobotsAnswer(Enum):
    """How a host answers for its robots.txt."""

    RULES = "rules"
    MISSING = "missing"
    BROKEN = "broken"


class RedirectEnding(Enum):
    """Where a redirect leads in the end."""

    SAME_HOST = "same-host"
    OTHER_HOST = "other-host"
    LOOP = "loop"


@dataclass(frozen=True, slots=True)
class SimHost:
    """What the plan says of one host."""

    number: int
    name: str
    language: str
    encoding: str
    is_encoding_in_header: bool
    is_gzipped: bool
    has_base_element: bool
    has_sitemap: bool
    has_sitemap_index: bool
    has_traps: bool
    robots: RobotsAnswer
    crawl_delay_seconds: float
    latency_seconds: float


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect page: `hops` answers in a row, the last of which names the page `to` (none in a loop)."""

    status: int
    hops: int
    ending: RedirectEnding
    to: PageRef | None


@dataclass(frozen=True, slots=True)
class PageVersion:
    """One state of a changing page, and the seconds since the web's start between which it is served."""

    number: int
    changed_after: float
    next_change_after: float


class Layout:
    """The answers to every question about a planned web."""

    def __init__(self, plan: WebPlan) -> None:
        self.plan = plan
        self.draws = Draws(plan.seed)
        self.names = SimNames(plan)
        self._kind_limits = _kind_limits(plan)
        self._has_special_pages = self._kind_limits[-1][1] > 0
        self.is_strewn = plan.strewn_link_share > 0
        # `kind` and `path` are asked for every link. Per object, so that the memory of a web goes with it.
        self.host = lru_cache(maxsize=1 << 14)(self._host)
        self.kind = lru_cache(maxsize=1 << 17)(self._kind)
        self.path = lru_cache(maxsize=1 << 17)(self._path)
        self.topic = lru_cache(maxsize=1 << 17)(self._topic)

    def _host(self, number: int) -> SimHost:
        plan, draws = self.plan, self.draws
        language = draws.pick(plan.languages, "language", number)
        is_legacy = draws.happens(plan.legacy_encoding_share, "legacy", number)
        encoding = draws.pick(_LEGACY_ENCODINGS[language], "encoding", number) if is_legacy else "utf-8"
        # Host 0 holds the seed: a web that begins slowly looks broken.
        is_slow = number > 0 and draws.happens(plan.slow_host_share, "slow", number)
        has_delay = draws.happens(plan.crawl_delay_share, "crawl-delay", number)
        robots = self._robots(number)
        return SimHost(
            number=number,
            name=self.names.name_of(number),
            language=language,
            encoding=encoding,
            is_encoding_in_header=draws.happens(0.5, "declared", number),
            is_gzipped=draws.happens(plan.gzip_share, "gzip", number),
            has_base_element=draws.happens(plan.base_element_share, "base", number),
            has_sitemap=robots is RobotsAnswer.RULES and draws.happens(plan.sitemap_share, "sitemap", number),
            has_sitemap_index=draws.happens(0.5, "sitemap-index", number),
            has_traps=draws.happens(plan.trap_host_share, "traps", number),
            robots=robots,
            crawl_delay_seconds=plan.crawl_delay_seconds if has_delay else 0.0,
            latency_seconds=plan.slow_seconds if is_slow else plan.latency_seconds,
        )

    def _robots(self, host: int) -> RobotsAnswer:
        chance = self.draws.fraction("robots", host)
        is_leaf = host * _HOST_CHILDREN + 1 >= self.plan.hosts
        if is_leaf and host > 0 and chance < self.plan.robots_broken_share:
            return RobotsAnswer.BROKEN
        if chance >= 1 - self.plan.robots_missing_share:
            return RobotsAnswer.MISSING
        return RobotsAnswer.RULES

    def _kind(self, ref: PageRef) -> PageKind:
        kind = self._drawn_kind(ref)
        if kind is PageKind.ORPHAN and not self.host(ref.host).has_sitemap:
            return PageKind.PLAIN
        if kind in (PageKind.COPY, PageKind.NEAR_COPY) and self._original(ref) is None:
            return PageKind.PLAIN
        return kind

    def _drawn_kind(self, ref: PageRef) -> PageKind:
        is_leaf = ref.page * _PAGE_CHILDREN + 1 >= self.plan.pages_per_host
        if not self._has_special_pages or not is_leaf or ref.page <= _NAVIGATION_PAGES:
            return PageKind.PLAIN
        chance = self.draws.fraction("kind", *ref)
        return next((kind for kind, limit in self._kind_limits if chance < limit), PageKind.PLAIN)

    def _original(self, copy: PageRef) -> PageRef | None:
        """A plain page of the same host, if a few draws find one."""
        for attempt in range(4):
            page = 1 + self.draws.number("original", *copy, attempt) % (self.plan.pages_per_host - 1)
            if self._drawn_kind(PageRef(copy.host, page)) is PageKind.PLAIN:
                return PageRef(copy.host, page)
        return None

    def content_of(self, ref: PageRef) -> PageRef:
        """The page whose text and links this page shows: itself, or what it is a copy of."""
        if self.kind(ref) not in (PageKind.COPY, PageKind.NEAR_COPY):
            return ref
        original = self._original(ref)
        assert original is not None, "a copy has an original"
        return original

    def _path(self, ref: PageRef) -> str:
        """The page's path (and query), from which `page_at` finds the way back."""
        if ref.page == 0:
            return "/"
        if self.is_strewn:
            return self._strewn_path(ref)
        section = self._section(ref)
        word = self.draws.pick(_SLUGS, "slug", *ref)
        return f"/{section}/topic?id={ref.page}" if section == "forum" else f"/{section}/{word}-{ref.page}.html"

    def _strewn_path(self, ref: PageRef) -> str:
        section, chance = self._section(ref), self.draws.number("slug", *ref)
        word = _SLUGS[chance % len(_SLUGS)]
        match section:
            case "forum":
                topic, page = divmod(ref.page, _TOPIC_PAGES)
                return f"/forum/topic?id={topic}&page={page}"
            case "products":
                return f"/products/{word}?colour={_COLOURS[chance // len(_SLUGS) % len(_COLOURS)]}&item={ref.page}"
            case _:
                return f"/{section}/{word}-{ref.page}.html"

    def _section(self, ref: PageRef) -> str:
        # A copy lies beside its original, so that the relative links of the same bytes mean the same.
        sections = _CLOSED_SECTIONS if self.kind(ref) is PageKind.DISALLOWED else _OPEN_SECTIONS
        return self.draws.pick(sections, "section", *self.content_of(ref))

    def page_at(self, host: int, path: str) -> PageRef | None:
        """The page at this path of the host; where links are strewn, under any of its names."""
        if self.is_strewn:
            path = plain_path(path)
        if path == "/":
            return PageRef(host, 0)
        page = self._number_in(path)
        if page is None or not 0 < page < self.plan.pages_per_host:
            return None
        ref = PageRef(host, page)
        return ref if self.path(ref) == path else None

    def _number_in(self, path: str) -> int | None:
        match = (_STREWN_PATH if self.is_strewn else _PAGE_PATH).match(path)
        if match is None:
            return None
        if match.lastindex == 4:
            return int(match[3]) * _TOPIC_PAGES + int(match[4])
        assert match.lastindex is not None, "every path has a number"
        return int(match[match.lastindex])

    def is_allowed(self, ref: PageRef) -> bool:
        """Whether the host's robots.txt lets a crawler ask for this page."""
        match self.host(ref.host).robots:
            case RobotsAnswer.RULES:
                return self.kind(ref) is not PageKind.DISALLOWED
            case RobotsAnswer.MISSING:
                return True
            case RobotsAnswer.BROKEN:  # RFC 9309, 2.3.1.4: an unreachable robots.txt closes the host
                return False

    def is_in_sitemap(self, ref: PageRef) -> bool:
        """Whether the host's sitemap names this page; it names closed pages too, as many do."""
        wanted = (PageKind.PLAIN, PageKind.DISALLOWED, PageKind.COPY, PageKind.NEAR_COPY, PageKind.ORPHAN)
        return self.host(ref.host).has_sitemap and self.kind(ref) in wanted

    def changes_per_day(self, ref: PageRef) -> float:
        """The mean number of changes of the page's text in a simulated day."""
        return self.draws.pick(self.plan.changes_per_day, "rate", *self.content_of(ref))

    def version(self, ref: PageRef, elapsed_seconds: float) -> PageVersion:
        """The state of the page this long after the web's start; takes a step per change so far."""
        shown = self.content_of(ref)
        rate = self.changes_per_day(ref) / self.plan.day_seconds
        number, changed_after, next_after = 0, -math.inf, math.inf
        if rate > 0:
            next_after = self._gap(shown, 0) / rate
        while next_after <= elapsed_seconds:
            number, changed_after = number + 1, next_after
            next_after += self._gap(shown, number) / rate
        return PageVersion(number, changed_after, next_after)

    def _gap(self, ref: PageRef, number: int) -> float:
        return -math.log1p(-self.draws.fraction("gap", *ref, number))

    def redirect(self, ref: PageRef) -> Redirect:
        """Where a page of kind REDIRECT leads."""
        status = self.draws.pick((301, 301, 302, 307, 308), "redirect-status", *ref)
        hops = self.draws.pick((1, 1, 1, 2, 3), "redirect-hops", *ref)
        ending = self.draws.pick(
            (*[RedirectEnding.SAME_HOST] * 6, *[RedirectEnding.OTHER_HOST] * 3, RedirectEnding.LOOP), "ending", *ref
        )
        match ending:
            case RedirectEnding.LOOP:
                return Redirect(status, max(hops, 2), ending, None)
            case RedirectEnding.SAME_HOST:
                to = PageRef(ref.host, self.draws.number("redirect-page", *ref) % (_NAVIGATION_PAGES + 1))
            case RedirectEnding.OTHER_HOST:
                to = PageRef(self.draws.number("redirect-host", *ref) % self.plan.hosts, 0)
        return Redirect(status, hops, ending, to)

    def hop_at(self, host: int, path: str) -> tuple[PageRef, int] | None:
        """The redirect page, and the number of the hop of its chain, at this path."""
        match = _HOP_PATH.match(path)
        if match is None or not 0 < int(match[1]) < self.plan.pages_per_host:
            return None
        ref, hop = PageRef(host, int(match[1])), int(match[2])
        return (ref, hop) if self.kind(ref) is PageKind.REDIRECT and 0 < hop < self.redirect(ref).hops else None

    def next_hop(self, ref: PageRef, hop: int) -> tuple[PageRef, str]:
        """The page (its host counts) and the path that the redirect page's hop of this number leads to."""
        redirect = self.redirect(ref)
        if hop + 1 < redirect.hops:
            return ref, f"/go/{ref.page}/{hop + 1}"
        to = redirect.to or ref
        return to, self.path(to)

    def links(self, ref: PageRef) -> tuple[Link, ...]:
        """The page's links to other pages in the order it shows them, each target once."""
        ref = self.content_of(ref)
        found: dict[PageRef, bool] = dict.fromkeys(self._tree_links(ref), False)
        stream = self.draws.stream("links", *ref)
        wanted = self._link_count(stream.random())
        for _ in range(2 * wanted):
            if len(found) >= wanted:
                break
            to = self._drawn_link(ref, stream)
            found.setdefault(to, stream.random() < self.plan.nofollow_share)
        if self.plan.is_link_count_exact:
            self._fill(found, ref, wanted)
        return tuple(
            Link(to, nofollow or self.kind(to) is PageKind.UNFOLLOWED)
            for to, nofollow in found.items()
            if self.kind(to) is not PageKind.ORPHAN
        )

    def _drawn_link(self, ref: PageRef, stream: random.Random) -> PageRef:
        if self.is_strewn and stream.random() < self.plan.strewn_link_share:
            return PageRef(
                int(stream.random() * self.plan.hosts),
                int(stream.random() * self.plan.pages_per_host),
            )
        topic = self.topic(ref)
        is_related = topic > 0 and stream.random() < self.plan.topic_link_share
        if is_related and (to := self._related(topic, stream)):
            return to
        is_foreign = stream.random() < self.plan.foreign_link_share
        host = popular(stream, self.plan.hosts) if is_foreign else ref.host
        return PageRef(host, popular(stream, self.plan.pages_per_host))

    def _related(self, topic: int, stream: random.Random) -> PageRef | None:
        """A page about a topic, if a few draws find one."""
        for _ in range(_TOPIC_DRAWS):
            to = PageRef(int(stream.random() * self.plan.hosts), int(stream.random() * self.plan.pages_per_host))
            if self.topic(to) == topic:
                return to
        return None

    def _topic(self, ref: PageRef) -> int:
        """What a page is about: a number from 1, or 0 for nothing in particular, as home pages are."""
        if not self.plan.topics or ref.page == 0:
            return 0
        of_host = self.draws.number("host-topic", ref.host) % self.plan.topics + 1
        chance = self.draws.fraction("topic", *self.content_of(ref))
        if chance < _HOST_TOPIC_SHARE:
            return of_host
        other = self.draws.number("other-topic", *self.content_of(ref)) % self.plan.topics + 1
        return other if chance < _HOST_TOPIC_SHARE + _OTHER_TOPIC_SHARE else 0

    def is_navigation(self, ref: PageRef) -> bool:
        """Whether every page of its host links to it."""
        return ref.page <= _NAVIGATION_PAGES

    def _tree_links(self, ref: PageRef) -> list[PageRef]:
        host, page = ref
        links = [PageRef(host, number) for number in range(min(_NAVIGATION_PAGES + 1, self.plan.pages_per_host))]
        first_page = page * _PAGE_CHILDREN + 1
        last_page = min(first_page + _PAGE_CHILDREN, self.plan.pages_per_host)
        links += [PageRef(host, number) for number in range(first_page, last_page)]
        if page == 0:
            first_host = host * _HOST_CHILDREN + 1
            last_host = min(first_host + _HOST_CHILDREN, self.plan.hosts)
            links += [PageRef(number, 0) for number in range(first_host, last_host)]
        return links

    def _link_count(self, chance: float) -> int:
        return self.plan.min_links + int((self.plan.max_links - self.plan.min_links + 1) * chance * chance)

    def _fill(self, found: dict[PageRef, bool], ref: PageRef, wanted: int) -> None:
        """Add the pages after this one until the count is exact, or every page of the web is linked."""
        pages = self.plan.pages_per_host
        here, size = ref.host * pages + ref.page, self.plan.hosts * pages
        for step in range(size):
            if len(found) >= wanted:
                return
            host, page = divmod((here + step) % size, pages)
            found.setdefault(PageRef(host, page), False)


def plain_path(path: str) -> str:
    """The one name of a page among those that links give it: variables in order, nothing that tracks."""
    path, mark, query = path.partition("?")
    variables = sorted(variable for variable in query.split("&") if not variable.startswith(TRACKING))
    return path + mark + "&".join(variables) if query and variables else path


def _kind_limits(plan: WebPlan) -> tuple[tuple[PageKind, float], ...]:
    """The shares of the special kinds, summed up: a chance below a kind's limit and no earlier one is that kind."""
    shares = {
        PageKind.DISALLOWED: plan.disallowed_share,
        PageKind.REDIRECT: plan.redirect_share,
        PageKind.MISSING: plan.missing_share,
        PageKind.GONE: plan.gone_share,
        PageKind.BROKEN: plan.broken_share,
        PageKind.UNAVAILABLE: plan.unavailable_share,
        PageKind.THROTTLED: plan.throttled_share,
        PageKind.COPY: plan.copy_share,
        PageKind.NEAR_COPY: plan.near_copy_share,
        PageKind.UNFOLLOWED: plan.unfollowed_share,
        PageKind.ORPHAN: plan.orphan_share,
        PageKind.NOINDEX: plan.noindex_share,
    }
    limits, total = [], 0.0
    for kind, share in shares.items():
        total += share
        limits.append((kind, total))
    if total > 1:
        raise ValueError(f"the shares of special pages add up to {total:.2f}, more than all pages")
    return tuple(limits)


_SLUGS = (
    "river", "market", "winter", "engine", "garden", "letter", "museum", "signal", "harbour", "recipe",
    "planet", "violin", "bridge", "copper", "falcon", "island", "meadow", "orchard", "pepper", "window",
)  # fmt: skip
_COLOURS = ("red", "blue", "green", "grey")
