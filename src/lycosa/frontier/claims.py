"""Who may store a content first: one visit at a time holds the claim to a digest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from lycosa.frontier.tables import CONTENTS, Batch


class Contents(Protocol):
    """Who may store a content first, as the scheduler sees it."""

    def keep(self, batch: Batch, digest: bytes, url: str) -> None:
        """This content is stored from now on, as soon as the batch is written."""

    def end(self, token: int) -> None:
        """The lease of a claim is settled or gone."""


class Claims:
    """Claims live in memory and end with their lease; what was stored is asked of `stored_under`."""

    def __init__(
        self, stored_under: Callable[[bytes], Awaitable[bytes | None]], has_lease: Callable[[int], bool]
    ) -> None:
        self._stored_under = stored_under
        self._has_lease = has_lease
        self._holder: dict[bytes, tuple[int, asyncio.Event]] = {}
        self._digests_of: dict[int, list[bytes]] = {}

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        """The URL that has this content, or an empty string: then `token` holds the claim."""
        while held := self._holder.get(digest):
            if held[0] == token:
                return ""
            await held[1].wait()
        original = (await self._stored_under(digest) or b"").decode()
        if original and original != url:
            return original
        # Whoever overslept gets no claim: nobody would ever end it. No store in this process pauses for an answer, so
        # nobody came in between.
        if self._has_lease(token):
            self._holder[digest] = (token, asyncio.Event())
            self._digests_of.setdefault(token, []).append(digest)
        return ""

    def keep(self, batch: Batch, digest: bytes, url: str) -> None:
        """This content is stored from now on."""
        batch.put(CONTENTS, digest, url.encode())

    def end(self, token: int) -> None:
        """The lease is settled or gone: whoever waits may look again."""
        for digest in self._digests_of.pop(token, ()):
            self._holder.pop(digest)[1].set()
