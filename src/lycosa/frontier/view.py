"""A crawl's frontier as others see it: `status`, `why`, `query`, the report and `audit`, wherever its tables are kept.

Only reads, and disturbs no crawl that writes. What cannot be read is passed over: setting it aside is the writer's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from lycosa.frontier.entries import mark_of, readable_block, target_of
from lycosa.frontier.poison import UNREADABLE, readable_history
from lycosa.frontier.records import (
    HostRecord,
    Schedule,
    State,
    block_key,
    decode_state,
    due_of,
    readable_host,
    readable_target,
    site_notes,
)
from lycosa.frontier.rules import OriginState, host_of_origin
from lycosa.frontier.tables import (
    DELAYED,
    HISTORY,
    HOSTS,
    META,
    ORDERS,
    PARKED,
    QUEUE,
    REVISITS,
    ROBOTS,
    SITES,
    WAITING,
    Reader,
)
from lycosa.model import History, Note, Reason, Target
from lycosa.orders import Obeyed
from lycosa.policy.balance import coefficient_of_variation
from lycosa.ports import Counts

# Some thousand entries: few round trips, and little to hold.
_BLOCKS_AT_ONCE = 256


class Lines(NamedTuple):
    """How many hosts wait for their turn, how many rest for long, and when the first retry and host are due."""

    waiting_hosts: int
    parked_hosts: int
    next_retry_at: float  # 0: none
    next_host_at: float


class Sum(NamedTuple):
    """A counter, and what the table it counts adds up to."""

    name: str
    says: int
    found: int


class TroubledOrigin(NamedTuple):
    """An origin that may not be asked for a while: its targets are set aside, and the rest of its host goes on."""

    host: HostRecord
    origin: str
    state: OriginState

    @property
    def reason(self) -> Reason:
        """Why it may not be asked: its code, and behind it what happened last."""
        code = Note.ROBOTS_PENDING if self.state.is_pending else Note.ORIGIN_RESTS
        return Reason(code, str(self.state.trouble))

    @property
    def next_try_at(self) -> float:
        return max(self.state.closed_until, self.host.free_at)

    @property
    def mark(self) -> str:
        """What its lanes bear."""
        return mark_of(self.origin, self.host.name)

    @property
    def queued(self) -> int:
        return sum(lane.entries for lane in self.host.lanes if lane.mark == self.mark)


class Machine(msgspec.Struct, frozen=True):
    """One of the machines that share a crawl."""

    name: str
    workers: int
    region: str
    heard_seconds_ago: float
    is_silent: bool
    waits_for: str  # empty: for nothing
    partitions: int


class Crew(msgspec.Struct, frozen=True):
    """The machines that share a crawl, and how many of its partitions none of them has."""

    machines: list[Machine]
    unowned_partitions: int

    @property
    def is_running(self) -> bool:
        """Whether any of them was heard lately."""
        return not all(machine.is_silent for machine in self.machines)


class Shares(msgspec.Struct, frozen=True):
    """How many requests each worker was chosen for, ascending; and how much too high the count of a domain may be."""

    requests: list[int]
    max_overestimate: int

    @property
    def variation(self) -> float:
        """The coefficient of variation over the workers."""
        return coefficient_of_variation(self.requests)


class ServerFigures(msgspec.Struct, frozen=True):
    """What a server says of itself that keeps a shared frontier."""

    address: str
    used_bytes: int
    max_bytes: int  # 0: no limit
    commands_per_second: float
    cpu_seconds: float
    clients: int


class Agreed(NamedTuple):
    """The settings and seeds that all machines go by; empty before the first has joined."""

    settings: dict[str, object]
    seeds: list[str]


class CrawlView:
    """The tables of a crawl: a reader for each partition, and the partition that a host is in.

    `crew`, `shares` and `agreed` are what only a crawl of many machines has; None where there is no such thing.
    """

    def __init__(
        self,
        readers: Sequence[Reader],
        partition_of: Callable[[str], int],
        *,
        crew: Crew | None = None,
        shares: Shares | None = None,
        agreed: Agreed | None = None,
        key: bytes = b"",
        servers: Callable[[], list[ServerFigures]] = list,
    ) -> None:
        self._readers = readers
        self._partition_of = partition_of
        self.crew = crew
        self.shares = shares
        self.agreed = agreed
        self.servers = servers  # how they are doing that keep the tables; none where a folder does
        self._key = key  # of all partitions; without one, it is in their table

    def close(self) -> None:
        for reader in self._readers:
            reader.close()

    # ---- the crawl as a whole

    @property
    def is_exact(self) -> bool:
        """Whether every known URL is in a table, or only in a filter."""
        return (self._meta(b"seen") or b"exact") == b"exact"

    def crawl_key(self) -> bytes:
        """The secret of the crawl's fingerprints; empty if the crawl has not begun."""
        return self._key or self._meta(b"key")

    def counts(self) -> Counts:
        states = list(self._states())
        names = Counts.__struct_fields__
        return Counts(**{name: sum(getattr(state.counts, name) for state in states) for name in names})

    def lines(self) -> Lines:
        return Lines(
            sum(sum(state.waiting) for state in self._states()),
            sum(_count(reader.rows(PARKED)) for reader in self._readers),
            self._first_due(DELAYED),
            self._first_due(PARKED),
        )

    def sums(self) -> list[Sum]:
        """Every counter that a table can be counted for."""
        counts, hosts, delayed, by_host, in_blocks = self.counts(), 0, 0, 0, 0
        for reader in self._readers:
            delayed += _count(reader.rows(DELAYED))
            in_blocks += sum(len(readable_block(raw) or ()) for _, raw in reader.rows(QUEUE))
            for name, raw in reader.rows(HOSTS):
                hosts += 1
                if record := _readable_record(name, raw):
                    by_host += record.queued
                    in_blocks -= sum(lane.gone for lane in record.lanes)
        sums = [
            Sum("queued", counts.queued, in_blocks),
            Sum("queued, over all hosts", by_host, in_blocks),
            Sum("delayed", counts.delayed, delayed),
            Sum("hosts", counts.hosts, hosts),
            Sum("resting", counts.resting, sum(_count(reader.rows(REVISITS)) for reader in self._readers)),
        ]
        if self.is_exact:
            sums.append(Sum("known", counts.known, sum(reader.count_known() for reader in self._readers)))
        return sums

    def unaccounted(self) -> int:
        """How many known URLs are neither queued nor delayed, and have no history either. By counting."""
        known = sum(reader.count_known() for reader in self._readers)
        visited = sum(_count(reader.rows(HISTORY)) for reader in self._readers)
        counts = self.counts()
        waiting = (target for targets in (self.queued(), (each for _, each in self.retries())) for target in targets)
        # One that was visited before has a history.
        marks = (target.fingerprint for target in waiting if target.fingerprint and not target.visits)
        if counts.moved_up == counts.passed_over:
            new = sum(1 for _ in marks)
        else:
            # Some stand in the queue twice, and some of those were visited.
            distinct = set(marks)
            for reader in self._readers:
                distinct.difference_update(key for key, _ in reader.rows(HISTORY))
            new = len(distinct)
        return known - counts.aliases - visited - new

    def orders(self) -> list[Obeyed]:
        """What operators wanted, as it was carried out; the oldest first, each once."""
        rows = {name: raw for reader in self._readers for name, raw in reader.rows(ORDERS)}
        return [msgspec.json.decode(raw, type=Obeyed) for _, raw in sorted(rows.items())]

    def paused(self) -> str:
        """Why an operator wants nothing begun; empty if nobody does."""
        return next((state.paused for state in self._states() if state.paused), "")

    # ---- hosts

    def host(self, name: str) -> HostRecord | None:
        return readable_host(self._get(name, HOSTS, name.encode()), name)

    def hosts(self) -> Iterator[HostRecord]:
        for reader in self._readers:
            yield from _records(reader)

    def stranded(self) -> Iterator[HostRecord]:
        """Hosts with something queued that neither wait for their turn nor rest until a time."""
        for reader in self._readers:
            lined_up = {name for table in (WAITING, PARKED) for _, name in reader.rows(table)}
            yield from (host for host in _records(reader) if host.queued and host.name.encode() not in lined_up)

    def troubled_origins(self) -> Iterator[TroubledOrigin]:
        """Origins that may not be asked for a while, or have not been asked since."""
        for host in self.hosts():
            yield from troubled_origins_of(host)

    # ---- what waits to be visited

    def queue(self, host: HostRecord, *, is_last_first: bool = False) -> Iterator[Target]:
        """What is queued for a host, in the order in which it is visited: by class, then origin by origin."""
        return _queued(self._readers[self._partition_of(host.name)], [host], is_last_first=is_last_first)

    def queued(self) -> Iterator[Target]:
        """What is queued for any host."""
        for reader in self._readers:
            yield from _queued(reader, _records(reader), is_last_first=False)

    def retries(self) -> Iterator[tuple[float, Target]]:
        """What waits to be queued again, with the moment it is due; the first due first."""
        rows = merge(*(reader.rows(DELAYED) for reader in self._readers))
        return ((due_of(key), target) for key, raw in rows if (target := readable_target(raw)))

    # ---- what is known

    def history(self, host: str, fingerprint: bytes) -> History | None:
        return readable_history(self._get(host, HISTORY, fingerprint))

    def histories(self) -> Iterator[History]:
        return (past for _, past in self.history_rows())

    def history_rows(self) -> Iterator[tuple[bytes, History]]:
        """What is known of all visited URLs, by their fingerprints."""
        rows = (row for reader in self._readers for row in reader.rows(HISTORY))
        return ((mark, past) for mark, raw in rows if (past := readable_history(raw)))

    def is_known(self, host: str, fingerprint: bytes) -> bool:
        return self._readers[self._partition_of(host)].known([fingerprint])[0]

    def robots(self, origin: str) -> bytes:
        """The robots record in force; empty if there is none."""
        return self._get(host_of_origin(origin), ROBOTS, origin.encode()) or b""

    def site(self, domain: str) -> bytes:
        """The notes on a registered domain; empty if there are none."""
        return site_notes(self._get(domain, SITES, domain.encode()))

    def schedule(self, host: str) -> Schedule | None:
        """What is known of all visits that are made again, where a host is; None if none are."""
        (raw,) = self._readers[self._partition_of(host)].get(META, [b"state"])
        return decode_state(raw).schedule if raw else None

    # ---- looking

    def _get(self, host: str, table: str, key: bytes) -> bytes | None:
        return self._readers[self._partition_of(host)].get(table, [key])[0]

    def _meta(self, key: bytes) -> bytes:
        """What all partitions say alike, if any of them was begun."""
        return next((raw for reader in self._readers if (raw := reader.get(META, [key])[0])), b"")

    def _states(self) -> Iterator[State]:
        for reader in self._readers:
            (raw,) = reader.get(META, [b"state"])
            try:
                yield decode_state(raw) if raw else State()
            except UNREADABLE:
                yield State()

    def _first_due(self, table: str) -> float:
        firsts = (next(reader.rows(table), None) for reader in self._readers)
        return min((due_of(first[0]) for first in firsts if first), default=0.0)


