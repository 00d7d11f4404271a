"""The embedded frontier: the Mercator scheme on RocksDB, for one parent process.

A URL leaves its queue only in the atomic write that settles it, so a lease needs no record of its own:
after a crash everything that was leased is simply still queued. What is kept in memory is bounded by
settings, never by the length of the queue: the active hosts with the head of each queue, a cache of
host records, and the Bloom filter.
"""

from __future__ import annotations

import asyncio
import random
from bisect import insort
from collections import OrderedDict
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from lycosa.clock import Clock, steady_clock
from lycosa.frontier import tables as t
from lycosa.frontier.claims import Claims
from lycosa.frontier.rules import FrontierRules, host_of_origin, pause_after, robots_target
from lycosa.frontier.seen import SeenTable
from lycosa.model import (
    MAX_PRIORITY,
    MIN_PRIORITY,
    History,
    Kind,
    Lease,
    OutcomeKind,
    Settlement,
    Target,
    Validators,
    origin_of,
)
from lycosa.policy.politeness import delay_seconds
from lycosa.policy.priority import ORDINARY
from lycosa.policy.retry import retry_at
from lycosa.policy.ring import Ring
from lycosa.ports import Counts

HEAD_ENTRIES = 16
CACHED_HOSTS = 20_000
MAX_ORIGINS_PER_HOST = 16
# A host that rests longer than this leaves memory until it is due.
PARK_SECONDS = 120.0
# Visits in a row before a host makes room for a waiting one (only when all places are taken).
TURN_VISITS = 64
# A machine does not come back from a power cut sooner: shorter pauses need no fsync before the request.
REBOOT_SECONDS = 5.0
_SERIALS_RESERVED = 1_000_000
_LAST_SERIAL = (1 << 56) - 1


class Host:
    """A host in memory: its durable record, and the head of its queue while it is active."""

    __slots__ = ("has_more", "head", "is_active", "is_ready", "last_key", "owner", "record", "token", "turn")

    def __init__(self, record: t.HostRecord, owner: int) -> None:
        self.record = record
        self.owner = owner
        self.head: list[tuple[bytes, bytes]] = []
        self.last_key = b""  # everything up to this key that is still queued stands in `head`
        self.has_more = False
        self.is_active = False
        self.is_ready = False  # stands in its worker's heap
        self.token = 0
        self.turn = 0


class _Held(msgspec.Struct):
    """A lease that is out."""

    host: Host
    target: Target
    key: bytes  # of its queue entry; empty for a robots.txt asked for on the fly
    worker: int
    free_at_before: float
    visits: int


