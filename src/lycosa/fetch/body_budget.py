"""How many bytes of bodies a worker holds at once, over all its requests. Knows slots, nothing of HTTP."""

from __future__ import annotations

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
        self.hold(-body.body_bytes)

    def hold(self, body_bytes: int) -> None:
        """So many bytes more are held by others, or fewer."""
        self._bytes += body_bytes
        if body_bytes > 0 or not self.waiting:
            return
        waiting, self.waiting = self.waiting, {}
        for other in waiting:
            other.go_on()
