"""How a crawl waits for what its machine lacks: room on the disk, descriptors, memory. Looks, and never hopes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path

from lycosa.store.files import SyncFailed, sync_file

# A database wants to write a log, a buffer and a table before it is of any use.
MIN_FREE_BYTES = 16 * 1024 * 1024
PROBE_BYTES = 256 * 1024
PROBE_DESCRIPTORS = 64
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 15.0
# Whoever held out this long has what it needs.
PEACE_SECONDS = 60.0


class ShortageWait:
    """Waits for the machine; longer each time it turns out to have been too soon."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pause = FIRST_PAUSE_SECONDS
        self._last_at = float("-inf")

    async def wait(self, stopping: asyncio.Event) -> None:
        """Return when there is enough of everything, or when `stopping` is set."""
        if time.monotonic() - self._last_at > PEACE_SECONDS:
            self._pause = FIRST_PAUSE_SECONDS
        while not stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopping.wait(), self._pause)
            self._pause = min(2 * self._pause, MAX_PAUSE_SECONDS)
            if await asyncio.to_thread(has_enough, self._folder):
                break
        self._last_at = time.monotonic()


def has_enough(folder: Path) -> bool:
    """Whether files can be opened, written and synced here, with some room to spare."""
    probe = folder / "room.probe"
    try:
        space = os.statvfs(folder)
        if space.f_bavail * space.f_frsize < MIN_FREE_BYTES:
            return False
        probe.write_bytes(bytes(PROBE_BYTES))
        sync_file(probe)
        with contextlib.ExitStack() as stack:
            for _ in range(PROBE_DESCRIPTORS):
                stack.enter_context(probe.open("rb"))
    except (OSError, SyncFailed):
        return False
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    return True
