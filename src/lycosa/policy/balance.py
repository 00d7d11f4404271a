"""The balanced assignment: a URL goes to the client that has fetched its domain least, so that a domain sees its
requests spread evenly over the clients' addresses. Pure: when a host may be asked is decided elsewhere.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import count
from statistics import fmean, pstdev
from typing import Generic, TypeVar

from lycosa.policy.sketch import CountMinSketch

T = TypeVar("T")
# 64 KB per client: with a million URLs counted an estimate is at most 1,300 too high.
WIDTH, DEPTH = 2048, 4


class Balance(Generic[T]):
    """One queue and one count of domains per client. What a domain has had least of goes first."""

    def __init__(self, clients: Sequence[int], sketch: Callable[[], CountMinSketch] | None = None) -> None:
        self._new_sketch = sketch or (lambda: CountMinSketch(WIDTH, DEPTH))
        self._queues: dict[int, list[tuple[int, int, str, T]]] = {}
        self._fetched: dict[int, CountMinSketch] = {}
        self._serial = count()
        for client in clients:
            self.join(client)

    def join(self, client: int) -> None:
        """A client more. What is queued stays where it is; new URLs come to it until it has caught up."""
        assert client not in self._queues, "a client joins once"
        self._queues[client] = []
        self._fetched[client] = self._new_sketch()

    def leave(self, client: int) -> None:
        """A client less: what it had not asked for yet goes to the others."""
        queue = self._queues.pop(client)
        del self._fetched[client]
        assert self._queues, "somebody must be left"
        for _, _, domain, item in sorted(queue, key=lambda entry: entry[:2]):
            self.add(domain, item)

    def add(self, domain: str, item: T) -> int:
        """Queue an item with the client that has had its domain least; returns which."""
        times, _, client = min(
            (self._fetched[client].estimate(domain), len(queue), client) for client, queue in self._queues.items()
        )
        heapq.heappush(self._queues[client], (times, next(self._serial), domain, item))
        self._fetched[client].add(domain)
        return client

    def take(self, client: int, limit: int) -> list[T]:
        """Up to `limit` items for a client: domains it has had least of first, then by arrival."""
        queue = self._queues[client]
        return [heapq.heappop(queue)[3] for _ in range(min(limit, len(queue)))]

    def queued(self, client: int) -> int:
        return len(self._queues[client])

    def spread(self, domain: str) -> float:
        """How unevenly a domain is spread: the coefficient of variation over the clients, 0 if evenly."""
        return coefficient_of_variation([self._fetched[client].estimate(domain) for client in self._queues])

    @property
    def max_overestimate(self) -> int:
        """Of any count, over all clients."""
        return max(sketch.max_overestimate for sketch in self._fetched.values())


def coefficient_of_variation(figures: Sequence[float]) -> float:
    """Standard deviation over mean; 0 if there is nothing."""
    mean = fmean(figures)
    return pstdev(figures) / mean if mean else 0.0
