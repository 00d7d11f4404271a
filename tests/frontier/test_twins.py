"""The two frontiers side by side under one clock: whatever workers do, and however often the durable one is closed
or dies, both tell the same story."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from random import Random
from typing import Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lycosa.frontier import host, hosts
from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.rocks import RocksFrontier
from lycosa.frontier.rules import FrontierRules, host_of_origin
from lycosa.frontier.spacing import Spacing
from lycosa.model import Kind, Lease, OutcomeKind, RobotsNews, Settlement, SiteNews, Target, origin_of
from lycosa.policy.politeness import Pace
from lycosa.policy.priority import Order
from lycosa.url.domain import registered_domain

from .stage import EmbeddedFrontier, FakeClock, errand, page, rules_pending, rules_read

T = TypeVar("T")
WORKERS = 2
HOSTS = ["a", "b", "c", "d", "e", "f"]
ORIGINS = [*(f"http://{name}" for name in HOSTS), "https://a"]
# Sisters of one domain, and addresses that all hosts share.
SHARED_ORIGINS = [*ORIGINS[:3], *(f"http://{name}.sisters.test" for name in "xyz")]
ADDRESSES = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
DIGESTS = [b"", b"one", b"two"]

pauses = st.sampled_from([0.0, 0.3, 1.0, 7.0, 60.0, 119.0, 121.0, 179.0, 300.0, 4000.0])
# What happens inside a rule comes from a seed: drawn one by one the machine would hardly get to visit a page.
seeds = st.integers(0, 2**32).map(Random)


def some_targets(draw: Random, origins: list[str] = ORIGINS) -> list[Target]:
    """Pages, often known ones, and now and then a robots.txt asked for on behalf of another host."""
    return [
        page(f"{draw.choice(origins)}/{draw.randrange(60)}", priority=draw.choice([1, 5, 5, 5, 10]))
        if draw.random() < 0.9
        else errand(draw.choice(origins), f"http://{host_of_origin(draw.choice(origins))}/robots.txt")
        for _ in range(draw.randrange(7))
    ]


def some_end(draw: Random, target: Target, now: float) -> dict[str, Any]:
    """How a visit may end, likely or not."""
    return {
        "outcome": draw.choice(list(OutcomeKind)),
        "status": draw.choice([0, 200, 200, 200, 403, 403, 404, 429, 503]),
        "is_ban": draw.random() < 0.1,
        "was_fatal": draw.random() < 0.1,
        "sent": draw.random() < 0.8,
        "may_retry": draw.random() < 0.3,
        "fetch_seconds": draw.choice([0.0, 0.05, 3.0]),
        "retry_after_seconds": draw.choice([0.0] * 8 + [50.0, 500.0]),
        "digest": draw.choice(DIGESTS),
        "discovered": some_targets(draw),
        "body_bytes": draw.randrange(9),
        "site": some_notes(draw, target.host),
        "known": [page(f"{origin_of(target.url)}/{draw.randrange(60)}").fingerprint] if draw.random() < 0.2 else [],
        "robots": some_news(draw, target.origin, now) if target.kind is Kind.ROBOTS else None,
    }


def some_notes(draw: Random, host: str) -> SiteNews | None:
    if draw.random() < 0.7:
        return None
    return SiteNews(registered_domain(host), draw.randrange(1, 99), draw.randbytes(draw.randrange(9)))


def some_news(draw: Random, origin: str, now: float) -> RobotsNews | None:
    lasts = draw.choice([5.0, 150.0, 3000.0, 90_000.0, 90_000.0])
    match draw.choice(["rules"] * 6 + ["pending", "none"]):
        case "rules":
            return rules_read(origin, now, draw.choice([0.0, 0.0, 0.0, 20.0, 300.0]), lasts)
        case "pending":
            return rules_pending(origin, now, lasts)
        case _:
            return None


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


class Follower(MemoryFrontier):
    """Where hosts share a domain or an address, somebody must choose who goes first: this one lets its twin choose.

    It still judges the choice: what it may not give out it does not give, and the twins differ.
    """

    chosen: frozenset[str] | None = None

    def _in_order(self, free: list[tuple[float, str]]) -> list[str]:
        names = super()._in_order(free)
        return [name for name in names if self.chosen is None or name in self.chosen or self._waits_for_robots(name)]

    def _waits_for_robots(self, name: str) -> bool:
        target = self._hosts[name].queue[0][2]
        state = self._hosts[name].origins.get(origin_of(target.url))
        is_pending = bool(state and state.is_pending and state.expires_at > self._clock())
        return is_pending and target.kind is not Kind.ROBOTS


class Twins(RuleBasedStateMachine):
    """`both` calls the same verb on both; leases are paired by host."""

    is_sharing = False
    origins = ORIGINS

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="lycosa-", dir=memory if memory.is_dir() else None))
        self.runs = 0
        self.clock = FakeClock()
        self.loop = asyncio.new_event_loop()
        # Small, so that heads are reloaded and records forgotten all the time.
        self.patches = [patch.object(host, "HEAD_ENTRIES", 2), patch.object(hosts, "CACHED_HOSTS", 1)]
        for small in self.patches:
            small.start()
        self.leases: dict[str, tuple[Lease, Lease]] = {}
        self.spent: list[tuple[Lease, Lease]] = []
        self.known: set[bytes] = set()

    def teardown(self) -> None:
        if hasattr(self, "rocks"):
            self.run(self.rocks.close())
        for small in self.patches:
            small.stop()
        self.loop.close()
        shutil.rmtree(self.folder)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(coroutine)

    @initialize(
        order=st.sampled_from(["breadth", "depth"]),
        seen=st.sampled_from(["exact", "bloom"]),
        delay=st.sampled_from([0.0, 1.0]),
        limit=st.sampled_from([0, 0, 6]),
    )
    def open(self, order: Order, seen: Any, delay: float, limit: int) -> None:
        self.chosen = FrontierRules(
            pace=Pace(min_delay_seconds=delay, max_backoff_seconds=130.0, circuit_seconds=150.0),
            order=order,
            retry_pauses=(0.0, 30.0, 400.0),
            seen=seen,
            seen_capacity=1000,
            seen_error=0.1 if seen == "exact" else 1e-9,
            durability="process",
            workers=WORKERS,
            # A Bloom filter cannot forget what was dropped, a dictionary can.
            max_queued_per_host=limit if seen == "exact" else 0,
        )
        self.memory = Follower(self.chosen, self.clock)
        self.rocks = RocksFrontier(self.folder / "0", self.chosen, self.clock)

    def both(self) -> tuple[EmbeddedFrontier, EmbeddedFrontier]:
        return self.memory, self.rocks

    # ---- what workers do

    @rule(draw=seeds)
    def add_some(self, draw: Random) -> None:
        self.add(some_targets(draw, self.origins))

    def add(self, found: list[Target]) -> None:
        assert self.run(self.memory.add(found)) == self.run(self.rocks.add(found))
        self.known.update(target.fingerprint for target in found)

    @rule(origin=st.sampled_from(ORIGINS), priority=st.sampled_from([1, 5, 9]), start=st.integers(100, 130))
    def add_many(self, origin: str, priority: int, start: int) -> None:
        self.add([page(f"{origin}/{number}", priority=priority) for number in range(start, start + 12)])

    @rule(draw=seeds, rounds=st.integers(1, 12), pause=st.sampled_from([0.0, 1.0, 1.0, 20.0]))
    def work(self, draw: Random, rounds: int, pause: float) -> None:
        """Some rounds of all workers, in which most leases are settled."""
        for _ in range(rounds):
            for worker in range(WORKERS):
                self.take(worker)
            self.approach(draw)
            self.settle(draw, [name for name in sorted(self.leases) if draw.random() < 0.9])
            self.clock.advance(pause)

    @rule(worker=st.integers(0, WORKERS - 1))
    def take(self, worker: int) -> None:
        # What was woken in one call may be given in the next only: hosts are looked at once.
        theirs = self.run(self.rocks.take(worker, 1000))
        if self.is_sharing:
            self.memory.chosen = frozenset(lease.target.host for lease in theirs)
        mine = self.run(self.memory.take(worker, 1000))
        self.forget_expired()
        assert {self.seen_in(lease) for lease in mine} == {self.seen_in(lease) for lease in theirs}
        by_host = {lease.target.host: lease for lease in theirs}
        assert len(by_host) == len(theirs), "one lease per host"
        for lease in mine:
            self.leases[lease.target.host] = (lease, by_host[lease.target.host])
        self.same_idleness()

    @staticmethod
    def seen_in(lease: Lease) -> tuple[object, ...]:
        return (lease.target, lease.expires_at, lease.robots_at, lease.validators, lease.address)

    def approach(self, draw: Random) -> None:
        """Some leases find their hosts at an address; both must agree on whether it is free."""
        for name in sorted(self.leases) if self.is_sharing else ():
            if draw.random() < 0.6:
                pair, address = self.leases[name], draw.choice(ADDRESSES)
                answers = [
                    self.run(frontier.approach(lease.token, address))
                    for frontier, lease in zip(self.both(), pair, strict=True)
                ]
                assert answers[0] == answers[1]
                if not answers[0]:
                    self.spent.append(self.leases.pop(name))

    def settle(self, draw: Random, names: list[str]) -> None:
        """Several in one call, as workers do; what they discover overlaps."""
        pairs = [self.leases.pop(name) for name in names]
        self.spent += pairs
        hows = [some_end(draw, mine.target, self.clock()) for mine, _ in pairs]
        for number, frontier in enumerate(self.both()):
            ends = [Settlement(pair[number].token, **how) for pair, how in zip(pairs, hows, strict=True)]
            # A lease holds until somebody takes after its time.
            assert self.run(frontier.settle(ends)) == []
        self.known.update(target.fingerprint for how in hows for target in how["discovered"])

    @precondition(lambda self: self.spent)
    @rule(draw=seeds)
    def settle_late(self, draw: Random) -> None:
        pair = draw.choice(self.spent)
        how = some_end(draw, pair[0].target, self.clock())
        for frontier, lease in zip(self.both(), pair, strict=True):
            assert self.run(frontier.settle([Settlement(lease.token, **how)])) == [lease.token]

    @rule(seconds=pauses)
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(worker=st.integers(0, WORKERS - 1))
    def release(self, worker: int) -> None:
        assert self.run(self.memory.release(worker)) == self.run(self.rocks.release(worker))
        self.forget(lambda pair: self.memory._ring.owner(pair[0].target.host) == worker)

    @rule()
    def readmit(self) -> None:
        assert self.run(self.memory.readmit()) == self.run(self.rocks.readmit())

    # ---- what happens to the durable one; for the other it is as if all workers were gone

    @rule(is_clean=st.booleans())
    def restart(self, is_clean: bool) -> None:
        if is_clean:
            self.run(self.rocks.close())
        else:
            self.crash()
        self.reopen()

    def crash(self) -> None:
        """Go on with the files as they are in this moment."""
        before = self.folder / str(self.runs)
        self.runs += 1
        copy_at_rest(before, self.folder / str(self.runs))
        self.run(self.rocks.close())
        shutil.rmtree(before)

    def reopen(self) -> None:
        self.rocks = RocksFrontier(self.folder / str(self.runs), self.chosen, self.clock)
        for worker in range(WORKERS):
            self.run(self.memory.release(worker))
        # Whatever was asked before counts as asked now.
        self.memory._spacing = Spacing(self.chosen.pace, self.clock())
        # Where a host was found is written when its visit is settled; a crash before that forgets it.
        for record in self.rocks._tables.host_records():
            self.memory._hosts[record.name].address = record.address
        self.forget(lambda pair: True)
        self.take(0)  # hosts that were leased count as asked at the first start that sees them

    def forget(self, is_gone: Any) -> None:
        gone = [name for name, pair in self.leases.items() if is_gone(pair)]
        self.spent += [self.leases.pop(name) for name in gone]

    def forget_expired(self) -> None:
        self.forget(lambda pair: pair[0].expires_at <= self.clock())

    # ---- what must be the same at any time

    @invariant()
    def same_counts(self) -> None:
        if hasattr(self, "rocks"):
            assert self.memory.counts() == self.rocks.counts()
            assert self.run(self.memory.is_finished()) == self.run(self.rocks.is_finished())

    @invariant()
    def same_next_moment(self) -> None:
        if hasattr(self, "rocks"):
            for worker in range(WORKERS):
                mine, theirs = self.memory.next_at(worker), self.rocks.next_at(worker)
                if mine is not None:
                    assert theirs is not None
                    # Whoever waits for an address that turns out not to have been asked waits all the same.
                    assert theirs <= max(mine, self.clock() + 1.1 * self.is_sharing)

    def same_idleness(self) -> None:
        mine, theirs = self.memory.idle_until(), self.rocks.idle_until()
        if mine is None:
            assert theirs is None
        elif mine > self.clock():
            assert theirs is not None
            assert theirs <= mine

    @rule()
    def same_memory(self) -> None:
        for fingerprint in self.known - {b""}:
            assert self.run(self.memory.history(fingerprint)) == self.run(self.rocks.history(fingerprint))
        for origin in self.origins:
            assert self.run(self.memory.robots(origin)) == self.run(self.rocks.robots(origin))
            domain = registered_domain(host_of_origin(origin))
            assert self.run(self.memory.site(domain)) == self.run(self.rocks.site(domain))
        for digest in DIGESTS[1:]:
            originals = [self.run(twin.original_of(digest, "", 0)) for twin in self.both()]
            assert originals[0] == originals[1]


class SharingTwins(Twins):
    is_sharing = True
    origins = SHARED_ORIGINS


TestTwins = Twins.TestCase
TestSharingTwins = SharingTwins.TestCase
TestTwins.settings = TestSharingTwins.settings = settings(
    max_examples=25, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


EVENTS = ["add", "many", "late", "wait", "release", "readmit", "restart"]
EVENT_WEIGHTS = [9, 2, 2, 6, 1, 1, 2]


@pytest.mark.parametrize(("seed", "limit"), [*((seed, 0) for seed in range(6)), (6, 6), (7, 6)])
def test_a_long_walk_keeps_the_twins_together(seed: int, limit: int) -> None:
    """The machine above finds short stories; this one goes far, mostly by working."""
    draw = Random(seed)
    twins = SharingTwins() if seed % 4 == 3 else Twins()
    try:
        twins.open("depth" if seed % 2 else "breadth", "bloom" if seed % 3 == 2 else "exact", float(seed % 2), limit)
        for _ in range(150):
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
                case "readmit":
                    twins.readmit()
                case "restart":
                    twins.restart(draw.random() < 0.3)
            twins.work(draw, draw.randrange(8), draw.choice([0.0, 1.0, 1.0, 20.0]))
            twins.same_counts()
            twins.same_next_moment()
            twins.same_memory()
        assert twins.rocks.counts().pages > 50
    finally:
        twins.teardown()
