"""A partition that this machine owns: its tables, its scheduler, its inbox."""

from __future__ import annotations

from collections.abc import Callable

from lycosa.clock import Clock
from lycosa.frontier.redis.channel import Channel
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.contents import PartitionContents, SharedContents
from lycosa.frontier.redis.crawl import Crawl, Fence, encode_fence
from lycosa.frontier.redis.mail import Reader, inbox_of
from lycosa.frontier.redis.page_limit import Grant, NoLimit
from lycosa.frontier.redis.tables import RedisTables
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.scheduler import Scheduler
from lycosa.frontier.spacing import NEVER, Asked, Spacing


class Partition:
    """Owned until the fence is somebody else's. One that leaves gives out no leases any more."""

    def __init__(self, number: int, fence: Fence, tables: RedisTables, scheduler: Scheduler, grant: Grant) -> None:
        self.number = number
        self.fence = fence
        self.tables = tables
        self.scheduler = scheduler
        self.grant = grant
        self.is_leaving = False

    @property
    def used(self) -> int:
        """Of the page limit."""
        return self.scheduler.used

    @property
    def spare(self) -> int:
        """What it was granted of the page limit and does not use."""
        return max(0, self.grant.total - self.used)

    def next_at(self, node: int) -> float | None:
        """When it may have something for a worker, if the page limit lets it."""
        moments = (self.scheduler.next_at(node), self.scheduler.next_work_at(node))
        return min((moment for moment in moments if moment is not None), default=None)


class PartitionOpener:
    """Takes partitions over. All of a machine share what was asked of addresses."""

    def __init__(
        self,
        connection: Connection,
        crawl: Crawl,
        rules: FrontierRules,
        clock: Clock,
        contents: SharedContents,
        is_crawl_full: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._crawl = crawl
        self._rules = rules
        self._clock = clock
        self._contents = contents
        self._is_crawl_full = is_crawl_full
        self._addresses: dict[str, Asked] = {}
        self._channels: dict[object, Channel] = {}

    async def open(
        self, number: int, before: Fence, raw_before: bytes, nonce: str, home: list[int]
    ) -> Partition | None:
        """Take a partition over from whoever had it, or from nobody; None if somebody else was first."""
        address = self._connection.address
        tag, fence = address.tag(number), Fence(before.epoch + 1, nonce)
        raw = encode_fence(fence)
        answer = await self._connection.run("own", tag, {"from": raw_before, "to": raw})
        if answer != 1:
            return None
        tables = await RedisTables.open(self._channel(number), number, raw, keeps_history=address.keeps_history)
        grant = Grant(number, fence.epoch, self._is_crawl_full)
        # What its last owner asked in its last moments is not known.
        begun_at = self._clock() if fence.epoch > 1 else NEVER
        scheduler = await Scheduler.open(
            tables,
            self._rules,
            self._clock,
            contents=PartitionContents(self._contents),
            limit=grant if self._rules.max_pages else NoLimit(),
            spacing=Spacing(self._rules.pace, begun_at, self._addresses),
            workers=home,
            epoch=fence.epoch,
            crawl=self._crawl.id,
            offset=number,
            step=self._crawl.partitions,
        )
        return Partition(number, fence, tables, scheduler, grant)

    def inbox(self, number: int) -> Reader:
        tag = self._connection.address.tag(number)
        return Reader(self._connection, tag, inbox_of(tag))

    async def give_up(self, partition: Partition) -> None:
        """Leave a partition to whoever takes it."""
        await partition.scheduler.close()
        await partition.tables.close()
        mine, nobody = encode_fence(partition.fence), encode_fence(Fence(partition.fence.epoch, ""))
        tag = self._connection.address.tag(partition.number)
        await self._connection.run("own", tag, {"from": mine, "to": nobody})

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    def _channel(self, number: int) -> Channel:
        """On a cluster each partition has its own: its slot may move alone, and no transaction spans two."""
        address = self._connection.address
        key: object = number if address.kind == "cluster" else None
        if key not in self._channels:
            self._channels[key] = Channel(self._connection, address.tag(number))
        return self._channels[key]
