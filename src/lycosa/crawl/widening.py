"""A crawl that goes on with wider settings: what they were too narrow for before is taken in.

Links that led out of the crawl are in its tables: of the pages that have such links, those that the new settings let
in are followed as if the page had just been read. Redirects, sitemaps and refusals are known to the frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from lycosa.crawl.restart import settings_before
from lycosa.frontier.rules import is_sitemap
from lycosa.model import Failure, History, OutcomeKind, Refusal, Response, Target, Visit
from lycosa.settings import Settings
from lycosa.site_rules import SiteRules, SiteTable, ignores_robots
from lycosa.store.files import replace_file
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect, visits_among
from lycosa.store.record import RecordLost, read_visit
from lycosa.url.canonical import FETCHED, SCHEMES, ParsedUrl, parse, parse_seeds
from lycosa.url.domain import registered_domain
from lycosa.url.scope import Scope

# Beside the frontier: how far the links were followed that it knows.
REACH = "reach"
LINKS_AT_ONCE = 10_000
_REMEMBERED_VERDICTS = 100_000
# Refusals that no judgement of a site has a part in.
_NOT_OF_SITES = {
    *(Refusal.ROBOTS, Refusal.ROBOTS_UNREACHABLE, Refusal.NAME, Refusal.ADDRESS, Refusal.SCHEME, Refusal.ROOTS),
}

# The targets on a page that was stored before, as a visit would find them now.
Follow = Callable[[Visit, Response], list[Target]]


class Reach(msgspec.Struct, frozen=True):
    """How far a crawl goes: the settings, and the seeds, that decide which URLs it takes in."""

    scope: str
    include: list[str]
    exclude: list[str]
    max_depth: int
    traps: bool
    patience: int
    open_networks: list[str]
    seeds: list[str]
    site: dict[str, SiteRules] = {}  # what these say of that
    requisites: bool = False
    schemes: list[str] = msgspec.field(default_factory=lambda: ["http", "https"])

    @classmethod
    def of(cls, settings: Settings, seeds: Sequence[ParsedUrl]) -> Reach:
        chosen = {name: getattr(settings, name) for name in cls.__struct_fields__ if name not in ("seeds", "site")}
        site = {place: said for place, rules in settings.site.items() if (said := _extent_in(rules)) != SiteRules()}
        return cls(**chosen, seeds=sorted(seed.url for seed in seeds), site=site)

    def changes_to(self, other: Reach) -> str:
        """What another reach has else, in words; empty if nothing."""
        if self.scope == other.scope == "any":
            # Links to a seed were followed before it was one.
            other = msgspec.structs.replace(other, seeds=self.seeds)
        pairs = ((name, getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)
        return ", ".join(
            f"{len(new)} seeds instead of {len(old)}"
            if name == "seeds"
            else "other rules of sites"
            if name == "site"
            else f"{name} {new} instead of {old}"
            for name, old, new in pairs
            if old != new
        )

    def extent(self) -> Callable[[str], bool]:
        """Whether a URL belongs to the crawl by scope and patterns."""
        reach: Any = self.scope
        sites = SiteTable(self.site)
        scope = Scope(parse_seeds(self.seeds, SCHEMES), reach, include=self.include, exclude=self.exclude, sites=sites)

        @lru_cache(_REMEMBERED_VERDICTS)
        def is_in(url: str) -> bool:
            parsed = parse(url, limits=FETCHED)
            if not isinstance(parsed, ParsedUrl):
                return False
            verdict = scope.verdict(parsed.url, parsed.host, registered_domain(parsed.host))
            return verdict is verdict.IN_SCOPE

        return is_in


def _extent_in(rules: SiteRules) -> SiteRules:
    """What rules of a site say of how far a crawl goes there."""
    return SiteRules(
        scope=rules.scope,
        include=rules.include,
        exclude=rules.exclude,
        robots=rules.robots,
        requisites=rules.requisites,
    )


def reach_before(folder: CrawlFolder) -> Reach | None:
    """How far the crawl in a folder went so far; None if there is none. To be asked before new settings are written."""
    try:
        return msgspec.json.decode((folder.frontier / REACH).read_bytes(), type=Reach)
    except (FileNotFoundError, msgspec.MsgspecError):
        kept = settings_before(folder)
    seeds = folder.read_seeds()
    return Reach.of(kept, seeds) if kept and seeds and folder.has_pages() else None


def note_reach(folder: CrawlFolder, reach: Reach) -> None:
    """All that is known is followed this far."""
    replace_file(folder.frontier / REACH, msgspec.json.encode(reach).decode(), folder.home)


class Widening:
    """From one reach to another. `lost` counts pages whose records are gone, so that nobody knows their links."""

    def __init__(self, folder: CrawlFolder, old: Reach, new: Reach) -> None:
        self._folder = folder
        self._old = old
        self._new = new
        self._was_in, self._is_in = old.extent(), new.extent()
        self.lost = 0

    def is_taken_in(self, url: str) -> bool:
        """Whether a URL is part of the crawl now and was not before."""
        return self._is_in(url) and not self._was_in(url)

    def targets(self, follow: Follow, rest: Callable[[], None]) -> Iterator[list[Target]]:
        """What the pages that were stored lead to now, of all that have links which were not followed."""
        with connect(self._folder) as tables:
            tables.execute("SELECT source, target FROM links")
            sources: set[int] = set()
            while some := tables.fetchmany(LINKS_AT_ONCE):
                rest()
                sources.update(hash(source) for source, target in some if self.is_taken_in(target))
        depths, shows_more = range(self._old.max_depth, self._new.max_depth), self._shows_more
        is_wanted = lambda url, depth: shows_more or depth in depths or hash(url) in sources  # noqa: E731
        for visit in visits_among(self._folder, is_wanted):
            rest()
            try:
                response = read_visit(self._folder, visit)
            except RecordLost:
                self.lost += 1
                continue
            if found := follow(visit, response):
                yield found

    def is_asked_again(self, past: History) -> bool:
        """Whether a visit may end otherwise now: redirects, sitemaps, and what was refused by a setting."""
        match past.outcome:
            case OutcomeKind.MOVED:
                return self.is_taken_in(past.detail)
            case OutcomeKind.READ:
                return is_sitemap(past) and self._has_other_extent
            case OutcomeKind.REFUSED if past.reason == Refusal.SCHEME:
                return past.url.partition(":")[0] in set(self._new.schemes) - set(self._old.schemes)
            case OutcomeKind.REFUSED:
                return past.reason in self._lifted
            case OutcomeKind.FAILED:
                return past.reason == Failure.ADDRESS and self._has_opened
            case _:
                return False

    @property
    def _shows_more(self) -> bool:
        """Whether requisites are wanted that were not: any page may have some."""
        if self._new.requisites:
            return not self._old.requisites
        was = {place for place, said in self._old.site.items() if said.requisites}
        return any(said.requisites and place not in was for place, said in self._new.site.items())

    @property
    def _has_other_extent(self) -> bool:
        names = ("scope", "include", "exclude", "seeds", "site")
        return any(getattr(self._old, name) != getattr(self._new, name) for name in names)

    @property
    def _lifted(self) -> set[Refusal]:
        """The refusals that the new settings may not repeat."""
        lifted: set[Refusal] = set(Refusal) - _NOT_OF_SITES if self._old.traps and not self._new.traps else set()
        if ignores_robots(self._new.site) - ignores_robots(self._old.site):
            lifted |= {Refusal.ROBOTS, Refusal.ROBOTS_UNREACHABLE}
        return lifted | {Refusal.ADDRESS} if self._has_opened else lifted

    @property
    def _has_opened(self) -> bool:
        """Whether there is a network that was closed before."""
        return not set(self._new.open_networks) <= set(self._old.open_networks)
