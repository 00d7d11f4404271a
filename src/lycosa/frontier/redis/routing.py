"""Brings targets, news, settlements and leases to their partitions: to our own, or into the inboxes of others.

What a visit discovered for hosts of another partition is there, or in its inbox, before the visit is settled: a crash
in between repeats work and loses nothing.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from lycosa.frontier.redis.addresses import SharedAddresses
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.contents import SharedContents
from lycosa.frontier.redis.crawl import Crawl
from lycosa.frontier.redis.lending import Lending
from lycosa.frontier.redis.mail import MAX_LINKS, Found, Message, inbox_of, post
from lycosa.frontier.redis.membership import Membership
from lycosa.frontier.redis.ownership import Ownership
from lycosa.frontier.rules import host_of_origin
from lycosa.model import Kind, Lease, OutcomeKind, RobotsNews, Settlement, Target


@dataclass(eq=False, repr=False)
class Routing:
    """Knows whose a host, an origin and a lease are."""

    _connection: Connection
    _crawl: Crawl
    _membership: Membership
    _ownership: Ownership
    _lending: Lending
    _contents: SharedContents
    _addresses: SharedAddresses

    # ---- what was found

    async def spread(self, targets: Iterable[Target], news: Iterable[RobotsNews] = ()) -> int:
        """Bring targets and news to their partitions. Returns how many targets were new in ours."""
        found: dict[int, Found] = defaultdict(Found)
        for target in targets:
            found[self._crawl.partition_of(target.host)].targets.append(target)
        for each in news:
            found[self._home(each)].news.append(each)
        return sum(await asyncio.gather(*(self._bring(number, some) for number, some in found.items())))

    async def _bring(self, number: int, found: Found) -> int:
        if partition := self._ownership.partitions.get(number):
            with self._ownership.losing(partition):
                for news in found.news:
                    await partition.scheduler.learn(news)
                return await partition.scheduler.add(found.targets) if found.targets else 0
        for start in range(0, max(1, len(found.targets)), MAX_LINKS):
            some = Found(found.targets[start : start + MAX_LINKS], [] if start else found.news)
            await self.post(number, some)
        return 0

    async def post(self, number: int, message: Message) -> None:
        """Put a message into a partition's inbox."""
        tag = self._connection.address.tag(number)
        await post(self._connection, tag, inbox_of(tag), message)

    # ---- how visits ended

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        """Settle what our own partitions leased. Returns the tokens of what came too late."""
        homes: dict[int, list[Settlement]] = defaultdict(list)
        for settlement in settlements:
            homes[self._crawl.home_of(settlement.token)].append(settlement)
        timely = [each for each in settlements if self._ownership.held(each.token)]
        await self.spread(*self._elsewhere(timely))
        await self._undo_addresses(timely)
        late = await asyncio.gather(*(self._settle_at(number, some) for number, some in homes.items()))
        await self._contents.end_claims()
        return [token for tokens in late for token in tokens]

    def _elsewhere(self, settlements: Iterable[Settlement]) -> tuple[list[Target], list[RobotsNews]]:
        """What visits found for other partitions than their own."""
        targets, news = list[Target](), list[RobotsNews]()
        for settlement in settlements:
            home = self._crawl.home_of(settlement.token)
            targets += [each for each in settlement.discovered if self._crawl.partition_of(each.host) != home]
            if settlement.robots and self._home(settlement.robots) != home:
                news.append(settlement.robots)
        return targets, news

    def _at_home(self, number: int, settlement: Settlement) -> Settlement:
        """A settlement without what is another partition's affair."""
        kept, elsewhere = list[Target](), list[bytes]()
        for target in settlement.discovered:
            if self._crawl.partition_of(target.host) == number:
                kept.append(target)
            elif target.kind is Kind.PAGE:
                elsewhere.append(target.fingerprint)
        told = settlement.robots
        if told and self._home(told) != number:
            told = None
        if len(kept) == len(settlement.discovered) and told is settlement.robots:
            return settlement
        # Whoever is another's affair gets its share like all other links.
        others = b"".join([settlement.others, *elsewhere])
        return replace(settlement, discovered=kept, robots=told, others=others)

    async def _settle_at(self, number: int, settlements: Sequence[Settlement]) -> list[int]:
        if partition := self._ownership.partitions.get(number):
            stored = {} if self._contents.rides_along else self._stored(settlements)
            with self._ownership.losing(partition):
                late = await partition.scheduler.settle([self._at_home(number, each) for each in settlements])
                # Not before the fence has let the settlement through: else a late one would speak for its content.
                await self._contents.keep(pair for token, pair in stored.items() if token not in late)
                return late
        return [settlement.token for settlement in settlements]

    def _stored(self, settlements: Iterable[Settlement]) -> dict[int, tuple[bytes, str]]:
        """Contents that visits stored, and under which URLs, by their tokens."""
        return {
            each.token: (each.digest, held.target.url)
            for each in settlements
            if each.outcome is OutcomeKind.STORED and each.digest and (held := self._ownership.held(each.token))
        }

    def _home(self, news: RobotsNews) -> int:
        return self._crawl.partition_of(host_of_origin(news.origin))

    # ---- addresses

    async def permitted(self, leases: list[Lease]) -> list[Lease]:
        """The leases whose addresses may be asked now; the others come again when it is their turn."""
        if not self._membership.has_company:
            return leases
        runs: dict[str, list[Lease]] = defaultdict(list)
        for lease in leases:
            runs[lease.target.host].append(lease)
        known = {run[0].token: run[0].address for run in runs.values() if run[0].address}
        dues = await self._addresses.reserve(list(known.items())) if known else {}
        for run in runs.values():
            if due := dues.get(run[0].token):
                await self.give_back([lease.token for lease in run], run[0].address, due)
        return [lease for lease in leases if not dues.get(runs[lease.target.host][0].token)]

    async def may_ask_at(self, token: int, address: str) -> bool:
        """Whether the request of a lease may go to this address now; if not, the lease goes back."""
        if token not in self._lending:
            is_free = False
            if partition := self._ownership.of(token):
                with self._ownership.losing(partition):
                    is_free = await partition.scheduler.may_ask_at(token, address)
            if not is_free:
                return False
        if not self._membership.has_company:
            return True
        # All leases of a run ask under the name of the first.
        held = self._ownership.held(token)
        first = held.place.token if held else token
        due = (await self._addresses.reserve([(first, address)]))[first]
        if due:
            await self.give_back([token], address, due)
        return not due

    async def give_back(self, tokens: Iterable[int], address: str = "", until: float = 0.0) -> None:
        """Nothing is sent under leases: they go back, and their address, if that must wait, is not asked before."""
        homes: dict[int, list[int]] = defaultdict(list)
        for token in tokens:
            if self._lending.pop(token):
                await self._lending.give_back(token, address, until)
            else:
                homes[self._crawl.home_of(token)].append(token)
        for number, some in homes.items():
            if partition := self._ownership.partitions.get(number):
                with self._ownership.losing(partition):
                    if address:
                        partition.scheduler.leases.hold_address(some[0], address, until)
                    await partition.scheduler.give_back(some)

    async def _undo_addresses(self, settlements: Iterable[Settlement]) -> None:
        """Nothing was sent under some of these, nor anything else of their runs: other machines may ask there."""
        if not self._membership.has_company:
            return
        unsent = {each.token for each in settlements if not each.sent and each.outcome is not OutcomeKind.FAILED}
        held = [held for token in unsent if (held := self._ownership.held(token)) and held.place.address]
        idle = {each.place for each in held if not each.host.was_asked and each.host.leased <= unsent}
        if idle:
            await self._addresses.undo([(place.token, place.address) for place in idle])
