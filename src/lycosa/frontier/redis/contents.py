"""Who may store a content first, over all machines: a key with an end for each claim, a table of what was stored.

Both belong to the partition of the digest, whoever owns that: they are the same for all, so nobody's to fence off.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from zlib import crc32

from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.together import Gatherer
from lycosa.frontier.redis.wire import Command
from lycosa.frontier.tables import Batch

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
        self._asking = Gatherer(connection, durable=False)
        self._keeping = Gatherer(connection, durable=True)
        self._partitions = partitions
        self._claim_milliseconds = int(1000 * (lease_seconds + GRACE_SECONDS))
        self._has_lease = has_lease
        self._takes_part = takes_part
        self.nonce = ""  # of this machine
        self._digests_of: dict[int, list[bytes]] = {}
        self._ended: list[bytes] = []
        self._news = asyncio.Event()

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        """The URL that has this content, or an empty string: then `token` holds the claim."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            news = self._news
            holder, original = await self._claim(digest, token)
            if original and original != url:
                if digest in self._digests_of.get(token, ()):
                    # Nothing is going to be stored under this claim.
                    self._digests_of[token].remove(digest)
                    await self._drop([digest])
                return original
            if not holder:
                return ""
            if not await self._takes_part(holder.partition(":")[0]):
                # Whoever held it is dead, and its leases are somebody else's.
                await self._break(digest, holder)
                continue
            # Whoever holds it may be on another machine, or here.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), pause)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    async def keep(self, stored: Iterable[tuple[bytes, str]]) -> None:
        """These contents are stored, each under its URL. Comes before the settlement of the visit that stored it."""
        pairs: dict[str, list[bytes | str]] = defaultdict(list)
        for digest, url in stored:
            pairs[self._tag(digest)] += [digest, url]
        await asyncio.gather(*(self._keeping.ask(tag, ("HSET", f"{tag}c", *some)) for tag, some in pairs.items()))

    def end(self, token: int) -> None:
        """The lease is settled or gone: its claims are let go of with the next `end_claims`."""
        self._ended += self._digests_of.pop(token, ())

    async def end_claims(self) -> None:
        """Let go of the claims of leases that are settled or gone."""
        ended, self._ended = self._ended, []
        if ended:
            await self._drop(ended)
            self._news.set()
            self._news = asyncio.Event()

    async def _claim(self, digest: bytes, token: int) -> tuple[str, str]:
        """Who holds the claim, '' if we or nobody; and the URL that has the content, if any."""
        tag, mine = self._tag(digest), self._name(token)
        key = self._key(digest)
        # Whoever overslept gets no claim: nobody would ever end it.
        may_claim = self._has_lease(token)
        claim: Command = ("SET", key, mine, "NX", "GET", "PX", self._claim_milliseconds) if may_claim else ("GET", key)
        # The claim first: whoever gets it after another gave it up finds what that one stored.
        holder, original = await self._asking.ask(tag, claim, ("HGET", f"{tag}c", digest))
        holder, original = (holder or b"").decode(), (original or b"").decode()
        if may_claim and holder in ("", mine):
            digests = self._digests_of.setdefault(token, [])
            if digest not in digests:
                digests.append(digest)
            if not self._has_lease(token):
                # It ended while the claim was on its way.
                self.end(token)
            return "", original
        return holder if holder != mine else "", original

    async def _drop(self, digests: Iterable[bytes]) -> None:
        keys: dict[str, list[bytes]] = defaultdict(list)
        for digest in digests:
            keys[self._tag(digest)].append(self._key(digest))
        await asyncio.gather(*(self._asking.ask(tag, ("DEL", *some)) for tag, some in keys.items()))

    async def _break(self, digest: bytes, holder: str) -> None:
        """End a claim, unless somebody else has it by now."""
        args = {"key": self._key(digest), "holder": holder}
        await self._connection.run("break_claim", self._tag(digest), args, durable=False)

    def _name(self, token: int) -> str:
        return f"{self.nonce}:{token}"

    def _tag(self, digest: bytes) -> str:
        return self._address.tag(crc32(digest) % self._partitions)

    def _key(self, digest: bytes) -> bytes:
        return f"{self._tag(digest)}k".encode() + digest


class PartitionContents:
    """The contents as one scheduler sees them: what it stores is in the table already."""

    def __init__(self, shared: SharedContents) -> None:
        self._shared = shared

    def keep(self, batch: Batch, digest: bytes, url: str) -> None:
        """It was kept before the settlement."""

    def end(self, token: int) -> None:
        self._shared.end(token)