class RocksFrontier:
    """Implements `ports.Frontier` and `ports.Duplicates` for one process on one machine."""

    def __init__(self, folder: Path, rules: FrontierRules, clock: Clock | None = None) -> None:
        self.rules = rules
        self._clock = clock or steady_clock()
        self._tables = t.Tables(folder)
        self._claims = Claims(self._tables.contents.get)
        self._epoch = self._tables.next_epoch()
        self._started_at = self._clock()
        self._counts: dict[str, int] = msgspec.structs.asdict(self._tables.counts())
        self._serial = int.from_bytes(self._tables.meta.get(b"serial") or b"")
        self._serial_limit = self._serial
        self._hosts_numbered = int.from_bytes(self._tables.meta.get(b"hosts") or b"")
        self._tokens = count(self._epoch << 40 | 1)
        self._ring = Ring(range(max(1, rules.workers)))
        self._ready: list[list[tuple[float, int, Host]]] = [[] for _ in range(max(1, rules.workers))]
        self._ties = count()
        self._leases: dict[int, _Held] = {}
        self._expiries: list[tuple[float, int]] = []
        self._leased_pages = 0
        self._active: dict[str, Host] = {}
        self._resting: OrderedDict[str, Host] = OrderedDict()
        self._random = random.Random(self._epoch)
        self._waiting_in_class = self._count_waiting()
        self._scanned: dict[int, bytes] = {}
        self._next_parked_at = self._first_due(self._tables.parked)
        self._next_delayed_at = self._first_due(self._tables.delayed)
        self._seen = SeenTable(self._tables, rules)
        self._commits: list[asyncio.Future[None]] = []
        self._committing: asyncio.Task[None] | None = None

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        batch = t.batch()
        added = self._add(batch, targets)
        if added:
            self._write(batch)
            await self._committed()
        return added

    async def take(self, worker: int, limit: int) -> list[Lease]:
        now = self._clock()
        batch = t.batch()
        self._wake(batch, now)
        self._activate()
        leases: list[Lease] = []
        ready, longest = self._ready[worker], 0.0
        while ready and len(leases) < limit and ready[0][0] <= now and self._may_lease():
            host = heappop(ready)[2]
            host.is_ready = False
            if lease := self._lease(batch, host, worker, now):
                leases.append(lease)
                longest = max(longest, host.record.free_at - now)
        if len(batch):
            self._tables.write(batch)
        if longest > REBOOT_SECONDS:
            await self._committed()
        return leases

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        now = self._clock()
        batch = t.batch()
        late = []
        for settlement in settlements:
            held = self._leases.pop(settlement.token, None)
            self._claims.end(settlement.token)
            if held is None:
                late.append(settlement.token)
                self._counts["late"] += 1
            else:
                self._settle(batch, held, settlement, now)
        self._write(batch)
        await self._committed()
        return late

    async def is_finished(self) -> bool:
        if self._leases:
            return False
        if self.rules.max_pages and self._pages() >= self.rules.max_pages:
            return True
        return self._counts["queued"] == 0 and self._counts["delayed"] == 0

    # ---- the rest of the interface

    async def robots(self, origin: str) -> bytes:
        return self._tables.robots.get(origin.encode()) or b""

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        return await self._claims.original_of(digest, url, token)

    async def release(self, worker: int) -> int:
        gone = [token for token, held in self._leases.items() if held.worker == worker]
        for token in gone:
            self._give_back(token, self._clock())
        return len(gone)

    def counts(self) -> Counts:
        return Counts(**(self._counts | {"leased": len(self._leases), "known": self._seen.known}))

    def next_at(self, worker: int) -> float | None:
        moments = [self._next_parked_at, self._next_delayed_at]
        if self._ready[worker]:
            moments.append(self._ready[worker][0][0])
        if self._expiries:
            moments.append(self._expiries[0][0])
        known = [moment for moment in moments if moment is not None]
        return min(known) if known else None

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do; None while there is work."""
        if self._leases or self._active or any(self._waiting_in_class.values()):
            return None
        for name in self._tables.parked.values():
            record = self._tables.host(name.decode())
            if record and not record.failures and not any(o.is_pending for o in record.origins.values()):
                return None  # an ordinary pause, only a long one
        dues = [due for due in (self._next_parked_at, self._next_delayed_at) if due is not None]
        return min(dues) if dues else None

    async def history(self, url_fingerprint: bytes) -> History | None:
        raw = self._tables.seen.get(url_fingerprint)
        return t.decode_history(raw) if raw else None

    async def readmit(self) -> int:
        """Queue every page visited before once more, for a revisit. Returns how many."""
        batch, queued = t.batch(), 0
        for fingerprint, raw in self._tables.seen.items():
            if not raw:
                continue
            past = t.decode_history(raw)
            if past.outcome.is_page:
                host = self._host(host_of_origin(origin_of(past.url)), batch)
                target = Target(past.url, host.record.name, fingerprint, depth=past.depth, referrer=past.referrer)
                self._enqueue(batch, host, target)
                self._note_host(batch, host)
                queued += 1
            if len(batch) > 10_000:
                self._write(batch)
                batch = t.batch()
                await asyncio.sleep(0)
        self._write(batch)
        await self._committed()
        return queued

    def crawl_key(self) -> bytes:
        return self._tables.crawl_key()

    async def close(self) -> None:
        if self._committing:
            await self._committing
        self._write(t.batch())
        self._tables.sync()
        self._tables.close()

    # ---- adding

    def _add(self, batch: Any, targets: Sequence[Target]) -> int:
        errands = [target for target in targets if not target.fingerprint]
        new = self._seen.keep_new([target for target in targets if target.fingerprint])
        touched: dict[str, Host] = {}
        for target in errands + new:
            host = touched.get(target.host)
            if host is None:
                host = touched[target.host] = self._host(target.host, batch)
            if target.fingerprint:
                batch.put(target.fingerprint, b"", self._tables.in_seen)
            self._enqueue(batch, host, target)
        for host in touched.values():
            self._note_host(batch, host)
        return len(new)

    def _enqueue(self, batch: Any, host: Host, target: Target) -> None:
        record = host.record
        serial = self._next_serial()
        order = _LAST_SERIAL - serial if self.rules.order == "depth" else serial
        key = t.queue_key(record.number, target.priority, order)
        value = t.encode(target)
        batch.put(key, value, self._tables.in_queue)
        record.queued += 1
        self._counts["queued"] += 1
        if host.is_active:
            self._insert_in_head(host, key, value)
        self._wait(batch, host, target.priority)

    def _insert_in_head(self, host: Host, key: bytes, value: bytes) -> None:
        """Keep the head whole: it holds every queued entry up to its last key."""
        if host.has_more and key > host.last_key:
            return
        insort(host.head, (key, value))
        if len(host.head) > 2 * HEAD_ENTRIES:
            del host.head[HEAD_ENTRIES:]
            host.has_more = True
        host.last_key = host.head[-1][0]

    def _wait(self, batch: Any, host: Host, priority: int) -> None:
        """Stand among the waiting hosts, in the class of the best that is queued here."""
        record = host.record
        if record.parked:
            return
        if record.waiting:
            if record.waiting[0] <= MAX_PRIORITY - priority:
                return
            self._leave_waiting(batch, host)
        record.waiting = t.waiting_key(priority, self._next_serial())
        batch.put(record.waiting, record.name.encode(), self._tables.in_waiting)
        if not host.is_active:
            self._waiting_in_class[priority] += 1

    def _leave_waiting(self, batch: Any, host: Host) -> None:
        if host.record.waiting:
            batch.delete(host.record.waiting, self._tables.in_waiting)
            if not host.is_active:
                self._waiting_in_class[MAX_PRIORITY - host.record.waiting[0]] -= 1
            host.record.waiting = b""

    # ---- leasing

    def _may_lease(self) -> bool:
        limit = self.rules.max_pages
        return not limit or self._pages() + self._leased_pages < limit

    def _lease(self, batch: Any, host: Host, worker: int, now: float) -> Lease | None:
        if not host.head:
            self._load_head(host)
        assert host.head, "an active host has something queued"
        key, value = host.head[0]
        target = t.decode_target(value)
        robots_at = 0.0
        if target.kind is not Kind.ROBOTS:
            state = host.record.origins.get(origin_of(target.url))
            if state is None or state.expires_at <= now:
                key, target = b"", robots_target(origin_of(target.url), target.host)
            elif state.is_pending:
                self._park(batch, host, state.expires_at)
                return None
            else:
                robots_at = state.fetched_at
        history = self._past_of(target)
        held = _Held(host, target, key, worker, host.record.free_at, history.visits if history else 0)
        validators = Validators(history.etag, history.last_modified, history.digest) if history else None
        token, expires_at = next(self._tokens), now + self.rules.lease_seconds
        self._hand_out(batch, token, held, now)
        heappush(self._expiries, (expires_at, token))
        return Lease(token, target, expires_at, robots_at, validators)

    def _past_of(self, target: Target) -> History | None:
        raw = self._tables.seen.get(target.fingerprint) if target.fingerprint else None
        return t.decode_history(raw) if raw else None

    def _hand_out(self, batch: Any, token: int, held: _Held, now: float) -> None:
        """Note the lease, and durably that its host is not free: the request may go out any moment."""
        record = held.host.record
        self._leases[token] = held
        self._leased_pages += held.target.kind is Kind.PAGE
        held.host.token = token
        record.delay_seconds = delay_seconds(self.rules.pace, record.fetch_seconds, record.crawl_delay_seconds)
        record.free_at = now + record.delay_seconds
        record.leased_epoch = self._epoch
        self._note_host(batch, held.host)

    def _load_head(self, host: Host) -> None:
        prefix = host.record.number.to_bytes(4)
        host.head.clear()
        host.has_more = False
        for key, value in t.items_after(self._tables.queue, host.last_key or prefix):
            if not key.startswith(prefix):
                break
            if len(host.head) == HEAD_ENTRIES:
                host.has_more = True
                break
            host.head.append((key, value))
        if host.head:
            host.last_key = host.head[-1][0]

    # ---- settling

    def _settle(self, batch: Any, held: _Held, settlement: Settlement, now: float) -> None:
        host, target = held.host, held.target
        record = host.record
        host.token = 0
        self._leased_pages -= target.kind is Kind.PAGE
        self._rest(record, held, settlement, now)
        if held.key:
            self._leave_queue(batch, host, held.key)
        due = retry_at(self.rules.retry_pauses, target.attempt, now) if settlement.may_retry and held.key else None
        if due is not None:
            self._delay(batch, target, max(due, record.free_at))
        else:
            self._counts[settlement.outcome.name.lower()] += 1
        if target.fingerprint:
            batch.put(target.fingerprint, self._history(held, settlement, now, due), self._tables.in_seen)
        if settlement.outcome is OutcomeKind.STORED and settlement.digest:
            batch.put(settlement.digest, target.url.encode(), self._tables.in_contents)
        self._counts["fetched_bytes"] += settlement.body_bytes
        if settlement.discovered:
            self._add(batch, settlement.discovered)
        if settlement.robots:
            self._learn_robots(batch, settlement)
        host.turn += 1
        self._go_on(batch, host, now)

    def _rest(self, record: t.HostRecord, held: _Held, settlement: Settlement, now: float) -> None:
        """The host's pause after this visit. A visit that sent nothing costs the host nothing."""
        record.leased_epoch = 0
        if not settlement.sent and settlement.outcome is not OutcomeKind.FAILED:
            record.free_at = held.free_at_before
            return
        if settlement.robots and host_of_origin(settlement.robots.origin) == record.name:
            record.crawl_delay_seconds = settlement.robots.crawl_delay_seconds
        pause = pause_after(self.rules.pace, settlement, record.failures, record.crawl_delay_seconds)
        record.failures = pause.failures
        record.delay_seconds = pause.seconds
        record.free_at = now + pause.seconds
        record.fetch_seconds = settlement.fetch_seconds
        record.visits += 1
        record.pages += settlement.outcome.is_page
        record.address = settlement.address or record.address

    def _leave_queue(self, batch: Any, host: Host, key: bytes) -> None:
        batch.delete(key, self._tables.in_queue)
        host.record.queued -= 1
        self._counts["queued"] -= 1
        for place, (entry, _) in enumerate(host.head):
            if entry == key:
                del host.head[place]
                break

    def _delay(self, batch: Any, target: Target, due: float) -> None:
        later = msgspec.structs.replace(target, attempt=target.attempt + 1)
        batch.put(t.due_key(due, self._next_serial(), 7), t.encode(later), self._tables.in_delayed)
        self._counts["delayed"] += 1
        self._next_delayed_at = due if self._next_delayed_at is None else min(due, self._next_delayed_at)

    def _history(self, held: _Held, settlement: Settlement, now: float, due: float | None) -> bytes:
        target = held.target
        return t.encode(
            History(
                url=target.url,
                outcome=settlement.outcome,
                visited_at=now,
                status=settlement.status,
                reason=settlement.reason,
                visits=held.visits + 1,
                depth=target.depth,
                referrer=target.referrer,
                digest=settlement.digest,
                original=settlement.original,
                etag=settlement.etag,
                last_modified=settlement.last_modified,
                next_at=due or 0.0,
            )
        )

    def _learn_robots(self, batch: Any, settlement: Settlement) -> None:
        news = settlement.robots
        assert news is not None
        host = self._host(host_of_origin(news.origin), batch)
        origins = host.record.origins
        origins[news.origin] = t.OriginState(news.fetched_at, news.expires_at, news.is_pending)
        while len(origins) > MAX_ORIGINS_PER_HOST:
            del origins[next(iter(origins))]
        host.record.crawl_delay_seconds = news.crawl_delay_seconds
        if news.record:
            batch.put(news.origin.encode(), news.record, self._tables.in_robots)
        if host.record.parked and not news.is_pending:
            self._unpark(batch, host)
        self._note_host(batch, host)

    def _go_on(self, batch: Any, host: Host, now: float) -> None:
        """What the host does after a visit: leave, rest on disk, make room, or stand ready for its next one."""
        record = host.record
        if record.queued == 0:
            self._leave_waiting(batch, host)
            self._deactivate(host)
        elif record.free_at - now > PARK_SECONDS:
            self._park(batch, host, record.free_at)
        elif host.turn >= TURN_VISITS and self._is_full() and any(self._waiting_in_class.values()):
            priority = MAX_PRIORITY - (record.waiting[0] if record.waiting else MAX_PRIORITY - MIN_PRIORITY)
            self._leave_waiting(batch, host)
            self._deactivate(host)
            self._wait(batch, host, priority)
        else:
            self._stand_ready(host)
        self._note_host(batch, host)

    def _stand_ready(self, host: Host) -> None:
        if host.is_active and not host.is_ready and not host.token:
            host.is_ready = True
            heappush(self._ready[host.owner], (host.record.free_at, next(self._ties), host))

    # ---- hosts in and out of memory

    def _host(self, name: str, batch: Any) -> Host:
        host = self._active.get(name) or self._resting.get(name)
        if host is not None:
            return host
        record = self._tables.host(name) or self._new_record(name, batch)
        if record.leased_epoch and record.leased_epoch != self._epoch:
            # That run died with a request of this host under way: count it as sent at our start.
            record.free_at = max(record.free_at, self._started_at + record.delay_seconds)
            record.leased_epoch = 0
        # The machine's clock may have been set back since: no pause is longer than it was meant to be.
        record.free_at = min(record.free_at, self._clock() + record.delay_seconds)
        host = Host(record, self._ring.owner(name))
        self._resting[name] = host
        return host

    def _new_record(self, name: str, batch: Any) -> t.HostRecord:
        self._hosts_numbered += 1
        self._counts["hosts"] += 1
        batch.put(b"hosts", self._hosts_numbered.to_bytes(8), self._tables.in_meta)
        return t.HostRecord(name, self._hosts_numbered)

    def _note_host(self, batch: Any, host: Host) -> None:
        batch.put(host.record.name.encode(), t.encode(host.record), self._tables.in_hosts)

    def _is_full(self) -> bool:
        return len(self._active) >= self.rules.max_active_hosts

    def _activate(self) -> None:
        """Fill the free places with waiting hosts, drawn by class: high classes first, none starves."""
        while not self._is_full():
            classes = [priority for priority, hosts in self._waiting_in_class.items() if hosts > 0]
            if not classes:
                return
            weights = [priority * priority for priority in classes]
            priority = self._random.choices(classes, weights)[0]
            name = self._next_waiting(priority)
            if name is None:
                self._waiting_in_class[priority] = 0
                continue
            self._waiting_in_class[priority] -= 1
            host = self._host(name, t.batch())
            self._resting.pop(name, None)
            self._active[name] = host
            host.is_active = True
            host.turn = 0
            host.last_key = b""
            self._load_head(host)
            self._stand_ready(host)

    def _next_waiting(self, priority: int) -> str | None:
        start = bytes((MAX_PRIORITY - priority,))
        for origin in (self._scanned.get(priority, start), start):
            for key, name in t.items_after(self._tables.waiting, origin):
                if key[0] != start[0]:
                    break
                self._scanned[priority] = key
                if (found := name.decode()) not in self._active:
                    return str(found)
        return None

    def _deactivate(self, host: Host) -> None:
        name = host.record.name
        if self._active.pop(name, None) is not None:
            host.is_active = False
            host.head.clear()
            assert not host.is_ready, "a host leaves memory only after a visit, when it stands in no heap"
            self._resting[name] = host

    def _park(self, batch: Any, host: Host, until: float) -> None:
        self._leave_waiting(batch, host)
        self._deactivate(host)
        host.record.free_at = max(host.record.free_at, until)
        host.record.delay_seconds = max(host.record.delay_seconds, until - self._clock())
        host.record.parked = t.due_key(host.record.free_at, host.record.number, 4)
        batch.put(host.record.parked, host.record.name.encode(), self._tables.in_parked)
        due = t.due_of(host.record.parked)
        self._next_parked_at = due if self._next_parked_at is None else min(due, self._next_parked_at)
        self._note_host(batch, host)

    def _unpark(self, batch: Any, host: Host) -> None:
        batch.delete(host.record.parked, self._tables.in_parked)
        host.record.parked = b""
        if host.record.queued:
            self._wait(batch, host, ORDINARY)
        self._note_host(batch, host)

    # ---- time

    def _wake(self, batch: Any, now: float) -> None:
        """Bring back what is due: leases nobody settled, hosts that rested, retries."""
        while self._expiries and self._expiries[0][0] <= now:
            self._give_back(heappop(self._expiries)[1], now)
        if self._next_parked_at is not None and self._next_parked_at <= now:
            self._wake_parked(batch, now)
        if self._next_delayed_at is not None and self._next_delayed_at <= now:
            self._wake_delayed(batch, now)
        if len(batch):
            self._write(batch)
            batch.clear()

    def _wake_parked(self, batch: Any, now: float) -> None:
        self._next_parked_at = None
        for key, name in self._tables.parked.items():
            if t.due_of(key) > now:
                self._next_parked_at = t.due_of(key)
                break
            host = self._host(name.decode(), batch)
            if host.record.parked == key:
                self._unpark(batch, host)
            else:
                batch.delete(key, self._tables.in_parked)

    def _wake_delayed(self, batch: Any, now: float) -> None:
        self._next_delayed_at = None
        for key, value in self._tables.delayed.items():
            if t.due_of(key) > now:
                self._next_delayed_at = t.due_of(key)
                break
            target = t.decode_target(value)
            batch.delete(key, self._tables.in_delayed)
            self._counts["delayed"] -= 1
            host = self._host(target.host, batch)
            self._enqueue(batch, host, target)
            self._note_host(batch, host)

    def _give_back(self, token: int, now: float) -> None:
        """A lease ends without a settlement: its URL is still queued, its host rests as if it had been asked."""
        held = self._leases.pop(token, None)
        if held is None:
            return
        self._claims.end(token)
        self._leased_pages -= held.target.kind is Kind.PAGE
        held.host.token = 0
        held.host.record.free_at = now + held.host.record.delay_seconds
        self._stand_ready(held.host)

    # ---- durability

    def _write(self, batch: Any) -> None:
        batch.put(b"counts", t.encode(self.counts()), self._tables.in_meta)
        self._tables.write(batch)
        # Only now: a record that is still in an unwritten batch must not be read from disk again.
        while len(self._resting) > CACHED_HOSTS:
            self._resting.popitem(last=False)

    def _next_serial(self) -> int:
        self._serial += 1
        if self._serial >= self._serial_limit:
            self._serial_limit = self._serial + _SERIALS_RESERVED
            self._tables.meta[b"serial"] = self._serial_limit.to_bytes(8)
        return self._serial

    async def _committed(self) -> None:
        """Wait until everything written so far is on the disk; one fsync serves all who wait."""
        if self.rules.durability == "process":
            return
        waiter = asyncio.get_running_loop().create_future()
        self._commits.append(waiter)
        if self._committing is None or self._committing.done():
            self._committing = asyncio.create_task(self._commit())
        await waiter

    async def _commit(self) -> None:
        loop = asyncio.get_running_loop()
        while self._commits:
            waiting, self._commits = self._commits, []
            try:
                await loop.run_in_executor(None, self._tables.sync)
            except Exception as error:
                for waiter in waiting:
                    waiter.set_exception(error)
                raise
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    # ---- helpers of the above

    def _pages(self) -> int:
        counts = self._counts
        return int(counts["stored"] + counts["unchanged"] + counts["duplicate"])

    def _count_waiting(self) -> dict[int, int]:
        waiting = dict.fromkeys(range(MIN_PRIORITY, MAX_PRIORITY + 1), 0)
        for key in self._tables.waiting.keys():
            waiting[MAX_PRIORITY - key[0]] += 1
        return waiting

    @staticmethod
    def _first_due(family: Any) -> float | None:
        return next((t.due_of(key) for key in family.keys()), None)
