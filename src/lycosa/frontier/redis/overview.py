"""All partitions of a crawl at a moment, whoever owns them: what they count, and whether anything is left to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from lycosa.frontier.records import State, decode_state
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.crawl import Crawl, gone
from lycosa.frontier.redis.mail import inbox_of
from lycosa.frontier.redis.partition import Partition
from lycosa.frontier.redis.tables import LETTERS
from lycosa.frontier.redis.together import ask_together
from lycosa.frontier.redis.wire import Command
from lycosa.frontier.revisits import favoured_pages
from lycosa.frontier.tables import META
from lycosa.ports import Counts

# Published by a machine that has nothing to do: something later than any moment.
NOTHING_TO_DO = 1e15
# And by one where only that is queued which no host knows of.
NEVER = 1e14


class Look(msgspec.Struct, frozen=True):
    """One partition at a moment."""

    state: State
    inbox: int  # messages in it
    last_message: bytes


class Overview:
    """What was last seen of all partitions; of our own (`mine`) it is what they say now."""

    def __init__(self, connection: Connection, crawl: Crawl, max_pages: int, mine: Mapping[int, Partition]) -> None:
        self._connection = connection
        self._crawl = crawl
        self._max_pages = max_pages
        self._mine = mine
        self._looks = [Look(State(), 0, b"")] * crawl.partitions

    async def look(self) -> list[Look]:
        asked = [(tag, _questions(tag)) for tag in self._crawl.tags(self._connection.address)]
        answers = await ask_together(self._connection, asked)
        if any(fence is None for fence, *_ in answers):
            raise gone(self._connection.address)
        self._looks = [
            Look(decode_state(raw) if raw else State(), waiting, last[0][0] if last else b"")
            for _, raw, waiting, last in answers
        ]
        return self._looks

    async def is_finished(self) -> bool:
        if any(not partition.scheduler.is_finished() for partition in self._mine.values()):
            return False
        # Two looks with nothing changed in between are one look at all partitions in the same moment.
        before = await self.look()
        while not self._is_busy(before):
            after = await self.look()
            if _signs(after) == _signs(before):
                return True
            before = after
        return False

    def counts(self) -> Counts:
        totals: dict[str, int] = defaultdict(int)
        for number, look in enumerate(self._looks):
            partition = self._mine.get(number)
            counts = partition.scheduler.counts() if partition else look.state.counts
            for name, figure in msgspec.structs.asdict(counts).items():
                totals[name] += figure
        return Counts(**totals)

    def share_budget(self) -> None:
        """Give each of our partitions its part of the budget for visits, by what was last seen of all of them."""
        seen = dict(enumerate(look.state for look in self._looks))
        states = seen | {number: partition.scheduler.state for number, partition in self._mine.items()}
        pages = sum(favoured_pages(state) for state in states.values())
        prices = [
            (state.schedule.price, state.counts.resting)
            for state in states.values()
            if state.schedule and state.schedule.visits
        ]
        resting = sum(number for _, number in prices)
        price = sum(each * number for each, number in prices) / resting if resting else 0.0
        for partition in self._mine.values():
            partition.scheduler.share_out(pages, price)

    def is_full(self) -> bool:
        """Whether all pages that the limit allows are fetched or leased, as far as is known here."""
        if not self._max_pages:
            return False
        elsewhere = sum(look.state.counts.pages for number, look in enumerate(self._looks) if number not in self._mine)
        return elsewhere + sum(partition.used for partition in self._mine.values()) >= self._max_pages

    def idle_here(self) -> float:
        """When our partitions have something to do again, by the servers' time; 0 while they have."""
        moments = [NOTHING_TO_DO]
        for partition in self._mine.values():
            counts = partition.scheduler.counts()
            if counts.queued + counts.delayed + counts.leased == 0 or partition.scheduler.is_finished():
                continue
            if (until := partition.scheduler.idle_until()) is None:
                return 0.0
            moments.append(min(until, NEVER))
        return min(moments)

    def _is_busy(self, looks: Sequence[Look]) -> bool:
        counts = [look.state.counts for look in looks]
        if any(each.leased for each in counts):
            return True
        if self._max_pages and sum(each.pages for each in counts) >= self._max_pages:
            # What kept pages need is fetched all the same, and may lie in an inbox.
            if not any(each.requisites or each.requisites_queued for each in counts):
                return False
            return any(each.requisites_queued for each in counts) or any(look.inbox for look in looks)
        return any(each.queued + each.delayed for each in counts) or any(look.inbox for look in looks)


def _questions(tag: str) -> list[Command]:
    inbox = inbox_of(tag)
    return [
        ("GET", f"{tag}f"),
        ("HGET", f"{tag}{LETTERS[META]}", "state"),
        ("XLEN", inbox),
        ("XREVRANGE", inbox, "+", "-", "COUNT", 1),
    ]


def _signs(looks: Iterable[Look]) -> list[tuple[Any, ...]]:
    """What differs if anything has changed."""
    return [(look.state.changes, look.state.epoch, look.inbox, look.last_message) for look in looks]
