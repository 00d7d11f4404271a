"""Group commit: many writers wait for one fsync."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lycosa.clock import machine_clock
from lycosa.figures import Durations
from lycosa.frontier.gathering import Gathering

# An fsync costs 1-3 ms of a disk's time; gathering for this long costs a settlement less than a fetch does.
GATHER_SECONDS = 0.01


class GroupCommit:
    """`sync` puts everything written so far on the disk; it runs in a thread, at most once per `GATHER_SECONDS`."""

    def __init__(self, sync: Callable[[], None], *, is_wanted: bool) -> None:
        self._sync = sync
        self._is_wanted = is_wanted
        self._written = 0
        self._synced = 0
        self.syncs = Durations()
        self._gathering: Gathering[None, None] = Gathering(self._sync_once, GATHER_SECONDS)

    def note_write(self) -> None:
        """There is something that a power cut could take."""
        self._written += 1

    async def durable(self) -> None:
        """Return once everything written so far, by anybody, is on the disk."""
        if self._is_wanted and self._synced < self._written:
            await self._gathering.ask(None)

    async def finish(self) -> None:
        """Wait for an fsync that is under way."""
        await self._gathering.finish()

    async def _sync_once(self, waiting: list[None]) -> list[None]:
        # Taken before: what is written meanwhile may be too late for it.
        written, began_at = self._written, machine_clock()
        await asyncio.get_running_loop().run_in_executor(None, self._sync)
        self._synced = written
        self.syncs.note(machine_clock() - began_at)
        return waiting
