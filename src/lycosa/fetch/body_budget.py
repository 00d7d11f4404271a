"""How many bytes of bodies a worker holds at once, over all its requests. Knows slots, nothing of HTTP."""

from __future__ import annotations

import asyncio
from typing import Protocol

# So much of every body is taken at once: nearly all pages end before it, as they travel compressed.
FREE_BYTES = 64 * 1024


class Growing(Protocol):
    """A body on its way."""

    @property
    def body_bytes(self) -> int: ...

    def go_on(self) -> None:
        """Take what was kept back; may ask `may_grow` again at once."""


class BodyBudget:
    """All bodies on their way. When they are too much together the longer ones wait, except one, so that some end."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._held_bytes = 0
        self._less = asyncio.Event()
        self._favoured: Growing | None = None
        self.waiting: dict[Growing, None] = {}

    def may_grow(self, body: Growing, by: int) -> bool:
        """Whether a body may take so many bytes more now; if not, it is told to go on later."""
        if self._bytes + by > self._max_bytes and body.body_bytes + by > FREE_BYTES:
            if self._favoured is None:
                self._favoured = body
            if self._favoured is not body:
                self.waiting[body] = None
                return False
        self._bytes += by
        return True

    def end(self, body: Growing) -> None:
        """A body is whole, or given up."""
        self.waiting.pop(body, None)
        if self._favoured is body:
            self._favoured = None
        self._add(-body.body_bytes)

    def hold(self, size_bytes: int) -> None:
        """So many bytes more are held by others, or fewer: bodies that arrived, and what was found in them."""
        self._held_bytes += size_bytes
        if size_bytes < 0:
            self._less.set()
        self._add(size_bytes)

    @property
    def is_full(self) -> bool:
        """Whether others hold as much as there may be, without any body that is still on its way."""
        return self._held_bytes > self._max_bytes

    async def wait_for_room(self) -> None:
        """Wait until others hold less. They must not wait for whoever waits here."""
        while self.is_full:
            self._less.clear()
            await self._less.wait()

    def _add(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        if size_bytes > 0 or not self.waiting:
            return
        waiting, self.waiting = self.waiting, {}
        for other in waiting:
            other.go_on()
