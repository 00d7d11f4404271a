"""Pages of many hosts, each with the moment of its turn; a host may be asked again only after a pause."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from math import inf

from lycosa.bench.freshness.web import ChangingWeb


class HostQueues:
    """A heap of pages for each host, and a heap of the hosts that may be asked."""

    def __init__(self, web: ChangingWeb, turn_of: Callable[[int, float, int], float] | None = None) -> None:
        self._gaps: list[float] = web.gaps.tolist()
        self._pages: list[list[tuple[float, int]]] = [[] for _ in self._gaps]
        self._turn_of = turn_of or (lambda host, moment, page: moment)
        self._standing: list[tuple[float, int]] = []
        self._turns: list[float | None] = [None] * len(self._gaps)
        self._resting: list[tuple[float, int]] = []
        self.free_at = [-inf] * len(self._gaps)

    def fill(self, host: int, pages: list[tuple[float, int]]) -> None:
        """Take in a host's pages, all at once."""
        heapify(pages)
        self._pages[host] = pages
        self.stand(host)

    def put(self, host: int, moment: float, page: int) -> None:
        """A page's turn."""
        heappush(self._pages[host], (moment, page))

    def pop(self, host: int) -> int | None:
        """The page of a host whose turn is next."""
        return heappop(self._pages[host])[1] if self._pages[host] else None

    def stand(self, host: int) -> None:
        """A host's turn follows from that of its first page, or from when it may be asked."""
        if self._pages[host]:
            turn = self._turn_of(host, *self._pages[host][0])
            if turn != self._turns[host]:
                self._turns[host] = turn
                heappush(self._standing, (turn, host))

    def next_host(self, now: float) -> tuple[float, int] | None:
        """The host whose turn is next, among those that may be asked, and when that is; it stands no longer."""
        while self._resting and self._resting[0][0] <= now:
            self.stand(heappop(self._resting)[1])
        while self._standing:
            turn, host = heappop(self._standing)
            if self._turns[host] == turn:
                self._turns[host] = None
                return turn, host
        return None

    def visited(self, host: int, now: float) -> None:
        """A host was asked: it rests, or stands again."""
        gap = self._gaps[host]
        if gap > 0.0:
            self.free_at[host] = now + gap
            self._turns[host] = None
            heappush(self._resting, (now + gap, host))
        else:
            self.stand(host)
