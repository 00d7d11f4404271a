"""Where every host is: waiting on disk, active in memory, or parked on disk until a time.

A host that has something queued is either waiting (the front queues: by rank, then arrival) or parked. At most
`max_active_hosts` of the waiting ones are active: they have the head of their queue in memory and stand in the heap
of their worker by the moment they are free. An active host keeps its waiting entry, so that a crash loses nothing.
Changes go into the caller's batch; records stay in memory at least until that batch is written.
"""

from __future__ import annotations

import random
from collections import Counter, OrderedDict
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

from lycosa.clock import Clock
from lycosa.frontier import tables as t
from lycosa.frontier.host import Host
from lycosa.frontier.rules import RANKS, FrontierRules
from lycosa.frontier.spacing import Spacing
from lycosa.policy.balance import Balance, turn_of
from lycosa.policy.ring import Ring

CACHED_HOSTS = 20_000
# A host that rests longer than this leaves memory until it is due.
PARK_SECONDS = 120.0
# Visits in a row before a host makes room for a waiting one (only when all places are taken).
TURN_VISITS = 64
# Hosts brought in, or woken, by one call: a hundred thousand at once would keep all workers waiting.
MAX_MOVES = 1_000
# Hosts in memory that wait for the same address or domain. Those behind them leave it until it is nearly their turn:
# fifty thousand blogs on one server would otherwise take every place.
LINE_HOSTS = 64
MAX_LINES = 1_000
# Hosts among which a balanced worker begins with those of the domains it has had least.
MAX_COMPARED_HOSTS = 256


