"""Leases of one machine's partitions for workers of another: for `balanced`, and for regions.

A machine tells the others how many leases its workers would take; an owner puts leases into that machine's box and
takes their settlements from the inbox of the partition. Whoever owns that by then answers.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from msgspec.structs import replace

from lycosa.clock import Clock, machine_clock
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.contents import SharedContents
from lycosa.frontier.redis.crawl import Crawl
from lycosa.frontier.redis.mail import (
    GiveLentBack,
    Handed,
    LentSettled,
    Message,
    Release,
    SettleLent,
    Wish,
    box_of,
    inbox_of,
    post,
)
from lycosa.frontier.redis.membership import Membership
from lycosa.frontier.redis.ownership import Ownership
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Lease, Settlement

# A question that was not answered for so long may have gone to an owner that died: whoever is owner now is asked.
ANSWER_SECONDS = 10.0


@dataclass(eq=False, repr=False)
class Lending:
    """What our workers have from other machines, and what theirs would take from us."""

    _connection: Connection
    _crawl: Crawl
    _rules: FrontierRules
    _clock: Clock
    _membership: Membership
    _ownership: Ownership
    _contents: SharedContents

    _wishes: dict[int, int] = field(default_factory=dict)  # leases that workers of other machines would take
    _wished: dict[int, int] = field(default_factory=dict)  # what ours would take, as the others will be told
    _handed: dict[int, list[Lease]] = field(default_factory=lambda: defaultdict(list))  # not yet taken by our workers
    _lent: dict[int, int] = field(default_factory=dict)  # tokens of what our workers have from others, and the worker
    _answers: dict[int, asyncio.Future[list[int]]] = field(default_factory=dict)
    _questions: Iterator[int] = field(default_factory=lambda: count(1))

    # ---- from others

    def __contains__(self, token: int) -> bool:
        return token in self._lent

    def __len__(self) -> int:
        return len(self._lent)

    def has_for(self, node: int) -> bool:
        return bool(self._handed.get(node))

    def take(self, node: int, limit: int) -> list[Lease]:
        handed = self._handed.get(node, [])
        taken, self._handed[node] = handed[:limit], handed[limit:]
        return taken

    def wish(self, node: int, leases: int) -> None:
        """A worker of ours would take so many more."""
        if self._rules.is_lending and self._membership.has_company:
            self._wished[node] = max(0, leases)

    def accept(self, handed: Handed) -> None:
        """Leases of another machine's partitions. They are the older, the longer they were on their way."""
        age = max(0.0, self._clock() - handed.given_at)
        begin_by = machine_clock() + max(0.0, self._rules.silence_seconds / 2 - age)
        for lease in handed.leases:
            self._handed[handed.node].append(replace(lease, begin_by=begin_by))
            self._lent[lease.token] = handed.node

    def pop(self, token: int) -> bool:
        """Whether a lease is from another machine; it is on its way back from now on."""
        return self._lent.pop(token, None) is not None

    async def give_back(self, token: int, address: str, until: float) -> None:
        """Nothing is sent under a lease that was popped; with an address that must wait, until when."""
        self._contents.end(token)
        await self._post(self._crawl.home_of(token), GiveLentBack([token], address, until))

    async def release(self, node: int) -> int:
        """A worker of ours is gone: what it had from others goes back. Returns how many leases that were."""
        waiting = [lease.token for lease in self._handed.pop(node, []) if self.pop(lease.token)]
        for token in waiting:
            await self.give_back(token, "", 0.0)
        tokens: dict[int, list[int]] = defaultdict(list)
        for token in [token for token, its in self._lent.items() if its == node]:
            del self._lent[token]
            self._contents.end(token)
            tokens[self._crawl.home_of(token)].append(token)
        for number, some in tokens.items():
            await self._post(number, Release(node, some))
        return len(waiting) + sum(map(len, tokens.values()))

    async def settle(self, number: int, settlements: list[Settlement]) -> list[int]:
        """SettleLent what was leased to us, and wait for what its owner, whoever that is by now, says to it."""
        question = next(self._questions)
        answer = self._answers[question] = asyncio.get_running_loop().create_future()
        try:
            while True:
                # Under whatever name this machine goes by now: only there does it look for the answer.
                await self._post(number, SettleLent(self._membership.nonce, question, settlements))
                with contextlib.suppress(TimeoutError):
                    return await asyncio.wait_for(asyncio.shield(answer), ANSWER_SECONDS)
        finally:
            del self._answers[question]
            for settlement in settlements:
                self._contents.end(settlement.token)
            await self._contents.end_claims()

    def answered(self, message: LentSettled) -> None:
        if (answer := self._answers.get(message.question)) and not answer.done():
            answer.set_result(message.late)

    def give_up(self, error: BaseException) -> None:
        """No answer will be read any more."""
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(error)
                answer.exception()  # heard, also where nobody is left to hear it

    def forget(self) -> None:
        """This machine was taken for dead: what it had is somebody else's."""
        self._lent.clear()
        self._handed.clear()

    # ---- for others

    def hear(self, wish: Wish) -> None:
        self._wishes[wish.node] = wish.leases

    def forget_wishes(self) -> None:
        """Others take part from now on: who is left wishes again, and is told anew what ours would take."""
        nodes = {node for machine in self._membership.outlook.machines for node in machine.nodes()}
        self._wishes = {node: wish for node, wish in self._wishes.items() if node in nodes}
        self._wished.clear()

    async def hand_out(self) -> None:
        """Give workers of other machines what they would take, as far as it is their turn."""
        if not (self._rules.is_lending and self._membership.has_company):
            return
        await self._tell_wishes()
        nodes = {node: machine for machine in self._membership.others for node in machine.nodes()}
        for node, wish in list(self._wishes.items()):
            if wish > 0 and node in nodes and (leases := await self._take_for(node, wish)):
                # As it was before the await: wishes are heard by whoever ticks, and that is this one.
                self._wishes[node] = wish - len(leases)
                await self.tell(nodes[node].nonce, Handed(node, leases, self._clock()))

    async def _take_for(self, node: int, limit: int) -> list[Lease]:
        leases: list[Lease] = []
        for partition in self._ownership.active():
            if len(leases) < limit:
                await self._ownership.grant([partition], limit - len(leases))
                leases += await self._ownership.take(partition, node, limit - len(leases))
        return leases

    async def _tell_wishes(self) -> None:
        """What our workers would take, in equal parts to all others."""
        # Taken before the first await: what workers ask for meanwhile is told the next time.
        wished, self._wished = self._wished, {}
        others = self._membership.others
        for node, leases in wished.items():
            for machine in others:
                await self.tell(machine.nonce, Wish(self._membership.nonce, node, -(-leases // len(others))))

    # ---- mail

    async def tell(self, nonce: str, message: Message) -> None:
        """Put a message into a machine's box."""
        tag = self._connection.address.tag()
        await post(self._connection, tag, box_of(tag, nonce), message, is_kept=False)

    async def _post(self, number: int, message: Message) -> None:
        tag = self._connection.address.tag(number)
        await post(self._connection, tag, inbox_of(tag), message)
