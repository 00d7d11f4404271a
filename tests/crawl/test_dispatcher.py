"""The counter between the frontier and the workers: who waits is called, who is late goes home."""

from __future__ import annotations

import asyncio

import pytest

from lycosa.clock import machine_clock, steady_clock
from lycosa.crawl.dispatcher import CentralDispatcher
from lycosa.frontier.embedded import EmbeddedFrontier, memory_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.model import OutcomeKind, RobotsNews, Settlement, Target
from lycosa.policy.politeness import Pace


def target(number: int, host: str = "a.test") -> Target:
    return Target(f"http://{host}/{number}", host, number.to_bytes(8))


@pytest.fixture
def frontier() -> EmbeddedFrontier:
    return memory_frontier(FrontierRules(pace=Pace(0.0, 0.0, 0.0)), steady_clock())


@pytest.fixture
def counter(frontier: EmbeddedFrontier) -> CentralDispatcher:
    return CentralDispatcher(frontier, steady_clock(), max_wait_seconds=60.0)


async def test_an_empty_frontier_ends_the_crawl(counter: CentralDispatcher) -> None:
    assert await counter.take(0, 5) == []
    assert counter.is_over


async def test_who_waits_is_called_when_a_settlement_brings_something(
    counter: CentralDispatcher, frontier: EmbeddedFrontier
) -> None:
    await frontier.add([target(1)])
    (first,) = await counter.take(0, 5)
    waiting = asyncio.create_task(counter.take(0, 5))
    await asyncio.sleep(0)
    news = RobotsNews("http://a.test", 1.0, 1e11, b"record")
    assert await counter.settle([Settlement(first.token, OutcomeKind.READ, robots=news)]) == []
    (second,) = await waiting
    assert second.target.url == "http://a.test/1"
    assert not counter.is_over


async def test_closing_sends_everybody_home(counter: CentralDispatcher, frontier: EmbeddedFrontier) -> None:
    await frontier.add([target(1)])
    await counter.take(0, 1)
    waiting = [asyncio.create_task(counter.take(0, 1)) for _ in range(3)]
    await asyncio.sleep(0)
    counter.close()
    assert await asyncio.gather(*waiting) == [[], [], []]
    assert await counter.take(0, 1) == []


async def test_a_wait_longer_than_allowed_ends_the_crawl(frontier: EmbeddedFrontier) -> None:
    counter = CentralDispatcher(frontier, steady_clock(), max_wait_seconds=10.0)
    await frontier.add([target(1)])
    (robots,) = await counter.take(0, 1)
    now = steady_clock()()
    pending = RobotsNews("http://a.test", now, now + 300.0, b"", is_pending=True)
    await counter.settle([Settlement(robots.token, OutcomeKind.READ, robots=pending)])
    assert await counter.take(0, 1) == []
    assert counter.is_over
    assert not await frontier.is_finished()


async def test_every_settlement_is_told(counter: CentralDispatcher, frontier: EmbeddedFrontier) -> None:
    told: list[int] = []
    counter.on_settled = lambda settlements: told.extend(each.token for each in settlements)
    await frontier.add([target(1)])
    (lease,) = await counter.window(0).take(1)
    await counter.window(0).settle([Settlement(lease.token, OutcomeKind.READ)])
    assert told == [lease.token]


async def test_a_lease_says_until_when_its_visit_may_begin(frontier: EmbeddedFrontier) -> None:
    await frontier.add([target(1)])
    before = machine_clock()
    (lease,) = await CentralDispatcher(frontier, steady_clock(), max_wait_seconds=60.0, begin_seconds=5.0).take(0, 1)
    assert before + 5.0 <= lease.begin_by <= machine_clock() + 5.0
