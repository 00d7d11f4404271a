"""Where every host is: waiting in the store, active in memory, or parked in the store until a time.

A host that has something queued is either waiting (the front queues: by rank, then arrival) or parked. At most
`max_active_hosts` of the waiting ones are active: they have the head of their queue in memory and stand in the heap
of their worker by the moment they are free. An active host keeps its waiting entry, so that a crash loses nothing.
Changes go into the caller's batch. Records are brought into memory by `load`; then everything else is said of them
without a pause, so nobody meets a host half changed.
"""

from __future__ import annotations

import math
import random
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import count

from lycosa.clock import Clock
from lycosa.frontier.assignment import Assignment
from lycosa.frontier.host import NOBODY, Host
from lycosa.frontier.records import HostRecord, State, due_key, due_of, encode_host, readable_host, waiting_key
from lycosa.frontier.rules import FIRST_RANK, RANKS, WAITING_RANK, FrontierRules, is_in_doubt
from lycosa.frontier.spacing import Spacing
from lycosa.frontier.tables import HOSTS, PARKED, POISONED, WAITING, Batch, Tables
from lycosa.model import MAX_DOUBT, Settlement
from lycosa.policy.balance import turn_of
from lycosa.policy.politeness import (
    CAUTIOUS_RUN,
    KNOWN_VISITS,
    MAX_RUN,
    delay_seconds,
    run_length,
    slowed_seconds,
    top_up_length,
)

CACHED_HOSTS = 20_000
# A host that rests longer than this leaves memory until it is due.
PARK_SECONDS = 120.0
# Visits in a row before a host makes room for a waiting one (only when all places are taken).
TURN_VISITS = 64
_FIRST_DOUBT_RANK = RANKS - MAX_DOUBT - 1
# Hosts brought in, or woken, by one call: a hundred thousand at once would keep all workers waiting.
MAX_MOVES = 1_000
# Waiting hosts looked up together.
DRAWN_TOGETHER = 64
# Hosts in memory that wait for the same address or domain. Those behind them leave it until it is nearly their turn:
# fifty thousand blogs on one server would otherwise take every place.
LINE_HOSTS = 64
MAX_LINES = 1_000
# Hosts among which a balanced worker begins with those of the domains it has had least.
MAX_COMPARED_HOSTS = 256
# In a crawl with a topic: what has a rank before one of these goes before all behind it. Classes 6, 4 and 2 end there.
TIERS = (6, 8, 10)
# And no more leases of a host are out at once: what one of them leads to may come before the others.
TOPIC_RUN = 3


class HostBatch(Batch):
    """A batch that knows which hosts it changes: however often that is, their records are written once."""

    __slots__ = ("hosts",)

    def __init__(self) -> None:
        super().__init__()
        self.hosts: dict[str, Host] = {}

    def __bool__(self) -> bool:
        return bool(self.hosts) or super().__bool__()

    def note(self, host: Host) -> None:
        """The host's record changed."""
        self.hosts[host.record.name] = host

    def put_hosts(self) -> None:
        for name, host in self.hosts.items():
            self.put(HOSTS, name.encode(), encode_host(host.record))


