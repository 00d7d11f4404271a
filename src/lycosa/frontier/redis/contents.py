"""Who may store a content first, over all machines: a key with an end for each claim, a table of what was stored.

They belong to one partition, on a cluster to that of the digest, whoever owns it: they are the same for all.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from zlib import crc32

from lycosa.frontier.redis.connection import Connection, script_text
from lycosa.frontier.redis.together import gathering
from lycosa.frontier.redis.wire import Command
from lycosa.frontier.tables import CONTENTS, Batch

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.02, 0.5
# A claim outlives the lease it was made under by so much, if nobody ends it.
GRACE_SECONDS = 5.0


class SharedContents:
    """Claims of this machine's leases. `takes_part`: whether the machine with this nonce does."""

    def __init__(
        self,
        connection: Connection,
        partitions: int,
        lease_seconds: float,
        has_lease: Callable[[int], bool],
        takes_part: Callable[[str], Awaitable[bool]],
    ) -> None:
        self._connection = connection
        self._address = connection.address
        self._asking = gathering(connection)
        self._partitions = partitions
        self._claim_milliseconds = int(1000 * (lease_seconds + GRACE_SECONDS))
        self._has_lease = has_lease
        self._takes_part = takes_part
        self.nonce = ""  # of this machine
        # What was stored is written with the settlement of its visit. No transaction of a cluster spans two slots:
        # there it is kept just after it, and a crash in between lets the same content be stored once more.
        self.rides_along = connection.address.kind != "cluster"
        self._claims_of: dict[int, dict[bytes, str]] = {}  # digests, and under which name each was claimed
        self._ended: list[tuple[bytes, str]] = []
        self._news = asyncio.Event()

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        """The URL that has this content, or an empty string: then `token` holds the claim."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            news = self._news
            holder, original = await self._claim(digest, token)
            if original and original != url:
                if holder := self._claims_of.get(token, {}).pop(digest, ""):
                    # Nothing is going to be stored under this claim.
                    await self._drop([(digest, holder)])
                return original
            if not holder:
                return ""
            if not await self._takes_part(holder.partition(":")[0]):
                # Whoever held it is dead, and its leases are somebody else's.
                await self._drop([(digest, holder)])
                continue
            # Whoever holds it may be on another machine, or here.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def keep(self, stored: Iterable[tuple[bytes, str]]) -> None:
        """These contents are stored, each under its URL, by visits that have been settled."""
        pairs: dict[str, list[bytes | str]] = defaultdict(list)
        for digest, url in stored:
            pairs[self.tag(digest)] += [digest, url]
        await asyncio.gather(*(self._connection.command(tag, "HSET", f"{tag}c", *some) for tag, some in pairs.items()))

    def end(self, token: int) -> None:
        """The lease is settled or gone: its claims are let go of with the next `end_claims`."""
        self._ended += self._claims_of.pop(token, {}).items()

    async def end_claims(self) -> None:
        """Let go of the claims of leases that are settled or gone."""
        # Taken before the first await: what ends meanwhile is for the next call.
        ended, self._ended = self._ended, []
        if ended:
            await self._drop(ended)
            # No await in between: nobody waits for an event that was told already.
            self._news.set()
            self._news = asyncio.Event()

    async def _claim(self, digest: bytes, token: int) -> tuple[str, str]:
        """Who holds the claim, '' if we or nobody; and the URL that has the content, if any."""
        tag, mine = self.tag(digest), f"{self.nonce}:{token}"
        key = self._key(digest)
        # Whoever overslept gets no claim: nobody would ever end it.
        may_claim = self._has_lease(token)
        claim: Command = ("SET", key, mine, "NX", "GET", "PX", self._claim_milliseconds) if may_claim else ("GET", key)
        # The claim first: whoever gets it after another gave it up finds what that one stored.
        holder, original = await self._asking.ask((tag, [claim, ("HGET", f"{tag}c", digest)]))
        holder, original = (holder or b"").decode(), (original or b"").decode()
        if may_claim and holder in ("", mine):
            self._claims_of.setdefault(token, {})[digest] = mine
            if not self._has_lease(token):
                # It ended while the claim was on its way.
                self.end(token)
            return "", original
        return holder if holder != mine else "", original

    async def _drop(self, claims: Iterable[tuple[bytes, str]]) -> None:
        """End claims, each unless somebody else has it by now than who held it."""
        words: dict[str, list[bytes | str]] = defaultdict(list)
        for digest, holder in claims:
            words[self.tag(digest)] += [self._key(digest), holder]
        script = script_text("end_claims")
        await asyncio.gather(
            *(self._asking.ask((tag, [("EVAL", script, 1, tag, *some)])) for tag, some in words.items())
        )

    def tag(self, digest: bytes) -> str:
        """Where a content belongs: on one server all to the same, so that one command writes many."""
        return self._address.tag(0 if self.rides_along else crc32(digest) % self._partitions)

    def _key(self, digest: bytes) -> bytes:
        return f"{self.tag(digest)}k".encode() + digest


class PartitionContents:
    """The contents as one scheduler sees them."""

    def __init__(self, shared: SharedContents) -> None:
        self._shared = shared

    def keep(self, batch: Batch, digest: bytes, url: str) -> None:
        if self._shared.rides_along:
            batch.put(CONTENTS, digest, url.encode())

    def end(self, token: int) -> None:
        self._shared.end(token)
