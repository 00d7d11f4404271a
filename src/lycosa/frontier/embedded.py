"""The frontier within one process: one scheduler over tables in memory or in RocksDB, and what was stored before."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from lycosa.clock import Clock, steady_clock
from lycosa.dedupe.comparison import Signature
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.figures import Durations, FilterFigures
from lycosa.frontier.claims import Claims
from lycosa.frontier.memory import MemoryReader, MemoryTables
from lycosa.frontier.obeying import is_pardoned
from lycosa.frontier.poison import readable_history
from lycosa.frontier.ranking import classes_for
from lycosa.frontier.records import site_notes
from lycosa.frontier.rules import FrontierRules, Which, is_for_revisit
from lycosa.frontier.scheduler import Scheduler, read_state
from lycosa.frontier.spacing import NEVER, Spacing
from lycosa.frontier.tables import CONTENTS, HISTORY, ROBOTS, SITES, Row, Tables
from lycosa.frontier.taking import PagesAtMost
from lycosa.model import History, Lease, Placement, Settlement, Target
from lycosa.orders import Given, Pardon
from lycosa.ports import Counts

T = TypeVar("T")
READMITTED_TOGETHER = 1_000


class EmbeddedFrontier:
    """Implements `ports.Frontier` and `ports.Duplicates` for one process on one machine.

    Its tables never keep the event loop waiting: what is asked of them is answered without a pause. `rows` are all
    rows of one of them.
    """

    def __init__(
        self,
        tables: Tables,
        rows: Callable[[str], Iterable[Row]],
        place: Callable[[Signature], Placement],
        key: bytes,
        rules: FrontierRules,
        clock: Clock | None = None,
        durations: dict[str, Durations] | None = None,
        filter_figures: Callable[[], FilterFigures | None] = lambda: None,
    ) -> None:
        self.rules = rules
        self.durations = durations or {}
        self._filter_figures = filter_figures
        self._tables = tables
        self._rows = rows
        self._place = place
        self._key = key
        self._tell: Callable[[], None] = lambda: None
        self._claims = Claims(self._stored_under, self._has_lease)
        clock = clock or steady_clock()
        self._state = state = _at_once(read_state(tables))
        self.changes_found = state.changes  # as an earlier run left it
        # What an earlier run asked in its last moments is not known.
        spacing = Spacing(rules.pace, clock() if state.epoch > 1 else NEVER, delays=rules.delays)
        self._scheduler = Scheduler(
            tables,
            rules,
            clock,
            state,
            contents=self._claims,
            limit=PagesAtMost(rules.max_pages),
            spacing=spacing,
            workers=range(max(1, rules.workers)),
            tell=self.tell,
            classes=classes_for(rules),
        )
        _at_once(self._scheduler.open())

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        return await self._scheduler.add(targets)

    async def take(self, worker: int, limit: int) -> list[Lease]:
        return await self._scheduler.take(worker, limit)

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        return await self._scheduler.settle(settlements)

    async def may_ask_at(self, token: int, address: str) -> bool:
        return await self._scheduler.may_ask_at(token, address)

    async def give_back(self, tokens: Sequence[int]) -> None:
        await self._scheduler.give_back(tokens)

    async def is_finished(self) -> bool:
        return self._scheduler.is_finished()

    # ---- the rest of the interface

    async def robots(self, origin: str) -> bytes:
        return await self._value(ROBOTS, origin.encode()) or b""

    async def site(self, domain: str) -> bytes:
        return site_notes(await self._value(SITES, domain.encode()))

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        return await self._claims.original_of(digest, url, token)

    async def group_of(self, signature: bytes) -> Placement:
        return self._place(Signature.from_bytes(signature))

    async def release(self, worker: int) -> int:
        return await self._scheduler.release(worker)

    def counts(self) -> Counts:
        return self._scheduler.counts()

    def filter_figures(self) -> FilterFigures | None:
        return self._filter_figures()

    def next_at(self, worker: int) -> float | None:
        return self._scheduler.next_at(worker)

    def idle_until(self) -> float | None:
        return self._scheduler.idle_until()

    async def history(self, url_fingerprint: bytes) -> History | None:
        return readable_history(await self._value(HISTORY, url_fingerprint))

    async def readmit(self, which: Which = is_for_revisit, *, is_lost: bool = False) -> int:
        """Queue what was visited before once more: for a revisit, or what is chosen. Returns how many.

        In a crawl that goes on without an end all that is for a revisit rests, from the first time on, until it is due.
        """
        is_taken_in = self.rules.is_continuous and which is is_for_revisit
        if is_taken_in and self._scheduler.is_whole:
            return 0
        rows, queued = iter(self._rows(HISTORY)), 0
        while some := list(islice(rows, READMITTED_TOGETHER)):
            queued += await self._scheduler.readmit(some, which, is_lost=is_lost)
            await asyncio.sleep(0)
        self._scheduler.is_whole = self._scheduler.is_whole or is_taken_in
        await self._tables.durable()
        return queued

    async def readmit_lost(self, fingerprints: Sequence[bytes]) -> int:
        """Queue URLs once more of whose visits nothing was kept. Returns how many were known."""
        raw = await self._tables.get(HISTORY, fingerprints) if fingerprints else []
        rows = [(mark, past) for mark, past in zip(fingerprints, raw, strict=True) if past]
        queued = await self._scheduler.readmit(rows, lambda _: True, is_lost=True)
        await self._tables.durable()
        return queued

    async def obey(self, given: Given, targets: Sequence[Target] = ()) -> str:
        """Carry out an order, once; of `AddSeeds` the targets come with it. Returns what came of it."""
        pardoned = 0
        if isinstance(given.order, Pardon):
            pardoned = await self.readmit(is_pardoned(given.order.host))
        return await self._scheduler.obey(given, targets, pardoned)

    @property
    def paused(self) -> str:
        """Why an operator wants nothing begun; empty if nobody does."""
        return self._scheduler.paused

    async def durable_changes(self) -> int:
        """How many batches were written in all runs; these are on the disk."""
        changes = self._state.changes
        await self._tables.durable()
        return changes

    def listen(self, tell: Callable[[], None]) -> None:
        """Be told when settlements are written, though not yet durable."""
        self._tell = tell

    def tell(self) -> None:
        """Something may have become available."""
        self._tell()

    def give_up(self) -> None:
        """Nothing here is waited for."""

    def crawl_key(self) -> bytes:
        return self._key

    async def close(self) -> None:
        try:
            await self._scheduler.close()
        finally:
            await self._tables.close()

    async def _value(self, table: str, key: bytes) -> bytes | None:
        (value,) = await self._tables.get(table, [key])
        return value

    def _has_lease(self, token: int) -> bool:
        return self._scheduler.leases.get(token) is not None

    async def _stored_under(self, digest: bytes) -> bytes | None:
        return await self._value(CONTENTS, digest)


def _at_once(work: Coroutine[Any, Any, T]) -> T:
    """What something that never pauses comes to."""
    try:
        work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    work.close()
    raise AssertionError("these tables answer at once")


def memory_frontier(rules: FrontierRules, clock: Clock | None = None) -> EmbeddedFrontier:
    """For short crawls from a program: nothing survives the process."""
    tables = MemoryTables()
    groups, rows = MemoryContentGroups(), MemoryReader(tables).rows
    place = lambda signature: groups.group_of([signature])[0]  # noqa: E731
    return EmbeddedFrontier(tables, rows, place, secrets.token_bytes(16), rules, clock)


def rocks_frontier(folder: Path, rules: FrontierRules, clock: Clock | None = None) -> EmbeddedFrontier:
    """For a crawl of one machine: everything is in a folder."""
    from lycosa.frontier.rocks.tables import RocksTables

    tables = RocksTables(
        folder,
        durability=rules.durability,
        seen=rules.seen,
        seen_capacity=rules.seen_capacity,
        seen_error=rules.seen_error,
    )
    durations = {"sync": tables.syncs}
    return EmbeddedFrontier(
        tables, tables.rows, tables.group_of, tables.crawl_key(), rules, clock, durations, tables.filter_figures
    )
