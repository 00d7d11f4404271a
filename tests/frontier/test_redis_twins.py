"""The frontier on Redis beside the one in memory, under one clock: whatever happens, both tell the same story."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import count
from random import Random
from typing import Any

import pytest

from lycosa.frontier.redis.address import parse_address
from lycosa.frontier.redis.frontier import RedisFrontier
from lycosa.frontier.redis.reader import RedisReader
from lycosa.frontier.redis.view import open_redis_view
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.tables import CONTENTS, META, TABLES
from lycosa.frontier.view import CrawlView
from lycosa.model import Lease
from lycosa.policy.priority import Order

from .crew import Machine
from .redis_servers import RedisServer
from .stage import EmbeddedFrontier, FakeClock
from .test_twins import InMemoryTwin, SteadyTwin, go_far, rules_of
from .walk import ORIGINS, SHARED_ORIGINS, Walk

numbers = count(1)
# What is known is compared after every step, so twice the way takes four times as long.
LENGTHS = [20, pytest.param(40, marks=pytest.mark.full)]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class InRedisTwin:
    """A crash is a machine that is started again without having left."""

    frontier: EmbeddedFrontier

    def __init__(self, server: RedisServer, partitions: int) -> None:
        self.address = f"{server.address}?crawl=twins{next(numbers)}&partitions={partitions}"

    async def open(self, chosen: FrontierRules, clock: FakeClock) -> None:
        self._chosen, self._clock = chosen, clock
        await self._begin()

    async def _begin(self) -> None:
        self._redis = RedisFrontier(self.address, self._chosen, name="here", fake_clock=self._clock)
        await self._redis.begin()
        self.frontier = self._redis

    async def restart(self, *, is_clean: bool) -> None:
        if is_clean:
            await self.frontier.close()
        else:
            await Machine(self._redis, self._clock, "here").die()
        await self._begin()

    def view(self) -> CrawlView:
        return open_redis_view(self.address)

    def rows(self, table: str) -> dict[bytes, bytes]:
        """Of the first partition."""
        with closing(RedisReader(parse_address(self.address), 0)) as reader:
            return dict(reader.rows(table))

    async def close(self) -> None:
        await self.frontier.close()


class RedisWalk(Walk):
    """Without revisits: in which order a store gives back what was visited is its own affair."""

    def readmit(self) -> None:
        return


class TwinWalk(RedisWalk):
    """On Redis in one partition, and in memory. The rows of their tables are the same."""

    def __init__(self, server: RedisServer, chosen: FrontierRules, origins: list[str]) -> None:
        self.memory, self.redis = InMemoryTwin(), InRedisTwin(server, partitions=1)
        super().__init__([self.memory, self.redis], chosen, origins)

    def same_memory(self) -> None:
        super().same_memory()
        # Whose contents are is agreed on by all partitions, and how often one was written to is its owner's affair.
        for table in set(TABLES) - {CONTENTS, META}:
            assert self.memory.rows(table) == self.redis.rows(table), table


def chosen_by(seed: int, **others: Any) -> FrontierRules:
    order: Order = "depth" if seed % 2 else "breadth"
    return rules_of(order, "exact", float(seed % 3 > 0), 3 if seed == 3 else 0, **others)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("steps", LENGTHS)
def test_a_long_walk_keeps_the_twins_together(server: RedisServer, seed: int, steps: int) -> None:
    chosen = chosen_by(
        seed, max_active_hosts=2 if seed == 4 else 10_000, assignment="balanced" if seed == 2 else "ring"
    )
    walk = TwinWalk(server, chosen, SHARED_ORIGINS if seed == 1 else ORIGINS)
    try:
        go_far(walk, Random(seed), steps)
    finally:
        walk.close()


class SpreadWalk(RedisWalk):
    """Over many partitions, beside one that nothing happens to. They look at hosts in whatever order."""

    def __init__(self, server: RedisServer, chosen: FrontierRules) -> None:
        super().__init__([SteadyTwin(), InRedisTwin(server, partitions=4)], chosen, ORIGINS)

    def take(self, worker: int, limit: int = 1000) -> int:
        return super().take(worker, 1000)

    def in_order(self, leases: list[Lease]) -> list[Lease]:
        return sorted(leases, key=lambda lease: lease.target.host)

    def settle(self, draw: Random, names: list[tuple[str, int]]) -> None:
        """One by one: within a batch, what is for other partitions goes before the rest, in whatever order it came."""
        for name in names:
            super().settle(draw, [name])

    def check(self) -> None:
        steady, other = (twin.frontier for twin in self.twins)
        assert steady.counts() == other.counts()
        self.adds_up()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("steps", LENGTHS)
def test_a_walk_over_many_partitions_tells_the_same_story(server: RedisServer, seed: int, steps: int) -> None:
    walk = SpreadWalk(server, chosen_by(seed))
    try:
        go_far(walk, Random(seed), steps)
    finally:
        walk.close()
