"""Settings to what a session is made of: frontier, seeds, and who visits. Imports nothing that visits itself."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import NoReturn

from lycosa.clock import Clock
from lycosa.crawl.restart import joined_before, machine_name, note_joined
from lycosa.crawl.session import Session, Workers
from lycosa.crawl.widening import Follow
from lycosa.errors import SettingsError
from lycosa.fetch.gate import AddressGate
from lycosa.fetch.site_requests import with_values
from lycosa.frontier.redis.address import is_redis
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Target
from lycosa.policy.priority import SEED
from lycosa.policy.region import checked
from lycosa.ports import CrawlFrontier
from lycosa.process.forkserver import ForkserverProcess, fork_forkserver
from lycosa.settings import Settings
from lycosa.site_rules import SiteTable, proxy_of
from lycosa.store.folder import CrawlFolder, Lock
from lycosa.store.recover import Parse
from lycosa.url.canonical import SCHEMES, ParsedUrl, parse_seeds
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.memo import LinkPolicy
from lycosa.wiring.machine import raise_descriptor_limit, worker_count
from lycosa.wiring.pace import has_regions, pace_of


def frontier_rules(settings: Settings, workers: int) -> FrontierRules:
    sites = SiteTable(settings.site)
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
        is_continuous=settings.continuous,
        pages_per_second=settings.pages_per_second,
        min_revisit_seconds=settings.min_revisit_seconds,
        forget_seconds=settings.forget_seconds,
        connections_per_host=sites.named_hosts("connections"),
        delays=sites.named_hosts("delay_seconds"),
        intervals={place: every for place, said in settings.site.items() if (every := said.revisit_seconds)},
    )


async def open_frontier(settings: Settings, folder: Path, workers: int, clock: Clock) -> CrawlFrontier:
    """The frontier that the settings name."""
    rules = frontier_rules(settings, workers)
    check_requests(settings)
    if settings.hooks:
        from lycosa.hooks import load_hooks

        load_hooks(settings.hooks)
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


def check_requests(settings: Settings) -> None:
    """Raise a `SettingsError` for rules of requests that cannot be followed here: it would be told by every visit."""
    gate = AddressGate(settings.open_networks)
    for place, said in with_values(settings.site).items():
        if said.proxy and _is_closed(gate, proxy_of(said.proxy).host):
            raise SettingsError(
                f'site."{place}": proxy: its address is not public: name it in open_networks, if it is to be asked'
            )


def _is_closed(gate: AddressGate, host: str) -> bool:
    """Whether a host is an address that is closed to this crawl; of names every request finds out."""
    # Few crawls have a proxy; the resolver takes longer to import than a crawl to begin.
    from lycosa.fetch.dns import literal_address

    return bool(literal_address(host)) and not gate.permits(host)


def begin_seconds(settings: Settings) -> float:
    """Within which time a visit must begin after its lease was given, or leave it: later the host may be another's.

    Of many machines one may be taken for dead long before its leases end; half of that time is left for the
    heartbeats and for the way to the host.
    """
    longest = settings.lease_seconds
    return min(longest, settings.silence_seconds / 2) if is_redis(settings.frontier) else longest


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
    return agreed, parse_seeds(urls, SCHEMES)


def seed_targets(settings: Settings, seeds: Sequence[ParsedUrl], crawl_key: bytes) -> list[Target]:
    """The seeds as targets of the first class."""
    policy = LinkPolicy.from_settings(settings, seeds, Fingerprinter(crawl_key))
    links = [policy.judge(seed) for seed in seeds]
    return [Target(link.url, link.host, link.fingerprint, priority=SEED) for link in links]


class _Wiring:
    """The parts of a session, whoever visits in it."""

    worker_count = staticmethod(worker_count)
    agree = staticmethod(agree)
    open_frontier = staticmethod(open_frontier)
    begin_seconds = staticmethod(begin_seconds)
    seed_targets = staticmethod(seed_targets)

    # Pages are read again only where a crash, or other settings, left something to do.

    @staticmethod
    def reader(settings: Settings, folder: CrawlFolder) -> Parse:
        from lycosa.wiring.worker import page_reader

        return page_reader(settings, folder)

    @staticmethod
    def follower(settings: Settings, folder: CrawlFolder, crawl_key: bytes) -> Follow:
        from lycosa.wiring.worker import link_follower

        return link_follower(settings, folder, crawl_key)


class ProcessParts(_Wiring):
    """For a session whose workers are processes of their own."""

    def __init__(self) -> None:
        self._forked: ForkserverProcess | None = None

    def begin(self) -> None:
        """Let what workers are forked from import its parts, while the session opens its own. Before any lock."""
        self._forked = fork_forkserver(serve_workers)

    def make_workers(self, session: Session, lock: Lock) -> Workers:
        from lycosa.process.supervisor import Supervisor

        forked, self._forked = self._forked, None
        return Supervisor(session, lock, "lycosa.wiring", forked)


def serve_workers(control: socket.socket) -> NoReturn:
    """The life of the process that workers are forked from."""
    # Arrow and numpy import these with the first column of words, and so would each worker: 27 ms.
    import numpy.ma  # noqa: F401
    import pyarrow.compute  # noqa: F401

    from lycosa.dedupe.signature import signature_of
    from lycosa.process.forkserver_main import serve_forks
    from lycosa.url.domain import registered_domain
    from lycosa.wiring.worker import make_worker

    # Inherited by the workers, each of which has as many connections as that lets it.
    raise_descriptor_limit()
    # Once for all workers: the list of public suffixes, and what each character is to signatures (16 ms).
    registered_domain("example.org")
    signature_of("a text of words")
    serve_forks(control, make_worker)


class LocalParts(_Wiring):
    """For a session with one worker, in this process."""

    def __init__(self, make_workers: Callable[[Session], Workers]) -> None:
        self._make_workers = make_workers

    @staticmethod
    def worker_count(settings: Settings) -> int:
        return 1

    def make_workers(self, session: Session, lock: Lock) -> Workers:
        return self._make_workers(session)
