"""What waits to be visited, over all hosts: in their queues, or for its time to be queued again. Counts all of it.

What cannot be read is set aside where it is met, and the crawl goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from lycosa.clock import Clock
from lycosa.frontier.arrivals import Group
from lycosa.frontier.entries import entry_under, length_of, mark_of, readable_block, target_of
from lycosa.frontier.host import Host
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.queue import ROBOTS_MARK, Spot, lane_mark
from lycosa.frontier.records import Lane, State, due_key, due_of, encode, readable_target
from lycosa.frontier.rules import FIRST_RANK, FrontierRules, is_last_first, rank_of
from lycosa.frontier.tables import DELAYED, POISONED, QUEUE, Tables
from lycosa.model import Target, origin_of

logger = logging.getLogger(__name__)

# Retries queued again by one call.
MAX_WOKEN = 1_000


class _Joining(NamedTuple):
    """Targets of one origin and rank that join a queue together."""

    host: Host
    lane: Lane
    mark: str  # of their origin
    entries: list[bytes]
    was_closed: bool  # nothing of the host could be asked before they came


class Backlog:
    """Queues of hosts, and the table of what is delayed. Changes go into the caller's batch."""

    def __init__(self, tables: Tables, rules: FrontierRules, clock: Clock, state: State, hosts: HostTable) -> None:
        self._tables = tables
        self._clock = clock
        self._state = state
        self._hosts = hosts
        self._order = rules.order
        self.counts: dict[str, int] = msgspec.structs.asdict(state.counts)
        self.next_delayed_at: float | None = None
        self._woken = b""  # delayed entries up to here are gone

    async def open(self) -> None:
        """Look when the first that is delayed is due."""
        if first := await self._tables.scan(DELAYED, b"", 1):
            self.next_delayed_at = due_of(first[0][0])

    @property
    def pages(self) -> int:
        """How many were fetched so far."""
        return self.counts["stored"] + self.counts["unchanged"] + self.counts["duplicate"]

    def takes_last(self, lane: Lane) -> bool:
        """Whether the newest of a lane is next."""
        return is_last_first(lane.rank, self._order)

    # ---- blocks that are needed next

    async def load_tails(self, targets: Iterable[Target]) -> None:
        """The blocks that targets will join; their hosts are in memory."""
        # One of each origin and rank: the others join the same lane.
        several = {(origin_of(target.url), rank_of(target)): target for target in targets}
        marked = ((target.host, lane_mark(target, origin), rank) for (origin, rank), target in several.items())
        await self.load_tails_of(marked)

    async def load_tails_of(self, lanes: Iterable[tuple[str, str, int]]) -> None:
        """The same for whoever joins the lanes of these hosts, marks and ranks."""
        await self.load_blocks(
            (host, key)
            for name, mark, rank in lanes
            if (key := (host := self._hosts.get(name)).queue.tail_key(mark, rank))
        )

    async def load_heads(self, hosts: Iterable[Host], now: float) -> None:
        """The blocks that the next leases of these hosts come from."""
        lanes = ((host, lane) for host in hosts if (lane := host.next_lane(host.closed(now))))
        heads = ((host, host.queue.head_key(lane, is_last_first=self.takes_last(lane))) for host, lane in lanes)
        await self.load_blocks([(host, key) for host, key in heads if not host.queue.has(key)])

    async def load_run(self, host: Host, lane: Lane, entries: int) -> None:
        """The blocks that the next so many entries of a lane are in."""
        keys = host.queue.run_keys(lane, entries, is_last_first=self.takes_last(lane))
        await self.load_blocks((host, key) for key in keys)

    async def load_blocks(self, wanted: Iterable[tuple[Host, bytes]]) -> None:
        owners = {key: host for host, key in wanted}
        if owners:
            keys = list(owners)
            for key, block in zip(keys, await self._tables.get(QUEUE, keys), strict=True):
                if block and readable_block(block) is not None:
                    owners[key].queue.load(key, block)

    async def next_in(self, host: Host, lane: Lane, *, is_last_first: bool) -> tuple[Spot | None, Target | None]:
        """What stands first, or last, in a lane, and what it is; nothing if its block, or its entry, is unreadable."""
        queue = host.queue
        # Once, but for blocks of which nothing is left.
        while not (found := queue.next_in(lane, is_last_first=is_last_first)):
            key = queue.head_key(lane, is_last_first=is_last_first)
            if queue.has(key):
                return None, None
            await self.load_blocks([(host, key)])
            if not queue.has(key):
                return None, None
        spot, entry = found
        return spot, target_of(entry, host.record.name, lane.rank)

    # ---- queued

    async def queue(self, batch: HostBatch, targets: Iterable[Target]) -> None:
        """Targets that are known already join the queues of their hosts."""
        known = list(targets)
        await self._hosts.load([target.host for target in known], batch)
        await self.load_tails(known)
        self.enqueue(batch, known)

    def enqueue(self, batch: HostBatch, targets: Sequence[Target]) -> None:
        """Targets join the queues of their hosts, which are in memory, in this order.

        What is said of a host is said once, not for each of its targets: they are most of what a crawl writes.
        """
        joining: dict[tuple[str, int], _Joining] = {}
        for target in targets:
            url = target.url
            path_at = url.find("/", 8)
            origin, rank = url[:path_at] if path_at > 0 else url, rank_of(target)
            its = joining.get((origin, rank))
            if its is None:
                mark = mark_of(origin, target.host)
                its = self._joining(target.host, lane_mark(target, origin), mark, rank, [])
                joining[origin, rank] = its
            its.entries.append(entry_under(target, origin, its.mark, rank))
        self._join(batch, joining.values())

    def enqueue_groups(self, batch: HostBatch, groups: Iterable[Group]) -> None:
        """The same for targets that are entries already."""
        self._join(batch, [self._joining(host, mark, mark, rank, entries) for host, mark, rank, entries in groups])

    def _joining(self, name: str, lane: str, mark: str, rank: int, entries: list[bytes]) -> _Joining:
        host = self._hosts.get(name)
        was_closed = bool(host.record.parked) and host.reopens_at(host.closed(self._clock())) is not None
        return _Joining(host, host.queue.lane_for(lane, rank), mark, entries, was_closed)

    def _join(self, batch: HostBatch, joining: Collection[_Joining]) -> None:
        for host, lane, _, entries, _ in joining:
            host.queue.push(batch, lane, entries)
            self._count_requisites(lane, len(entries))
            self.counts["queued"] += len(entries)
        for host, _, _, _, was_closed in joining:
            if was_closed and host.reopens_at(host.closed(self._clock())) is None:
                # It need not wait for the robots.txt that all others of its host wait for.
                self._hosts.unpark(batch, host, self._clock())
            self._hosts.wait(batch, host)
            batch.note(host)

    def _count_requisites(self, lane: Lane, entries: int) -> None:
        if lane.rank == FIRST_RANK and lane.mark != ROBOTS_MARK:
            self.counts["requisites_queued"] += entries

    def dequeue(self, batch: HostBatch, host: Host, spot: Spot) -> None:
        host.queue.remove(batch, spot)
        self.counts["queued"] -= 1
        self._count_requisites(spot.lane, -1)
        batch.note(host)

    # ---- delayed

    def delay(self, batch: HostBatch, target: Target, due: float) -> None:
        """Queue a target again at a time."""
        self._state.serial += 1
        batch.put(DELAYED, due_key(due, self._state.serial, 7), encode(target))
        self.counts["delayed"] += 1
        self.next_delayed_at = due if self.next_delayed_at is None else min(due, self.next_delayed_at)

    async def wake(self, batch: HostBatch, now: float) -> None:
        """Queue again what is due."""
        if self.next_delayed_at is None or self.next_delayed_at > now:
            return
        rows = await self._tables.scan(DELAYED, self._woken, MAX_WOKEN + 1)
        due = [(key, raw) for key, raw in rows[:MAX_WOKEN] if due_of(key) <= now]
        self.next_delayed_at = due_of(rows[len(due)][0]) if len(rows) > len(due) else None
        targets = []
        for key, raw in due:
            self._woken = key
            batch.delete(DELAYED, key)
            self.counts["delayed"] -= 1
            if target := readable_target(raw):
                targets.append(target)
            else:
                self._note_poison(batch, b"delayed:" + key, raw)
        await self.queue(batch, targets)

    # ---- unreadable

    async def drop_block(self, batch: HostBatch, host: Host, lane: Lane) -> None:
        """The next block of a lane cannot be read: it is set aside, and what is left is counted anew."""
        key = host.queue.head_key(lane, is_last_first=self.takes_last(lane))
        others = [other for other in host.queue.keys(lane) if other != key]
        (raw,), blocks = await self._tables.get(QUEUE, [key]), await self._tables.get(QUEUE, others)
        is_first = host.queue.is_first(lane, key)
        left = sum(length_of(block) for block in blocks if block) - (0 if is_first else lane.gone)
        lost = max(lane.entries - left, 0)
        host.queue.drop_block(batch, lane, key, lost)
        self.counts["queued"] -= lost
        self._count_requisites(lane, -lost)
        self._note_poison(batch, b"queue:" + key, raw or b"")
        batch.note(host)

    def drop_entry(self, batch: HostBatch, host: Host, spot: Spot) -> None:
        """The next entry of a lane cannot be read: it is set aside."""
        found = host.queue.next_in(spot.lane, is_last_first=self.takes_last(spot.lane))
        assert found, "just read"
        self.dequeue(batch, host, spot)
        name = b"entry:%d:%d:%d:%d" % (host.record.number, spot.lane.number, spot.block, spot.place)
        self._note_poison(batch, name, bytes(found[1]))

    def _note_poison(self, batch: HostBatch, name: bytes, raw: bytes) -> None:
        if not self.counts["poisoned"]:
            logger.warning(
                "a record of the frontier cannot be read (%r); it is set aside, and so are others", name[:40]
            )
        self.counts["poisoned"] += 1
        batch.put(POISONED, name, raw)
