"""The page limit over all machines: partitions fetch what they were granted, and give back what they do not need."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from lycosa.frontier.redis.connection import Connection

# Granted beyond what is asked for, while there is plenty: then it need not be asked for again soon.
MAX_SPARE = 64


class Grant:
    """What one partition may fetch in all, in this ownership."""

    def __init__(self, partition: int, epoch: int, is_crawl_full: Callable[[], bool]) -> None:
        self.partition = partition
        self.epoch = epoch
        self.total = 0
        self._is_crawl_full = is_crawl_full

    def is_reached(self, pages: int, leased: int) -> bool:
        return self._is_crawl_full()

    def may_lease(self, pages: int, leased: int) -> bool:
        return pages + leased < self.total


class _Granted(msgspec.Struct, array_like=True):
    totals: list[int]
    left: int


class PageGrants:
    """Asks for grants; exact, since all that was ever granted together is never more than the limit."""

    def __init__(self, connection: Connection, partitions: int, max_pages: int) -> None:
        self._connection = connection
        self._partitions = partitions
        self._max_pages = max_pages
        self.left = max_pages  # when this was last asked for

    def note(self, granted: int) -> None:
        """So much was granted to all by now: what others asked for is not left."""
        self.left = max(0, self._max_pages - granted)

    async def ask(self, wanted: Mapping[Grant, int]) -> None:
        """Bring grants to these totals, as far as the limit goes."""
        spare = min(MAX_SPARE, self.left // (4 * self._partitions))
        wishes = [
            (grant.partition, grant.epoch, total + spare if total > grant.total else total)
            for grant, total in wanted.items()
        ]
        for grant, total in wanted.items():
            # Before the await: what is given back must not be leased while the answer is on its way.
            grant.total = min(grant.total, total)
        args = {"max_pages": self._max_pages, "wishes": wishes}
        raw = await self._connection.run("grant", self._connection.address.tag(), args)
        answer = msgspec.msgpack.decode(raw, type=_Granted)
        self.left = answer.left
        for grant, total in zip(wanted, answer.totals, strict=True):
            grant.total = total