class HostTable:
    """All hosts of a crawl, of which only a bounded number is in memory."""

    def __init__(
        self,
        tables: Tables,
        rules: FrontierRules,
        clock: Clock,
        state: State,
        spacing: Spacing,
        assignment: Assignment,
        beside: Callable[[], Iterable[Callable[[int], bool]]] = tuple,
    ) -> None:
        self._beside = beside if rules.order == "topic" else tuple
        self._tables = tables
        self._rules = rules
        self._clock = clock
        self._state = state
        self._spacing = spacing
        self._assignment = assignment
        self._lines: dict[str, float] = {}  # the last moment that was promised to a host out of memory
        self._started_at = clock()
        self._random = random.Random(state.epoch)
        self._active: dict[str, Host] = {}
        self._resting: OrderedDict[str, Host] = OrderedDict()
        self._ready: dict[int, list[tuple[float, int, Host]]] = {worker: [] for worker in assignment.workers}
        self._ties = count(1)
        # Hosts that wait and are not active, by rank; those drawn next; and the key up to which all are drawn.
        self._idle = list(state.waiting)
        self._drawn: list[deque[tuple[bytes, str]]] = [deque() for _ in range(RANKS)]
        self._scanned = [bytes((rank,)) for rank in range(RANKS)]
        self._next_parked_at: float | None = None
        self._woken = b""  # parked entries up to here are gone
        self.poisoned = 0  # records that could not be read, since this was last asked for

    async def open(self) -> None:
        """Look when the first parked host is due."""
        if first := await self._tables.scan(PARKED, b"", 1):
            self._next_parked_at = due_of(first[0][0])

    # ---- records

    async def load(self, names: Iterable[str], batch: HostBatch) -> None:
        """Bring the records of these hosts into memory; those that are new are made known."""
        missing = [name for name in dict.fromkeys(names) if name not in self._active and name not in self._resting]
        if not missing:
            return
        found = await self._tables.get(HOSTS, [name.encode() for name in missing])
        for name, raw in zip(missing, found, strict=True):
            record = readable_host(raw, name)
            host = self._resting[name] = Host(record or self._new_record(name))
            if raw and not record:
                self.poisoned += 1
                batch.put(POISONED, b"hosts:" + name.encode(), raw)
                # Else every later run would meet it again.
                batch.note(host)
            self._catch_up(batch, host)

    def get(self, name: str) -> Host:
        """A host that is in memory."""
        if host := self._active.get(name):
            return host
        host = self._resting[name]
        self._resting.move_to_end(name)
        return host

    def trim(self) -> None:
        """Forget the records not used for longest. Only right when no batch with their changes is unwritten."""
        while len(self._resting) > CACHED_HOSTS:
            self._resting.popitem(last=False)

    def _new_record(self, name: str) -> HostRecord:
        self._state.hosts += 1
        return HostRecord(name, self._state.hosts)

    def _catch_up(self, batch: HostBatch, host: Host) -> None:
        """Account for what happened while the record was only in the store."""
        record = host.record
        if record.leased_epoch and record.leased_epoch != self._state.epoch:
            # Whoever gave that lease died with a request to this host under way: count it as sent at our start.
            record.free_at = max(record.free_at, self._started_at + record.delay_seconds)
            record.leased_epoch = 0
            batch.note(host)
        # The machine's clock may have been set back since: no pause is longer than it was meant to be.
        record.free_at = min(record.free_at, self._clock() + record.delay_seconds)

    # ---- moves between waiting, active and parked

    def go_on(self, batch: HostBatch, host: Host, now: float) -> None:
        """What a host without a lease does next: leave, rest in the store, wait, make room, or stand ready."""
        record = host.record
        # It may have stood there for more of a run, as free as it was then.
        host.standing = 0
        if record.queued == 0:
            self._leave_waiting(batch, host)
            self._deactivate(host)
        elif record.free_at - now > PARK_SECONDS:
            self.park(batch, host, record.free_at)
        else:
            if self._should_make_room(host):
                self._leave_waiting(batch, host)
                self._deactivate(host)
            self.wait(batch, host)
            self.stand_ready(host)
        batch.note(host)

    def _should_make_room(self, host: Host) -> bool:
        return host.turn >= TURN_VISITS and self._is_full() and any(self._idle)

    def hold_back(self, batch: HostBatch, host: Host) -> None:
        """All that is left here waits until others have had their turn: make room, and wait for that."""
        self._leave_waiting(batch, host)
        self._deactivate(host)
        self.wait(batch, host)
        batch.note(host)

    def is_dry(self, now: float) -> bool:
        """Whether nothing is left but what waits for just that, and hosts in trouble."""
        if any(self._idle[:WAITING_RANK]) or self._state.parked_at_ease:
            return False
        if any(has_before(WAITING_RANK) for has_before in self._beside()):
            return False
        if not any(self._state.waiting[:WAITING_RANK]):
            return True  # known without a look at each: there may be ten thousand
        return all(host.rank == WAITING_RANK or host.is_in_trouble(now) for host in self._active.values())

    def wait(self, batch: HostBatch, host: Host) -> None:
        """Stand among the waiting hosts, in the rank of the best that is queued here. A parked host stays parked."""
        record = host.record
        if record.parked or (record.waiting and record.waiting[0] == host.rank):
            return
        self._leave_waiting(batch, host)
        self._state.serial += 1
        record.waiting = waiting_key(host.rank, self._state.serial)
        batch.put(WAITING, record.waiting, record.name.encode())
        self._state.waiting[host.rank] += 1
        if not host.is_active:
            self._idle[host.rank] += 1

    def park(self, batch: HostBatch, host: Host, until: float) -> None:
        """Rest in the store until a time."""
        self._leave_waiting(batch, host)
        self._deactivate(host)
        record, is_in_trouble = host.record, host.is_in_trouble(self._clock())
        due = max(record.free_at, until)
        record.parked = due_key(due, record.number, 4) + bytes((is_in_trouble,))
        batch.put(PARKED, record.parked, record.name.encode())
        self._state.parked_at_ease += not is_in_trouble
        self._next_parked_at = due if self._next_parked_at is None else min(due, self._next_parked_at)
        batch.note(host)

    def unpark(self, batch: HostBatch, host: Host, now: float) -> None:
        """There is a reason to go on before the time came, or it came."""
        if host.record.parked:
            batch.delete(PARKED, host.record.parked)
            self._state.parked_at_ease -= not host.record.parked[-1]
            host.record.parked = b""
            self.go_on(batch, host, now)

    async def wake(self, batch: HostBatch, now: float) -> None:
        """Bring back parked hosts that are due."""
        if self._next_parked_at is None or self._next_parked_at > now:
            return
        rows = await self._tables.scan(PARKED, self._woken, MAX_MOVES + 1)
        due = [(key, name.decode()) for key, name in rows[:MAX_MOVES] if due_of(key) <= now]
        self._next_parked_at = due_of(rows[len(due)][0]) if len(rows) > len(due) else None
        await self.load([name for _, name in due], batch)
        for key, name in due:
            self._woken = key
            host = self.get(name)
            if host.record.parked == key:
                self.unpark(batch, host, now)
            else:
                # Of a record that was lost.
                batch.delete(PARKED, key)
                self._state.parked_at_ease -= not key[-1]

    @property
    def open_ranks(self) -> int:
        """Before which rank hosts are visited at present; what waits until nothing else is left has its own rule.

        In a crawl with a topic hosts with little promise wait for those with more: else each would be visited at its
        own pace, whatever is to be found there.
        """
        if self._rules.order == "topic":
            return next((end for end in TIERS if self._is_before(end)), WAITING_RANK)
        return WAITING_RANK

    def has_before(self, end: int) -> bool:
        """Whether some host waits, or is active and in no trouble, with a better rank than this."""
        if not any(self._state.waiting[:end]):
            return False
        now = self._clock()
        return any(self._idle[:end]) or any(
            host.rank < end and not host.is_in_trouble(now) for host in self._active.values()
        )

    def _is_before(self, end: int) -> bool:
        """The same of all that this machine has."""
        return self.has_before(end) or any(has_before(end) for has_before in self._beside())

    async def activate(self, batch: HostBatch, now: float, *, only_first: bool = False) -> None:
        """Fill the free places with waiting hosts, drawn by rank: high classes first, none starves.

        `only_first`: those that have something of the first rank, since nothing else may be leased.
        """
        # What is activated does not change this: it is either not dry already, or of what waits for that.
        is_dry = self._idle[WAITING_RANK] > 0 and self.is_dry(now)
        last = FIRST_RANK + 1 if only_first else self.open_ranks
        for _ in range(MAX_MOVES):
            can_start = any(self._idle[:last]) or (is_dry and not only_first and self._idle[WAITING_RANK])
            if self._is_full() or not can_start:
                return
            if not (host := await self._draw(batch, last)):
                continue
            self._idle[host.record.waiting[0]] -= 1
            self._resting.pop(host.record.name)
            self._active[host.record.name] = host
            host.activate()
            if host.record.free_at - now > PARK_SECONDS:
                self.park(batch, host, host.record.free_at)
            else:
                self.stand_ready(host)

    async def _draw(self, batch: HostBatch, last: int) -> Host | None:
        """The first waiting host of a rank that is drawn by weight; None if what was found does not wait any more."""
        ranks = [rank for rank, hosts in enumerate(self._idle[:last]) if hosts] or [WAITING_RANK]
        rank = self._random.choices(ranks, [_weight(rank) for rank in ranks])[0] if len(ranks) > 1 else ranks[0]
        drawn = self._drawn[rank]
        if not drawn:
            # Entries are added behind all others, and one that leaves the active hosts is added anew: none is passed
            # over. What this call itself added is written by now (see `Scheduler.take`).
            rows = await self._tables.scan(WAITING, self._scanned[rank], DRAWN_TOGETHER)
            drawn.extend((key, name.decode()) for key, name in rows if key[0] == rank)
            if not drawn:
                # Only a table that somebody spoilt has fewer than were counted.
                self._idle[rank] = 0
                return None
            self._scanned[rank] = drawn[-1][0]
        await self.load([name for _, name in drawn], batch)
        key, name = drawn.popleft()
        host = self.get(name)
        return host if host.record.waiting == key and not host.is_active else None

    def _can_start(self, now: float, *, only_first: bool) -> bool:
        """Whether some host that waits may become active."""
        if only_first:
            return self._idle[FIRST_RANK] > 0
        return any(self._idle[: self.open_ranks]) or (self._idle[WAITING_RANK] > 0 and self.is_dry(now))

    def _leave_waiting(self, batch: HostBatch, host: Host) -> None:
        if host.record.waiting:
            batch.delete(WAITING, host.record.waiting)
            self._state.waiting[host.record.waiting[0]] -= 1
            if not host.is_active:
                self._idle[host.record.waiting[0]] -= 1
            host.record.waiting = b""

    def _deactivate(self, host: Host) -> None:
        if self._active.pop(host.record.name, None) is not None:
            host.deactivate()
            self._resting[host.record.name] = host

    def _is_full(self) -> bool:
        return len(self._active) >= self._rules.max_active_hosts

    # ---- ready hosts

    def stand_ready(self, host: Host, at: float = 0.0) -> None:
        """Stand in the heap of a worker, if nobody is at it; not before a time."""
        if not host.leased:
            self._stand(host, at)

    def top_up(self, batch: HostBatch, host: Host) -> None:
        """A host of which leases are out stands ready for more, where it keeps no pause and few are left."""
        # Anew: what ended may have brought a pause, or something better.
        host.standing = 0
        length = self.run_length(host)
        few = length - top_up_length(length)
        has_more = len(host.leased) < host.record.queued and not self._should_make_room(host)
        if has_more and len(host.leased) <= few and self.may_follow_at_once(host):
            self._stand(host)
        batch.note(host)

    def run_length(self, host: Host) -> int:
        """How many leases of a host may be out."""
        record = host.record
        if self._rules.is_lending or record.failures:
            # Whose turn it is, or how the host does, is asked after every visit.
            return 1
        connections = self._rules.connections_per_host.get(record.name, 1)
        # Where the newest comes first, what a page leads to is before all that was found earlier.
        pause = math.inf if self._rules.order == "depth" else self._pause_of(host)
        is_sound = record.visits >= KNOWN_VISITS and bool(record.lanes) and not is_in_doubt(record.lanes[0].rank)
        most = MAX_RUN if is_sound else CAUTIOUS_RUN
        length = run_length(pause, record.fetch_seconds, record.unsent, connections, most)
        # Where the most relevant does, it may be.
        return min(length, TOPIC_RUN) if self._rules.order == "topic" else length

    def may_follow_at_once(self, host: Host) -> bool:
        """Whether a host keeps no pause after a visit that ends well."""
        return not host.record.failures and not self._pause_of(host)

    def _pause_of(self, host: Host) -> float:
        record = host.record
        pace = self._rules.pace_of(record.name)
        delay = delay_seconds(pace, record.fetch_seconds, record.asked_delay_seconds)
        return slowed_seconds(pace, delay, record.slowdown)

    def _stand(self, host: Host, at: float = 0.0) -> None:
        if host.is_active and not host.is_ready:
            self._assignment.choose(host, lambda worker: len(self._ready[worker]))
            self._push(host.owner, max(host.record.free_at, at), host)

    def _push(self, worker: int, due: float, host: Host) -> None:
        host.standing = next(self._ties)
        heappush(self._ready[worker], (due, host.standing, host))

    def asked(self, host: Host, worker: int, settlement: Settlement | None = None) -> None:
        """A request went out: who has the next one may be chosen anew."""
        self._assignment.asked(host, worker, settlement)

    def reassign(self, home: Sequence[int], region_of: Mapping[int, str]) -> None:
        """Other workers are there from now on: whoever has no worker any more is given another."""
        standing = [entry for heap in self._ready.values() for entry in heap if _is_valid(entry)]
        self._assignment.change(home, region_of)
        self._ready = {worker: [] for worker in self._assignment.workers}
        for host in self._active.values():
            host.owner = NOBODY
        for due, tie, host in standing:
            self._assignment.choose(host, lambda worker: len(self._ready[worker]))
            self._ready[host.owner].append((due, tie, host))
        for heap in self._ready.values():
            heapify(heap)

    def _due(self, worker: int, now: float) -> Iterator[Host]:
        """Hosts whose moment has come, each once. A balanced worker begins with the domains it has had least."""
        ready = self._ready.get(worker, [])
        if not self._assignment.takes_turns:
            while ready and ready[0][0] <= now:
                if _is_valid(entry := heappop(ready)):
                    yield entry[2]
            return
        due: list[tuple[float, int, Host]] = []
        while ready and ready[0][0] <= now and len(due) < MAX_COMPARED_HOSTS:
            if _is_valid(entry := heappop(ready)):
                due.append(entry)
        due.sort(key=lambda entry: -turn_of(entry[0], entry[2].times))
        try:
            while due:
                yield due.pop()[2]
        finally:
            for entry in due:
                heappush(ready, entry)

    def next_ready(self, worker: int, now: float, limit: int) -> list[Host]:
        """Hosts that are likely among the next `limit` of this worker: so that what they need can be read at once."""
        # A host of which visits end one by one stands there several times, and once only by right.
        return [entry[2] for entry in self._ready.get(worker, [])[:limit] if entry[0] <= now and _is_valid(entry)]

    def ready(self, batch: HostBatch, worker: int, now: float) -> Iterator[Host]:
        """Hosts of this worker that may be asked, by the moment since when; each stands ready no more."""
        waiting = Counter[str]()
        for host in self._due(worker, now):
            host.standing = 0
            if host.leased and host.worker != worker:
                # Somebody else is at it, who was its worker before: it stands ready again when that one is through.
                continue
            due = self._spacing.free_at(host.domain, host.record.address)
            if due <= now:
                yield host
                continue
            name = host.record.address or host.domain
            waiting[name] += 1
            if waiting[name] <= LINE_HOSTS:
                self._push(worker, due, host)
            else:
                self.park(batch, host, self._end_of_line(name, now))

    def _end_of_line(self, name: str, now: float) -> float:
        gap = self._spacing.shortest_gap
        if len(self._lines) > MAX_LINES:
            self._lines = {line: until for line, until in self._lines.items() if until > now}
        self._lines[name] = until = max(self._lines.get(name, 0.0), now + gap * LINE_HOSTS / 2) + gap
        return until

    def next_at(self, worker: int | None = None, *, only_first: bool = False) -> float | None:
        """When a host of this worker (None: of any) may be ready without further news; not later than the truth."""
        if not self._is_full() and self._can_start(self._clock(), only_first=only_first):
            return self._clock()
        heaps = self._ready.values() if worker is None else [self._ready.get(worker, [])]
        moments = [heap[0][0] for heap in heaps if heap]
        if self._next_parked_at is not None:
            moments.append(self._next_parked_at)
        return min(moments, default=None)

    def are_all_in_trouble(self, *, only_first: bool = False) -> bool:
        """Whether every host that has something queued rests because of failures or an unreadable robots.txt.

        `only_first`: every one that has something of the first rank. Whoever rests for long counts as in trouble then.
        """
        now = self._clock()
        if only_first:
            first = [host for host in self._active.values() if host.rank == FIRST_RANK]
            return not self._idle[FIRST_RANK] and all(host.is_in_trouble(now) for host in first)
        if any(self._idle) or self._state.parked_at_ease:
            return False
        return all(host.is_in_trouble(now) for host in self._active.values())


def _is_valid(entry: tuple[float, int, Host]) -> bool:
    return entry[2].standing == entry[1]


def _weight(rank: int) -> int:
    """How often a rank is drawn beside others; all that is in doubt as seldom as can be."""
    return max(_FIRST_DOUBT_RANK + 1 - rank, 1) ** 2
