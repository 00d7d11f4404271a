"""Settings to parts: the only file that chooses implementations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path
from socket import gethostname

import msgspec

from lycosa.clock import Clock, steady_clock
from lycosa.crawl.discovery import Discovery, DiscoveryRules
from lycosa.crawl.settlement import Kept
from lycosa.crawl.visit import Visitor
from lycosa.crawl.worker import Worker
from lycosa.errors import FolderInUse, SettingsError
from lycosa.fetch.curl import CurlFetcher
from lycosa.fetch.dns import Resolver
from lycosa.fetch.gate import AddressGate
from lycosa.fetch.spacing import RequestSpacing
from lycosa.frontier.redis.address import has_password, is_redis, redacted
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
from lycosa.settings import Settings, as_toml, common
from lycosa.site.judge import SiteJudge, TrapRules
from lycosa.store.files import replace_file
from lycosa.store.folder import CrawlFolder, Lock, take_seat
from lycosa.store.folder_store import FolderStore
from lycosa.store.recover import Recovery, recover
from lycosa.url.canonical import ParsedUrl, UrlLimits, parse_seed
from lycosa.url.domain import registered_domain
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.memo import KnownLink, LinkPolicy
from lycosa.url.rules import CanonicalRules
from lycosa.url.scope import Scope

# Beside the content groups: which crawl of a shared frontier this folder has taken part in.
JOINED = "joined"


def worker_count(settings: Settings) -> int:
    """How many worker processes a crawl has: as set, or one per core that this process may use."""
    return settings.workers or len(os.sched_getaffinity(0))


def parse_seeds(texts: Iterable[str]) -> list[ParsedUrl]:
    """Seeds as URLs; a text that is none is the operator's to mend."""
    seeds = []
    for text in texts:
        parsed = parse_seed(text)
        if not isinstance(parsed, ParsedUrl):
            raise SettingsError(f"seed {text!r}: {parsed.value}")
        seeds.append(parsed)
    return seeds


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
    if has_regions(settings) and not is_shared(settings.frontier):
        raise SettingsError("region, region_rules and region_by are for several machines: frontier must be redis://…")
    # Imported here, since workers build all the rest but never a frontier.
    match settings.frontier:
        case "rocks":
            from lycosa.frontier.embedded import rocks_frontier

            return rocks_frontier(folder, rules, clock)
        case "memory":
            from lycosa.frontier.embedded import memory_frontier

            return memory_frontier(rules, clock)
        case address if is_shared(address):
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
    replace_file(folder / JOINED, f"{place_of(address)} {frontier.crawl_id}\n", folder)
    return frontier


def machine_name(folder: Path) -> str:
    """Whoever has locked this folder on this machine is the only one of this name."""
    return f"{gethostname()}:{folder.resolve()}"


def joined_before(address: str, folder: Path) -> str:
    """The id of the crawl at this address, if it was crawled from this folder before; else empty."""
    path = folder / JOINED
    place, _, crawl = path.read_text(encoding="utf-8").strip().rpartition(" ") if path.exists() else ("", "", "")
    return crawl if place == place_of(address) else ""


def place_of(address: str) -> str:
    """Where a shared frontier is, without anything that does not tell it from others."""
    from lycosa.frontier.redis.address import parse_address

    return str(parse_address(address))


def begin_seconds(settings: Settings) -> float:
    """Within which time a visit must begin after its lease was given, or leave it: later the host may be another's.

    Of many machines one may be taken for dead long before its leases end; half of that time is left for the
    heartbeats and for the way to the host.
    """
    longest = settings.lease_seconds
    return min(longest, settings.silence_seconds / 2) if is_shared(settings.frontier) else longest


def is_shared(frontier: str) -> bool:
    """Whether several machines may crawl together with this frontier."""
    return is_redis(frontier)


def has_regions(settings: Settings) -> bool:
    """Whether it matters where a machine stands."""
    return bool(settings.region or settings.region_rules or settings.region_by != "rules")


async def agree(
    settings: Settings, seeds: Sequence[ParsedUrl], asked: Set[str], folder: Path
) -> tuple[Settings, list[ParsedUrl]]:
    """The settings and seeds by which all machines of a crawl go; a crawl of one machine has its own.

    `asked` are the settings that the operator named here and now, `folder` is that of the frontier.
    """
    if not is_shared(settings.frontier):
        return settings, list(seeds)
    from lycosa.frontier.redis.agreement import agree as agree_in_store

    known_as = joined_before(settings.frontier, folder)
    agreed, urls = await agree_in_store(settings, [seed.url for seed in seeds], asked, known_as)
    return agreed, parse_seeds(urls)


def link_policy(settings: Settings, seeds: Iterable[ParsedUrl], fingerprinter: Fingerprinter) -> LinkPolicy:
    """How links are decided in this crawl."""
    scope = Scope(seeds, settings.scope, include=settings.include, exclude=settings.exclude)
    limits = UrlLimits(max_length=settings.max_url_length, max_path_depth=settings.max_path_depth)
    return LinkPolicy(scope, fingerprinter, rules=CanonicalRules.from_names(settings.url_rules), limits=limits)


def seed_targets(settings: Settings, seeds: list[ParsedUrl], crawl_key: bytes) -> list[Target]:
    """The seeds as targets of the first class."""
    policy = link_policy(settings, seeds, Fingerprinter(crawl_key))
    links = [policy.judge(seed) for seed in seeds]
    return [seed_target(link) for link in links]


