"""Which partitions are this machine's: it takes what nobody alive owns, up to its share, and gives up what is beyond.

A partition may turn out to be another machine's at any write: then whatever was leased from it is late.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field

from lycosa.frontier.leases import Held
from lycosa.frontier.redis.channel import NotOwner
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.crawl import Crawl, Fence, decode_fence, gone
from lycosa.frontier.redis.membership import Membership, shares
from lycosa.frontier.redis.page_limit import PageGrants
from lycosa.frontier.redis.partition import Partition, PartitionOpener
from lycosa.frontier.redis.together import ask_together
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Lease

logger = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class Ownership:
    """The partitions of this machine, by number; `partitions` is filled here and nowhere else.

    Taken over and given up by one caller at a time, whoever ticks; lost at any await.
    """

    _connection: Connection
    _crawl: Crawl
    _rules: FrontierRules
    _membership: Membership
    _limit: PageGrants
    _opener: PartitionOpener
    partitions: dict[int, Partition]

    _owners: dict[int, str] = field(default_factory=dict)  # nonces of those alive
    lacks: bool = False  # partitions, to have its share
    _granting: asyncio.Lock = field(default_factory=asyncio.Lock)

    def of(self, token: int) -> Partition | None:
        """The partition that a lease is from, if it is ours."""
        return self.partitions.get(self._crawl.home_of(token))

    def held(self, token: int) -> Held | None:
        """A lease of one of our partitions."""
        partition = self.of(token)
        return partition.scheduler.leases.get(token) if partition else None

    def active(self) -> list[Partition]:
        """Those from which leases are given out."""
        return [partition for partition in self.partitions.values() if not partition.is_leaving]

    @property
    def is_all_owned(self) -> bool:
        """Whether every partition has somebody at work, as far as is known; while others are there, they see to it."""
        return self._membership.has_company or len(self._owners) == self._crawl.partitions

    # ---- taking over

    async def share_out(self) -> bool:
        """Take what nobody has, up to this machine's share; leave what is beyond it. True if something was taken."""
        fences = await self._fences()
        alive = self._membership.is_alive
        self._owners = {number: fence.nonce for number, (fence, _) in fences.items() if alive(fence.nonce)}
        for number, partition in list(self.partitions.items()):
            if fences[number][0] != partition.fence:
                self.lose(partition)
        share = shares(self._membership.outlook.machines, self._crawl.partitions)[self._membership.nonce]
        # Those that leave come last: they stay if whoever they were for is gone again.
        ours = sorted(self.partitions.values(), key=lambda partition: partition.is_leaving)
        for place, partition in enumerate(ours):
            partition.is_leaving = place >= share
        free = [number for number in fences if number not in self._owners]
        taken = [await self._take_over(number, *fences[number]) for number in free[: max(0, share - len(ours))]]
        self.lacks = len(self.partitions) < share
        return any(taken)

    async def _fences(self) -> dict[int, tuple[Fence, bytes]]:
        asked = [(tag, [("GET", f"{tag}f")]) for tag in self._crawl.tags(self._connection.address)]
        raw = [fence for (fence,) in await ask_together(self._connection, asked)]
        if any(each is None for each in raw):
            raise gone(self._connection.address)
        return {number: (decode_fence(each), each) for number, each in enumerate(raw)}

    async def _take_over(self, number: int, fence: Fence, raw: bytes) -> bool:
        nonce, partition = self._membership.nonce, None
        with contextlib.suppress(NotOwner):
            partition = await self._opener.open(number, fence, raw, nonce, self._membership.nodes())
        if partition is None:
            # Somebody else was first, or took it over again while this machine stood still.
            return False
        await self.reassign([partition])
        if self._rules.max_pages:
            await self._limit.ask({partition.grant: partition.scheduler.counts().pages})
        self.partitions[number] = partition
        self._owners[number] = nonce
        return True

    async def reassign(self, partitions: Iterable[Partition]) -> None:
        """Tell schedulers who may be given leases: our own workers, and where that matters those of all machines."""
        home = self._membership.nodes()
        region_of = dict.fromkeys(home, self._rules.region)
        if self._rules.is_lending:
            machines = self._membership.outlook.machines
            region_of = {node: machine.region for machine in machines for node in machine.nodes()}
        for partition in list(partitions):
            with self.losing(partition):
                await partition.scheduler.reassign(home, region_of)

    # ---- losing

    def lose(self, partition: Partition) -> None:
        """Somebody else owns it: whatever was leased from it is late."""
        if self.partitions.get(partition.number) is partition:
            logger.warning("partition %d belongs to another machine now", partition.number)
            del self.partitions[partition.number]
            partition.let_go()

    def losing(self, partition: Partition) -> _Losing:
        """What is done within may turn out to be another machine's affair by now."""
        return _Losing(lambda: self.lose(partition))

    async def give_up_surplus(self) -> None:
        """Give up those that are beyond our share, once nothing of them is under way."""
        for partition in [each for each in self.partitions.values() if each.is_leaving]:
            with self.losing(partition):
                # None are given out, but those that ran out end.
                await partition.scheduler.take(self._membership.node(0), 0)
            if partition.number in self.partitions and not partition.scheduler.leases:
                await self._give_up(partition)

    async def give_up_all(self) -> None:
        for partition in list(self.partitions.values()):
            await self._give_up(partition)

    async def _give_up(self, partition: Partition) -> None:
        # First: nobody may take from it while its last words are on their way.
        del self.partitions[partition.number]
        with contextlib.suppress(NotOwner):
            await self._opener.give_up(partition)

    async def close(self) -> None:
        await self._opener.close()

    # ---- leases

    async def take(self, partition: Partition, node: int, limit: int) -> list[Lease]:
        with self.losing(partition):
            return await partition.scheduler.take(node, limit)
        return []

    async def release(self, nodes: Iterable[int], tokens: Container[int] | None = None) -> int:
        """Take back what workers had that are gone: these leases, or all. Returns how many that were."""
        released = 0
        for node in nodes:
            for partition in list(self.partitions.values()):
                with self.losing(partition):
                    released += await partition.scheduler.release(node, tokens)
        return released

    async def grant(self, partitions: Iterable[Partition], share: int) -> None:
        """See that these partitions may lease so much more, as far as the page limit goes."""
        if not self._rules.max_pages:
            return
        # One asks at a time, by what is used then: an older total, heard later, would give back what was leased since.
        async with self._granting:
            wanted = {each.grant: each.used + share for each in partitions if each.spare < share}
            if sum(total - grant.total for grant, total in wanted.items()) > self._limit.left:
                # What others of ours do not need comes first.
                rest = (each for each in self.partitions.values() if each.grant not in wanted and each.spare)
                wanted = {each.grant: each.used for each in rest} | wanted
            if wanted:
                await self._limit.ask(wanted)

    async def return_spare(self) -> None:
        """What a partition was granted and does not use goes to others, if there is nothing left for them."""
        if not self._rules.max_pages or self._limit.left:
            return
        async with self._granting:
            if spare := {each.grant: each.used for each in self.partitions.values() if each.spare}:
                await self._limit.ask(spare)


class _Losing:
    """A context that ends without an error where a partition was lost to another machine."""

    def __init__(self, lose: Callable[[], None]) -> None:
        self._lose = lose

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if is_lost := kind is not None and issubclass(kind, NotOwner):
            self._lose()
        return is_lost
