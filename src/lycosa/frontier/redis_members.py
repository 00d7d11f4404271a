"""Who takes part: heartbeats, the ring over the live workers, and what those who are gone leave behind."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from lycosa.clock import Clock
from lycosa.frontier.redis_crawl import Crawl
from lycosa.frontier.redis_link import Call, Link
from lycosa.frontier.redis_ring import ring_entries
from lycosa.frontier.redis_value import text
from lycosa.frontier.rules import FrontierRules

NODES_PER_MACHINE = 1024
# So many beats fit into the silence after which a machine is taken for dead.
BEATS_PER_SILENCE = 8

RunAll = Callable[[Sequence[Call]], Awaitable[list[Any]]]


class Outlook(msgspec.Struct, frozen=True):
    """How the crawl as a whole stands."""

    number: int  # of this machine; -1: it takes no part
    version: int
    nodes: list[int]
    regions: list[str]  # of each node
    everywhere: int  # the ring version that all partitions have
    gone: list[tuple[int, int]]
    lowest: int
    settings_version: int
    now: float


class Members:
    """This machine among the others. `run` sends calls to partitions."""

    def __init__(self, link: Link, crawl: Crawl, name: str, rules: FrontierRules, fake_clock: Clock | None) -> None:
        self._link = link
        self._crawl = crawl
        self._name = name
        self._workers = max(1, rules.workers)
        self._is_balanced = rules.assignment == "balanced"
        self._settings_version: int | None = None  # of those by which this machine goes
        self._silence_seconds = rules.silence_seconds
        self._region = rules.region
        self._fake_clock = fake_clock
        self._nonce = secrets.token_hex(8)
        self.outlook = Outlook(-1, 0, [], [], 0, [], -1, 0, 0.0)

    @property
    def beat_seconds(self) -> float:
        return self._silence_seconds / BEATS_PER_SILENCE

    @property
    def has_new_settings(self) -> bool:
        """Whether the crawl goes by other settings by now than this machine does."""
        return self.outlook.settings_version != self._settings_version

    def node(self, worker: int) -> int:
        """A worker of this machine as all machines know it."""
        return max(self.outlook.number, 0) * NODES_PER_MACHINE + worker

    def nodes(self) -> list[int]:
        """The workers of this machine."""
        return [self.node(worker) for worker in range(self._workers)]

    async def join(self, run: RunAll) -> None:
        """Take part, and clean up after those who are gone."""
        self._nonce = secrets.token_hex(8)
        await self._ask("join", name=self._name, workers=self._workers, region=self._region)
        if self._settings_version is None:
            self._settings_version = self.outlook.settings_version
        await self.tidy(run)

    async def beat(self, run: RunAll) -> bool:
        """Show that this machine lives. False if it was taken for dead: its leases are gone, and it has joined anew."""
        await self._ask("beat", number=self.outlook.number)
        if self.outlook.number < 0:
            await self.join(run)
            return False
        # One is enough to tidy up; if it fails, it does so at its next beat.
        if self.outlook.lowest == self.outlook.number:
            await self.tidy(run)
        return True

    async def leave(self, run: RunAll) -> None:
        """Take no further part; the others go on with this machine's hosts."""
        if self.outlook.number < 0:
            return
        await self._ask("leave", number=self.outlook.number)
        if self.outlook.lowest >= 0:
            await self.tidy(run)

    async def tidy(self, run: RunAll) -> None:
        """Bring the ring to all partitions, then pass on what those who are gone had. Doing it twice harms nobody."""
        outlook, everywhere = self.outlook, range(self._crawl.partitions)
        if self.has_new_settings:
            # How hosts are assigned is for those to say who go by the newest settings.
            return
        if outlook.everywhere < outlook.version:
            ring = {
                "version": outlook.version,
                "nodes": outlook.nodes,
                "rings": {region: text(ring_entries(nodes)) for region, nodes in self._by_region().items()},
                "regions": outlook.regions,
                "is_balanced": self._is_balanced,
            }
            await run([Call("ring", partition, dict(ring)) for partition in everywhere])
        for node, version in outlook.gone:
            await self._pass_on(run, node, version)
        if outlook.everywhere < outlook.version or outlook.gone:
            await self._ask("done", version=outlook.version, gone=outlook.gone, number=outlook.number)

    def _by_region(self) -> dict[str, list[int]]:
        """The nodes of every region, and all of them under an empty name."""
        found = {"": self.outlook.nodes}
        for node, region in zip(self.outlook.nodes, self.outlook.regions, strict=True):
            if region:
                found.setdefault(region, []).append(node)
        return found

    async def _pass_on(self, run: RunAll, node: int, version: int) -> None:
        left = list(range(self._crawl.partitions))
        while left:
            # If the node is in the ring again, its hosts stay in its lists: only the leases are to be given back.
            is_for_good = node not in self.outlook.nodes
            args = {"nodes": [node], "before_ring": version, "is_for_good": is_for_good}
            answers = await run([Call("release", partition, dict(args)) for partition in left])
            left = [partition for partition, (_, passed_on) in zip(left, answers, strict=True) if passed_on]

    async def _ask(self, verb: str, **args: Any) -> None:
        args |= {"id": self._crawl.id, "nonce": self._nonce, "silence_seconds": self._silence_seconds}
        if self._fake_clock:
            args["now"] = self._fake_clock()
        self.outlook = msgspec.msgpack.decode(await self._link.one(verb, None, args), type=Outlook)
