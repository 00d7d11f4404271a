"""The scheduler: which target is visited next, by whom and when. The Mercator scheme over any store of tables.

A URL leaves its queue only in the atomic write that settles it, so a lease needs no record of its own: after a crash
everything that was leased is simply still queued. What is kept in memory is bounded by settings, never by the length
of the queue: the active hosts with the heads of their queues, a cache of host records, and the leases that are out.

Every verb runs under one lock: it reads what it needs, decides, changes memory, fills one batch, and hands that to the
store before anybody else has a turn. So memory and store tell the same story, and nobody sees one half of a change.
Waiting until the store has taken it in comes last, without the lock.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import OrderedDict
from collections.abc import Awaitable, Container, Iterable, Mapping, Sequence
from itertools import count
from typing import Protocol

import msgspec
from msgspec.structs import replace

from lycosa.clock import Clock
from lycosa.frontier.assignment import Assignment
from lycosa.frontier.entries import entry_of, length_of, readable_block, target_of
from lycosa.frontier.host import Host
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.poison import readable_history
from lycosa.frontier.queue import Spot
from lycosa.frontier.records import (
    FORMAT,
    HostRecord,
    Lane,
    State,
    decode_state,
    due_key,
    due_of,
    encode,
    pack_site,
    readable_target,
    site_version,
)
from lycosa.frontier.rules import (
    FrontierRules,
    Pause,
    again_after,
    history_of,
    host_of_origin,
    learn,
    lost_robots,
    pause_after,
    rank_of,
    robots_target,
)
from lycosa.frontier.spacing import Place, Spacing
from lycosa.frontier.tables import DELAYED, HISTORY, META, POISONED, QUEUE, ROBOTS, SITES, Batch, Tables
from lycosa.model import (
    NO_REASON,
    History,
    Kind,
    Lease,
    OutcomeKind,
    RobotsNews,
    Settlement,
    Target,
    Validators,
    origin_of,
)
from lycosa.policy.kin import is_evidence, kin_of, remember
from lycosa.policy.politeness import CIRCUIT_FAILURES, Standing, delay_seconds, slowed_seconds
from lycosa.ports import Counts

logger = logging.getLogger(__name__)

# A machine does not come back from a power cut sooner: shorter pauses need no fsync before the request.
REBOOT_SECONDS = 5.0
# Retries queued again by one call.
MAX_WOKEN = 1_000
# Versions of sites kept in memory, about 150 bytes each; others are looked up.
MAX_VERSIONS = 50_000
# What one look at a host passes over because it is poisoned or set aside.
MAX_PASSED_OVER = 256
# Pages of a host whose kind is looked at: the first ones, then some.
SAMPLED_AT_FIRST, SAMPLED_EVERY = 8, 8
_TOKENS_PER_EPOCH = 32  # bits


class _Held(msgspec.Struct):
    """A lease that is out."""

    host: Host
    target: Target
    spot: Spot | None  # in its queue; None for a robots.txt asked for on the fly
    worker: int
    expires_at: float
    free_at_before: float
    place: Place


class Contents(Protocol):
    """Who may store a content first. What was stored is kept with the settlement, or was before it."""

    def keep(self, batch: Batch, digest: bytes, url: str) -> None: ...

    def end(self, token: int) -> None:
        """The lease of a claim is settled or gone."""


class PageLimit(Protocol):
    """How many pages may be fetched in all."""

    def is_reached(self, pages: int, leased: int) -> bool:
        """With so many pages fetched and leased here, whether no more can be had."""

    def may_lease(self, pages: int, leased: int) -> bool:
        """Whether one more page may be leased here and now."""


class Scheduler:
    """The verbs of `ports.Frontier` for the hosts of one set of tables.

    Of several schedulers in one crawl each has tokens of its own: those that leave `offset` when divided by `step`.
    """

    def __init__(
        self,
        tables: Tables,
        rules: FrontierRules,
        clock: Clock,
        state: State,
        *,
        contents: Contents,
        limit: PageLimit,
        spacing: Spacing,
        workers: Sequence[int],
        offset: int = 0,
        step: int = 1,
    ) -> None:
        self.rules = rules
        self._tables = tables
        self._clock = clock
        self._state = state
        self._contents = contents
        self._limit = limit
        self._spacing = spacing
        self._lock = asyncio.Lock()
        self._hosts = HostTable(tables, rules, clock, state, spacing, Assignment(rules, workers))
        self._is_depth_first = rules.order == "depth"
        self._tokens = count((state.epoch << _TOKENS_PER_EPOCH | 1) * step + offset, step)
        self._counts: dict[str, int] = msgspec.structs.asdict(state.counts)
        # In the order they were given out, which is the order in which they expire.
        self._leases: OrderedDict[int, _Held] = OrderedDict()
        self._leased_pages = 0
        self._withheld: list[Host] = []  # that were ready, but the page limit did not let them
        self.was_withheld = False  # something, when leases were last asked for
        self._versions: OrderedDict[str, int] = OrderedDict()
        self._next_delayed_at: float | None = None
        self._woken = b""  # delayed entries up to here are gone

    @classmethod
    async def open(
        cls,
        tables: Tables,
        rules: FrontierRules,
        clock: Clock,
        *,
        contents: Contents,
        limit: PageLimit,
        spacing: Spacing | None = None,
        workers: Sequence[int],
        epoch: int = 0,
        crawl: str = "",
        offset: int = 0,
        step: int = 1,
    ) -> Scheduler:
        """Take these tables over from whoever had them; `epoch` is greater than theirs (0: the next one)."""
        (raw,) = await tables.get(META, [b"state"])
        state = decode_state(raw) if raw else State(crawl=crawl)
        state.epoch = epoch or state.epoch + 1
        if spacing is None:
            # What an earlier run asked in its last moments is not known.
            spacing = Spacing(rules.pace, clock()) if state.epoch > 1 else Spacing(rules.pace)
        scheduler = cls(
            tables,
            rules,
            clock,
            state,
            contents=contents,
            limit=limit,
            spacing=spacing,
            workers=workers,
            offset=offset,
            step=step,
        )
        await scheduler._begin()
        return scheduler

    async def _begin(self) -> None:
        await self._hosts.open()
        if first := await self._tables.scan(DELAYED, b"", 1):
            self._next_delayed_at = due_of(first[0][0])
        batch = HostBatch()
        batch.put(META, b"format", FORMAT.to_bytes(1))
        await self._write(batch)

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        async with self._lock:
            batch = HostBatch()
            fresh = await self._prepare(batch, targets)
            added = await self._add(batch, targets, fresh)
            written = self._write(batch) if batch else None
        if written:
            await written
            await self._tables.durable()
        return added

    async def take(self, worker: int, limit: int) -> list[Lease]:
        async with self._lock:
            now = self._clock()
            woken = await self._wake(now)
            batch = HostBatch()
            await self._hosts.activate(batch, now)
            leases = await self._lease_some(batch, worker, limit, now) if limit else []
            written = self._write(batch) if batch else None
        if woken:
            await woken
        if written:
            await written
        if max((self._pause_of(lease, now) for lease in leases), default=0.0) > REBOOT_SECONDS:
            await self._tables.durable()
        return leases

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        async with self._lock:
            now, batch, late = self._clock(), HostBatch(), list[int]()
            ended: list[tuple[_Held, Settlement]] = []
            for settlement in settlements:
                if held := self._end_lease(settlement.token):
                    ended.append((held, settlement))
                else:
                    late.append(settlement.token)
                    self._counts["late"] += 1
            fresh = await self._prepare(batch, _discovered(ended), _marked(ended), _origins_told_of(ended, now))
            for held, _ in ended:
                # All of them first: what one discovered must not take the place of another.
                if held.spot:
                    self._dequeue(batch, held.host, held.spot)
            for held, settlement in ended:
                await self._settle(batch, held, settlement, now, fresh)
            written = self._write(batch)
        await written
        await self._tables.durable()
        return late

    async def may_ask_at(self, token: int, address: str) -> bool:
        async with self._lock:
            if not (held := self._leases.get(token)):
                return False
            held.host.record.address = address
            if place := self._spacing.may_ask_at(held.place, address, self._clock()):
                held.place = place
                return True
            written = self._take_back(token)
        await written
        return False

    async def give_back(self, token: int) -> None:
        async with self._lock:
            written = self._take_back(token) if token in self._leases else None
        if written:
            await written

    def is_finished(self) -> bool:
        """Nothing is queued, leased or delayed here, or the page limit is reached and no lease is out."""
        if self._leases:
            return False
        counts = self._counts
        return not self._may_lease() or counts["queued"] + counts["delayed"] == 0

    # ---- the rest of the interface

    async def release(self, worker: int, tokens: Container[int] | None = None) -> list[int]:
        """Give back the leases of a worker that is gone: these, or all of them."""
        async with self._lock:
            its = [token for token, held in self._leases.items() if held.worker == worker]
            gone = its if tokens is None else [token for token in its if token in tokens]
            batch, now = HostBatch(), self._clock()
            for token in gone:
                self._let_go(batch, token, now)
            written = self._write(batch) if gone else None
        if written:
            await written
        return gone

    async def learn(self, news: RobotsNews) -> None:
        """A visit elsewhere brought news of a robots.txt of ours."""
        async with self._lock:
            batch = HostBatch()
            await self._hosts.load([host_of_origin(news.origin)], batch)
            self._learn_robots(batch, news, self._clock())
            written = self._write(batch)
        await written

    def has_lease(self, token: int) -> bool:
        return token in self._leases

    def target_of(self, token: int) -> Target | None:
        """What a lease is for; None if there is no such lease."""
        held = self._leases.get(token)
        return held.target if held else None

    def address_of(self, token: int) -> str:
        """Where a lease leads; empty if that is not known."""
        held = self._leases.get(token)
        return held.place.address if held else ""

    def hold_address(self, token: int, address: str, until: float) -> None:
        """The host of a lease is at an address that is not to be asked before then."""
        if held := self._leases.get(token):
            held.host.record.address = address
            self._spacing.hold(address, until)

    def counts(self) -> Counts:
        self._counts["hosts"], self._counts["leased"] = self._state.hosts, len(self._leases)
        return Counts(**self._counts)

    @property
    def used(self) -> int:
        """Of the page limit: pages, and leases that may turn out to be some."""
        return self._pages() + self._leased_pages

    def next_at(self, worker: int) -> float | None:
        moments = [held.expires_at for held in self._oldest_lease()]
        if self._may_lease() and (due := self.next_work_at(worker)) is not None:
            moments.append(due)
        return min(moments, default=None)

    def next_work_at(self, worker: int) -> float | None:
        """When there may be something to lease, if the page limit lets it."""
        moments = (self._next_delayed_at, self._hosts.next_at(worker))
        return min((due for due in moments if due is not None), default=None)

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do; None while there is work."""
        if self._leases or not self._hosts.are_all_in_trouble():
            return None
        moments = [due for due in (self._next_delayed_at, self._hosts.next_at()) if due is not None]
        # Something is queued that no host knows of: its record was lost, and nothing will bring it back.
        is_stranded = not moments and self._counts["queued"] > 0
        return math.inf if is_stranded else min(moments, default=None)

    async def readmit(self, rows: Iterable[tuple[bytes, bytes]]) -> int:
        """Queue pages visited before once more, by their rows of the history. Returns how many."""
        async with self._lock:
            now, batch, pages = self._clock(), HostBatch(), list[Target]()
            for fingerprint, raw in rows:
                past = readable_history(raw)
                # One that is due already stands in a queue: asking twice must not fetch it twice.
                if past is None or past.next_at or not past.outcome.is_page:
                    continue
                host = host_of_origin(origin_of(past.url))
                pages.append(
                    Target(past.url, host, fingerprint, depth=past.depth, referrer=past.referrer, visits=past.visits)
                )
                batch.put(HISTORY, fingerprint, encode(replace(past, next_at=now)))
            await self._hosts.load([page.host for page in pages], batch)
            await self._load_tails(pages)
            for page in pages:
                self._enqueue(batch, self._hosts.get(page.host), page)
            written = self._write(batch)
        await written
        return len(pages)

    async def reassign(self, home: Sequence[int], region_of: Mapping[int, str]) -> None:
        """Other workers take part from now on. What those had who are gone is given back."""
        async with self._lock:
            batch, now = HostBatch(), self._clock()
            for token in [token for token, held in self._leases.items() if held.worker not in region_of]:
                self._let_go(batch, token, now)
            self._hosts.reassign(home, region_of)
            written = self._write(batch) if batch else None
        if written:
            await written

    async def close(self) -> None:
        """Write how things stand. The tables are the caller's to close."""
        async with self._lock:
            await self._write(HostBatch())

    # ---- reading ahead

    async def _prepare(
        self,
        batch: HostBatch,
        targets: Sequence[Target],
        marked: Sequence[bytes] = (),
        origins: Iterable[str] = (),
    ) -> set[bytes]:
        """Bring into memory what adding these takes. Returns which of the fingerprints are not known."""
        asked = list(dict.fromkeys([target.fingerprint for target in targets if target.fingerprint] + list(marked)))
        known = await self._tables.known(asked) if asked else []
        fresh = {mark for mark, is_known in zip(asked, known, strict=True) if not is_known}
        new = [target for target in targets if not target.fingerprint or target.fingerprint in fresh]
        await self._hosts.load([target.host for target in new] + [host_of_origin(origin) for origin in origins], batch)
        await self._load_tails(new)
        return fresh

    async def _load_tails(self, targets: Iterable[Target]) -> None:
        """The blocks that targets will join."""
        await self._load_blocks(
            (host, key)
            for target in targets
            if (key := (host := self._hosts.get(target.host)).queue.tail_key(target, rank_of(target)))
        )

    async def _load_blocks(self, wanted: Iterable[tuple[Host, bytes]]) -> None:
        owners = {key: host for host, key in wanted}
        if owners:
            keys = list(owners)
            for key, block in zip(keys, await self._tables.get(QUEUE, keys), strict=True):
                if block and readable_block(block) is not None:
                    owners[key].queue.load(key, block)

    # ---- adding

    async def _add(self, batch: HostBatch, targets: Sequence[Target], fresh: set[bytes]) -> int:
        """Queue what is new; probes, which may come again and again, always and first."""
        added = 0
        for target in sorted(targets, key=_is_page) if self.rules.max_queued_per_host else targets:
            host = None
            if target.fingerprint:
                if target.fingerprint not in fresh:
                    continue
                fresh.discard(target.fingerprint)
                host = self._hosts.get(target.host)
                if self.rules.max_queued_per_host and not await self._make_room(batch, host, target):
                    fresh.add(target.fingerprint)
                    continue
                batch.known[target.fingerprint] = True
                self._counts["known"] += 1
                added += 1
            self._enqueue(batch, host or self._hosts.get(target.host), target)
        return added

    async def _make_room(self, batch: HostBatch, host: Host, target: Target) -> bool:
        """Whether its host's queue takes a target: if it is full, only in the place of a less important one.

        What is dropped is forgotten, and may be found again. What is under way or was visited before is not dropped.
        """
        if host.record.queued < self.rules.max_queued_per_host:
            return True
        self._counts["dropped"] += 1
        host.record.dropped += 1
        batch.note(host)
        lane = host.queue.worst_lane()
        if rank_of(target) >= lane.rank:
            return False
        spot, last = await self._next_in(host, lane, is_last_first=not self._is_depth_first)
        held = self._leases.get(host.token)
        is_under_way = held is not None and held.spot == spot
        if spot is None or last is None or is_under_way or not last.fingerprint or last.visits:
            return False
        self._dequeue(batch, host, spot)
        batch.known[last.fingerprint] = False
        self._counts["known"] -= 1
        return True

    def _enqueue(self, batch: HostBatch, host: Host, target: Target) -> None:
        was_closed = host.record.parked and host.reopens_at(host.closed(self._clock())) is not None
        host.queue.push(batch, target, rank_of(target), entry_of(target))
        self._counts["queued"] += 1
        if was_closed and host.reopens_at(host.closed(self._clock())) is None:
            # It need not wait for the robots.txt that all others of its host wait for.
            self._hosts.unpark(batch, host, self._clock())
        self._hosts.wait(batch, host)
        batch.note(host)

    def _dequeue(self, batch: HostBatch, host: Host, spot: Spot) -> None:
        host.queue.remove(batch, spot)
        self._counts["queued"] -= 1
        batch.note(host)

    # ---- leasing

    def _may_lease(self) -> bool:
        return not self._limit.is_reached(self._pages(), self._leased_pages)

    async def _lease_some(self, batch: HostBatch, worker: int, limit: int, now: float) -> list[Lease]:
        leases: list[Lease] = []
        if not self._may_lease():
            return leases
        await self._load_heads(self._hosts.next_ready(worker, now, limit), now)
        for host in self._hosts.ready(batch, worker, now):
            if lease := await self._lease(batch, host, worker, now):
                leases.append(lease)
            if len(leases) == limit or not self._may_lease():
                break
        # Only now: within the loop they would come again at once.
        for host in self._withheld:
            self._hosts.stand_ready(host)
        self.was_withheld = bool(self._withheld)
        self._withheld.clear()
        return leases

    async def _load_heads(self, hosts: Iterable[Host], now: float) -> None:
        """What the next leases of these hosts take, in one look."""
        wanted = []
        for host in hosts:
            if lane := host.next_lane(host.closed(now)):
                key = host.queue.head_key(lane, is_last_first=self._is_depth_first)
                if not host.queue.has(key):
                    wanted.append((host, key))
        await self._load_blocks(wanted)
        domains = {host.domain for host in hosts if host.domain not in self._versions}
        if domains:
            names = list(domains)
            for name, raw in zip(names, await self._tables.get(SITES, [d.encode() for d in names]), strict=True):
                self._note_version(name, site_version(raw))

    async def _lease(self, batch: HostBatch, host: Host, worker: int, now: float) -> Lease | None:
        """The next of a host's queue, or a robots.txt; None if the host has nothing to give at present."""
        record = host.record
        if not (first := await self._first(batch, host, now)):
            reopens_at = host.reopens_at(host.closed(now)) if record.queued else None
            if reopens_at:
                self._hosts.park(batch, host, reopens_at)
            else:
                self._hosts.go_on(batch, host, now)
            return None
        spot: Spot | None
        spot, target = first
        robots_at = 0.0
        if target.kind is not Kind.ROBOTS:
            state = record.origins.get(origin_of(target.url))
            if state is None or state.expires_at <= now:
                spot, target = None, robots_target(origin_of(target.url), target.host)
            else:
                robots_at = state.fetched_at
        if target.kind is Kind.PAGE and not self._limit.may_lease(self._pages(), self._leased_pages):
            self._withheld.append(host)
            return None
        past = await self._past_of(target)
        token = next(self._tokens)
        place = Place(host.domain, record.address, token)
        self._spacing.note(place, now)
        expires_at = now + self.rules.lease_seconds
        self._hand_out(batch, token, _Held(host, target, spot, worker, expires_at, record.free_at, place), now)
        validators = Validators(past.etag, past.last_modified, past.digest) if past else None
        return Lease(
            token, target, expires_at, robots_at, validators, record.address, await self._site_version(host.domain)
        )

    async def _first(self, batch: HostBatch, host: Host, now: float) -> tuple[Spot, Target] | None:
        """The next of a host's queue that may be asked. What cannot be read, or must wait, leaves the queue."""
        for _ in range(MAX_PASSED_OVER):
            if not (lane := host.next_lane(host.closed(now))):
                return None
            spot, target = await self._next_in(host, lane, is_last_first=self._is_depth_first)
            if spot is None:
                await self._drop_block(batch, host, lane)
            elif target is None:
                self._set_aside_poison(batch, host, spot)
            elif due := self._waits_until(host, target, now):
                self._dequeue(batch, host, spot)
                self._delay(batch, target, due)
            elif self._is_doubtful(host, target):
                # Behind all others of its host: those tell whether it is in trouble.
                self._dequeue(batch, host, spot)
                self._enqueue(batch, host, replace(target, was_aside=True))
            else:
                return spot, target
        return None

    async def _next_in(self, host: Host, lane: Lane, *, is_last_first: bool) -> tuple[Spot | None, Target | None]:
        """What stands first, or last, in a lane, and what it is; nothing if its block, or its entry, is unreadable."""
        found = host.queue.next_in(lane, is_last_first=is_last_first)
        if found is None:
            await self._load_blocks([(host, host.queue.head_key(lane, is_last_first=is_last_first))])
            found = host.queue.next_in(lane, is_last_first=is_last_first)
        if found is None:
            return None, None
        spot, entry = found
        return spot, target_of(entry, host.record.name, lane.rank)

    def _waits_until(self, host: Host, target: Target, now: float) -> float:
        """Until when a target must leave its queue, since its origin has no lane of its own; 0 if it need not."""
        state = host.record.origins.get(origin_of(target.url))
        return state.closed_until if state and target.kind is not Kind.ROBOTS and state.closed_until > now else 0.0

    def _is_doubtful(self, host: Host, target: Target) -> bool:
        """Whether a host fails, gives pages otherwise, and a target is like those that fail rather than like those."""
        record = host.record
        if not record.failing or not record.given or target.was_aside or record.queued == 1:
            return False
        kin = kin_of(target.url, target.referrer)
        is_likely_to_fail = kin in record.failing or record.failures >= CIRCUIT_FAILURES - 1
        return target.kind is Kind.PAGE and is_likely_to_fail and not is_evidence(kin, record.given)

    async def _drop_block(self, batch: HostBatch, host: Host, lane: Lane) -> None:
        """The next block of a lane cannot be read: it is set aside, and what is left is counted anew."""
        key = host.queue.head_key(lane, is_last_first=self._is_depth_first)
        others = [other for other in host.queue.keys(lane) if other != key]
        (raw,), blocks = await self._tables.get(QUEUE, [key]), await self._tables.get(QUEUE, others)
        is_first = key == host.queue.head_key(lane, is_last_first=False)
        left = sum(length_of(block) for block in blocks if block) - (0 if is_first else lane.gone)
        lost = max(lane.entries - left, 0)
        host.queue.drop_block(batch, lane, key, lost)
        self._counts["queued"] -= lost
        self._note_poison(batch, b"queue:" + key, raw or b"")
        batch.note(host)

    def _set_aside_poison(self, batch: HostBatch, host: Host, spot: Spot) -> None:
        found = host.queue.next_in(spot.lane, is_last_first=self._is_depth_first)
        assert found, "just read"
        self._dequeue(batch, host, spot)
        name = b"entry:%d:%d:%d:%d" % (host.record.number, spot.lane.number, spot.block, spot.place)
        self._note_poison(batch, name, bytes(found[1]))

    def _note_poison(self, batch: HostBatch, name: bytes, raw: bytes) -> None:
        if not self._counts["poisoned"]:
            logger.warning(
                "a record of the frontier cannot be read (%r); it is set aside, and so are others", name[:40]
            )
        self._counts["poisoned"] += 1
        batch.put(POISONED, name, raw)

    async def _site_version(self, domain: str) -> int:
        version = self._versions.get(domain)
        if version is None:
            (raw,) = await self._tables.get(SITES, [domain.encode()])
            self._note_version(domain, version := site_version(raw))
        return version

    def _note_version(self, domain: str, version: int) -> None:
        self._versions[domain] = version
        if len(self._versions) > MAX_VERSIONS:
            self._versions.popitem(last=False)

    async def _past_of(self, target: Target) -> History | None:
        if not target.visits:
            return None
        (raw,) = await self._tables.get(HISTORY, [target.fingerprint])
        return readable_history(raw)

    def _hand_out(self, batch: HostBatch, token: int, held: _Held, now: float) -> None:
        """Note the lease, and durably that its host is not free: the request may go out any moment."""
        record = held.host.record
        self._leases[token] = held
        self._leased_pages += held.target.kind is Kind.PAGE
        held.host.token = token
        delay = delay_seconds(self.rules.pace, record.fetch_seconds, record.crawl_delay_seconds)
        record.delay_seconds = slowed_seconds(self.rules.pace, delay, record.slowdown)
        record.free_at = now + record.delay_seconds
        record.leased_epoch = self._state.epoch
        batch.note(held.host)

    def _pause_of(self, lease: Lease, now: float) -> float:
        held = self._leases.get(lease.token)
        return held.host.record.free_at - now if held else 0.0

    def _end_lease(self, token: int) -> _Held | None:
        held = self._leases.pop(token, None)
        if held:
            self._contents.end(token)
            self._leased_pages -= held.target.kind is Kind.PAGE
            held.host.token = 0
            held.host.record.leased_epoch = 0
        return held

    def _let_go(self, batch: HostBatch, token: int, now: float) -> None:
        """A lease ends without a settlement: its URL is still queued, its host rests as if it had been asked."""
        held = self._end_lease(token)
        assert held, "only leases that are out are given back"
        held.host.record.free_at = now + held.host.record.delay_seconds
        self._hosts.asked(held.host, held.worker)
        self._spacing.note(held.place, now)
        self._hosts.go_on(batch, held.host, now)

    def _take_back(self, token: int) -> Awaitable[None]:
        """Nothing was sent under a lease: as if it had not been."""
        held = self._end_lease(token)
        assert held, "only leases that are out are given back"
        self._unask(held)
        batch = HostBatch()
        self._hosts.go_on(batch, held.host, self._clock())
        return self._write(batch)

    def _unask(self, held: _Held) -> None:
        """Nothing was sent, so nobody has been asked."""
        held.host.record.free_at = held.free_at_before
        self._spacing.undo(held.place)

    def _oldest_lease(self) -> list[_Held]:
        return [self._leases[next(iter(self._leases))]] if self._leases else []

    # ---- settling

    async def _settle(
        self, batch: HostBatch, held: _Held, settlement: Settlement, now: float, fresh: set[bytes]
    ) -> None:
        host, target = held.host, held.target
        if news := _news_of(held, settlement, now):
            self._learn_robots(batch, news, now)
        is_ban = self._rest(held, settlement, now)
        may_retry = settlement.may_retry or is_ban
        again = again_after(settlement, target, self.rules.retry_pauses, may_retry=may_retry) if held.spot else None
        due = now + again.pause_seconds if again else None
        if again:
            self._delay(batch, again.target, max(now + again.pause_seconds, host.record.free_at))
        else:
            self._counts[settlement.outcome.name.lower()] += 1
        if target.fingerprint:
            batch.put(HISTORY, target.fingerprint, encode(history_of(target, settlement, now, due)))
        if settlement.outcome is OutcomeKind.STORED and settlement.digest:
            self._contents.keep(batch, settlement.digest, target.url)
        self._counts["fetched_bytes"] += settlement.body_bytes
        if site := settlement.site:
            batch.put(SITES, site.domain.encode(), pack_site(site))
            self._note_version(site.domain, site.version)
        for mark in settlement.known:
            if mark in fresh:
                fresh.discard(mark)
                batch.known[mark] = True
                self._counts["known"] += 1
        if settlement.discovered:
            await self._add(batch, settlement.discovered, fresh)
        host.turn += 1
        self._hosts.go_on(batch, host, now)

    def _rest(self, held: _Held, settlement: Settlement, now: float) -> bool:
        """The host's pause after this visit. Returns whether it told us to go away."""
        record, target = held.host.record, held.target
        standing = Standing(record.failures, record.refusals, record.slowdown)
        kin = kin_of(target.url, target.referrer) if _tells_kin(record, target, settlement) else None
        pause = pause_after(self.rules.pace, settlement, standing, record.crawl_delay_seconds, kin, record.given)
        if pause is None:
            self._unask(held)
            return False
        if pause.is_circuit and held.host.has_other_lanes(origin_of(target.url)):
            pause = self._close_origin(held, settlement, pause, now)
        standing = pause.standing
        record.failures, record.refusals, record.slowdown = standing.failures, standing.refusals, standing.slowdown
        self._note_kin(record, kin, settlement, has_failed=pause.has_failed)
        if pause.is_ban or not standing.failures:
            record.ban = settlement.reason if pause.is_ban else NO_REASON
        record.delay_seconds = pause.seconds
        record.free_at = now + pause.seconds
        record.fetch_seconds = settlement.fetch_seconds
        record.visits += 1
        record.pages += settlement.outcome.is_page
        record.address = settlement.address or record.address
        self._hosts.asked(held.host, held.worker, settlement)
        return pause.is_ban

    def _close_origin(self, held: _Held, settlement: Settlement, pause: Pause, now: float) -> Pause:
        """One origin of several fails again and again: it rests, and the others of its host go on."""
        record, pace = held.host.record, self.rules.pace
        if state := record.origins.get(origin_of(held.target.url)):
            state.rest_until, state.trouble = now + pause.seconds, settlement.reason
        delay = delay_seconds(pace, settlement.fetch_seconds, record.crawl_delay_seconds)
        seconds = slowed_seconds(pace, delay, pause.standing.slowdown)
        return replace(pause, seconds=seconds, standing=replace(pause.standing, failures=0))

    @staticmethod
    def _note_kin(record: HostRecord, kin: int | None, settlement: Settlement, *, has_failed: bool) -> None:
        """Which kinds of URLs give pages here, and which have failed since one did."""
        if settlement.outcome.is_page:
            record.failing = []
            if kin is not None and record.given[-1:] != [kin]:
                record.given = remember(kin, record.given)
        elif kin is not None and has_failed:
            record.failing = remember(kin, record.failing)

    def _delay(self, batch: HostBatch, target: Target, due: float) -> None:
        self._state.serial += 1
        batch.put(DELAYED, due_key(due, self._state.serial, 7), encode(target))
        self._counts["delayed"] += 1
        self._next_delayed_at = due if self._next_delayed_at is None else min(due, self._next_delayed_at)

    def _learn_robots(self, batch: HostBatch, news: RobotsNews, now: float) -> None:
        host = self._hosts.get(host_of_origin(news.origin))
        host.record.crawl_delay_seconds = learn(host.record.origins, news, host.origins_with_lanes())
        if news.record:
            batch.put(ROBOTS, news.origin.encode(), news.record)
        batch.note(host)
        if not news.is_pending:
            self._hosts.unpark(batch, host, now)

    # ---- time

    async def _wake(self, now: float) -> Awaitable[None] | None:
        """Bring back what is due: leases nobody settled, hosts that rested, retries."""
        batch = HostBatch()
        while self._leases and self._oldest_lease()[0].expires_at <= now:
            self._let_go(batch, next(iter(self._leases)), now)
        await self._hosts.wake(batch, now)
        if self._next_delayed_at is not None and self._next_delayed_at <= now:
            await self._wake_delayed(batch, now)
        # Written before anything else is read: who waits is looked up in the table.
        return self._write(batch) if batch else None

    async def _wake_delayed(self, batch: HostBatch, now: float) -> None:
        rows = await self._tables.scan(DELAYED, self._woken, MAX_WOKEN + 1)
        due = [(key, raw) for key, raw in rows[:MAX_WOKEN] if due_of(key) <= now]
        self._next_delayed_at = due_of(rows[len(due)][0]) if len(rows) > len(due) else None
        targets = []
        for key, raw in due:
            self._woken = key
            batch.delete(DELAYED, key)
            self._counts["delayed"] -= 1
            if target := readable_target(raw):
                targets.append(target)
            else:
                self._note_poison(batch, b"delayed:" + key, raw)
        await self._hosts.load([target.host for target in targets], batch)
        await self._load_tails(targets)
        for target in targets:
            self._enqueue(batch, self._hosts.get(target.host), target)

    # ---- writing

    def _write(self, batch: HostBatch) -> Awaitable[None]:
        batch.put_hosts()
        if self._hosts.poisoned:
            self._counts["poisoned"] += self._hosts.poisoned
            self._hosts.poisoned = 0
        state = self._state
        state.changes += 1
        state.counts = self.counts()
        batch.put(META, b"state", encode(state))
        written = self._tables.write(batch)
        for host in batch.hosts.values():
            if not host.is_active:
                # Twenty thousand hosts are kept; with their blocks they would take 80 MB.
                host.queue.forget()
            elif not host.token:
                host.queue.trim()
        self._hosts.trim()
        return written

    def _pages(self) -> int:
        counts = self._counts
        return counts["stored"] + counts["unchanged"] + counts["duplicate"]