class HostTable:
    """All hosts of a crawl, of which only a bounded number is in memory."""

    def __init__(self, tables: t.Tables, rules: FrontierRules, clock: Clock, epoch: int, spacing: Spacing) -> None:
        self._tables = tables
        self._rules = rules
        self._clock = clock
        self._epoch = epoch
        self._spacing = spacing
        self._lines: dict[str, float] = {}  # the last moment that was promised to a host out of memory
        self._started_at = clock()
        workers = range(max(1, rules.workers))
        self._ring = Ring(workers)
        self._balance = Balance(workers) if rules.assignment == "balanced" else None
        self._random = random.Random(epoch)
        self._numbered = int.from_bytes(tables.meta.get(b"hosts") or b"")
        self._active: dict[str, Host] = {}
        self._resting: OrderedDict[str, Host] = OrderedDict()
        self._ready: list[list[tuple[float, int, Host]]] = [[] for _ in range(max(1, rules.workers))]
        self._ties = count()
        # Hosts that wait and are not active, by rank; and per rank the key up to which all are active.
        self._waiting = [0] * RANKS
        self._scanned = [bytes((rank,)) for rank in range(RANKS)]
        for key in tables.waiting.keys():
            self._waiting[key[0]] += 1
        self._next_parked_at = t.first_due(tables.parked)
        self._woken = b""  # parked entries up to here are gone
        self._parked_at_ease = sum(not key[-1] for key in tables.parked.keys())

    # ---- records

    def __len__(self) -> int:
        return self._numbered

    def get(self, name: str, batch: Any) -> Host:
        """A host by name, made known if it is new."""
        if host := self._active.get(name):
            return host
        if host := self._resting.get(name):
            self._resting.move_to_end(name)
            return host
        owner = -1 if self._balance else self._ring.owner(name)
        host = Host(self._tables.host(name) or self._new_record(name, batch), owner)
        self._resting[name] = host
        self._catch_up(batch, host)
        return host

    def note(self, batch: Any, host: Host) -> None:
        """Write the host's record."""
        batch.put(host.record.name.encode(), t.encode(host.record), self._tables.in_hosts)

    def trim(self) -> None:
        """Forget the records not used for longest. Only right when no batch with their changes is unwritten."""
        while len(self._resting) > CACHED_HOSTS:
            self._resting.popitem(last=False)

    def _new_record(self, name: str, batch: Any) -> t.HostRecord:
        self._numbered += 1
        batch.put(b"hosts", self._numbered.to_bytes(8), self._tables.in_meta)
        return t.HostRecord(name, self._numbered)

    def _catch_up(self, batch: Any, host: Host) -> None:
        """Account for what happened while the record was only on disk."""
        record = host.record
        if record.leased_epoch and record.leased_epoch != self._epoch:
            # That run died with a request to this host under way: count it as sent at our start.
            record.free_at = max(record.free_at, self._started_at + record.delay_seconds)
            record.leased_epoch = 0
            self.note(batch, host)
        # The machine's clock may have been set back since: no pause is longer than it was meant to be.
        record.free_at = min(record.free_at, self._clock() + record.delay_seconds)

    # ---- moves between waiting, active and parked

    def go_on(self, batch: Any, host: Host, now: float) -> None:
        """What a host without a lease does next: leave, rest on disk, wait, make room, or stand ready."""
        record = host.record
        if record.queued == 0:
            self._leave_waiting(batch, host)
            self._deactivate(host)
        elif record.free_at - now > PARK_SECONDS:
            self.park(batch, host, record.free_at)
        else:
            if host.turn >= TURN_VISITS and self._is_full() and any(self._waiting):
                self._leave_waiting(batch, host)
                self._deactivate(host)
            self.wait(batch, host)
            self._stand_ready(host)
        self.note(batch, host)

    def wait(self, batch: Any, host: Host) -> None:
        """Stand among the waiting hosts, in the rank of the best that is queued here. A parked host stays parked."""
        record = host.record
        if record.parked or (record.waiting and record.waiting[0] == host.rank):
            return
        self._leave_waiting(batch, host)
        record.waiting = t.waiting_key(host.rank, self._tables.next_serial())
        batch.put(record.waiting, record.name.encode(), self._tables.in_waiting)
        if not host.is_active:
            self._waiting[host.rank] += 1

    def park(self, batch: Any, host: Host, until: float) -> None:
        """Rest on disk until a time."""
        self._leave_waiting(batch, host)
        self._deactivate(host)
        record, is_in_trouble = host.record, host.is_in_trouble
        due = max(record.free_at, until)
        record.parked = t.due_key(due, record.number, 4) + bytes((is_in_trouble,))
        batch.put(record.parked, record.name.encode(), self._tables.in_parked)
        self._parked_at_ease += not is_in_trouble
        self._next_parked_at = due if self._next_parked_at is None else min(due, self._next_parked_at)
        self.note(batch, host)

    def unpark(self, batch: Any, host: Host, now: float) -> None:
        """There is a reason to go on before the time came, or it came."""
        if host.record.parked:
            batch.delete(host.record.parked, self._tables.in_parked)
            self._parked_at_ease -= not host.record.parked[-1]
            host.record.parked = b""
            self.go_on(batch, host, now)

    def wake(self, batch: Any, now: float) -> None:
        """Bring back parked hosts that are due."""
        if self._next_parked_at is None or self._next_parked_at > now:
            return
        self._next_parked_at = None
        for moves, (key, name) in enumerate(t.items_after(self._tables.parked, self._woken)):
            if t.due_of(key) > now or moves == MAX_MOVES:
                self._next_parked_at = t.due_of(key)
                break
            self._woken = key
            host = self.get(name.decode(), batch)
            if host.record.parked == key:
                self.unpark(batch, host, now)

    def activate(self, batch: Any, now: float) -> None:
        """Fill the free places with waiting hosts, drawn by rank: high classes first, none starves."""
        for _ in range(MAX_MOVES):
            if self._is_full() or not any(self._waiting):
                return
            host = self.get(self._draw(), batch)
            self._waiting[host.record.waiting[0]] -= 1
            self._resting.pop(host.record.name)
            self._active[host.record.name] = host
            host.activate()
            if host.record.free_at - now > PARK_SECONDS:
                self.park(batch, host, host.record.free_at)
            else:
                self._stand_ready(host)

    def _draw(self) -> str:
        """The first waiting host of a rank that is drawn by weight."""
        ranks = [rank for rank, hosts in enumerate(self._waiting) if hosts]
        rank = self._random.choices(ranks, [(RANKS - rank) ** 2 for rank in ranks])[0] if len(ranks) > 1 else ranks[0]
        # Entries are added behind all others, and one that leaves the active hosts is added anew: none is passed over.
        for key, raw in t.items_after(self._tables.waiting, self._scanned[rank]):
            assert key[0] == rank, "every rank is counted right"
            self._scanned[rank] = key
            if (name := raw.decode()) not in self._active:
                return str(name)
        raise AssertionError("every rank is counted right")

    def _leave_waiting(self, batch: Any, host: Host) -> None:
        if host.record.waiting:
            batch.delete(host.record.waiting, self._tables.in_waiting)
            if not host.is_active:
                self._waiting[host.record.waiting[0]] -= 1
            host.record.waiting = b""

    def _deactivate(self, host: Host) -> None:
        if self._active.pop(host.record.name, None) is not None:
            host.deactivate()
            self._resting[host.record.name] = host

    def _is_full(self) -> bool:
        return len(self._active) >= self._rules.max_active_hosts

    # ---- ready hosts

    def _stand_ready(self, host: Host) -> None:
        if host.is_active and not host.is_ready and not host.token:
            host.is_ready = True
            if host.owner < 0:
                assert self._balance, "else the ring tells"
                host.owner, host.times = self._balance.choose(host.domain, lambda worker: len(self._ready[worker]))
            heappush(self._ready[host.owner], (host.record.free_at, next(self._ties), host))

    def asked(self, host: Host) -> None:
        """A request went out: who has the next one is chosen anew, if it is chosen at all."""
        if self._balance:
            host.owner = -1

    def _due(self, worker: int, now: float) -> Iterator[Host]:
        """Hosts whose moment has come, each once. A balanced worker begins with the domains it has had least."""
        ready = self._ready[worker]
        if not self._balance:
            while ready and ready[0][0] <= now:
                yield heappop(ready)[2]
            return
        due: list[tuple[float, int, Host]] = []
        while ready and ready[0][0] <= now and len(due) < MAX_COMPARED_HOSTS:
            due.append(heappop(ready))
        due.sort(key=lambda entry: -turn_of(entry[0], entry[2].times))
        try:
            while due:
                yield due.pop()[2]
        finally:
            for entry in due:
                heappush(ready, entry)

    def ready(self, batch: Any, worker: int, now: float) -> Iterator[Host]:
        """Hosts of this worker that may be asked, by the moment since when; each stands ready no more."""
        ready, waiting = self._ready[worker], Counter[str]()
        for host in self._due(worker, now):
            host.is_ready = False
            due = self._spacing.free_at(host.domain, host.record.address)
            if due <= now:
                yield host
                continue
            name = host.record.address or host.domain
            waiting[name] += 1
            if waiting[name] <= LINE_HOSTS:
                host.is_ready = True
                heappush(ready, (due, next(self._ties), host))
            else:
                self.park(batch, host, self._end_of_line(name, now))

    def _end_of_line(self, name: str, now: float) -> float:
        gap = self._spacing.shortest_gap
        if len(self._lines) > MAX_LINES:
            self._lines = {line: until for line, until in self._lines.items() if until > now}
        self._lines[name] = until = max(self._lines.get(name, 0.0), now + gap * LINE_HOSTS / 2) + gap
        return until

    def next_at(self, worker: int | None = None) -> float | None:
        """When a host of this worker (None: of any) may be ready without further news; not later than the truth."""
        if any(self._waiting) and not self._is_full():
            return self._clock()
        heaps = self._ready if worker is None else [self._ready[worker]]
        moments = [heap[0][0] for heap in heaps if heap]
        if self._next_parked_at is not None:
            moments.append(self._next_parked_at)
        return min(moments, default=None)

    def are_all_in_trouble(self) -> bool:
        """Whether every host that has something queued rests because of failures or an unreadable robots.txt."""
        if any(self._waiting) or self._parked_at_ease:
            return False
        return all(host.is_in_trouble for host in self._active.values())
