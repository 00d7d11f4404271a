"""The page limit over all machines: pages are granted to partitions, and what one does not need goes to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from lycosa.frontier.redis_crawl import Crawl
from lycosa.frontier.redis_link import Call, Link
from lycosa.frontier.redis_members import RunAll

Grant = tuple[int, int]  # ticket, pages in total


class _Answer(msgspec.Struct, array_like=True):
    grants: list[tuple[int, int, int]]
    tickets: list[tuple[int, int]]
    left: int


class Budget:
    """Asks for grants; exact, since all that was ever granted together is never more than the limit."""

    def __init__(self, link: Link, crawl: Crawl, max_pages: int) -> None:
        self._link = link
        self._crawl = crawl
        self._max_pages = max_pages
        self._left = max_pages

    async def grants(self, wanted: Mapping[int, int], spare: Sequence[int], run: RunAll) -> dict[int, Grant]:
        """Grants for partitions that want pages; if none are left, what partitions to `spare` do not need."""
        share = max(1, self._left // max(1, len(wanted)))
        wishes = [(partition, min(pages, share)) for partition, pages in wanted.items()]
        answer = await self._ask(wanted=wishes)
        given = {partition: (ticket, total) for partition, ticket, total in answer.grants}
        unmet = [wish for wish in wishes if wish[0] not in given]
        if unmet and spare:
            answer = await self._ask(wanted=unmet, returned=await self._recall(spare, run))
            given |= {partition: (ticket, total) for partition, ticket, total in answer.grants}
        return given

    async def _recall(self, spare: Sequence[int], run: RunAll) -> list[tuple[int, int, int]]:
        tickets = (await self._ask(recalled=list(spare))).tickets
        used = await run([Call("recall", partition, {"ticket": ticket}) for partition, ticket in tickets])
        return [(*ticket, pages) for ticket, pages in zip(tickets, used, strict=True) if pages >= 0]

    async def _ask(self, **args: Any) -> _Answer:
        empty: dict[str, Any] = {"wanted": [], "recalled": [], "returned": []}
        common = {"id": self._crawl.id, "max_pages": self._max_pages, "partitions": self._crawl.partitions}
        answer = msgspec.msgpack.decode(await self._link.one("budget", None, empty | common | args), type=_Answer)
        self._left = answer.left
        return answer
