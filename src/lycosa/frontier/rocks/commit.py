"""Group commit: many writers wait for one fsync."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lycosa.errors import BackendLost

# An fsync costs 1-3 ms of a disk's time; gathering for this long costs a settlement less than a fetch does.
GATHER_SECONDS = 0.01


class GroupCommit:
    """`sync` puts everything written so far on the disk; it runs in a thread, at most once per `GATHER_SECONDS`."""

    def __init__(self, sync: Callable[[], None], *, is_wanted: bool) -> None:
        self._sync = sync
        self._is_wanted = is_wanted
        self._written = 0
        self._synced = 0
        self._synced_at = 0.0
        self._waiting: list[asyncio.Future[None]] = []
        self._running: asyncio.Task[None] | None = None

    def note_write(self) -> None:
        """There is something that a power cut could take."""
        self._written += 1

    async def durable(self) -> None:
        """Return once everything written so far, by anybody, is on the disk."""
        if not self._is_wanted or self._synced == self._written:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await waiter

    async def finish(self) -> None:
        """Wait for an fsync that is under way."""
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(self._synced_at + GATHER_SECONDS - loop.time())
            waiting, self._waiting = self._waiting, []
            written = self._written
            try:
                await loop.run_in_executor(None, self._sync)
            except BackendLost as error:
                for waiter in waiting:
                    if not waiter.done():
                        waiter.set_exception(error)
            else:
                self._synced, self._synced_at = written, loop.time()
                for waiter in waiting:
                    if not waiter.done():
                        waiter.set_result(None)
        self._running = None
