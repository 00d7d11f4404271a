"""A partition that this machine owns: its tables, its scheduler, its inbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lycosa.clock import Clock
from lycosa.frontier.ranking import Classes
from lycosa.frontier.redis.channel import Channel
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.contents import PartitionContents, SharedContents
from lycosa.frontier.redis.crawl import Crawl, Fence, encode_fence
from lycosa.frontier.redis.mail import MailReader, inbox_of
from lycosa.frontier.redis.page_limit import Grant
from lycosa.frontier.redis.tables import RedisTables
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.scheduler import Scheduler, read_state
from lycosa.frontier.spacing import NEVER, LastRequest, Spacing
from lycosa.frontier.taking import PagesAtMost


@dataclass(eq=False, repr=False)
class Partition:
    """Owned until the fence is somebody else's. One that leaves gives out no leases any more."""

    number: int
    fence: Fence
    tables: RedisTables
    scheduler: Scheduler
    grant: Grant
    inbox: MailReader

    is_leaving: bool = False

    @property
    def used(self) -> int:
        """Of the page limit."""
        return self.scheduler.used

    @property
    def spare(self) -> int:
        """What it was granted of the page limit and does not use."""
        return max(0, self.grant.total - self.used)

    def let_go(self) -> None:
        """It is somebody else's: nothing is written any more, and nobody need wait for what was leased from it."""
        for held in list(self.scheduler.leases):
            self.scheduler.leases.end(held.token)
        self.tables.let_go()

    def next_at(self, node: int) -> float | None:
        """When it may have something for a worker, if the page limit lets it."""
        moments = (self.scheduler.next_at(node), self.scheduler.next_work_at(node))
        return min((moment for moment in moments if moment is not None), default=None)


@dataclass(eq=False, repr=False)
class PartitionOpener:
    """Takes partitions over. All of a machine share what was asked of addresses."""

    _connection: Connection
    _crawl: Crawl
    _rules: FrontierRules
    _clock: Clock
    _contents: SharedContents
    _is_crawl_full: Callable[[], bool]
    _tell: Callable[[], None]
    _classes: Classes | None  # one for all: most of what it sees are links between partitions of this machine

    _mine: Mapping[int, Partition]  # those that this machine has

    _addresses: dict[str, LastRequest] = field(default_factory=dict)
    _channels: dict[object, Channel] = field(default_factory=dict)

    async def open(
        self, number: int, before: Fence, raw_before: bytes, nonce: str, home: list[int]
    ) -> Partition | None:
        """Take a partition over from whoever had it, or from nobody; None if somebody else was first."""
        address = self._connection.address
        tag, fence = address.tag(number), Fence(before.epoch + 1, nonce)
        raw = encode_fence(fence)
        answer = await self._connection.run("own", tag, {}, raw_before, raw)
        if answer != 1:
            return None
        tables = await RedisTables.open(
            self._channel(number),
            number,
            raw,
            keeps_history=address.keeps_history,
            contents_tag=self._contents.tag(b"") if self._contents.rides_along else "",
        )
        grant = Grant(number, fence.epoch, self._is_crawl_full)
        # What its last owner asked in its last moments is not known.
        begun_at = self._clock() if fence.epoch > 1 else NEVER
        scheduler = Scheduler(
            tables,
            self._rules,
            self._clock,
            await read_state(tables, self._crawl.id, fence.epoch),
            contents=PartitionContents(self._contents),
            limit=grant if self._rules.max_pages else PagesAtMost(0),
            spacing=Spacing(self._rules.pace, begun_at, self._addresses, self._rules.delays),
            workers=home,
            tell=self._tell,
            offset=number,
            step=self._crawl.partitions,
            classes=self._classes,
            # Whether a URL was visited is told by its history.
            moves=address.keeps_history,
            share=1 / self._crawl.partitions,
            beside=lambda: [each.scheduler.has_before for each in self._mine.values() if not each.is_leaving],
        )
        await scheduler.open()
        return Partition(number, fence, tables, scheduler, grant, MailReader(self._connection, tag, inbox_of(tag)))

    async def give_up(self, partition: Partition) -> None:
        """Leave a partition to whoever takes it."""
        try:
            await partition.scheduler.close()
        except BaseException:
            partition.tables.let_go()
            raise
        await partition.tables.close()
        mine, nobody = encode_fence(partition.fence), encode_fence(Fence(partition.fence.epoch, ""))
        tag = self._connection.address.tag(partition.number)
        await self._connection.run("own", tag, {}, mine, nobody)

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
