"""The balanced assignment: whoever has had a domain least has it next, so that a domain sees its requests spread evenly
over the clients' addresses. Pure: when a host may be asked is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import fsum, sqrt
from typing import NamedTuple
from zlib import crc32

from lycosa.policy.sketch import CountMinSketch

# 64 KB per client: with a million requests counted an estimate is at most 1,300 too high.
WIDTH, DEPTH = 2048, 4
# Among clients that had a domain equally often, so many are compared by what they have to do: enough to spread it well.
MAX_COMPARED = 8
# A client that has more to do than it can begins with the domains it has had least. So much longer does a host wait
# for each visit to its domain, up to some: nobody waits for ever.
WAIT_SECONDS_PER_VISIT, MAX_WAIT_SECONDS = 0.01, 10.0


class Choice(NamedTuple):
    """Who has a domain next, and how often it had it before."""

    client: int
    times: int


class Balance:
    """How often each client had each domain: a count-min sketch per client."""

    def __init__(self, clients: Sequence[int], sketch: Callable[[], CountMinSketch] | None = None) -> None:
        self._new_sketch = sketch or (lambda: CountMinSketch(WIDTH, DEPTH))
        self._had: dict[int, CountMinSketch] = {}
        for client in clients:
            self.join(client)

    def join(self, client: int) -> None:
        """A client more. It begins where the least of the others stands: it need not make up for their past alone."""
        assert client not in self._had, "a client joins once"
        fresh = self._new_sketch()
        if self._had:
            fresh.take_least(list(self._had.values()))
        self._had[client] = fresh

    def leave(self, client: int) -> None:
        del self._had[client]
        assert self._had, "somebody must be left"

    @property
    def clients(self) -> list[int]:
        return list(self._had)

    def choose(self, domain: str, load: Callable[[int], int], among: Collection[int] = ()) -> Choice:
        """Who has this domain next: whoever had it least, of those whoever has least to do. It is counted as had."""
        times = {client: had.estimate(domain) for client, had in self._had.items() if not among or client in among}
        least = min(times.values())
        tied = [client for client in times if times[client] == least]
        first = crc32(domain.encode()) % len(tied)
        chosen = min((tied[(first + turn) % len(tied)] for turn in range(min(len(tied), MAX_COMPARED))), key=load)
        self._had[chosen].add(domain)
        return Choice(chosen, least)

    def spread(self, domain: str) -> float:
        """How unevenly a domain is spread: the coefficient of variation over the clients, 0 if evenly."""
        return coefficient_of_variation([had.estimate(domain) for had in self._had.values()])

    @property
    def max_overestimate(self) -> int:
        """Of any count, over all clients."""
        return max(sketch.max_overestimate for sketch in self._had.values())


def turn_of(due_at: float, times: int) -> float:
    """Where a host stands among those that a client could ask: the smaller the sooner."""
    return due_at + min(WAIT_SECONDS_PER_VISIT * times, MAX_WAIT_SECONDS)


def coefficient_of_variation(figures: Sequence[float]) -> float:
    """Standard deviation over mean; 0 if there is nothing."""
    mean = fsum(figures) / len(figures) if figures else 0.0
    return sqrt(fsum((figure - mean) ** 2 for figure in figures) / len(figures)) / mean if mean else 0.0
