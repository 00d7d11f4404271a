"""A random walk over frontiers under one clock: what workers may do and what may happen to them, likely or not.

Whatever happens, all frontiers tell the same story; and it keeps the promises that need no second frontier to be
checked: one worker per host, a pause after each visit, nothing lost, tables that add up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from itertools import count
from random import Random
from typing import Any, Protocol, TypeVar
from unittest.mock import patch

from lycosa.frontier import hosts, queue, rules, taking
from lycosa.frontier.rules import FrontierRules, host_of_origin
from lycosa.frontier.view import CrawlView
from lycosa.model import Kind, Lease, OutcomeKind, RobotsNews, Settlement, SiteNews, Target, origin_of
from lycosa.policy.politeness import Pace
from lycosa.url.domain import registered_domain

from .stage import EmbeddedFrontier, FakeClock, page, robots_for, rules_pending, rules_read

T = TypeVar("T")
WORKERS = 2
HOSTS = ["a", "b", "c", "d", "e", "f"]
ORIGINS = [*(f"http://{name}" for name in HOSTS), "https://a", "http://a:81", "https://b"]
# Sisters of one domain, and addresses that all hosts share.
SHARED_ORIGINS = [*ORIGINS[:3], *(f"http://{name}.sisters.test" for name in "xyz")]
ADDRESSES = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
DIGESTS = [b"", b"one", b"two"]
PACE = Pace(max_backoff_seconds=130.0, circuit_seconds=150.0)
RULES = FrontierRules(
    pace=PACE, retry_pauses=(0.0, 30.0, 400.0), seen_capacity=1000, durability="process", workers=WORKERS
)
# Small, so that blocks and records are read again all the time, origins share lanes, and hosts make room.
SMALL: list[tuple[Any, str, int]] = [
    (queue, "BLOCK_ENTRIES", 3),
    (queue, "MAX_MARKS", 2),
    (rules, "MAX_ORIGINS_PER_HOST", 3),
    (hosts, "CACHED_HOSTS", 1),
    (hosts, "DRAWN_TOGETHER", 2),
    (hosts, "TURN_VISITS", 3),
    (taking, "MAX_VERSIONS", 2),
]


def some_targets(draw: Random, origins: list[str] = ORIGINS) -> list[Target]:
    """Pages, often known ones, and now and then a robots.txt asked for on behalf of another host."""
    return [
        page(
            f"{draw.choice(origins)}/{draw.choice(['', 'x/'])}{draw.randrange(40)}", priority=draw.choice([1, 5, 5, 10])
        )
        if draw.random() < 0.9
        else robots_for(draw.choice(origins), f"http://{host_of_origin(draw.choice(origins))}/robots.txt")
        for _ in range(draw.randrange(7))
    ]


def some_end(draw: Random, target: Target, now: float, origins: list[str]) -> dict[str, Any]:
    """How a visit may end."""
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
        "discovered": some_targets(draw, origins),
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


class Twin(Protocol):
    """One of the frontiers that go the same way."""

    @property
    def frontier(self) -> EmbeddedFrontier: ...

    async def open(self, chosen: FrontierRules, clock: FakeClock) -> None: ...

    async def restart(self, *, is_clean: bool) -> None:
        """Close it, or let it die; then open it again."""

    def view(self) -> CrawlView: ...

    async def close(self) -> None: ...


class Walk:
    """All twins do the same; `leases` are theirs, by host and in the order in which they were given out."""

    def __init__(self, twins: list[Twin], chosen: FrontierRules, origins: list[str]) -> None:
        self.twins = twins
        self.chosen = chosen
        self.origins = origins
        self.clock = FakeClock()
        self.leases: dict[tuple[str, int], list[Lease]] = {}
        self._serial = count()
        self.spent: list[list[Lease]] = []
        self.known: set[bytes] = set()
        self.named: set[bytes] = set()  # known for another name of theirs
        self.free_at: dict[str, float] = {}
        self._worker_of: dict[str, int] = {}  # that had it last
        self._loop = asyncio.new_event_loop()
        self._stack = ExitStack()
        for module, name, number in SMALL:
            self._stack.enter_context(patch.object(module, name, number))
        self.all(lambda twin: twin.open(chosen, self.clock))

    def close(self) -> None:
        self.all(lambda twin: twin.close())
        self._loop.close()
        self._stack.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(coroutine)

    def all(self, work: Callable[[Twin], Coroutine[Any, Any, T]]) -> list[T]:
        return [self.run(work(twin)) for twin in self.twins]

    def same(self, work: Callable[[EmbeddedFrontier], Coroutine[Any, Any, T]]) -> T:
        """What all of them answer."""
        first, *others = self.all(lambda twin: work(twin.frontier))
        for other in others:
            assert other == first
        return first

    # ---- what workers do

    def add(self, found: list[Target]) -> None:
        self.same(lambda frontier: frontier.add(found))
        self.known.update(target.fingerprint for target in found)

    def add_many(self, origin: str, priority: int, start: int) -> None:
        self.add([page(f"{origin}/{number}", priority=priority) for number in range(start, start + 12)])

    def work(self, draw: Random, rounds: int, pause: float) -> None:
        """Some rounds of all workers, in which most leases are settled."""
        for _ in range(rounds):
            for worker in range(WORKERS):
                self.take(worker, draw.choice([1, 3, 1000]))
            self.may_ask_at(draw)
            self.settle(draw, [name for name in sorted(self.leases) if draw.random() < 0.9])
            self.clock.advance(pause)

    def take(self, worker: int, limit: int = 1000) -> int:
        given = [self.in_order(self._taken(twin.frontier, worker, limit)) for twin in self.twins]
        self._forget_expired()
        out = {host for host, _ in self.leases}
        for leases in zip(*given, strict=True):
            first = leases[0]
            assert all(self.told_by(lease) == self.told_by(first) for lease in leases)
            host = first.target.host
            if host in out:
                assert first.at_once, "more of a host while some are out, where no pause is kept"
                assert self._worker_of[host] == worker, "one worker per host"
            assert self.clock() >= self.free_at.get(host, 0.0), "no host is asked too soon"
            self.leases[host, next(self._serial)] = list(leases)
            self._worker_of[host] = worker
        return len(given[0])

    def _taken(self, frontier: EmbeddedFrontier, worker: int, limit: int) -> list[Lease]:
        """What is given out, which was promised by now."""
        promised, idle_until = frontier.next_at(worker), frontier.idle_until()
        leases = self.run(frontier.take(worker, limit))
        if leases:
            assert promised is not None
            assert promised <= self.clock()
            assert idle_until is None or idle_until <= self.clock()
        return leases

    def in_order(self, leases: list[Lease]) -> list[Lease]:
        return leases

    def told_by(self, lease: Lease) -> tuple[object, ...]:
        return (
            lease.target,
            lease.expires_at,
            lease.robots_at,
            lease.validators,
            lease.address,
            lease.site_at,
            lease.at_once,
        )

    def may_ask_at(self, draw: Random) -> None:
        """Some leases find their hosts at an address; all must agree on whether it is free."""
        for name in sorted(self.leases) if self.origins is SHARED_ORIGINS else ():
            if draw.random() < 0.6:
                if not self._ask_at(name, draw.choice(ADDRESSES)):
                    self.spent.append(self.leases.pop(name))
            elif draw.random() < 0.2:
                self._same_by_lease(name, lambda frontier, token: frontier.give_back([token]))
                self.spent.append(self.leases.pop(name))

    def _ask_at(self, name: tuple[str, int], address: str) -> bool:
        return self._same_by_lease(name, lambda frontier, token: frontier.may_ask_at(token, address))

    def _same_by_lease(
        self, name: tuple[str, int], work: Callable[[EmbeddedFrontier, int], Coroutine[Any, Any, T]]
    ) -> T:
        leases = self.leases[name]
        answers = [self.run(work(twin.frontier, lease.token)) for twin, lease in zip(self.twins, leases, strict=True)]
        assert all(answer == answers[0] for answer in answers)
        return answers[0]

    def settle(self, draw: Random, names: list[tuple[str, int]]) -> None:
        """Several in one call, as workers do; what they discover overlaps."""
        ended = [self.leases.pop(name) for name in names]
        self.spent += ended
        hows = [some_end(draw, leases[0].target, self.clock(), self.origins) for leases in ended]
        self._settle_all(ended, hows)

    def _settle_all(self, ended: list[list[Lease]], hows: list[dict[str, Any]]) -> None:
        for number, twin in enumerate(self.twins):
            ends = [Settlement(leases[number].token, **how) for leases, how in zip(ended, hows, strict=True)]
            # A lease holds until somebody takes after its time.
            assert self.run(twin.frontier.settle(ends)) == []
        for leases, how in zip(ended, hows, strict=True):
            self.known.update(target.fingerprint for target in how.get("discovered", ()))
            self.named.update(how.get("known", ()))
            if how.get("sent", True) or how["outcome"] is OutcomeKind.FAILED:
                self._rest(leases[0].target.host)

    def settle_late(self, draw: Random) -> None:
        leases = draw.choice(self.spent)
        how = some_end(draw, leases[0].target, self.clock(), self.origins)
        for twin, lease in zip(self.twins, leases, strict=True):
            assert self.run(twin.frontier.settle([Settlement(lease.token, **how)])) == [lease.token]

    def release(self, worker: int) -> None:
        self.same(lambda frontier: frontier.release(worker))
        self._forget(lambda lease: self._worker_of[lease.target.host] == worker)

    def readmit(self) -> None:
        self.same(lambda frontier: frontier.readmit())

    def restart(self, *, is_clean: bool) -> None:
        self.all(lambda twin: twin.restart(is_clean=is_clean))
        self._forget(lambda lease: True)
        self.adds_up()

    def _forget(self, is_gone: Callable[[Lease], bool]) -> None:
        for name in [name for name, leases in self.leases.items() if is_gone(leases[0])]:
            self.spent.append(self.leases.pop(name))
            self._rest(name[0])

    def _forget_expired(self) -> None:
        self._forget(lambda lease: lease.expires_at <= self.clock())

    def _rest(self, host: str) -> None:
        self.free_at[host] = self.clock() + self.chosen.pace.min_delay_seconds

    # ---- what must be so

    def check(self) -> None:
        """What can be looked at after every step."""
        first, *others = [twin.frontier for twin in self.twins]
        for other in others:
            assert other.counts() == first.counts()
            assert other.idle_until() == first.idle_until()
            assert [other.next_at(worker) for worker in range(WORKERS)] == [first.next_at(w) for w in range(WORKERS)]
        self.same(lambda frontier: frontier.is_finished())
        assert first.counts().leased == len(self.leases)
        self.adds_up(self.twins[:1])

    def adds_up(self, twins: list[Twin] | None = None) -> None:
        """What the counters say stands in the tables, and every host that has something queued is in a line."""
        for twin in twins or self.twins:
            view = twin.view()
            try:
                assert all(says == found for _, says, found in view.sums()), view.sums()
                assert list(view.stranded()) == []
                assert view.lines().waiting_hosts + view.lines().parked_hosts == sum(h.queued > 0 for h in view.hosts())
            finally:
                view.close()

    def same_memory(self) -> None:
        for fingerprint in self.known - {b""}:
            self.same(lambda frontier: frontier.history(fingerprint))  # noqa: B023
        for origin in self.origins:
            self.same(lambda frontier: frontier.robots(origin))  # noqa: B023
            self.same(lambda frontier: frontier.site(registered_domain(host_of_origin(origin))))  # noqa: B023
        for digest in DIGESTS[1:]:
            self.same(lambda frontier: frontier.original_of(digest, "", 0))  # noqa: B023

    def end_well(self) -> None:
        """Visit all that is left. Then everything that was ever known has been visited, unless under another name."""
        for _ in range(5000):
            for worker in range(WORKERS):
                self.take(worker)
            ended = [self.leases.pop(name) for name in sorted(self.leases)]
            self._settle_all(ended, [self._well(leases[0].target) for leases in ended])
            if self.same(lambda frontier: frontier.is_finished()):
                break
            self.clock.now = max(self.clock.now, self._next_at())
        else:
            raise AssertionError("the crawl does not end")
        self.check()
        histories = {mark for mark in self.known - {b""} if self.same(lambda frontier: frontier.history(mark))}  # noqa: B023
        if not self.chosen.max_queued_per_host:
            assert self.known - {b""} - self.named <= histories

    def _well(self, target: Target) -> dict[str, Any]:
        if target.kind is not Kind.ROBOTS:
            return {"outcome": OutcomeKind.STORED, "status": 200}
        return {"outcome": OutcomeKind.READ, "status": 200, "robots": rules_read(target.origin, self.clock())}

    def _next_at(self) -> float:
        moments = [self.twins[0].frontier.next_at(worker) for worker in range(WORKERS)]
        due = min((moment for moment in moments if moment is not None), default=None)
        assert due is not None, "something is left, and nobody will ever have it"
        return due