def seed_target(link: KnownLink) -> Target:
    return Target(link.url, link.host, link.fingerprint, priority=SEED)


def page_parser(settings: Settings) -> PageParser:
    return PageParser(settings, product_token(settings.user_agent), ContentRules(settings.content_rules))


def digester(settings: Settings) -> Digester:
    return Digester(has_groups=settings.content_groups, summary=settings.summary, sentences=settings.summary_sentences)


def make_fetcher(settings: Settings, clock: Clock) -> CurlFetcher:
    """The one way out: names through our own resolver, every address through the gate."""
    return CurlFetcher(
        settings,
        Resolver(settings.dns_servers, clock),
        AddressGate(settings.open_networks),
        turns=RequestSpacing(pace_of(settings)),
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
    return Discovery(link_policy(settings, seeds, fingerprinter), fingerprinter, rules)


def make_judge(settings: Settings, seeds: list[ParsedUrl], crawl_key: bytes, dispatch: Dispatcher) -> SiteJudge:
    policy = link_policy(settings, seeds, Fingerprinter(crawl_key))
    takes_turns = settings.assignment == "balanced" or has_regions(settings)
    rules = TrapRules(is_on=settings.traps, domain_pages=settings.domain_pages, is_shared=takes_turns)
    return SiteJudge(dispatch, policy, {registered_domain(seed.host) for seed in seeds}, rules)


def make_worker(
    settings: Settings,
    folder: CrawlFolder,
    number: int,
    dispatch: Dispatcher,
    crawl_key: bytes,
    on_kept: Callable[[Kept], None] | None = None,
    watchdog: Watchdog | None = None,
) -> Worker:
    """A worker with all its parts."""
    clock = steady_clock()
    fetcher = make_fetcher(settings, clock)
    seeds = read_seeds(folder)
    discovery = make_discovery(settings, seeds, crawl_key)
    judge = make_judge(settings, seeds, crawl_key, dispatch)
    tries = len(settings.retry_after_seconds)
    robots_cache = RobotsCache(dispatch, product_token(settings.user_agent), settings.robots_cache_seconds, tries)
    visitor = Visitor(
        fetcher,
        robots_cache,
        judge,
        page_parser(settings),
        discovery,
        digester(settings),
        dispatch,
        clock,
        max_redirects=settings.max_redirects,
        watchdog=watchdog or NoWatchdog(),
        spaces_addresses=pace_of(settings).address_gap_seconds > 0,
    )
    store = FolderStore(folder, number, settings, clock)
    return Worker(dispatch, visitor, judge, discovery, fetcher, store, settings.connections, clock, on_kept)


def recover_folder(settings: Settings, folder: CrawlFolder, worker: int | None = None) -> Recovery:
    """Put in order what a crash left behind, reading pages again exactly as visits read them."""
    parser = page_parser(settings)
    discovery = make_discovery(settings, read_seeds(folder), bytes(16))

    def parse(visit: Visit, response: Response) -> tuple[Page, Links]:
        page = parser.parse(response.body, response.header("content-type"), url=visit.url)
        links, _ = discovery.of_page(Target(visit.url, visit.host, b""), page)
        return page, links

    return recover(folder, settings, parse, worker=worker)


def recover_siblings(settings: Settings, folder: CrawlFolder) -> None:
    """Put in order what commands of this machine left behind that were not started again."""
    for sibling in folder.siblings():
        try:
            lock = sibling.lock(patience_seconds=0)
        except FolderInUse:
            continue  # it is at work
        with lock:
            recover_folder(settings, sibling)


def hold_folder(folder: CrawlFolder, settings: Settings) -> tuple[CrawlFolder, Lock]:
    """The folder of a crawl, made and held against others; where machines crawl together, a seat in it."""
    if is_shared(settings.frontier):
        return take_seat(folder, settings.machine or gethostname())
    folder.create()
    return folder, folder.lock()


def write_settings(folder: CrawlFolder, settings: Settings) -> None:
    """Keep the settings in force for the next start; in a folder of several machines, those that all share too."""
    _write_settings(folder.own_settings, settings, folder.home)
    if folder.seat:
        shown = common(settings)
        if folder.away:
            # On its way to a store that others may read.
            shown = msgspec.structs.replace(shown, frontier=redacted(shown.frontier))
        _write_settings(folder.settings, shown, folder.home)


def _write_settings(path: Path, settings: Settings, beside: Path) -> None:
    """A password is nobody's but the owner's of the crawl."""
    replace_file(path, as_toml(settings), beside, is_private=has_password(settings.frontier))


def write_seeds(folder: CrawlFolder, seeds: Iterable[ParsedUrl]) -> None:
    """Add seeds to those the folder knows: they make the scope of the crawl, also after a restart."""
    known = [seed.url for seed in read_seeds(folder)]
    urls = dict.fromkeys(known + [seed.url for seed in seeds])
    replace_file(folder.seeds, "".join(f"{url}\n" for url in urls), folder.home)


def read_seeds(folder: CrawlFolder) -> list[ParsedUrl]:
    """The seeds of a crawl's folder."""
    if not folder.seeds.exists():
        return []
    return parse_seeds(folder.seeds.read_text(encoding="utf-8").splitlines())