def open_rocks_view(folder: Path) -> CrawlView:
    """The frontier in a folder, also while a crawl writes it. Raises `SettingsError` if there is none."""
    from lycosa.frontier.rocks.reader import RocksReader

    return CrawlView([RocksReader(folder)], lambda _: 0)


def troubled_origins_of(host: HostRecord) -> list[TroubledOrigin]:
    """The origins of a host that may not be asked for a while, or have not been asked since."""
    return [TroubledOrigin(host, origin, state) for origin, state in host.origins.items() if state.closed_until]


def _records(reader: Reader) -> Iterator[HostRecord]:
    return (record for name, raw in reader.rows(HOSTS) if (record := _readable_record(name, raw)))


def _readable_record(name: bytes, raw: bytes) -> HostRecord | None:
    return readable_host(raw, name.decode(errors="replace"))


class _Block(NamedTuple):
    key: bytes
    host: str
    rank: int
    gone: int  # entries at its front that have left


def _queued(reader: Reader, hosts: Iterable[HostRecord], *, is_last_first: bool) -> Iterator[Target]:
    step = -1 if is_last_first else 1
    blocks = (block for host in hosts for block in _blocks(host, step))
    while some := list(islice(blocks, _BLOCKS_AT_ONCE)):
        for block, raw in zip(some, reader.get(QUEUE, [block.key for block in some]), strict=True):
            entries = (readable_block(raw) or [])[block.gone :]
            yield from (target for entry in entries[::step] if (target := target_of(entry, block.host, block.rank)))


def _blocks(host: HostRecord, step: int) -> Iterator[_Block]:
    for lane in host.lanes:
        for number in range(lane.first, lane.end)[::step]:
            key = block_key(host.number, lane.number, number)
            yield _Block(key, host.name, lane.rank, lane.gone if number == lane.first else 0)


def _count(rows: Iterable[object]) -> int:
    return sum(1 for _ in rows)
