"""A frontier on a stage: a clock that only moves when told, and short words for what workers do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Protocol

import pytest

from lycosa.frontier.rules import FrontierRules
from lycosa.model import Kind, Lease, OutcomeKind, RobotsNews, Settlement, Target, origin_of
from lycosa.orders import Given
from lycosa.ports import Duplicates, Frontier

DAY = 86_400.0


class EmbeddedFrontier(Frontier, Duplicates, Protocol):
    def idle_until(self) -> float | None: ...

    async def readmit(self) -> int: ...

    async def obey(self, given: Given, targets: Sequence[Target] = ...) -> str: ...

    @property
    def paused(self) -> str: ...

    def crawl_key(self) -> bytes: ...


OpenFrontier = Callable[[FrontierRules, "FakeClock"], EmbeddedFrontier]


class FakeClock:
    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


def about(at: float) -> Any:
    """This moment, but for rounding. (Relative to a clock, that would be half an hour.)"""
    return pytest.approx(at, abs=0.001)


def page(url: str, **known: Any) -> Target:
    """`a/1` is short for `http://a/1`."""
    full = url if "://" in url else f"http://{url}"
    host = full.split("/")[2].partition(":")[0]
    return Target(full, host, blake2b(full.encode(), digest_size=8).digest(), **known)


def robots_for(origin: str, url: str) -> Target:
    """The robots.txt of an origin, to be had at another host."""
    return Target(url, url.split("/")[2], b"", kind=Kind.ROBOTS, priority=10, redirects=1, origin=origin)


def rules_read(origin: str, now: float, delay: float = 0.0, lasts: float = DAY) -> RobotsNews:
    return RobotsNews(origin, now, now + lasts, b"rules of " + origin.encode(), crawl_delay_seconds=delay)


def rules_pending(origin: str, now: float, lasts: float = 300.0) -> RobotsNews:
    return RobotsNews(origin, 0.0, now + lasts, b"", is_pending=True)


class Stage:
    """Drives one frontier as workers would."""

    def __init__(self, frontier: EmbeddedFrontier, clock: FakeClock) -> None:
        self.frontier = frontier
        self.clock = clock

    async def add(self, *urls: str, **known: Any) -> int:
        return await self.frontier.add([page(url, **known) for url in urls])

    async def take(self, worker: int = 0, limit: int = 1000) -> list[Lease]:
        return await self.frontier.take(worker, limit)

    async def take_one(self, worker: int = 0) -> Lease:
        (lease,) = await self.take(worker)
        return lease

    async def settle(self, lease: Lease, outcome: OutcomeKind = OutcomeKind.STORED, **how: Any) -> list[int]:
        return await self.frontier.settle([Settlement(lease.token, outcome, **how)])

    async def read_robots(self, lease: Lease, delay: float = 0.0, lasts: float = DAY) -> None:
        assert lease.target.kind is Kind.ROBOTS
        news = rules_read(lease.target.origin, self.clock(), delay, lasts)
        assert await self.settle(lease, OutcomeKind.READ, status=200, robots=news) == []

    async def visit(self, lease: Lease) -> None:
        """End a visit well."""
        if lease.target.kind is Kind.ROBOTS:
            await self.read_robots(lease)
        else:
            assert await self.settle(lease, status=200) == []

    async def open_hosts(self, *urls: str, delay: float = 0.0, **known: Any) -> None:
        """Add URLs and get the robots.txt of their hosts out of the way."""
        await self.add(*urls, **known)
        origins = {origin_of(page(url).url) for url in urls}
        while origins:
            leases = await self.take()
            for lease in leases:
                await self.read_robots(lease, delay)
                origins.discard(lease.target.origin)
            self.clock.advance(max(1.0, delay))

    async def next_leases(self, worker: int = 0, patience: int = 400) -> list[Lease]:
        """What is given out next, moving the clock to where the frontier says that something may happen."""
        for _ in range(patience):
            if leases := await self.take(worker):
                return leases
            moment = self.frontier.next_at(worker)
            if moment is None:
                return []
            self.clock.now = max(self.clock.now, moment)
        raise AssertionError("the frontier promises something again and again, and never gives it")

    async def visit_all(self, patience: int = 1000) -> list[str]:
        """Visit until nothing is left; the URLs of pages in the order they were given out."""
        urls: list[str] = []
        for _ in range(patience):
            leases = await self.next_leases()
            if not leases:
                return urls
            for lease in leases:
                if lease.target.kind is not Kind.ROBOTS:
                    urls.append(lease.target.url.removeprefix("http://"))
                await self.visit(lease)
        raise AssertionError("the crawl does not end")
