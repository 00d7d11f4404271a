"""The queue of one host: a lane per origin and class, each a row of blocks in the store. Only what is needed of it is
in memory.

Trouble belongs to an origin: a lane whose origin may not be asked is passed over, and the rest of the host goes on.
What leaves the front of a lane leaves no trace in its block, only in the host's record, which is written anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from lycosa.frontier.entries import encode_block, length_of, longer_block, mark_of, readable_block
from lycosa.frontier.records import HostRecord, Lane, block_key
from lycosa.frontier.tables import QUEUE, Batch
from lycosa.model import Kind, Target, origin_of

BLOCK_ENTRIES = 16
# Origins of a host that have lanes of their own: links to many ports must not make its record grow.
MAX_MARKS = 16
# Marks of no origin: robots.txt, which needs no permission; and all origins beyond those.
ROBOTS_MARK, OTHERS_MARK = "!", "*"


class Spot(NamedTuple):
    """Where an entry stands."""

    lane: Lane
    block: int
    place: int  # in the block


class HostQueue:
    """Lanes of a record, and the blocks of them that are in memory. Changes go into the caller's batch."""

    __slots__ = ("_blocks", "_entries", "_head", "_record")

    def __init__(self, record: HostRecord) -> None:
        self._record = record
        self._blocks: dict[bytes, bytes] = {}
        self._head = b""  # key of the block whose entries are
        self._entries: list[msgspec.Raw] = []

    # ---- what must be loaded

    def load(self, key: bytes, block: bytes) -> None:
        """A block was read from the store."""
        self._blocks[key] = block

    def has(self, key: bytes) -> bool:
        return key in self._blocks

    def forget(self) -> None:
        """Leave memory."""
        self._blocks.clear()
        self._head, self._entries = b"", []

    def trim(self) -> None:
        """Keep of each lane the blocks at its ends: however long it is, nothing else is needed next.

        Only right while nothing in between is given out.
        """
        lanes = self._record.lanes
        if len(self._blocks) > 2 * len(lanes):
            ends = {self._key(lane, block) for lane in lanes for block in (lane.first, lane.end - 1)}
            self._blocks = {key: block for key, block in self._blocks.items() if key in ends}

    def head_key(self, lane: Lane, *, is_last_first: bool) -> bytes:
        """The block that the next entry of a lane is in."""
        return self._key(lane, lane.end - 1 if is_last_first else lane.first)

    def tail_key(self, target: Target, rank: int) -> bytes | None:
        """The block that a target might join, if it is not in memory; None if none is missing."""
        lane = self._find(self._mark(target), rank)
        if lane is None:
            return None
        key = self._key(lane, lane.end - 1)
        return None if key in self._blocks else key

    # ---- looking

    def next_in(self, lane: Lane, *, is_last_first: bool) -> tuple[Spot, msgspec.Raw] | None:
        """The entry of a lane that is next; None if its block is not in memory, or cannot be read."""
        entries = self._entries_of(self.head_key(lane, is_last_first=is_last_first))
        place = len(entries) - 1 if is_last_first else lane.gone
        if not entries or place >= len(entries):
            return None
        return Spot(lane, lane.end - 1 if is_last_first else lane.first, place), entries[place]

    def _entries_of(self, key: bytes) -> list[msgspec.Raw]:
        if key != self._head:
            self._entries = readable_block(self._blocks.get(key)) or []
            self._head = key if self._entries else b""
        return self._entries

    def worst_lane(self) -> Lane:
        """The lane of the lowest class."""
        return self._record.lanes[-1]

    def keys(self, lane: Lane) -> Iterator[bytes]:
        """All blocks of a lane."""
        return (self._key(lane, block) for block in range(lane.first, lane.end))

    # ---- changing

    def push(self, batch: Batch, target: Target, rank: int, entry: bytes) -> None:
        """An entry joins its lane, behind all others."""
        lane = self._find(mark := self._mark(target), rank) or self._new_lane(mark, rank)
        key, block = b"", None
        if lane.end > lane.first:
            block = self._blocks.get(key := self._key(lane, lane.end - 1))
        if block and length_of(block) < BLOCK_ENTRIES:
            block = longer_block(block, entry)
        else:
            key, block = self._key(lane, lane.end), encode_block([entry])
            lane.end += 1
        self._put(batch, key, block)
        lane.entries += 1
        self._record.queued += 1

    def remove(self, batch: Batch, spot: Spot) -> None:
        """An entry leaves: usually the first of its lane. Its block is in memory."""
        lane, number, place = spot
        key = self._key(lane, number)
        if number == lane.first and place == lane.gone:
            lane.gone += 1
            if lane.gone == length_of(self._blocks[key]):
                self._drop(batch, key)
                lane.first, lane.gone = lane.first + 1, 0
        else:
            entries = list(self._entries_of(key))
            del entries[place]
            self._shorten(batch, lane, number, entries)
        self._leave(lane, 1)

    def _shorten(self, batch: Batch, lane: Lane, number: int, entries: list[msgspec.Raw]) -> None:
        key = self._key(lane, number)
        is_first, is_last = number == lane.first, number == lane.end - 1
        if len(entries) > (lane.gone if is_first else 0) or not (is_first or is_last):
            self._put(batch, key, encode_block(entries))
            return
        self._drop(batch, key)
        if is_last:
            lane.end -= 1
        else:
            lane.first, lane.gone = lane.first + 1, 0

    def drop_block(self, batch: Batch, lane: Lane, key: bytes, entries: int) -> None:
        """The next block of a lane could not be read, and took so many entries with it."""
        self._drop(batch, key)
        if key == self._key(lane, lane.first):
            lane.first, lane.gone = lane.first + 1, 0
        else:
            lane.end -= 1
        self._leave(lane, entries)

    def _leave(self, lane: Lane, entries: int) -> None:
        lane.entries -= entries
        self._record.queued -= entries
        lanes = self._record.lanes
        if len(lanes) == 1 and lane.entries > 0:
            return
        # By itself, not by what it is equal to. Origins of one class take turns: it goes behind the others.
        del lanes[next(place for place, other in enumerate(lanes) if other is lane)]
        if lane.entries > 0:
            self._insert(lane)

    def _put(self, batch: Batch, key: bytes, block: bytes) -> None:
        batch.put(QUEUE, key, block)
        self._blocks[key] = block
        if key == self._head:
            self._head = b""

    def _drop(self, batch: Batch, key: bytes) -> None:
        batch.delete(QUEUE, key)
        self._blocks.pop(key, None)
        if key == self._head:
            self._head = b""

    # ---- lanes

    def _mark(self, target: Target) -> str:
        """The lane of a target, whatever its class."""
        if target.kind is Kind.ROBOTS:
            return ROBOTS_MARK
        mark, lanes = mark_of(origin_of(target.url), self._record.name), self._record.lanes
        if len(lanes) < MAX_MARKS or any(lane.mark == mark for lane in lanes):
            return mark
        return mark if len({lane.mark for lane in lanes}) < MAX_MARKS else OTHERS_MARK

    def _find(self, mark: str, rank: int) -> Lane | None:
        for lane in self._record.lanes:
            if lane.rank == rank and lane.mark == mark:
                return lane
        return None

    def _new_lane(self, mark: str, rank: int) -> Lane:
        lanes = self._record.lanes
        taken = {lane.number for lane in lanes}
        number = next(number for number in range(len(lanes) + 1) if number not in taken)
        lane = Lane(number, mark, rank)
        self._insert(lane)
        return lane

    def _insert(self, lane: Lane) -> None:
        lanes = self._record.lanes
        lanes.insert(sum(other.rank <= lane.rank for other in lanes), lane)

    def _key(self, lane: Lane, block: int) -> bytes:
        return block_key(self._record.number, lane.number, block)
