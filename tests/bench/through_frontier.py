"""A policy of the simulator that asks the frontier itself, which keeps its tables in memory."""

from __future__ import annotations

import asyncio
from secrets import token_bytes

import numpy as np
from msgspec.structs import replace

from lycosa.bench.freshness.web import ChangingWeb
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.frontier.embedded import EmbeddedFrontier
from lycosa.frontier.memory import MemoryReader, MemoryTables
from lycosa.frontier.poison import readable_history
from lycosa.frontier.records import encode
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.scheduler import read_state
from lycosa.frontier.tables import HISTORY
from lycosa.model import History, Kind, Lease, OutcomeKind
from lycosa.policy.politeness import Pace

from ..frontier.stage import DAY, FakeClock, Stage, page

BEGIN = 1_700_000_000.0
# The budget alone decides.
QUICK = Pace(min_delay_seconds=0, delay_factor=0)


class ThroughFrontier:
    """Implements `RevisitPolicy`: the pages were crawled once, and are visited again within the budget of the web."""

    def __init__(self, web: ChangingWeb) -> None:
        assert not web.gaps.any(), "without pauses"
        self._clock, self._tables = FakeClock(), MemoryTables()
        self._urls = [f"h{host}/p{number}" for number, host in enumerate(web.hosts.tolist())]
        self._number = {page(url).url: number for number, url in enumerate(self._urls)}
        self._lease: Lease | None = None
        self._loop = asyncio.Runner()
        self._loop.run(self._open(web))

    async def _open(self, web: ChangingWeb) -> None:
        self._stage = self._opened(FrontierRules(pace=QUICK))
        for number in np.argsort(web.first):
            self._clock.now = BEGIN + float(web.first[number])
            await self._stage.add(self._urls[number])
            lease = await self._next_page()
            assert lease
            await self._stage.settle(lease, status=200, digest=b"d", etag="e")
        await self._stage.frontier.close()
        for url, weight in zip(self._urls, web.weights.tolist(), strict=True):
            mark = page(url).fingerprint
            past = readable_history(self._tables.rows[HISTORY][mark])
            assert past
            self._tables.rows[HISTORY][mark] = encode(replace(past, weight=weight))
        self._clock.now = BEGIN
        rate = web.visits_per_second
        self._rules = FrontierRules(pace=QUICK, is_continuous=True, pages_per_second=rate)
        self._stage = self._opened(self._rules)
        assert await self._stage.frontier.readmit() == web.pages

    def _opened(self, rules: FrontierRules) -> Stage:
        groups = MemoryContentGroups()
        rows, key = MemoryReader(self._tables).rows, token_bytes(16)
        frontier = EmbeddedFrontier(
            self._tables, rows, lambda signature: groups.group_of([signature])[0], key, rules, self._clock
        )
        return Stage(frontier, self._clock)

    async def _next_page(self) -> Lease | None:
        while leases := await self._stage.take(limit=1):
            if leases[0].target.kind is not Kind.ROBOTS:
                return leases[0]
            await self._stage.read_robots(leases[0], lasts=10_000 * DAY)
        return None

    def take(self, now: float) -> int | None:
        self._clock.now = BEGIN + now
        self._lease = self._loop.run(self._next_page())
        return self._number[self._lease.target.url] if self._lease else None

    def visited(self, page: int, now: float, *, changed: bool) -> None:
        assert self._lease
        outcome = OutcomeKind.STORED if changed else OutcomeKind.UNCHANGED
        status, share = (200, 0.5) if changed else (304, 0.0)
        self._loop.run(self._stage.settle(self._lease, outcome, status=status, digest=b"d", etag="e", changed=share))

    @property
    def shortest(self) -> float:
        return self._rules.min_revisit_seconds

    @property
    def resting(self) -> int:
        return self._stage.frontier.counts().resting

    def row(self, number: int) -> History:
        """What the frontier knows of a page."""
        past = self._loop.run(self._stage.frontier.history(page(self._urls[number]).fingerprint))
        assert past
        return past

    def price(self) -> float:
        """What a visit must be worth, as the frontier has it written down."""
        schedule = self._loop.run(read_state(self._tables)).schedule
        assert schedule
        return schedule.price
