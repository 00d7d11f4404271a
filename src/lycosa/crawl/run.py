"""The visits of one host by one worker: which lease is begun next, and when."""

from __future__ import annotations

import asyncio
from collections import deque

from lycosa.model import WAITS, Lease

# Leases that wait longer are given back: their host got slow, and what is better may have been found meanwhile.
MAX_WAIT_SECONDS = 5.0
# Pages that may be read while the next is on its way: as many as come while one waits to be recognised with others;
# and where what they teach may decide about those that come.
READ_AHEAD, READ_AHEAD_IN_DOUBT = 16, 2
# A host that has so many leases left, and such a part of them, need not wait for what is to be settled.
PLENTY, PLENTY_PART = 16, 3


class HostRun:
    """Leases that were not begun, in the order in which they came, and visits that were."""

    __slots__ = ("_connections", "_length", "asking", "host", "is_sound", "latest", "leases", "unheard", "visiting")

    def __init__(self, host: str, connections: int) -> None:
        self.host = host
        self._connections = connections
        self._length = 0  # of those that were not begun when the last of them came
        self.leases: deque[tuple[Lease, float]] = deque()  # and when they came
        self.latest: asyncio.Task[None] | None = None  # the visit that was begun last
        self.is_sound = False  # what was answered last left nothing to be learnt of its site
        self.asking = 0  # visits that have no answer yet
        self.visiting = 0  # visits that have not ended
        self.unheard = 0  # visits that give the host reason to rest, of which the frontier does not know yet

    def add(self, lease: Lease, now: float) -> None:
        self.leases.append((lease, now))
        self._length = len(self.leases)

    @property
    def is_closed(self) -> bool:
        """Whether leases that come were given out by who does not know that the host is to rest."""
        return self.unheard > 0

    @property
    def may_begin(self) -> bool:
        """Whether the next visit may begin: its request may leave as soon as it does."""
        if not self.leases or self.is_closed:
            return False
        lease = self.leases[0][0]
        # What is left of those that wait for all others is judged by what each of them brought.
        if not lease.at_once or lease.target.deferred >= WAITS:
            return not self.visiting
        ahead = READ_AHEAD if self.is_sound else READ_AHEAD_IN_DOUBT
        return self.asking < self._connections and self.visiting < self._connections + ahead

    def begin(self) -> Lease:
        self.asking += 1
        self.visiting += 1
        return self.leases.popleft()[0]

    def is_stale(self, now: float) -> bool:
        """Whether the next has waited for too long."""
        return bool(self.leases) and now - self.leases[0][1] > MAX_WAIT_SECONDS

    @property
    def has_plenty(self) -> bool:
        return len(self.leases) >= max(PLENTY, self._length // PLENTY_PART)

    @property
    def is_over(self) -> bool:
        return not self.leases and not self.visiting and not self.is_closed

    def clear(self) -> list[int]:
        """Leave those that were not begun. Returns their tokens."""
        tokens = [lease.token for lease, _ in self.leases]
        self.leases.clear()
        return tokens
