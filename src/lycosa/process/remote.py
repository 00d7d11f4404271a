"""The dispatcher as a worker in a process of its own sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lycosa.figures import WorkerFigures
from lycosa.frontier.arrivals import in_short
from lycosa.model import Lease, Placement, Settlement
from lycosa.process.frames import CallClient
from lycosa.process.messages import (
    AskRobots,
    AskSite,
    GiveBack,
    Leases,
    MayAskAt,
    Pause,
    Permission,
    Recognise,
    Recognised,
    RobotsReply,
    Settle,
    Settled,
    SiteNotesReply,
    Take,
    Tell,
)

# Of one message: a hostile page has 2,000 links of 2 KB, and hundreds of such pages may be settled at once.
MAX_DISCOVERED_PER_MESSAGE = 20_000


class RemoteDispatcher:
    """`Dispatcher` for a worker in a process of its own."""

    def __init__(self, client: CallClient) -> None:
        self._client = client

    async def take(self, limit: int) -> list[Lease]:
        reply = await self._client.call(Take(limit))
        assert isinstance(reply, Leases)
        return reply.leases

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        late = []
        for some in _portions(settlements):
            # In short: whoever has the frontier need not make a value of each link.
            reply = await self._client.call(Settle(list(map(in_short, some))))
            assert isinstance(reply, Settled)
            late += reply.late
        return late

    async def may_ask_at(self, token: int, address: str) -> bool:
        reply = await self._client.call(MayAskAt(token, address))
        assert isinstance(reply, Permission)
        return reply.is_granted

    async def give_back(self, tokens: Sequence[int]) -> None:
        await self._client.call(GiveBack(list(tokens)))

    async def pause(self, reason: str) -> None:
        await self._client.call(Pause(reason))

    async def tell(self, figures: WorkerFigures) -> None:
        """How this worker is doing."""
        await self._client.call(Tell(figures))

    async def robots(self, origin: str) -> bytes:
        reply = await self._client.call(AskRobots(origin))
        assert isinstance(reply, RobotsReply)
        return reply.record

    async def site(self, domain: str) -> bytes:
        reply = await self._client.call(AskSite(domain))
        assert isinstance(reply, SiteNotesReply)
        return reply.notes

    async def recognise(
        self, digest: bytes, url: str, token: int, signature: bytes, *, is_urgent: bool = True
    ) -> tuple[str, Placement]:
        reply = await self._client.call(Recognise(digest, url, token, signature), is_urgent=is_urgent)
        assert isinstance(reply, Recognised)
        return reply.original, reply.placement


def _portions(settlements: Sequence[Settlement]) -> Iterator[list[Settlement]]:
    """Settlements in groups that are no more than a message should carry; each settlement stands for itself."""
    some: list[Settlement] = []
    discovered = 0
    for settlement in settlements:
        if some and discovered + len(settlement.discovered) > MAX_DISCOVERED_PER_MESSAGE:
            yield some
            some, discovered = [], 0
        some.append(settlement)
        discovered += len(settlement.discovered)
    if some:
        yield some
