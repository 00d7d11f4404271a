"""Hosts are asked one request after the other, with their pauses, also when a browser wants more than its page.

The frontier spaces visits; what a browser asks for beside its page it never hears of. So while pages are rendered, all
requests of a worker pass here: those of visits too, which wait where a page has just asked the same host.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence

from lycosa.fetch.head import split_url
from lycosa.model import RequestParts, Response
from lycosa.ports import Fetcher

MAX_KEPT_HOSTS = 10_000
# The loop's timers count milliseconds, and may be half of one early.
TIMER_SECONDS = 0.001

# The pause at a host after a request that took so long, with such a Crawl-delay.
Pause = Callable[[str, float, float], float]


class _Turn:
    """Who asks a host at present, and what the last request was like."""

    __slots__ = ("crawl_delay_seconds", "ended_at", "host", "places", "seconds", "waiting")

    def __init__(self, host: str, connections: int) -> None:
        self.host = host
        self.places = asyncio.Semaphore(connections)
        self.ended_at: float | None = None
        self.seconds = self.crawl_delay_seconds = 0.0
        self.waiting = 0

    def left(self, pause: Pause) -> float:
        """How long the host is still to be left alone."""
        if self.ended_at is None:
            return 0.0
        left = self.ended_at + pause(self.host, self.seconds, self.crawl_delay_seconds) - time.monotonic()
        return left + TIMER_SECONDS if left > 0 else 0.0


class PacedFetcher:
    """The fetcher of a worker that renders (`ports.Fetcher`): each request waits for its turn at its host."""

    def __init__(self, fetcher: Fetcher, pause: Pause, connections_per_host: Mapping[str, int]) -> None:
        self._fetcher = fetcher
        self._pause = pause
        self._connections = connections_per_host
        self._turns: OrderedDict[str, _Turn] = OrderedDict()
        self.is_still_at = fetcher.is_still_at
        self.address_of = fetcher.address_of
        self.look_again = fetcher.look_again
        self.hold = fetcher.hold
        self.prefetch = fetcher.prefetch
        self.close = fetcher.close

    @property
    def is_cut_off(self) -> bool:
        return self._fetcher.is_cut_off

    async def fetch(
        self,
        url: str,
        *,
        address: str = "",
        headers: Sequence[tuple[str, str]] = (),
        max_body_bytes: int | None = None,
        parts: RequestParts | None = None,
    ) -> Response:
        """Ask once it is the turn of this request."""
        turn = self._turn(split_url(url).host)
        turn.waiting += 1
        try:
            async with turn.places:
                await asyncio.sleep(turn.left(self._pause))
                began, response = time.monotonic(), None
                try:
                    response = await self._fetcher.fetch(
                        url, address=address, headers=headers, max_body_bytes=max_body_bytes, parts=parts
                    )
                    return response
                finally:
                    turn.ended_at = time.monotonic()
                    turn.seconds = response.seconds if response else turn.ended_at - began
        finally:
            turn.waiting -= 1

    def note_crawl_delay(self, host: str, seconds: float) -> None:
        """What the host asks for between two requests: visits keep it by their leases, a browser does not."""
        self._turn(host).crawl_delay_seconds = seconds

    def _turn(self, host: str) -> _Turn:
        turn = self._turns.get(host)
        if turn is None:
            turn = self._turns[host] = _Turn(host, self._connections.get(host, 1))
            self._forget()
        self._turns.move_to_end(host)
        return turn

    def _forget(self) -> None:
        """Those that nobody waits for, and whose pauses are over; from the oldest on."""
        while len(self._turns) > MAX_KEPT_HOSTS:
            host, turn = next(iter(self._turns.items()))
            if turn.waiting or turn.left(self._pause) > 0:
                return
            del self._turns[host]
