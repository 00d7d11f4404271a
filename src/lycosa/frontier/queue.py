"""The queue of one host: a lane per origin and class, each a row of blocks in the store. Only what is needed of it is
in memory.

Trouble belongs to an origin: a lane whose origin may not be asked is passed over, and the rest of the host goes on.
What leaves the front of a lane leaves no trace in its block, only in the host's record, which is written anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from lycosa.frontier.entries import encode_block, length_of, longer_block, mark_of, readable_block
from lycosa.frontier.records import HostRecord, Lane, block_key
from lycosa.frontier.tables import QUEUE, Batch
from lycosa.model import Kind, Target

BLOCK_ENTRIES = 16
EMPTY_BLOCK = encode_block([])
# Origins of a host that have lanes of their own: links to many ports must not make its record grow.
MAX_MARKS = 16
# Marks of no origin: robots.txt, which needs no permission; and all origins beyond those.
ROBOTS_MARK, OTHERS_MARK = "!", "*"
_ROBOTS = Kind.ROBOTS


def lane_mark(target: Target, origin: str) -> str:
    """The mark by which a target of this origin finds its lane."""
    return ROBOTS_MARK if target.kind is _ROBOTS else mark_of(origin, target.host)


class Spot:
    """Where an entry stands. One that is given out moves up when another leaves its block before it."""

    __slots__ = ("block", "lane", "place")

    def __init__(self, lane: Lane, block: int, place: int) -> None:
        self.lane = lane
        self.block = block
        self.place = place  # in the block


class HostQueue:
    """Lanes of a record, and the blocks of them that are in memory. Changes go into the caller's batch."""

    __slots__ = ("_blocks", "_entries", "_given", "_given_of", "_head", "_record")

    def __init__(self, record: HostRecord) -> None:
        self._record = record
        self._blocks: dict[bytes, bytes] = {}
        self._head = b""  # key of the block whose entries are
        self._entries: list[msgspec.Raw] = []
        self._given: dict[bytes, list[Spot]] = {}  # spots that are given out, by their blocks
        self._given_of: dict[int, int] = {}  # how many, by the numbers of their lanes

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
        assert not self._given, "what is given out is needed when it is settled"
        lanes = self._record.lanes
        if len(self._blocks) > 2 * len(lanes):
            ends = {self._key(lane, block) for lane in lanes for block in (lane.first, lane.end - 1)}
            self._blocks = {key: block for key, block in self._blocks.items() if key in ends}

    def head_key(self, lane: Lane, *, is_last_first: bool) -> bytes:
        """The block that the next entry of a lane is in."""
        return self._key(lane, self._next_block(lane, is_last_first=is_last_first))

    def run_keys(self, lane: Lane, entries: int, *, is_last_first: bool) -> list[bytes]:
        """The blocks that the next so many entries of a lane are in, as far as they are not in memory."""
        first, blocks = self._next_block(lane, is_last_first=is_last_first), entries // BLOCK_ENTRIES + 2
        numbers = range(max(lane.first, first - blocks), first + 1) if is_last_first else range(first, first + blocks)
        return [key for number in numbers if number < lane.end and (key := self._key(lane, number)) not in self._blocks]

    def _next_block(self, lane: Lane, *, is_last_first: bool) -> int:
        """The first block of which not everything is known to be given out."""
        numbers = range(lane.first, lane.end)
        for number in reversed(numbers) if is_last_first else numbers:
            key = self._key(lane, number)
            gone = lane.gone if number == lane.first else 0
            if key not in self._blocks or length_of(self._blocks[key]) - gone > len(self._given.get(key, ())):
                return number
        return lane.end - 1 if is_last_first else lane.first

    def tail_key(self, mark: str, rank: int) -> bytes | None:
        """The block that targets of a mark might join, if it is not in memory; None if none is missing."""
        lane = self._find(self._lane_mark(mark), rank)
        if lane is None:
            return None
        key = self._key(lane, lane.end - 1)
        return None if key in self._blocks else key

    # ---- looking

    def next_in(self, lane: Lane, *, is_last_first: bool) -> tuple[Spot, msgspec.Raw] | None:
        """The entry of a lane that is next; None if its block is not in memory, or cannot be read."""
        number = self._next_block(lane, is_last_first=is_last_first)
        key = self._key(lane, number)
        entries = self._entries_of(key)
        places = range(lane.gone if number == lane.first else 0, len(entries))
        spots = self._given.get(key)
        given = {spot.place for spot in spots} if spots else ()
        for place in reversed(places) if is_last_first else places:
            if place not in given:
                return Spot(lane, number, place), entries[place]
        return None

    def has_more(self, lane: Lane) -> bool:
        """Whether something of a lane is not given out."""
        return lane.entries > self._given_of.get(lane.number, 0)

    def _entries_of(self, key: bytes) -> list[msgspec.Raw]:
        if key != self._head:
            self._entries = readable_block(self._blocks.get(key)) or []
            self._head = key if self._entries else b""
        return self._entries

    def is_first(self, lane: Lane, key: bytes) -> bool:
        """Whether a block is the first of its lane."""
        return key == self._key(lane, lane.first)

    def worst_lane(self) -> Lane:
        """The lane of the lowest class."""
        return self._record.lanes[-1]

    def keys(self, lane: Lane) -> Iterator[bytes]:
        """All blocks of a lane."""
        return (self._key(lane, block) for block in range(lane.first, lane.end))

    # ---- changing

    def lane_for(self, mark: str, rank: int) -> Lane:
        """The lane that targets join. A new one is empty: something must be pushed before anything else is done."""
        return self._find(mark := self._lane_mark(mark), rank) or self._new_lane(mark, rank)

    def push(self, batch: Batch, lane: Lane, entries: Sequence[bytes]) -> None:
        """Entries join a lane, behind all others: however many they are, each block is written once."""
        done = 0
        if lane.end > lane.first:
            block = self._blocks.get(key := self._key(lane, lane.end - 1))
            if block and (done := max(BLOCK_ENTRIES - length_of(block), 0)):
                self._put(batch, key, longer_block(block, entries[:done]))
        for start in range(done, len(entries), BLOCK_ENTRIES):
            self._put(batch, self._key(lane, lane.end), encode_block(entries[start : start + BLOCK_ENTRIES]))
            lane.end += 1
        lane.entries += len(entries)
        self._record.queued += len(entries)

    def give(self, spot: Spot) -> None:
        """An entry is given out: it is passed over until it is put back, and its spot is kept right."""
        self._given.setdefault(self._key(spot.lane, spot.block), []).append(spot)
        self._given_of[spot.lane.number] = self._given_of.get(spot.lane.number, 0) + 1

    def put_back(self, spot: Spot) -> None:
        """An entry that was given out is as the others again."""
        key = self._key(spot.lane, spot.block)
        if spot in self._given.get(key, ()):
            self._given[key].remove(spot)
            if not self._given[key]:
                del self._given[key]
            self._given_of[spot.lane.number] -= 1
            if not self._given_of[spot.lane.number]:
                del self._given_of[spot.lane.number]

    def remove(self, batch: Batch, spot: Spot) -> None:
        """An entry leaves: usually the first of its lane. Its block is in memory."""
        lane, number, place = spot.lane, spot.block, spot.place
        key = self._key(lane, number)
        self.put_back(spot)
        if number == lane.first and place == lane.gone:
            lane.gone += 1
            if lane.gone == length_of(self._blocks[key]):
                self._drop(batch, key)
                lane.first, lane.gone = lane.first + 1, 0
                self._drop_empty(batch, lane)
        else:
            entries = list(self._entries_of(key))
            del entries[place]
            for other in self._given.get(key, ()):
                other.place -= other.place > place
            self._shorten(batch, lane, number, entries)
        self._leave(batch, lane, 1)

    def _drop_empty(self, batch: Batch, lane: Lane) -> None:
        """Blocks at the ends all of whose entries left before those beyond them, as far as they are in memory.

        One that stays would be passed over whenever the next entry is looked for, and with it all that follow.
        """
        while lane.first < lane.end and self._blocks.get(key := self._key(lane, lane.first)) == EMPTY_BLOCK:
            self._drop(batch, key)
            lane.first += 1
        while lane.first < lane.end and self._blocks.get(key := self._key(lane, lane.end - 1)) == EMPTY_BLOCK:
            self._drop(batch, key)
            lane.end -= 1

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
        self._drop_empty(batch, lane)

    def drop_block(self, batch: Batch, lane: Lane, key: bytes, entries: int) -> None:
        """The next block of a lane could not be read, and took so many entries with it."""
        self._drop(batch, key)
        if self.is_first(lane, key):
            lane.first, lane.gone = lane.first + 1, 0
        elif key == self._key(lane, lane.end - 1):
            lane.end -= 1
        else:
            # Between those that are given out: numbers are without a gap.
            self._put(batch, key, EMPTY_BLOCK)
        self._leave(batch, lane, entries)

    def _leave(self, batch: Batch, lane: Lane, entries: int) -> None:
        lane.entries -= entries
        self._record.queued -= entries
        lanes = self._record.lanes
        if len(lanes) == 1 and lane.entries > 0:
            return
        if lane.entries <= 0:
            # Blocks from within, all of whose entries left before those at the ends.
            for key in self.keys(lane):
                self._drop(batch, key)
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

    def _lane_mark(self, mark: str) -> str:
        """The mark of the lane for targets of a mark, whatever their class."""
        lanes = self._record.lanes
        if len(lanes) < MAX_MARKS or mark == ROBOTS_MARK or any(lane.mark == mark for lane in lanes):
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
