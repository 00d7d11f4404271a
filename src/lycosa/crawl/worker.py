"""Many visits at once: takes leases, runs visits, keeps what they found, settles them in groups.

The order of a commit is the promise of the crawl: the WARC record and the journal row are on disk first,
then one atomic write of the frontier makes the visit count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from lycosa.clock import Clock, machine_clock
from lycosa.crawl.discovery import Discovery
from lycosa.crawl.dispatcher import STOP_SECONDS
from lycosa.crawl.run import HostRun
from lycosa.crawl.settlement import (
    Kept,
    answered_at,
    left_out_by,
    may_go_on,
    postponement_of,
    settlement_of,
    visit_row,
)
from lycosa.crawl.visit import Visitor
from lycosa.errors import BackendLost
from lycosa.figures import Hits, WorkerFigures
from lycosa.model import Kind, Lease, OutcomeKind, Settlement
from lycosa.outcome import Crashed, Deferred, Failed, Outcome, Postponed
from lycosa.ports import Dispatcher, Fetcher, Store
from lycosa.site.judge import SiteJudge

if TYPE_CHECKING:
    from lycosa.topic.guide import Guide

MAX_PREFETCHED = 10_000
MAX_TOLD = 10_000
# How often, without a network, a lease is taken to see whether there is one again.
CUT_OFF_SECONDS = 3.0
# Requests that may be open whatever else is to be done; and how long a turn of the loop takes in a worker that is busy
# enough with those. Answers that wait to be read time out, and make their hosts seem slow.
MANY_CONNECTIONS, LONG_TURN_SECONDS = 512, 0.1
# Visits that may wait for their commit before those of a run wait with them.
MAX_UNSETTLED = 512
# How long a visit waits for others to be committed with it, while its host has enough to go on.
GATHER_SECONDS = 0.1
# What a discovered target takes until the frontier has it, once as a value and once as part of a message.
TARGET_BYTES = 1000


class _Pending(NamedTuple):
    """A visit that ended, on its way to the disk and the frontier."""

    settlement: Settlement
    kept: Kept | None = None
    closed: HostRun | None = None  # by this visit, until the frontier knows of it
    rests_from: float = 0.0  # when its host had answered, 0 if that is not known, or does not matter

    def told(self, now: float) -> Settlement:
        """The settlement, as it is told now."""
        if not self.rests_from:
            return self.settlement
        return msgspec.structs.replace(self.settlement, rested_seconds=max(0.0, now - self.rests_from))


class Worker:
    """Runs visits until the crawl is over or `stop` is called. Holds nothing that must survive."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        visitor: Visitor,
        judge: SiteJudge,
        discovery: Discovery,
        fetcher: Fetcher,
        store: Store,
        connections: int,
        clock: Clock,
        on_kept: Callable[[Kept], None] | None = None,
        connections_per_host: Mapping[str, int] = MappingProxyType({}),
        caches: Mapping[str, Hits] = MappingProxyType({}),
        guide: Guide | None = None,
    ) -> None:
        self._guide = guide
        self._dispatcher = dispatcher
        self._visitor = visitor
        self._judge = judge
        self._discovery = discovery
        self._fetcher = fetcher
        self._store = store
        self._connections = connections
        self._connections_per_host = connections_per_host
        self._clock = clock
        self._caches = caches
        self._on_kept = on_kept
        self._runs: dict[str, HostRun] = {}
        self._visits: set[asyncio.Task[None]] = set()
        self._pending: list[_Pending] = []
        self._unsettled = 0  # visits that ended
        self._asked_at = 0.0  # for the leases that come next
        self._told_at: dict[str, float] = {}  # why a host without pauses is to rest
        self._stalled: list[HostRun] = []  # that wait for those to be settled
        self._news = asyncio.Event()
        self._gathering: asyncio.TimerHandle | None = None  # of what is to be committed
        self._room = asyncio.Event()
        self._is_cut_off = False
        self._prefetched: set[str] = set()
        self._prefetches: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Visit until there is nothing left; everything begun is settled when this returns. Raises `BackendLost`."""
        try:
            async with asyncio.TaskGroup() as group:
                committer = group.create_task(self._commit_forever(group))
                while leases := await self._take():
                    self._accept(leases, group)
                await self._finish()
                committer.cancel()
        except* BackendLost as errors:
            raise errors.exceptions[0] from None
        finally:
            for prefetch in self._prefetches:
                prefetch.cancel()

    def _accept(self, leases: Sequence[Lease], group: asyncio.TaskGroup) -> None:
        """Each host has its run: leases that come while it is visited stand behind those it has."""
        now, runs, refused = machine_clock(), dict[str, HostRun](), list[int]()
        for lease in leases:
            host = lease.target.host
            run = self._runs.get(host)
            if (run and run.is_closed) or self._told_at.get(host, 0.0) > self._asked_at:
                refused.append(lease.token)
                continue
            if run is None:
                run = self._runs[host] = HostRun(host, self._connections_per_host.get(host, 1))
            run.add(lease, now)
            runs[host] = run
        if refused:
            group.create_task(self._dispatcher.give_back(refused))
        for run in runs.values():
            self._advance(run, group)

    def _advance(self, run: HostRun, group: asyncio.TaskGroup) -> None:
        """Begin what may be begun of a host."""
        while run.may_begin:
            if self._unsettled >= MAX_UNSETTLED:
                self._stalled.append(run)
                return
            visit = group.create_task(self._visit(run, run.begin(), run.latest, group))
            run.latest = visit
            self._visits.add(visit)
            visit.add_done_callback(self._leave)
        if run.is_over:
            self._runs.pop(run.host, None)

    async def _finish(self) -> None:
        """Let what is under way come to its end; what takes too long goes back to the frontier with its lease."""
        await self._give_back(*self._runs.values())
        if self._visits:
            _, slow = await asyncio.wait(self._visits, timeout=STOP_SECONDS)
            for visit in slow:
                visit.cancel()
            await asyncio.gather(*slow, return_exceptions=True)
        await self._wait_for_room(0)

    def figures(self) -> WorkerFigures:
        """What it has to do, and how its caches serve it."""
        return WorkerFigures(under_way=self._under_way, caches=dict(self._caches))

    async def close(self) -> None:
        await self._visitor.close()
        await self._fetcher.close()
        await self._store.close()

    async def _take(self) -> list[Lease]:
        allowed = await self._allowed()
        if self._under_way >= allowed:
            await self._wait_for_room(allowed - 1)
        await self._notice_network()
        self._asked_at = machine_clock()
        if self._is_cut_off:
            await asyncio.sleep(CUT_OFF_SECONDS)
            return await self._dispatcher.take(1)
        return await self._dispatcher.take(allowed - self._under_way)

    async def _allowed(self) -> int:
        """How many may be under way. Whoever is behind with reading what came asks for no more than many at once."""
        if self._under_way < MANY_CONNECTIONS:
            return min(self._connections, MANY_CONNECTIONS)
        loop = asyncio.get_running_loop()
        began_at = loop.time()
        await asyncio.sleep(0)
        is_behind = loop.time() - began_at > LONG_TURN_SECONDS
        return min(self._connections, MANY_CONNECTIONS if is_behind else 2 * self._under_way)

    @property
    def _under_way(self) -> int:
        """Visits that have not ended, and those that are not settled yet."""
        return len(self._visits) + self._unsettled

    async def _notice_network(self) -> None:
        if self._is_cut_off is not self._fetcher.is_cut_off:
            self._is_cut_off = self._fetcher.is_cut_off
            await self._dispatcher.pause("no name server answers, nobody can be reached" if self._is_cut_off else "")

    async def _wait_for_room(self, at_most: int) -> None:
        while self._under_way > at_most:
            self._room.clear()
            await self._room.wait()

    async def _visit(
        self, run: HostRun, lease: Lease, before: asyncio.Task[None] | None, group: asyncio.TaskGroup
    ) -> None:
        """One visit; those behind it begin, or go back if the host has reason to rest."""
        has_answer = False

        async def answered() -> None:
            nonlocal has_answer
            has_answer = True
            run.asking -= 1
            run.is_sound = self._judge.is_sound(lease)
            if lease.at_once and run.may_begin:
                self._advance(run, group)
                # The next request leaves before this page is read: its task begins, then libcurl does.
                await asyncio.sleep(0)
                await asyncio.sleep(0)

        try:
            outcome = await self._visitor.visit(lease, answered)
            if before and isinstance(outcome, Failed | Crashed):
                # The page before it may still be read: settled later, it would make up for this failure.
                run.unheard += 1
                await asyncio.wait((before,))
                run.unheard -= 1
            is_calm = self._end(run, lease, outcome)
        finally:
            run.visiting -= 1
            run.asking -= not has_answer
        if not is_calm or run.is_stale(machine_clock()):
            await self._give_back(run)
        self._advance(run, group)

    async def _give_back(self, *runs: HostRun) -> None:
        """What was not begun is as if it had not been leased."""
        if tokens := [token for run in runs for token in run.clear()]:
            await self._dispatcher.give_back(tokens)

    def _leave(self, visit: asyncio.Task[None]) -> None:
        self._visits.discard(visit)
        self._room.set()

    def _end(self, run: HostRun, lease: Lease, outcome: Outcome) -> bool:
        """Hand a visit to whoever commits it. Returns whether the next target of its host may be visited now."""
        learnt = self._judge.learn(lease, outcome)
        if isinstance(outcome, Deferred):
            return False
        self._unsettled += 1
        if isinstance(outcome, Postponed):
            self._pending.append(_Pending(postponement_of(lease, outcome)))
            self._ring(run)
            return True
        kept = visit_row(lease, outcome, self._clock())
        target = lease.target
        self._store.put(*kept[:5], fingerprint=target.fingerprint, number=target.visits + 1)
        for left, refused in left_out_by(outcome, learnt):
            row = visit_row(Lease(lease.token, left, lease.expires_at), refused, self._clock())
            self._store.put(*row[:5], fingerprint=left.fingerprint, number=1)
        settlement = settlement_of(lease, outcome, learnt)
        self._fetcher.hold(_held_bytes(settlement))
        # Bodies and texts are with the store by now.
        is_calm = may_go_on(lease, settlement)
        # A robots.txt is leased alone: nothing was given out that does not go by it.
        closed = run if lease.at_once and not is_calm and target.kind is not Kind.ROBOTS else None
        if closed:
            closed.unheard += 1
        rests_from = 0.0 if lease.at_once else answered_at(outcome)
        self._pending.append(_Pending(settlement, kept if self._on_kept else None, closed, rests_from))
        self._ring(run)
        return is_calm

    def _ring(self, run: HostRun) -> None:
        """Something is to be committed: now, or with what follows soon, if its host does not wait for that."""
        if run.is_closed or not run.has_plenty:
            self._news.set()
        elif self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(GATHER_SECONDS, self._news.set)

    async def _commit_forever(self, group: asyncio.TaskGroup) -> None:
        """One group at a time: while one is synced and settled, the next gathers."""
        while True:
            await self._news.wait()
            # Nothing is awaited between these lines: what is added after the swap rings anew.
            self._news.clear()
            if self._gathering:
                self._gathering.cancel()
                self._gathering = None
            ended, self._pending = self._pending, []
            if not ended:
                continue
            await self._commit(ended)
            # Taken before: who has to wait again is noted anew.
            stalled, self._stalled = self._stalled, []
            for run in [*stalled, *(each.closed for each in ended if each.closed)]:
                self._advance(run, group)

    async def _commit(self, ended: Sequence[_Pending]) -> None:
        settlements = [each.settlement for each in ended]
        # Refusals too, though they leave no record: what was not asked for is to be told after a crash as well. But
        # a trap has a hundred thousand in a row, each of which would wait for the disk.
        if not all(settlement.deferred for settlement in settlements):
            has_records = any(settlement.outcome is not OutcomeKind.REFUSED for settlement in settlements)
            await self._store.sync(is_power_safe=has_records)
        now = self._clock()
        late = set(await self._dispatcher.settle([each.told(now) for each in ended]))
        for settlement, kept, closed, _ in ended:
            if settlement.token not in late:
                self._acknowledged(settlement, kept)
            if closed:
                closed.unheard -= 1
                self._note_told(closed.host)
        self._fetcher.hold(-sum(map(_held_bytes, settlements)))
        self._unsettled -= len(ended)
        self._room.set()

    def _note_told(self, host: str) -> None:
        """From now on the frontier knows why a host is to rest; what was asked for before may not go by that."""
        if len(self._told_at) >= MAX_TOLD:
            self._told_at.clear()
        self._told_at[host] = machine_clock()

    def _acknowledged(self, settlement: Settlement, kept: Kept | None) -> None:
        """The frontier has it: only now may the same links be left out of later settlements."""
        if settlement.left_out:
            self._discovery.remembered.add(target.fingerprint for target, _ in settlement.left_out)
        if settlement.discovered:
            self._discovery.remembered.add(target.fingerprint for target in settlement.discovered)
            if self._guide:
                self._guide.acknowledge(settlement)
            self._prefetch({target.host for target in settlement.discovered})
        if self._on_kept and kept:
            self._on_kept(kept)

    def _prefetch(self, hosts: set[str]) -> None:
        hosts -= self._prefetched
        if hosts:
            if len(self._prefetched) > MAX_PREFETCHED:
                self._prefetched.clear()
            self._prefetched |= hosts
            task = asyncio.create_task(self._fetcher.prefetch(list(hosts)))
            self._prefetches.add(task)
            task.add_done_callback(self._prefetches.discard)


def _held_bytes(settlement: Settlement) -> int:
    """About how much memory a visit takes until it is settled."""
    return settlement.body_bytes + TARGET_BYTES * len(settlement.discovered)