def _tells_kin(record: HostRecord, target: Target, settlement: Settlement) -> bool:
    """Whether the kind of a URL matters: if it failed; of pages a sample is enough, since each costs 10 µs."""
    if target.kind is not Kind.PAGE:
        return False
    is_sample = record.pages < SAMPLED_AT_FIRST or record.pages % SAMPLED_EVERY == 0 or record.failing
    return not settlement.outcome.is_page or bool(is_sample)


def _is_page(target: Target) -> bool:
    return bool(target.fingerprint)


def _news_of(held: _Held, settlement: Settlement, now: float) -> RobotsNews | None:
    """What a visit says of a robots.txt, if only that its own got lost."""
    if settlement.robots is None and held.target.kind is Kind.ROBOTS and held.spot is None:
        return lost_robots(held.target, now)
    return settlement.robots


def _discovered(ended: Iterable[tuple[_Held, Settlement]]) -> list[Target]:
    return [target for _, settlement in ended for target in settlement.discovered]


def _marked(ended: Iterable[tuple[_Held, Settlement]]) -> list[bytes]:
    return [mark for _, settlement in ended for mark in settlement.known]


def _origins_told_of(ended: Iterable[tuple[_Held, Settlement]], now: float) -> list[str]:
    return [news.origin for held, settlement in ended if (news := _news_of(held, settlement, now))]
