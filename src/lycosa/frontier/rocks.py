"""The embedded frontier: the Mercator scheme on RocksDB, for one parent process.

A URL leaves its queue only in the atomic write that settles it, so a lease needs no record of its own:
after a crash everything that was leased is simply still queued. What is kept in memory is bounded by
settings, never by the length of the queue: the active hosts with the head of each queue, a cache of
host records, the leases that are out, and the Bloom filter.

Every verb changes memory and fills one batch, without a pause in between, and then writes it: nobody ever sees one
without the other. Waiting for the disk comes last.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from lycosa.clock import Clock, steady_clock
from lycosa.dedupe.rocks import GroupPlanner
from lycosa.dedupe.signature import Signature
from lycosa.frontier import tables as t
from lycosa.frontier.claims import Claims
from lycosa.frontier.commit import GroupCommit
from lycosa.frontier.host import Host
from lycosa.frontier.hosts import HostTable
from lycosa.frontier.poison import readable_history
from lycosa.frontier.rules import (
    FrontierRules,
    again_after,
    history_of,
    host_of_origin,
    learn,
    lost_robots,
    pause_after,
    rank_of,
    robots_target,
)
from lycosa.frontier.seen import SeenTable
from lycosa.frontier.spacing import Place, Spacing
from lycosa.model import (
    History,
    Kind,
    Lease,
    OutcomeKind,
    Placement,
    RobotsNews,
    Settlement,
    Target,
    Validators,
    origin_of,
)
from lycosa.policy.politeness import Standing, delay_seconds, slowed_seconds
from lycosa.ports import Counts

logger = logging.getLogger(__name__)

# A machine does not come back from a power cut sooner: shorter pauses need no fsync before the request.
REBOOT_SECONDS = 5.0
# Retries queued again by one call, and entries per write when millions are queued again.
MAX_WOKEN = 1_000
# Versions of sites kept in memory, about 150 bytes each; others are looked up.
MAX_VERSIONS = 50_000
_READMIT_BATCH = 5_000
# Of a queue's key, behind the number of its host.
QUEUE_RANK_AT = 4


class _Held(msgspec.Struct):
    """A lease that is out."""

    host: Host
    target: Target
    key: bytes  # of its queue entry; empty for a robots.txt asked for on the fly
    worker: int
    expires_at: float
    free_at_before: float
    visits: int
    place: Place


class RocksFrontier:
    """Implements `ports.Frontier` and `ports.Duplicates` for one process on one machine."""

    def __init__(self, folder: Path, rules: FrontierRules, clock: Clock | None = None) -> None:
        self.rules = rules
        self._clock = clock or steady_clock()
        self._tables = t.Tables(folder)
        try:
            self._seen = SeenTable(self._tables, rules)
        except BaseException:
            self._tables.close()
            raise
        epoch = self._tables.begin_run()
        # What an earlier run asked in its last moments is not known.
        self._spacing = Spacing(rules.pace, self._clock()) if epoch > 1 else Spacing(rules.pace)
        self._hosts = HostTable(self._tables, rules, self._clock, epoch, self._spacing)
        self._epoch = epoch
        self._tokens = count(epoch << 40 | 1)
        self._counts: dict[str, int] = msgspec.structs.asdict(self._tables.counts())
        # In the order they were given out, which is the order in which they expire.
        self._leases: OrderedDict[int, _Held] = OrderedDict()
        self._leased_pages = 0
        self._claims = Claims(self._tables.contents.get, self._leases)
        self._versions: OrderedDict[str, int] = OrderedDict()
        assert self._tables.groups, "just opened"
        self._groups = GroupPlanner(self._tables.groups)
        # What left queues with a limit, and what joined them, since the last write: the tables cannot say so.
        self._evicted: set[bytes] = set()
        self._fresh: dict[str, dict[bytes, bytes]] = defaultdict(dict)
        self._placed = t.batch()  # what texts have changed in their groups since the last write
        self._next_delayed_at = t.first_due(self._tables.delayed)
        self._woken = b""  # delayed entries up to here are gone
        self._commit = GroupCommit(self._tables.sync, is_wanted=rules.durability == "power")

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        batch = t.batch()
        added = self._add(batch, targets)
        if len(batch):
            self._write(batch)
        await self._commit.durable()
        return added

    async def take(self, worker: int, limit: int) -> list[Lease]:
        now = self._clock()
        self._wake(now)
        batch = t.batch()
        self._hosts.activate(batch, now)
        leases: list[Lease] = []
        longest_pause = 0.0
        for host in self._hosts.ready(batch, worker, now) if limit and self._may_lease() else ():
            if lease := self._lease(batch, host, worker, now):
                leases.append(lease)
                longest_pause = max(longest_pause, host.record.free_at - now)
            if len(leases) == limit or not self._may_lease():
                break
        if len(batch):
            self._tables.write(batch)
            self._commit.note_write()
        if longest_pause > REBOOT_SECONDS:
            await self._commit.durable()
        return leases

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        now = self._clock()
        batch = t.batch()
        late = []
        for settlement in settlements:
            if held := self._end_lease(settlement.token):
                self._settle(batch, held, settlement, now)
            else:
                late.append(settlement.token)
                self._counts["late"] += 1
        self._write(batch)
        await self._commit.durable()
        return late

    async def approach(self, token: int, address: str) -> bool:
        if not (held := self._leases.get(token)):
            return False
        now, record = self._clock(), held.host.record
        record.address = address
        if place := self._spacing.approach(held.place, address, now):
            held.place = place
            return True
        await self.give_back(token)
        return False

    async def give_back(self, token: int) -> None:
        if not (held := self._leases.get(token)):
            return
        self._end_lease(token)
        self._unask(held)
        batch = t.batch()
        self._hosts.go_on(batch, held.host, self._clock())
        self._write(batch)

    async def is_finished(self) -> bool:
        if self._leases:
            return False
        if self.rules.max_pages and self._pages() >= self.rules.max_pages:
            return True
        return self._counts["queued"] == 0 and self._counts["delayed"] == 0

    # ---- the rest of the interface

    async def robots(self, origin: str) -> bytes:
        return self._tables.robots.get(origin.encode()) or b""

    async def site(self, domain: str) -> bytes:
        return t.site_notes(self._tables.sites.get(domain.encode()))

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        return await self._claims.original_of(digest, url, token)

    async def place(self, signature: bytes) -> Placement:
        # Written with the next settlement. A crash before that forgets the text together with its visit.
        return self._groups.plan(self._placed, Signature.from_bytes(signature))

    async def release(self, worker: int) -> int:
        batch, now = t.batch(), self._clock()
        gone = [token for token, held in self._leases.items() if held.worker == worker]
        for token in gone:
            self._give_back(batch, token, now)
        if gone:
            self._write(batch)
        return len(gone)

    def counts(self) -> Counts:
        counts = self._counts
        counts["known"], counts["hosts"], counts["leased"] = self._seen.known, len(self._hosts), len(self._leases)
        return Counts(**counts)

    def next_at(self, worker: int) -> float | None:
        moments = [held.expires_at for held in self._oldest_lease()]
        if self._may_lease():
            moments += [due for due in (self._next_delayed_at, self._hosts.next_at(worker)) if due is not None]
        return min(moments, default=None)

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do; None while there is work."""
        if self._leases or not self._hosts.are_all_in_trouble():
            return None
        return min((due for due in (self._next_delayed_at, self._hosts.next_at()) if due is not None), default=None)

    async def history(self, url_fingerprint: bytes) -> History | None:
        raw = self._tables.seen.get(url_fingerprint)
        return readable_history(raw)

    async def readmit(self) -> int:
        """Queue every page visited before once more, for a revisit. Returns how many."""
        now, queued, batch = self._clock(), 0, t.batch()
        for fingerprint, raw in self._tables.seen.items():
            past = readable_history(raw)
            # One that is due already stands in a queue: asking twice must not fetch it twice.
            if past is None or past.next_at or not past.outcome.is_page:
                continue
            host = self._hosts.get(host_of_origin(origin_of(past.url)), batch)
            target = Target(past.url, host.record.name, fingerprint, depth=past.depth, referrer=past.referrer)
            batch.put(fingerprint, t.encode(msgspec.structs.replace(past, next_at=now)), self._tables.in_seen)
            self._enqueue(batch, host, target)
            self._hosts.note(batch, host)
            queued += 1
            if queued % _READMIT_BATCH == 0:
                self._write(batch)
                batch = t.batch()
                await asyncio.sleep(0)
        self._write(batch)
        await self._commit.durable()
        return queued

    def crawl_key(self) -> bytes:
        return self._tables.crawl_key()

    async def close(self) -> None:
        try:
            await self._commit.finish()
            self._write(t.batch())
            self._tables.sync()
            # Without the file the filter is built again at the next start.
            with contextlib.suppress(OSError):
                self._seen.save()
        finally:
            del self._groups
            self._tables.close()

    # ---- adding

    def _add(self, batch: Any, targets: Sequence[Target]) -> int:
        new = self._seen.keep_new([target for target in targets if target.fingerprint])
        errands = [target for target in targets if not target.fingerprint]
        touched: dict[str, Host] = {}
        dropped = 0
        for target in errands + new if errands else new:
            host = touched.get(target.host)
            if host is None:
                host = touched[target.host] = self._hosts.get(target.host, batch)
            if not self._make_room(batch, host, target):
                dropped += 1
                continue
            if self._seen.is_exact and target.fingerprint:
                batch.put(target.fingerprint, b"", self._tables.in_seen)
            self._enqueue(batch, host, target)
        for host in touched.values():
            self._hosts.note(batch, host)
        return len(new) - dropped

    def _make_room(self, batch: Any, host: Host, target: Target) -> bool:
        """Whether its host's queue takes a target: if it is full, only in the place of a less important one.

        What is dropped is forgotten, and may be found again. What is under way or was visited before is not dropped.
        """
        limit, record = self.rules.max_queued_per_host, host.record
        if not limit or record.queued < limit or not target.fingerprint:
            return True
        self._counts["dropped"] += 1
        record.dropped += 1
        if self._evict(batch, host, rank_of(target)):
            return True
        self._seen.forget(target.fingerprint)
        return False

    def _evict(self, batch: Any, host: Host, rank: int) -> bool:
        """Drop the last entry of a queue if it is of a lower rank, and if it may be dropped."""
        # Often the class alone tells.
        if host.record.tail and rank >= host.record.tail[0]:
            return False
        fresh = self._fresh.get(host.record.name, {})
        key, value = max([*fresh.items(), *host.last(self._tables.queue, self._evicted)])
        held, target = self._leases.get(host.token), t.readable_target(value, host.record.name)
        is_under_way = held is not None and held.key == key
        if rank >= key[QUEUE_RANK_AT] or is_under_way or target is None:
            return False
        if not target.fingerprint or self._past_of(target):
            return False
        batch.delete(key, self._tables.in_queue)
        batch.delete(target.fingerprint, self._tables.in_seen)
        self._evicted.add(key)
        fresh.pop(key, None)
        host.evict(key)
        self._counts["queued"] -= 1
        self._seen.forget(target.fingerprint)
        return True

    def _enqueue(self, batch: Any, host: Host, target: Target) -> None:
        serial = self._tables.next_serial()
        order = t.LAST_SERIAL - serial if self.rules.order == "depth" else serial
        key = t.queue_key(host.record.number, rank_of(target), order)
        value = t.encode(target)
        batch.put(key, value, self._tables.in_queue)
        host.push(key, value)
        if self.rules.max_queued_per_host:
            host.record.tail = max(host.record.tail, key[QUEUE_RANK_AT:])
            self._fresh[host.record.name][key] = value
        self._counts["queued"] += 1
        if target.kind is Kind.ROBOTS:
            # It needs no permission, so it need not wait for this host's own robots.txt.
            self._hosts.unpark(batch, host, self._clock())
        self._hosts.wait(batch, host)

    # ---- leasing

    def _may_lease(self) -> bool:
        limit = self.rules.max_pages
        return not limit or self._pages() + self._leased_pages < limit

    def _lease(self, batch: Any, host: Host, worker: int, now: float) -> Lease | None:
        """The first of a host's queue, or its robots.txt; None if the host must wait for that."""
        record = host.record
        if not (first := self._first(host)):
            self._hosts.go_on(batch, host, now)
            return None
        key, target = first
        robots_at = 0.0
        if target.kind is not Kind.ROBOTS:
            state = record.origins.get(origin_of(target.url))
            if state is None or state.expires_at <= now:
                key, target = b"", robots_target(origin_of(target.url), target.host)
            elif state.is_pending:
                self._hosts.park(batch, host, state.expires_at)
                return None
            else:
                robots_at = state.fetched_at
        past, token = self._past_of(target), next(self._tokens)
        place = Place(host.domain, record.address, token)
        self._spacing.note(place, now)
        expires_at, visits = now + self.rules.lease_seconds, past.visits if past else 0
        self._hand_out(batch, token, _Held(host, target, key, worker, expires_at, record.free_at, visits, place), now)
        validators = Validators(past.etag, past.last_modified, past.digest) if past else None
        return Lease(token, target, expires_at, robots_at, validators, record.address, self._site_version(host.domain))

    def _first(self, host: Host) -> tuple[bytes, Target] | None:
        """The first of a host's queue. What cannot be read is set aside; None if nothing else was there."""
        while host.record.queued:
            key, value = host.first(self._tables.queue)
            if target := t.readable_target(value, host.record.name):
                return key, target
            # Written at once: the next look at the queue must not find it there again.
            batch = t.batch()
            batch.delete(key, self._tables.in_queue)
            host.drop(key)
            self._counts["queued"] -= 1
            self._set_aside(batch, b"queue", key, value)
            self._hosts.note(batch, host)
            batch.put(b"counts", t.encode(self.counts()), self._tables.in_meta)
            self._tables.write(batch)
            self._commit.note_write()
        return None

    def _set_aside(self, batch: Any, family: bytes, key: bytes, value: bytes) -> None:
        if not self._counts["poisoned"]:
            logger.warning(
                "%s: a record of %r cannot be read; it is set aside, and so are others like it",
                self._tables.folder,
                family.decode(),
            )
        self._counts["poisoned"] += 1
        batch.put(family + b":" + key, value, self._tables.in_poisoned)

    def _site_version(self, domain: str) -> int:
        version = self._versions.get(domain)
        if version is None:
            version = t.site_version(self._tables.sites.get(domain.encode()))
            self._note_version(domain, version)
        return version

    def _note_version(self, domain: str, version: int) -> None:
        self._versions[domain] = version
        if len(self._versions) > MAX_VERSIONS:
            self._versions.popitem(last=False)

    def _past_of(self, target: Target) -> History | None:
        raw = self._tables.seen.get(target.fingerprint) if target.fingerprint else None
        return readable_history(raw)

    def _hand_out(self, batch: Any, token: int, held: _Held, now: float) -> None:
        """Note the lease, and durably that its host is not free: the request may go out any moment."""
        record = held.host.record
        self._leases[token] = held
        self._leased_pages += held.target.kind is Kind.PAGE
        held.host.token = token
        delay = delay_seconds(self.rules.pace, record.fetch_seconds, record.crawl_delay_seconds)
        record.delay_seconds = slowed_seconds(self.rules.pace, delay, record.slowdown)
        record.free_at = now + record.delay_seconds
        record.leased_epoch = self._epoch
        self._hosts.note(batch, held.host)

    def _end_lease(self, token: int) -> _Held | None:
        held = self._leases.pop(token, None)
        if held:
            self._claims.end(token)
            self._leased_pages -= held.target.kind is Kind.PAGE
            held.host.token = 0
            held.host.record.leased_epoch = 0
        return held

    def _give_back(self, batch: Any, token: int, now: float) -> None:
        """A lease ends without a settlement: its URL is still queued, its host rests as if it had been asked."""
        held = self._end_lease(token)
        assert held, "only leases that are out are given back"
        held.host.record.free_at = now + held.host.record.delay_seconds
        self._hosts.asked(held.host)
        self._spacing.note(held.place, now)
        self._hosts.go_on(batch, held.host, now)

    def _unask(self, held: _Held) -> None:
        """Nothing was sent, so nobody has been asked."""
        held.host.record.free_at = held.free_at_before
        self._spacing.undo(held.place)

    def _oldest_lease(self) -> list[_Held]:
        return [self._leases[next(iter(self._leases))]] if self._leases else []

    # ---- settling

    def _settle(self, batch: Any, held: _Held, settlement: Settlement, now: float) -> None:
        host, target = held.host, held.target
        news = settlement.robots
        if news is None and target.kind is Kind.ROBOTS and not held.key:
            news = lost_robots(target, now)
        if news:
            self._learn_robots(batch, news, now)
        is_ban = self._rest(held, settlement, now)
        if held.key:
            batch.delete(held.key, self._tables.in_queue)
            host.drop(held.key)
            self._counts["queued"] -= 1
        may_retry = settlement.may_retry or is_ban
        again = again_after(settlement, target, self.rules.retry_pauses, may_retry=may_retry) if held.key else None
        due = now + again.pause_seconds if again else None
        if again:
            self._delay(batch, again.target, max(now + again.pause_seconds, host.record.free_at))
        else:
            self._counts[settlement.outcome.name.lower()] += 1
        if target.fingerprint:
            history = history_of(target, settlement, held.visits + 1, now, due)
            batch.put(target.fingerprint, t.encode(history), self._tables.in_seen)
        if settlement.outcome is OutcomeKind.STORED and settlement.digest:
            batch.put(settlement.digest, target.url.encode(), self._tables.in_contents)
        self._counts["fetched_bytes"] += settlement.body_bytes
        if news_of_site := settlement.site:
            batch.put(news_of_site.domain.encode(), t.pack_site(news_of_site), self._tables.in_sites)
            self._note_version(news_of_site.domain, news_of_site.version)
        for fingerprint in self._seen.mark(settlement.known):
            batch.put(fingerprint, b"", self._tables.in_seen)
        if settlement.discovered:
            self._add(batch, settlement.discovered)
        host.turn += 1
        self._hosts.go_on(batch, host, now)

    def _rest(self, held: _Held, settlement: Settlement, now: float) -> bool:
        """The host's pause after this visit. Returns whether it told us to go away."""
        record = held.host.record
        standing = Standing(record.failures, record.refusals, record.slowdown)
        pause = pause_after(self.rules.pace, settlement, standing, record.crawl_delay_seconds)
        if pause is None:
            self._unask(held)
            return False
        self._hosts.asked(held.host)
        standing = pause.standing
        record.failures, record.refusals, record.slowdown = standing.failures, standing.refusals, standing.slowdown
        if pause.is_ban or not standing.failures:
            record.ban = settlement.reason if pause.is_ban else ""
        record.delay_seconds = pause.seconds
        record.free_at = now + pause.seconds
        record.fetch_seconds = settlement.fetch_seconds
        record.visits += 1
        record.pages += settlement.outcome.is_page
        record.address = settlement.address or record.address
        return pause.is_ban

    def _delay(self, batch: Any, target: Target, due: float) -> None:
        batch.put(t.due_key(due, self._tables.next_serial(), 7), t.encode(target), self._tables.in_delayed)
        self._counts["delayed"] += 1
        self._next_delayed_at = due if self._next_delayed_at is None else min(due, self._next_delayed_at)

    def _learn_robots(self, batch: Any, news: RobotsNews, now: float) -> None:
        host = self._hosts.get(host_of_origin(news.origin), batch)
        host.record.crawl_delay_seconds = learn(host.record.origins, news)
        if news.record:
            batch.put(news.origin.encode(), news.record, self._tables.in_robots)
        self._hosts.note(batch, host)
        if not news.is_pending:
            self._hosts.unpark(batch, host, now)

    # ---- time

    def _wake(self, now: float) -> None:
        """Bring back what is due: leases nobody settled, hosts that rested, retries."""
        batch = t.batch()
        while self._leases and self._oldest_lease()[0].expires_at <= now:
            self._give_back(batch, next(iter(self._leases)), now)
        self._hosts.wake(batch, now)
        if self._next_delayed_at is not None and self._next_delayed_at <= now:
            self._wake_delayed(batch, now)
        if len(batch):
            self._write(batch)

    def _wake_delayed(self, batch: Any, now: float) -> None:
        self._next_delayed_at = None
        for woken, (key, value) in enumerate(t.items_after(self._tables.delayed, self._woken)):
            if t.due_of(key) > now or woken == MAX_WOKEN:
                self._next_delayed_at = t.due_of(key)
                break
            self._woken = key
            batch.delete(key, self._tables.in_delayed)
            self._counts["delayed"] -= 1
            if not (target := t.readable_target(value)):
                self._set_aside(batch, b"delayed", key, value)
                continue
            host = self._hosts.get(target.host, batch)
            self._enqueue(batch, host, target)
            self._hosts.note(batch, host)

    # ---- writing

    def _write(self, batch: Any) -> None:
        if len(self._placed):
            # A batch can be written once, also if that fails.
            placed, self._placed = self._placed, t.batch()
            self._tables.write(placed)
            self._groups.written()
        batch.put(b"counts", t.encode(self.counts()), self._tables.in_meta)
        self._tables.write(batch)
        self._seen.note_write()
        self._evicted.clear()
        self._fresh.clear()
        self._commit.note_write()
        self._hosts.trim()

    def _pages(self) -> int:
        counts = self._counts
        return int(counts["stored"] + counts["unchanged"] + counts["duplicate"])
