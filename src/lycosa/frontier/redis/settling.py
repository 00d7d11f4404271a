"""Settlements of all workers in rounds: what comes in while one is under way, and a moment longer, goes together.

Every partition that a round touches costs this machine and the servers about as much as a page: the more pages share
it, the less.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from lycosa.model import Settlement

# From one round to the next; less than a fetch takes.
ROUND_SECONDS = 0.02


class SettlingRounds:
    """Settles for many callers at once. Who comes alone after a rest need not wait."""

    def __init__(self, settle: Callable[[Sequence[Settlement]], Awaitable[Sequence[int]]]) -> None:
        self._settle = settle
        self._waiting: list[Settlement] = []
        self._next: asyncio.Task[Sequence[int]] | None = None
        self._running = asyncio.Lock()
        self._began_at = float("-inf")

    async def settle(self, settlements: Sequence[Settlement]) -> Sequence[int]:
        """The tokens of late settlements, other callers' among them."""
        self._waiting += settlements
        if self._next is None:
            self._next = asyncio.create_task(self._round())
            # Heard, also where nobody is left to hear it.
            self._next.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        # Whoever is not interested any more must not end it for the others.
        return await asyncio.shield(self._next)

    async def _round(self) -> Sequence[int]:
        async with self._running:
            await asyncio.sleep(self._began_at + ROUND_SECONDS - asyncio.get_running_loop().time())
            self._began_at = asyncio.get_running_loop().time()
            settlements, self._waiting, self._next = self._waiting, [], None
            return await self._settle(settlements)
