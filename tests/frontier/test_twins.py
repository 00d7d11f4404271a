"""The scheduler over tables in memory and in RocksDB, side by side under one clock: whatever workers do, and however
often both are closed or die, they tell the same story, to the last byte of their tables. A third one, which nothing
ever happens to, tells whether that is the right one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from lycosa.frontier.embedded import EmbeddedFrontier, memory_frontier, rocks_frontier
from lycosa.frontier.memory import MemoryReader
from lycosa.frontier.rocks.tables import RocksTables
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.spacing import Spacing
from lycosa.frontier.tables import META, TABLES
from lycosa.frontier.view import CrawlView, open_rocks_view
from lycosa.model import Lease
from lycosa.policy.priority import Order

from .kept import InMemory
from .stage import FakeClock
from .walk import ORIGINS, PACE, RULES, SHARED_ORIGINS, WORKERS, Walk, some_targets

pauses = st.sampled_from([0.0, 0.3, 1.0, 7.0, 60.0, 119.0, 121.0, 179.0, 300.0, 4000.0])
# What happens inside a rule comes from a seed: drawn one by one the machine would hardly get to visit a page.
seeds = st.integers(0, 2**32).map(Random)


class InMemoryTwin:
    """Dies by being forgotten; a new scheduler over the same tables goes on."""

    frontier: EmbeddedFrontier

    def __init__(self) -> None:
        self._place = InMemory()

    async def open(self, chosen: FrontierRules, clock: FakeClock) -> None:
        self._clock = clock
        self.frontier = self._place.open(chosen, clock)

    async def restart(self, *, is_clean: bool) -> None:
        if is_clean:
            await self.frontier.close()
        await self.open(self.frontier.rules, self._clock)

    def view(self) -> CrawlView:
        return self._place.view()

    def rows(self, table: str) -> dict[bytes, bytes]:
        return self._place.rows(table)

    async def close(self) -> None:
        await self.frontier.close()


class InRocksDBTwin:
    """When it dies, another goes on with the files as they are in this moment."""

    frontier: EmbeddedFrontier

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        self._home = Path(tempfile.mkdtemp(prefix="lycosa-", dir=memory if memory.is_dir() else None))
        self._runs = count(1)
        self._folder = self._home / "0"

    async def open(self, chosen: FrontierRules, clock: FakeClock) -> None:
        self._clock = clock
        self.frontier = rocks_frontier(self._folder, chosen, clock)

    async def restart(self, *, is_clean: bool) -> None:
        before = self._folder
        if not is_clean:
            self._folder = self._home / str(next(self._runs))
            copy_at_rest(before, self._folder)
        await self.frontier.close()
        if not is_clean:
            shutil.rmtree(before)
        await self.open(self.frontier.rules, self._clock)

    def view(self) -> CrawlView:
        return open_rocks_view(self._folder)

    def rows(self, table: str) -> dict[bytes, bytes]:
        tables = self.frontier._tables
        assert isinstance(tables, RocksTables)
        return dict(tables.rows(table))

    async def close(self) -> None:
        await self.frontier.close()
        shutil.rmtree(self._home)


def copy_at_rest(source: Path, target: Path) -> None:
    """The files of one moment: the database compacts whenever it likes, so copy until nothing moved meanwhile."""
    while True:
        before = sizes_in(source)
        try:
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("LOCK", "LOG*"))
        except shutil.Error:  # a file that has just been compacted away
            pass
        else:
            if sizes_in(source) == before:
                return
        shutil.rmtree(target)


def sizes_in(folder: Path) -> dict[str, int]:
    with os.scandir(folder) as entries:
        return {entry.name: size_of(entry) for entry in entries if not entry.name.startswith("LOG")}


def size_of(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except FileNotFoundError:
        return -1


class TwinWalk(Walk):
    """In memory and in RocksDB. The rows of their tables are the same."""

    def __init__(self, chosen: FrontierRules, origins: list[str]) -> None:
        self.memory, self.rocks = InMemoryTwin(), InRocksDBTwin()
        super().__init__([self.memory, self.rocks], chosen, origins)

    def told_by(self, lease: Lease) -> tuple[object, ...]:
        return (lease.token, *super().told_by(lease))

    def same_memory(self) -> None:
        super().same_memory()
        for table in TABLES:
            mine, theirs = self.memory.rows(table), self.rocks.rows(table)
            if table == META:
                mine, theirs = {b"state": mine[b"state"]}, {b"state": theirs[b"state"]}
            assert mine == theirs, table


def rules_of(order: Order, seen: Any, delay: float, limit: int, **others: Any) -> FrontierRules:
    return replace(
        RULES,
        # Without a pause, hosts are given out in runs.
        pace=replace(PACE, min_delay_seconds=delay, delay_factor=10.0 * delay),
        order=order,
        seen=seen,
        seen_error=0.1 if seen == "exact" else 1e-9,
        # A Bloom filter cannot forget what was dropped, a set can.
        max_queued_per_host=limit if seen == "exact" else 0,
        **others,
    )


# ---- short stories


class Twins(RuleBasedStateMachine):
    origins = ORIGINS
    walk: TwinWalk

    def teardown(self) -> None:
        if hasattr(self, "walk"):
            self.walk.end_well()
            self.walk.close()

    @initialize(
        order=st.sampled_from(["breadth", "depth"]),
        seen=st.sampled_from(["exact", "bloom"]),
        delay=st.sampled_from([0.0, 1.0]),
        limit=st.sampled_from([0, 0, 3]),
        places=st.sampled_from([10_000, 2]),
        assignment=st.sampled_from(["ring", "balanced"]),
    )
    def open(self, order: Order, seen: Any, delay: float, limit: int, places: int, assignment: Any) -> None:
        chosen = rules_of(order, seen, delay, limit, max_active_hosts=places, assignment=assignment)
        self.walk = TwinWalk(chosen, self.origins)

    @rule(draw=seeds)
    def add_some(self, draw: Random) -> None:
        self.walk.add(some_targets(draw, self.origins))

    @rule(origin=st.sampled_from(ORIGINS), priority=st.sampled_from([1, 5, 9]), start=st.integers(100, 130))
    def add_many(self, origin: str, priority: int, start: int) -> None:
        self.walk.add_many(origin, priority, start)

    @rule(draw=seeds, rounds=st.integers(1, 12), pause=st.sampled_from([0.0, 1.0, 1.0, 20.0]))
    def work(self, draw: Random, rounds: int, pause: float) -> None:
        self.walk.work(draw, rounds, pause)

    @rule(worker=st.integers(0, WORKERS - 1))
    def take(self, worker: int) -> None:
        self.walk.take(worker)

    @precondition(lambda self: self.walk.spent)
    @rule(draw=seeds)
    def settle_late(self, draw: Random) -> None:
        self.walk.settle_late(draw)

    @rule(seconds=pauses)
    def advance(self, seconds: float) -> None:
        self.walk.clock.advance(seconds)

    @rule(worker=st.integers(0, WORKERS - 1))
    def release(self, worker: int) -> None:
        self.walk.release(worker)

    @rule()
    def readmit(self) -> None:
        self.walk.readmit()

    @rule(is_clean=st.booleans())
    def restart(self, is_clean: bool) -> None:
        self.walk.restart(is_clean=is_clean)

    @rule()
    def same_memory(self) -> None:
        self.walk.same_memory()

    @invariant()
    def check(self) -> None:
        if hasattr(self, "walk"):
            self.walk.check()


class SharingTwins(Twins):
    origins = SHARED_ORIGINS


STEADY = settings(stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
TestTwins = Twins.TestCase
TestSharingTwins = SharingTwins.TestCase
TestTwins.settings = TestSharingTwins.settings = settings(STEADY, max_examples=6)


class ManyTwins(Twins):
    """More of the same stories."""


class ManySharingTwins(SharingTwins):
    """More of the same stories."""


TestManyTwins = pytest.mark.full(ManyTwins.TestCase)
TestManySharingTwins = pytest.mark.full(ManySharingTwins.TestCase)
TestManyTwins.settings = TestManySharingTwins.settings = settings(STEADY, max_examples=50)


# ---- long ones

EVENTS = ["add", "many", "late", "wait", "release", "readmit", "restart"]
EVENT_WEIGHTS = [9, 2, 2, 6, 1, 1, 2]
# What is known is compared after every step, so three times the way takes nine times as long.
LENGTHS = [50, pytest.param(150, marks=pytest.mark.full)]


def go_far(walk: Walk, draw: Random, steps: int) -> None:
    """Mostly by working."""
    for _ in range(steps):
        (event,) = draw.choices(EVENTS, EVENT_WEIGHTS)
        match event:
            case "add":
                walk.add(some_targets(draw, walk.origins))
            case "many":
                walk.add_many(draw.choice(walk.origins), draw.choice([1, 5, 9]), draw.randrange(100, 1000))
            case "late" if walk.spent:
                walk.settle_late(draw)
            case "wait":
                walk.clock.advance(draw.choice([1.0, 7.0, 60.0, 119.0, 121.0, 179.0, 300.0, 4000.0]))
            case "release":
                walk.release(draw.randrange(WORKERS))
            case "readmit":
                walk.readmit()
            case "restart":
                walk.restart(is_clean=draw.random() < 0.3)
        walk.work(draw, draw.randrange(8), draw.choice([0.0, 1.0, 1.0, 20.0]))
        walk.check()
        walk.same_memory()
    assert walk.twins[0].frontier.counts().pages > steps / 6
    walk.end_well()
    walk.same_memory()


@pytest.mark.parametrize(("seed", "limit"), [*((seed, 0) for seed in range(6)), (6, 6), (7, 3)])
@pytest.mark.parametrize("steps", LENGTHS)
def test_a_long_walk_keeps_the_twins_together(seed: int, limit: int, steps: int) -> None:
    order: Order = "depth" if seed % 2 else "breadth"
    chosen = rules_of(
        order,
        "bloom" if seed % 3 == 2 else "exact",
        float(seed % 2),
        limit,
        max_active_hosts=2 if seed > 3 else 10_000,
        assignment="balanced" if seed % 4 == 2 else "ring",
    )
    walk = TwinWalk(chosen, SHARED_ORIGINS if seed % 4 == 3 else ORIGINS)
    try:
        go_far(walk, Random(seed), steps)
    finally:
        walk.close()


# ---- beside one that nothing happens to


class SteadyTwin:
    """Lives on when others die: for it, that is as if all workers were gone."""

    frontier: EmbeddedFrontier

    async def open(self, chosen: FrontierRules, clock: FakeClock) -> None:
        self._clock = clock
        self.frontier = memory_frontier(chosen, clock)

    async def restart(self, *, is_clean: bool) -> None:
        for worker in range(WORKERS):
            await self.frontier.release(worker)
        # Whatever was asked before counts as asked now.
        scheduler = self.frontier._scheduler
        scheduler.leases._spacing = scheduler._hosts._spacing = Spacing(self.frontier.rules.pace, self._clock())

    def view(self) -> CrawlView:
        tables: Any = self.frontier._tables
        return CrawlView([MemoryReader(tables)], lambda _: 0)

    async def close(self) -> None:
        await self.frontier.close()


class SteadyWalk(Walk):
    """One that dies again and again beside one that does not. In which order they look at hosts is their own affair."""

    def __init__(self, chosen: FrontierRules) -> None:
        super().__init__([SteadyTwin(), InMemoryTwin()], chosen, ORIGINS)

    def take(self, worker: int, limit: int = 1000) -> int:
        return super().take(worker, 1000)

    def in_order(self, leases: list[Lease]) -> list[Lease]:
        return sorted(leases, key=lambda lease: lease.target.host)

    def check(self) -> None:
        steady, other = (twin.frontier for twin in self.twins)
        assert steady.counts() == other.counts()
        self.adds_up()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("steps", LENGTHS)
def test_a_crash_is_as_if_all_workers_were_gone(seed: int, steps: int) -> None:
    order: Order = "depth" if seed % 2 else "breadth"
    walk = SteadyWalk(rules_of(order, "exact", float(seed % 3 > 0), 3 if seed > 3 else 0))
    try:
        go_far(walk, Random(seed), steps)
    finally:
        walk.close()
