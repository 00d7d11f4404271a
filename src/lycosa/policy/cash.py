"""Cash of URLs: what the pages that link to them have given, in ten bytes a URL and never more than was allowed.

Buckets of eight places. A URL's bucket follows from its fingerprint; where a bucket is full, whoever has least makes
room. It knows no order, no classes' meaning and no frontier: `policy/importance.py` decides what is given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.uint64]
Places = NDArray[np.int64]

WAYS = 8
PLACE_BYTES = 10
_WAYS = np.arange(WAYS, dtype=np.int64)
# The first two bytes of a fingerprint stand for its host, the other six for the URL. Of those the first sixteen bits
# are told by the bucket and the rest is kept, so that a bucket can be halved without knowing whose it is.
_BITS, _LEAST_BITS = 48, 16
_ID = np.uint64((1 << _BITS) - 1)
_TAG = np.uint64(0xFFFF_FFFF)
# What is known of a place, in a byte: 0 if nobody has it, otherwise in use, visited or not, and the class.
USED, VISITED, CLASS = 0x40, 0x80, 0x0F


class CashTable:
    """Columns of places; `places` finds those of fingerprints. Grows by halves of buckets until `max_bytes`."""

    def __init__(self, max_bytes: int) -> None:
        self._most_bits = _LEAST_BITS
        while WAYS * PLACE_BYTES << (self._most_bits + 1) <= max_bytes and self._most_bits < _BITS - 1:
            self._most_bits += 1
        self._bits = _LEAST_BITS
        size = WAYS << self._bits
        self._tags = np.zeros(size, np.uint32)
        self.cash = np.zeros(size, np.float32)
        self.linking = np.zeros(size, np.uint8)  # a bit for each eighth of all hosts that link to it
        self.state = np.zeros(size, np.uint8)
        self.used = 0

    @property
    def size_bytes(self) -> int:
        return sum(column.nbytes for column in (self._tags, self.cash, self.linking, self.state))

    def places(self, marks: Marks) -> Places:
        """Where these URLs stand; -1 for one that has no place."""
        ids = marks & _ID
        around = self._around(ids)
        is_there = (self._tags[around] == (ids & _TAG).astype(np.uint32)[:, None]) & (self.state[around] != 0)
        way = is_there.argmax(axis=1)
        rows = np.arange(len(marks))
        return np.where(is_there[rows, way], around[rows, way], -1)

    def make_places(self, marks: Marks) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Make places for URLs that have none, none of them twice: state and cash of those who had to leave.

        When more than eight of them share a bucket, the first of them have left again.
        """
        if self.used + len(marks) > 0.75 * len(self.state) and self._bits < self._most_bits:
            self._grow()
        ids = marks & _ID
        left_state, left_cash = [], []
        todo = np.arange(len(marks))
        taken: set[int] = set()
        while len(todo):
            # Two that fall into one bucket take their places one after the other.
            _, first = np.unique(ids[todo] >> np.uint64(_BITS - self._bits), return_index=True)
            now = todo[first]
            around = self._around(ids[now])
            value = np.where(self.state[around] == 0, np.float32(-1), self.cash[around])
            if taken:
                value = np.where(np.isin(around, list(taken)), np.float32(np.inf), value)
            at = around[np.arange(len(now)), value.argmin(axis=1)]
            left_state.append(self.state[at].copy())
            left_cash.append(self.cash[at].copy())
            self.used += int((self.state[at] == 0).sum())
            self._tags[at] = (ids[now] & _TAG).astype(np.uint32)
            self.cash[at], self.linking[at], self.state[at] = 0, 0, USED
            todo = np.delete(todo, first)
            if len(todo):
                taken.update(at.tolist())
        return _joined(left_state, np.uint8), _joined(left_cash, np.float32)

    def _around(self, ids: Marks) -> Places:
        """All places of each one's bucket, a row for each."""
        bucket = (ids >> np.uint64(_BITS - self._bits)).astype(np.int64)
        rows: Places = (bucket * WAYS)[:, None] + _WAYS
        return rows

    def _grow(self) -> None:
        """Every bucket becomes two: the next bit of who stands there, which its tag has, tells in which."""
        bit = np.uint32(1 << (_BITS - self._bits - 1)) if self._bits >= _LEAST_BITS else np.uint32(0)
        is_second = (self._tags & bit) != 0
        self._tags = _halved(self._tags, is_second)
        self.cash = _halved(self.cash, is_second)
        self.linking = _halved(self.linking, is_second)
        self.state = _halved(self.state, is_second)
        self._bits += 1


def _halved(column: NDArray[Any], is_second: NDArray[np.bool_]) -> NDArray[Any]:
    halves = np.zeros((len(column) // WAYS, 2, WAYS), column.dtype)
    halves[:, 0] = np.where(is_second, 0, column).reshape(-1, WAYS)
    halves[:, 1] = np.where(is_second, column, 0).reshape(-1, WAYS)
    return halves.reshape(-1)


def _joined(parts: list[NDArray[Any]], kind: type[Any]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, kind)
