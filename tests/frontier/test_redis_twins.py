"""The frontier on Redis beside the one in memory, under one clock: whatever happens, both tell the same story."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random

import pytest

from lycosa.frontier.redis import RedisFrontier
from lycosa.frontier.rules import FrontierRules
from lycosa.policy.politeness import Pace
from lycosa.policy.priority import Order

from .redis_servers import RedisServer, needs_redis
from .test_twins import SHARED_ORIGINS, WORKERS, Follower, Twins, some_targets

pytestmark = needs_redis
numbers = count(1)
# Without revisits: in which order a store gives back what was visited is its own affair.
EVENTS = ["add", "many", "late", "wait", "release", "restart"]
EVENT_WEIGHTS = [9, 2, 2, 6, 1, 2]


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class RedisTwins(Twins):
    """The durable one lives in Redis; a crash is a machine that is started again without having left."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = f"{address}?crawl=twins{next(numbers)}&partitions=4"

    def open(self, order: Order, seen: object, delay: float, limit: int) -> None:
        self.chosen = FrontierRules(
            pace=Pace(min_delay_seconds=delay, max_backoff_seconds=130.0, circuit_seconds=150.0),
            order=order,
            retry_pauses=(0.0, 30.0, 400.0),
            workers=WORKERS,
            max_queued_per_host=limit,
        )
        self.memory = Follower(self.chosen, self.clock)
        self.rocks = self.opened()  # type: ignore[assignment]

    def opened(self) -> RedisFrontier:
        return RedisFrontier(self.address, self.chosen, name="here", fake_clock=self.clock)

    def settle(self, draw: Random, names: list[str]) -> None:
        """One by one: within a batch, what is for other partitions goes before the rest, in whatever order it came."""
        for name in names:
            super().settle(draw, [name])

    def approach(self, draw: Random) -> None:
        """Not here: an address is booked after the lease, in another partition, which its twin knows nothing of."""

    def crash(self) -> None:
        async def die() -> None:
            if self.rocks._heart:  # type: ignore[attr-defined]
                self.rocks._heart.cancel()  # type: ignore[attr-defined]
            await self.rocks._link.close()  # type: ignore[attr-defined]

        self.run(die())

    def reopen(self) -> None:
        self.rocks = self.opened()  # type: ignore[assignment]
        for worker in range(WORKERS):
            self.run(self.memory.release(worker))
        # What a dead machine had is given back when its successor joins.
        self.run(self.rocks.is_finished())
        self.forget(lambda pair: True)
        self.take(0)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_a_long_walk_keeps_the_twins_together(server: RedisServer, seed: int) -> None:
    draw = Random(seed)
    twins = RedisTwins(server.address)
    if seed == 5:
        twins.is_sharing, twins.origins = True, SHARED_ORIGINS
    try:
        twins.open("depth" if seed % 2 else "breadth", "exact", float(seed % 2), 6 if seed in (2, 3) else 0)
        for _ in range(60):
            (event,) = draw.choices(EVENTS, EVENT_WEIGHTS)
            match event:
                case "add":
                    twins.add(some_targets(draw, twins.origins))
                case "many":
                    twins.add_many(draw.choice(twins.origins), draw.choice([1, 5, 9]), draw.randrange(100, 1000))
                case "late" if twins.spent:
                    twins.settle_late(draw)
                case "wait":
                    twins.advance(draw.choice([1.0, 7.0, 60.0, 119.0, 121.0, 179.0, 300.0, 4000.0]))
                case "release":
                    twins.release(draw.randrange(WORKERS))
                case "restart":
                    twins.restart(draw.random() < 0.3)
            twins.work(draw, draw.randrange(8), draw.choice([0.0, 1.0, 1.0, 20.0]))
            twins.same_counts()
            twins.same_next_moment()
        twins.same_memory()
        assert twins.rocks.counts().pages > 20
    finally:
        twins.teardown()
