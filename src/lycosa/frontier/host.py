"""One host in memory: its durable record, and the head of its queue while it is active."""

from __future__ import annotations

from bisect import insort
from collections.abc import Set
from typing import Any

from lycosa.frontier.rules import is_in_trouble
from lycosa.frontier.tables import HostRecord
from lycosa.url.domain import registered_domain

HEAD_ENTRIES = 16
_NUMBER_BYTES = 4


class Host:
    """The back queue is on disk; `head` holds every queued entry up to `last_key`, and only while active."""

    __slots__ = (
        "domain",
        "has_more",
        "head",
        "is_active",
        "is_ready",
        "last_key",
        "owner",
        "record",
        "times",
        "token",
        "turn",
    )

    def __init__(self, record: HostRecord, owner: int) -> None:
        self.record = record
        self.owner = owner  # -1: chosen when it is next ready
        self.times = 0  # how often that worker had had its domain
        self.domain = registered_domain(record.name)
        self.head: list[tuple[bytes, bytes]] = []
        self.last_key = b""
        self.has_more = False  # there are entries behind `last_key`
        self.is_active = False
        self.is_ready = False  # stands in its worker's heap
        self.token = 0
        self.turn = 0

    @property
    def is_in_trouble(self) -> bool:
        return is_in_trouble(self.record.failures, self.record.origins)

    @property
    def rank(self) -> int:
        """Of the best that is queued here."""
        return self.record.cursor[0]

    def push(self, key: bytes, value: bytes) -> None:
        """An entry joined the queue."""
        record = self.record
        place = key[_NUMBER_BYTES:]
        # Of an empty queue only tombstones are left: nothing before this entry is worth a look.
        if record.queued == 0 or place < record.cursor:
            record.cursor = place
        record.queued += 1
        if self.is_active and (not self.has_more or key < self.last_key):
            self._insert(key, value)

    def _insert(self, key: bytes, value: bytes) -> None:
        insort(self.head, (key, value))
        if len(self.head) > 2 * HEAD_ENTRIES:
            del self.head[HEAD_ENTRIES:]
            self.has_more = True
            self.last_key = self.head[-1][0]
        else:
            # Never back to an earlier key: what lies between is deleted and slow to pass.
            self.last_key = max(self.last_key, self.head[-1][0])

    def drop(self, key: bytes) -> None:
        """An entry left the queue: the one that was visited, usually the first."""
        self.record.queued -= 1
        for place, (entry, _) in enumerate(self.head):
            if entry == key:
                del self.head[place]
                break
        self.record.cursor = (self.head[0][0] if self.head else self.last_key)[_NUMBER_BYTES:]

    def evict(self, key: bytes) -> None:
        """An entry behind all others left the queue."""
        self.record.queued -= 1
        self.record.tail = key[_NUMBER_BYTES:]
        if self.head and self.head[-1][0] == key:
            del self.head[-1]

    def last(self, queue: Any, gone: Set[bytes]) -> list[tuple[bytes, bytes]]:
        """The entry behind all others that are written, but for those that are gone; none if there is none."""
        prefix = self.record.number.to_bytes(_NUMBER_BYTES)
        for key, value in queue.items(backwards=True, from_key=prefix + (self.record.tail or b"\xff" * 8)):
            if not key.startswith(prefix):
                break
            if key not in gone:
                return [(key, value)]
        return []

    def first(self, queue: Any) -> tuple[bytes, bytes]:
        """The entry that is next, read from disk with those behind it if none is in memory."""
        if not self.head:
            self._load(queue)
        return self.head[0]

    def _load(self, queue: Any) -> None:
        prefix = self.record.number.to_bytes(_NUMBER_BYTES)
        self.has_more = False
        for key, value in queue.items(from_key=prefix + self.record.cursor):
            if not key.startswith(prefix):
                break
            if len(self.head) == HEAD_ENTRIES:
                self.has_more = True
                break
            self.head.append((key, value))
        assert self.head, "an active host has something queued"
        self.last_key = self.head[-1][0]

    def activate(self) -> None:
        self.is_active = True
        self.turn = 0
        self.has_more = True
        self.last_key = b""

    def deactivate(self) -> None:
        assert not self.is_ready, "a host leaves memory only after a visit, when it stands in no heap"
        self.is_active = False
        self.head.clear()
