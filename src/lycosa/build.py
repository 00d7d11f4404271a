"""Settings to parts: the only file that chooses implementations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path

from lycosa.clock import Clock, steady_clock
from lycosa.crawl.discovery import Discovery, DiscoveryRules
from lycosa.crawl.restart import joined_before, machine_name, note_joined
from lycosa.crawl.session import Session, Workers
from lycosa.crawl.settlement import Kept
from lycosa.crawl.visit import Visitor
from lycosa.crawl.widening import Follow
from lycosa.crawl.worker import Worker
from lycosa.errors import SettingsError
from lycosa.fetch.curl import CurlFetcher
from lycosa.fetch.dns import Resolver
from lycosa.fetch.gate import AddressGate
from lycosa.fetch.spacing import RequestSpacing
from lycosa.frontier.redis.address import is_redis
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Links, Page, Response, Target, Visit
from lycosa.page.content import ContentRules
from lycosa.page.digest import Digester
from lycosa.page.parser import PageParser
from lycosa.policy.politeness import Pace
from lycosa.policy.priority import SEED
from lycosa.policy.region import checked
from lycosa.ports import CrawlFrontier, Dispatcher, NoWatchdog, Watchdog
from lycosa.robots.cache import RobotsCache
from lycosa.robots.parse import product_token
from lycosa.settings import Settings
from lycosa.site.judge import SiteJudge, TrapRules
from lycosa.store.folder import CrawlFolder, Lock
from lycosa.store.folder_store import FolderStore
from lycosa.store.recover import Parse
from lycosa.url.canonical import ParsedUrl, parse_seeds
from lycosa.url.domain import registered_domain
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.memo import LinkPolicy


def worker_count(settings: Settings) -> int:
    """How many worker processes a crawl has: as set, or one per core that this process may use."""
    return settings.workers or len(os.sched_getaffinity(0))


def pace_of(settings: Settings) -> Pace:
    """How politely a crawl goes."""
    return Pace(
        settings.min_delay_seconds,
        settings.max_delay_seconds,
        settings.delay_factor,
        settings.max_crawl_delay_seconds,
        settings.max_backoff_seconds,
        settings.circuit_seconds,
        settings.ip_delay_seconds,
        settings.domain_delay_seconds,
    )


def frontier_rules(settings: Settings, workers: int) -> FrontierRules:
    return FrontierRules(
        pace=pace_of(settings),
        order=settings.order,
        max_pages=settings.max_pages,
        lease_seconds=settings.lease_seconds,
        retry_pauses=settings.retry_after_seconds,
        max_active_hosts=settings.max_active_hosts,
        max_queued_per_host=settings.max_queued_per_host,
        seen=settings.seen,
        seen_capacity=settings.seen_capacity,
        seen_error=settings.seen_error,
        durability=settings.durability,
        workers=workers,
        silence_seconds=settings.silence_seconds,
        assignment=settings.assignment,
        region=settings.region and checked(settings.region),
        region_rules=settings.region_rules,
        region_by=settings.region_by,
    )


async def open_frontier(settings: Settings, folder: Path, workers: int, clock: Clock) -> CrawlFrontier:
    """The frontier that the settings name."""
    rules = frontier_rules(settings, workers)
    if has_regions(settings) and not is_redis(settings.frontier):
        raise SettingsError("region, region_rules and region_by are for several machines: frontier must be redis://…")
    # Imported here, since workers build all the rest but never a frontier.
    match settings.frontier:
        case "rocks":
            from lycosa.frontier.embedded import rocks_frontier

            return rocks_frontier(folder, rules, clock)
        case "memory":
            from lycosa.frontier.embedded import memory_frontier

            return memory_frontier(rules, clock)
        case address if is_redis(address):
            return await _join_frontier(address, rules, folder, clock)
        case kind:
            raise SettingsError(f"frontier: no such kind {kind!r} (rocks, memory, redis://…)")


async def _join_frontier(address: str, rules: FrontierRules, folder: Path, clock: Clock) -> CrawlFrontier:
    from lycosa.dedupe.rocks import RocksContentGroups
    from lycosa.frontier.redis.frontier import RedisFrontier

    groups, known_as = RocksContentGroups(folder), joined_before(address, folder)
    frontier = RedisFrontier(address, rules, name=machine_name(folder), groups=groups, clock=clock, known_as=known_as)
    try:
        await frontier.begin()
    except BaseException:
        await frontier.close()
        raise
    note_joined(address, frontier.crawl_id, folder)
    return frontier


def begin_seconds(settings: Settings) -> float:
    """Within which time a visit must begin after its lease was given, or leave it: later the host may be another's.

    Of many machines one may be taken for dead long before its leases end; half of that time is left for the
    heartbeats and for the way to the host.
    """
    longest = settings.lease_seconds
    return min(longest, settings.silence_seconds / 2) if is_redis(settings.frontier) else longest


def has_regions(settings: Settings) -> bool:
    """Whether it matters where a machine stands."""
    return bool(settings.region or settings.region_rules or settings.region_by != "rules")


async def agree(
    settings: Settings, seeds: Sequence[ParsedUrl], asked: Set[str], folder: Path
) -> tuple[Settings, list[ParsedUrl]]:
    """The settings and seeds by which all machines of a crawl go; a crawl of one machine has its own.

    `asked` are the settings that the operator named here and now, `folder` is that of the frontier.
    """
    if not is_redis(settings.frontier):
        return settings, list(seeds)
    from lycosa.frontier.redis.agreement import agree as agree_in_store

    known_as = joined_before(settings.frontier, folder)
    agreed, urls = await agree_in_store(settings, [seed.url for seed in seeds], asked, known_as)
    return agreed, parse_seeds(urls)


def seed_targets(settings: Settings, seeds: Sequence[ParsedUrl], crawl_key: bytes) -> list[Target]:
    """The seeds as targets of the first class."""
    policy = LinkPolicy.from_settings(settings, seeds, Fingerprinter(crawl_key))
    links = [policy.judge(seed) for seed in seeds]
    return [Target(link.url, link.host, link.fingerprint, priority=SEED) for link in links]


def page_parser(settings: Settings) -> PageParser:
    return PageParser(settings, product_token(settings.user_agent), ContentRules(settings.content_rules))


def digester(settings: Settings) -> Digester:
    return Digester(has_groups=settings.content_groups, summary=settings.summary, sentences=settings.summary_sentences)


def make_fetcher(settings: Settings, clock: Clock) -> CurlFetcher:
    """The one way out: names through our own resolver, every address through the gate."""
    pace = pace_of(settings)
    return CurlFetcher(
        settings,
        Resolver(settings.dns_servers, clock),
        AddressGate(settings.open_networks),
        spacing=RequestSpacing(
            domain_gap_seconds=pace.domain_gap_seconds, address_gap_seconds=pace.address_gap_seconds
        ),
        clock=clock,
    )


def make_discovery(settings: Settings, seeds: Iterable[ParsedUrl], crawl_key: bytes) -> Discovery:
    fingerprinter = Fingerprinter(crawl_key)
    rules = DiscoveryRules(
        max_depth=settings.max_depth,
        max_links_per_domain=settings.max_links_per_domain,
        order=settings.order,
        obey_nofollow=settings.obey_nofollow,
        sitemaps=settings.sitemaps,
    )
    return Discovery(LinkPolicy.from_settings(settings, seeds, fingerprinter), fingerprinter, rules)


def make_judge(settings: Settings, seeds: list[ParsedUrl], crawl_key: bytes, dispatcher: Dispatcher) -> SiteJudge:
    policy = LinkPolicy.from_settings(settings, seeds, Fingerprinter(crawl_key))
    takes_turns = settings.assignment == "balanced" or has_regions(settings)
    rules = TrapRules(is_on=settings.traps, patience=settings.patience, is_shared=takes_turns)
    return SiteJudge(dispatcher, policy, rules)


def make_worker(
    settings: Settings,
    folder: CrawlFolder,
    number: int,
    dispatcher: Dispatcher,
    crawl_key: bytes,
    on_kept: Callable[[Kept], None] | None = None,
    watchdog: Watchdog | None = None,
) -> Worker:
    """A worker with all its parts."""
    clock = steady_clock()
    fetcher = make_fetcher(settings, clock)
    seeds = folder.read_seeds()
    discovery = make_discovery(settings, seeds, crawl_key)
    judge = make_judge(settings, seeds, crawl_key, dispatcher)
    tries = len(settings.retry_after_seconds)
    robots_cache = RobotsCache(dispatcher, product_token(settings.user_agent), settings.robots_cache_seconds, tries)
    visitor = Visitor(
        fetcher,
        robots_cache,
        judge,
        page_parser(settings),
        discovery,
        digester(settings),
        dispatcher,
        clock,
        max_redirects=settings.max_redirects,
        watchdog=watchdog or NoWatchdog(),
        spaces_addresses=pace_of(settings).address_gap_seconds > 0,
    )
    store = FolderStore(folder, number, settings, clock)
    return Worker(dispatcher, visitor, judge, discovery, fetcher, store, settings.connections, clock, on_kept)


def page_reader(settings: Settings, folder: CrawlFolder) -> Parse:
    """Reads pages again exactly as visits read them, after a crash."""
    parser = page_parser(settings)
    discovery = make_discovery(settings, folder.read_seeds(), bytes(16))

    def parse(visit: Visit, response: Response) -> tuple[Page, Links]:
        page = parser.parse(response.body, response.header("content-type"), url=visit.url)
        links, _ = discovery.of_page(Target(visit.url, visit.host, b""), page)
        return page, links

    return parse


def link_follower(settings: Settings, folder: CrawlFolder, crawl_key: bytes) -> Follow:
    """Finds on pages that were stored what a visit would find on them now."""
    parser = page_parser(settings)
    discovery = make_discovery(settings, folder.read_seeds(), crawl_key)

    def follow(visit: Visit, response: Response) -> list[Target]:
        directives = [value for name, value in response.headers if name == "x-robots-tag"]
        page = parser.parse(response.body, response.header("content-type"), directives, url=visit.url)
        _, found = discovery.of_page(Target(visit.url, visit.host, b"", depth=visit.depth), page)
        return found

    return follow


class _Wiring:
    """The parts of a session, whoever visits in it."""

    worker_count = staticmethod(worker_count)
    agree = staticmethod(agree)
    open_frontier = staticmethod(open_frontier)
    begin_seconds = staticmethod(begin_seconds)
    seed_targets = staticmethod(seed_targets)
    reader = staticmethod(page_reader)
    follower = staticmethod(link_follower)


class ProcessParts(_Wiring):
    """For a session whose workers are processes of their own, forked from this module."""

    def make_workers(self, session: Session, lock: Lock) -> Workers:
        from lycosa.process.supervisor import Supervisor

        return Supervisor(session, lock, program="lycosa.build")


class LocalParts(_Wiring):
    """For a session with one worker, in this process."""

    def __init__(self, make_workers: Callable[[Session], Workers]) -> None:
        self._make_workers = make_workers

    @staticmethod
    def worker_count(settings: Settings) -> int:
        return 1

    def make_workers(self, session: Session, lock: Lock) -> Workers:
        return self._make_workers(session)


if __name__ == "__main__":
    from lycosa.process.forkserver_main import serve_forks

    # Read once for all workers: the list of suffixes takes a tenth of a second.
    registered_domain("example.org")
    serve_forks(make_worker)
