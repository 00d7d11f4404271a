"""Between the frontier and those who visit: waits where a frontier would say "nothing now".

A worker sees the same four calls whether the frontier lives in its own process or in the supervisor's.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

import msgspec

from lycosa.clock import Clock, machine_clock
from lycosa.figures import Durations
from lycosa.model import Lease, Placement, Settlement
from lycosa.ports import CrawlFrontier, Duplicates

logger = logging.getLogger(__name__)

# News may come late (a clock that is not ours, a host given back): look again at least this often.
LOOK_AGAIN_SECONDS = 1.0
# How long requests under way may take to end when the crawl is stopped.
STOP_SECONDS = 10.0


class CentralDispatcher:
    """The frontier's counter: workers queue up here. It knows when the crawl is over."""

    def __init__(
        self, frontier: CrawlFrontier, clock: Clock, max_wait_seconds: float, begin_seconds: float = 0.0
    ) -> None:
        self.frontier = frontier
        self._clock = clock
        self._max_wait_seconds = max_wait_seconds
        self._begin_seconds = begin_seconds  # within which a visit must begin after its lease was asked for; 0: any
        self._news = asyncio.Event()
        self.is_over = False
        self.taking, self.settling = Durations(), Durations()  # how long the frontier took to answer
        # Whoever may still ask for something says no: then a frontier without targets is not the end.
        self.may_end: Callable[[], bool] = lambda: True
        self.on_settled: Callable[[Sequence[Settlement]], None] = lambda settlements: None
        frontier.listen(self.tell)

    def window(self, worker: int) -> LocalDispatcher:
        """The counter as one worker sees it."""
        return LocalDispatcher(self, worker)

    def close(self) -> None:
        """No more leases: whoever waits goes home."""
        self.is_over = True
        self.tell()

    def tell(self) -> None:
        """Something may have become available."""
        # Nothing is awaited in between: whoever waits has the old event, whoever asks from now on the new one.
        self._news.set()
        self._news = asyncio.Event()

    async def take(self, worker: int, limit: int) -> list[Lease]:
        while not self.is_over:
            news, asked_at = self._news, machine_clock()
            leases = await self.frontier.take(worker, limit)
            self.taking.note(machine_clock() - asked_at)
            if leases:
                return self._dated(leases, asked_at)
            if (await self.frontier.is_finished() or self._is_hopeless()) and self.may_end():
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
            async with asyncio.timeout(pause):
                await news.wait()

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        asked_at = machine_clock()
        late = await self.frontier.settle(settlements)
        self.settling.note(machine_clock() - asked_at)
        self.on_settled(settlements)
        return late

    async def may_ask_at(self, token: int, address: str) -> bool:
        is_permitted = await self.frontier.may_ask_at(token, address)
        if not is_permitted:
            self.tell()
        return is_permitted

    async def give_back(self, tokens: Sequence[int]) -> None:
        await self.frontier.give_back(tokens)
        self.tell()


class LocalDispatcher:
    """`Dispatcher` for a worker in the frontier's own process."""

    def __init__(self, counter: CentralDispatcher, worker: int) -> None:
        self._dispatcher = counter
        self._worker = worker

    async def take(self, limit: int) -> list[Lease]:
        return await self._dispatcher.take(self._worker, limit)

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        return await self._dispatcher.settle(settlements)

    async def may_ask_at(self, token: int, address: str) -> bool:
        return await self._dispatcher.may_ask_at(token, address)

    async def give_back(self, tokens: Sequence[int]) -> None:
        await self._dispatcher.give_back(tokens)

    async def pause(self, reason: str) -> None:
        logger.warning("%s", reason or "the crawl goes on")

    async def robots(self, origin: str) -> bytes:
        return await self._dispatcher.frontier.robots(origin)

    async def site(self, domain: str) -> bytes:
        return await self._dispatcher.frontier.site(domain)

    async def recognise(
        self, digest: bytes, url: str, token: int, signature: bytes, *, is_urgent: bool = True
    ) -> tuple[str, Placement]:
        return await recognise(self._dispatcher.frontier, digest, url, token, signature)


async def recognise(
    duplicates: Duplicates, digest: bytes, url: str, token: int, signature: bytes
) -> tuple[str, Placement]:
    """The answer to one question of two parts: whose content this is, and whose text."""
    original = await duplicates.original_of(digest, url, token)
    return original, await duplicates.group_of(signature) if signature else Placement()
