"""Between the frontier and those who visit: waits where a frontier would say "nothing now".

A worker sees the same four calls whether the frontier lives in its own process or in the parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from lycosa.clock import Clock, machine_clock
from lycosa.model import Lease, Placement, Settlement
from lycosa.ports import Duplicates, Frontier
from lycosa.wire import (
    Approach,
    AskRobots,
    AskSite,
    Client,
    GiveBack,
    Leases,
    Pause,
    Permission,
    Recognise,
    Recognised,
    Robots,
    Settle,
    Settled,
    Site,
    Take,
)

logger = logging.getLogger(__name__)

# News may come late (a clock that is not ours, a host given back): look again at least this often.
LOOK_AGAIN_SECONDS = 1.0
# Of one message: a hostile page has 2,000 links of 2 KB, and hundreds of such pages may be settled at once.
MAX_DISCOVERED_PER_MESSAGE = 20_000


class EmbeddedFrontier(Frontier, Duplicates, Protocol):
    """A frontier that also knows what has been stored."""

    def idle_until(self) -> float | None: ...

    async def readmit(self) -> int: ...

    def crawl_key(self) -> bytes: ...

    def listen(self, tell: Callable[[], None]) -> None:
        """Be told when something may have become available without anything that was asked here."""

    def give_up(self) -> None:
        """Wait no longer for a backend that does not answer."""


class Dispatch(Protocol):
    """What a worker needs of the rest of the crawl."""

    async def take(self, limit: int) -> list[Lease]:
        """At least one lease, waiting for it if need be; none when the crawl is over."""

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]: ...

    async def approach(self, token: int, address: str) -> bool:
        """Whether the request of this lease may go to this address now; if not, the lease is gone."""

    async def give_back(self, token: int) -> None:
        """Nothing was sent under this lease, and nothing will be."""

    async def pause(self, reason: str) -> None:
        """Tell the operator why nothing is sent at present; without a reason, that it goes on."""

    async def robots(self, origin: str) -> bytes: ...

    async def site(self, domain: str) -> bytes: ...

    async def recognise(self, digest: bytes, url: str, token: int, signature: bytes) -> tuple[str, Placement]:
        """The URL that has this content already, or an empty string; and the group of its text."""


class Counter:
    """The frontier's counter: workers queue up here. It knows when the crawl is over."""

    def __init__(
        self, frontier: EmbeddedFrontier, clock: Clock, max_wait_seconds: float, begin_seconds: float = 0.0
    ) -> None:
        self.frontier = frontier
        self._clock = clock
        self._max_wait_seconds = max_wait_seconds
        self._begin_seconds = begin_seconds  # within which a visit must begin after its lease was asked for; 0: any
        self._news = asyncio.Event()
        self.is_over = False
        self.on_settled: Callable[[Sequence[Settlement]], None] = lambda settlements: None
        frontier.listen(self.tell)

    def window(self, worker: int) -> LocalDispatch:
        """The counter as one worker sees it."""
        return LocalDispatch(self, worker)

    def close(self) -> None:
        """No more leases: whoever waits goes home."""
        self.is_over = True
        self.tell()

    def tell(self) -> None:
        """Something may have become available."""
        self._news.set()
        self._news = asyncio.Event()

    async def take(self, worker: int, limit: int) -> list[Lease]:
        while not self.is_over:
            news, asked_at = self._news, machine_clock()
            if leases := await self.frontier.take(worker, limit):
                return self._dated(leases, asked_at)
            if await self.frontier.is_finished() or self._is_hopeless():
                self.close()
                break
            await self._wait(news, worker)
        return []

    def _dated(self, leases: list[Lease], asked_at: float) -> list[Lease]:
        if not self._begin_seconds:
            return leases
        begin_by = asked_at + self._begin_seconds
        # One from another machine has been on its way for a while.
        return [msgspec.structs.replace(lease, begin_by=min(begin_by, lease.begin_by or begin_by)) for lease in leases]

    def _is_hopeless(self) -> bool:
        due = self.frontier.idle_until()
        return due is not None and due - self._clock() > self._max_wait_seconds

    async def _wait(self, news: asyncio.Event, worker: int) -> None:
        due = self.frontier.next_at(worker)
        pause = LOOK_AGAIN_SECONDS if due is None else min(max(due - self._clock(), 0.001), LOOK_AGAIN_SECONDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(news.wait(), pause)

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        late = await self.frontier.settle(settlements)
        self.on_settled(settlements)
        self.tell()
        return late

    async def approach(self, token: int, address: str) -> bool:
        is_permitted = await self.frontier.approach(token, address)
        if not is_permitted:
            self.tell()
        return is_permitted

    async def give_back(self, token: int) -> None:
        await self.frontier.give_back(token)
        self.tell()


class LocalDispatch:
    """`Dispatch` for a worker in the frontier's own process."""

    def __init__(self, counter: Counter, worker: int) -> None:
        self._counter = counter
        self._worker = worker

    async def take(self, limit: int) -> list[Lease]:
        return await self._counter.take(self._worker, limit)

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        return await self._counter.settle(settlements)

    async def approach(self, token: int, address: str) -> bool:
        return await self._counter.approach(token, address)

    async def give_back(self, token: int) -> None:
        await self._counter.give_back(token)

    async def pause(self, reason: str) -> None:
        logger.warning("%s", reason or "the crawl goes on")

    async def robots(self, origin: str) -> bytes:
        return await self._counter.frontier.robots(origin)

    async def site(self, domain: str) -> bytes:
        return await self._counter.frontier.site(domain)

    async def recognise(self, digest: bytes, url: str, token: int, signature: bytes) -> tuple[str, Placement]:
        return await recognise(self._counter.frontier, Recognise(digest, url, token, signature))


class RemoteDispatch:
    """`Dispatch` for a worker in a process of its own."""

    def __init__(self, parent: Client) -> None:
        self._parent = parent

    async def take(self, limit: int) -> list[Lease]:
        reply = await self._parent.call(Take(limit))
        assert isinstance(reply, Leases)
        return reply.leases

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        late = []
        for some in _portions(settlements):
            reply = await self._parent.call(Settle(some))
            assert isinstance(reply, Settled)
            late += reply.late
        return late

    async def approach(self, token: int, address: str) -> bool:
        reply = await self._parent.call(Approach(token, address))
        assert isinstance(reply, Permission)
        return reply.is_granted

    async def give_back(self, token: int) -> None:
        await self._parent.call(GiveBack(token))

    async def pause(self, reason: str) -> None:
        await self._parent.call(Pause(reason))

    async def robots(self, origin: str) -> bytes:
        reply = await self._parent.call(AskRobots(origin))
        assert isinstance(reply, Robots)
        return reply.record

    async def site(self, domain: str) -> bytes:
        reply = await self._parent.call(AskSite(domain))
        assert isinstance(reply, Site)
        return reply.notes

    async def recognise(self, digest: bytes, url: str, token: int, signature: bytes) -> tuple[str, Placement]:
        reply = await self._parent.call(Recognise(digest, url, token, signature))
        assert isinstance(reply, Recognised)
        return reply.original, reply.placement


async def recognise(duplicates: Duplicates, asked: Recognise) -> tuple[str, Placement]:
    """The answer to one question of two parts."""
    original = await duplicates.original_of(asked.digest, asked.url, asked.token)
    return original, await duplicates.place(asked.signature) if asked.signature else Placement()


def _portions(settlements: Sequence[Settlement]) -> Iterator[list[Settlement]]:
    """Settlements in groups that are no more than a message should carry; each settlement stands for itself."""
    some: list[Settlement] = []
    discovered = 0
    for settlement in settlements:
        if some and discovered + len(settlement.discovered) > MAX_DISCOVERED_PER_MESSAGE:
            yield some
            some, discovered = [], 0
        some.append(settlement)
        discovered += len(settlement.discovered)
    if some:
        yield some
