"""Many visits at once: takes leases, runs visits, keeps what they found, settles them in groups.

The order of a commit is the promise of the crawl: the WARC record and the journal row are on disk first,
then one atomic write of the frontier makes the visit count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lycosa.clock import Clock
from lycosa.crawl.discovery import Discovery
from lycosa.crawl.settlement import Kept, postponement_of, settlement_of, visit_row
from lycosa.crawl.visit import Visitor
from lycosa.errors import BackendLost
from lycosa.model import Lease, OutcomeKind, Settlement
from lycosa.outcome import Deferred, Postponed
from lycosa.ports import Dispatcher, Fetcher, Store
from lycosa.site.judge import SiteJudge

MAX_PREFETCHED = 10_000
# How long requests under way may take to end when the crawl is stopped.
STOP_SECONDS = 10.0
# How often, without a network, a lease is taken to see whether there is one again.
CUT_OFF_SECONDS = 3.0
# What a discovered target takes until the frontier has it, once as a value and once as part of a message.
TARGET_BYTES = 1000


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
    ) -> None:
        self._dispatcher = dispatcher
        self._visitor = visitor
        self._judge = judge
        self._discovery = discovery
        self._fetcher = fetcher
        self._store = store
        self._connections = connections
        self._clock = clock
        self._on_kept = on_kept
        self._visits: set[asyncio.Task[None]] = set()
        self._pending: list[tuple[Settlement, Kept | None]] = []
        self._unsettled = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._is_cut_off = False
        self._prefetched: set[str] = set()
        self._prefetches: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Visit until there is nothing left; everything begun is settled when this returns. Raises `BackendLost`."""
        try:
            async with asyncio.TaskGroup() as group:
                committer = group.create_task(self._commit_forever())
                while leases := await self._take():
                    for lease in leases:
                        self._unsettled += 1
                        visit = group.create_task(self._visit(lease))
                        self._visits.add(visit)
                        visit.add_done_callback(self._visits.discard)
                await self._finish()
                committer.cancel()
        except* BackendLost as errors:
            raise errors.exceptions[0] from None
        finally:
            for prefetch in self._prefetches:
                prefetch.cancel()

    async def _finish(self) -> None:
        """Let what is under way come to its end; what takes too long goes back to the frontier with its lease."""
        if self._visits:
            _, slow = await asyncio.wait(self._visits, timeout=STOP_SECONDS)
            for visit in slow:
                visit.cancel()
            self._unsettled -= len(slow)
        await self._wait_for_room(0)

    async def close(self) -> None:
        await self._fetcher.close()
        await self._store.close()

    async def _take(self) -> list[Lease]:
        if self._unsettled >= self._connections:
            await self._wait_for_room(self._connections - 1)
        await self._notice_network()
        if self._is_cut_off:
            await asyncio.sleep(CUT_OFF_SECONDS)
            return await self._dispatcher.take(1)
        return await self._dispatcher.take(self._connections - self._unsettled)

    async def _notice_network(self) -> None:
        if self._is_cut_off is not self._fetcher.is_cut_off:
            self._is_cut_off = self._fetcher.is_cut_off
            await self._dispatcher.pause("no name server answers, nobody can be reached" if self._is_cut_off else "")

    async def _wait_for_room(self, at_most: int) -> None:
        while self._unsettled > at_most:
            self._room.clear()
            await self._room.wait()

    async def _visit(self, lease: Lease) -> None:
        outcome = await self._visitor.visit(lease)
        learnt = self._judge.learn(lease, outcome)
        if isinstance(outcome, Deferred):
            self._unsettled -= 1
            self._room.set()
            return
        if isinstance(outcome, Postponed):
            self._pending.append((postponement_of(lease, outcome), None))
            self._news.set()
            return
        kept = visit_row(lease, outcome, self._clock())
        target = lease.target
        self._store.put(*kept, fingerprint=target.fingerprint, number=target.visits + 1)
        for left, refused in learnt.left_out:
            row = visit_row(Lease(lease.token, left, lease.expires_at), refused, self._clock())
            self._store.put(*row, fingerprint=left.fingerprint, number=1)
        settlement = settlement_of(lease, outcome, learnt)
        self._fetcher.hold(_held_bytes(settlement))
        # Bodies and texts are with the store by now.
        self._pending.append((settlement, kept if self._on_kept else None))
        self._news.set()

    async def _commit_forever(self) -> None:
        """One group at a time: while one is synced and settled, the next gathers."""
        while True:
            await self._news.wait()
            # Nothing is awaited between these lines: what is added after the swap rings anew.
            self._news.clear()
            group, self._pending = self._pending, []
            # Refusals too, though they leave no record: what was not asked for is to be told after a crash as well. But
            # a trap has a hundred thousand in a row, each of which would wait for the disk.
            if not all(settlement.deferred for settlement, _ in group):
                has_records = any(settlement.outcome is not OutcomeKind.REFUSED for settlement, _ in group)
                await self._store.sync(is_power_safe=has_records)
            late = set(await self._dispatcher.settle([settlement for settlement, _ in group]))
            for settlement, kept in group:
                if settlement.token not in late:
                    self._acknowledged(settlement, kept)
            self._fetcher.hold(-sum(_held_bytes(settlement) for settlement, _ in group))
            self._unsettled -= len(group)
            self._room.set()

    def _acknowledged(self, settlement: Settlement, kept: Kept | None) -> None:
        """The frontier has it: only now may the same links be left out of later settlements."""
        if settlement.discovered:
            self._discovery.remembered.add(target.fingerprint for target in settlement.discovered)
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
