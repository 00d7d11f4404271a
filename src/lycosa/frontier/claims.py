"""Who may store a content first: one visit at a time holds the claim to a digest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container


class Claims:
    """Claims live in memory and end with their lease; what was stored is asked of `stored_under`."""

    def __init__(self, stored_under: Callable[[bytes], bytes | None], leases: Container[int]) -> None:
        self._stored_under = stored_under
        self._leases = leases
        self._holder: dict[bytes, tuple[int, asyncio.Event]] = {}
        self._digests_of: dict[int, list[bytes]] = {}

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        """The URL that has this content, or an empty string: then `token` holds the claim."""
        while held := self._holder.get(digest):
            if held[0] == token:
                return ""
            await held[1].wait()
        original = (self._stored_under(digest) or b"").decode()
        if original and original != url:
            return original
        # Whoever overslept gets no claim: nobody would ever end it.
        if token in self._leases:
            self._holder[digest] = (token, asyncio.Event())
            self._digests_of.setdefault(token, []).append(digest)
        return ""

    def end(self, token: int) -> None:
        """The lease is settled or gone: whoever waits may look again."""
        for digest in self._digests_of.pop(token, ()):
            self._holder.pop(digest)[1].set()
