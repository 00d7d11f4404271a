"""Count-min sketch: how often something was counted, in a fixed amount of memory. Never too low, seldom too high."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from hashlib import blake2b

_HASH_BYTES = 8
MAX_DEPTH = blake2b.MAX_DIGEST_SIZE // _HASH_BYTES


class CountMinSketch:
    """`depth` hash functions with `width` counters each; an estimate is the smallest of a name's counters.

    An estimate is at most `max_overestimate` too high, with a probability of `confidence`.
    """

    def __init__(self, width: int, depth: int) -> None:
        if width < 1 or not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"a sketch has at least one counter and 1 to {MAX_DEPTH} rows, not {width} x {depth}")
        self.width = width
        self.depth = depth
        self.total = 0
        self._counters = array("Q", bytes(8 * width * depth))

    @classmethod
    def for_error(cls, share: float, risk: float) -> CountMinSketch:
        """A sketch that is too high by more than `share` of all that was counted only with a probability of `risk`."""
        return cls(math.ceil(math.e / share), math.ceil(math.log(1 / risk)))

    def add(self, name: str, times: int = 1) -> None:
        """Count a name."""
        for place in self._places(name):
            self._counters[place] += times
        self.total += times

    def estimate(self, name: str) -> int:
        """How often a name was counted, or a little more."""
        return min(self._counters[place] for place in self._places(name))

    def merge(self, other: CountMinSketch) -> None:
        """Take in what another sketch of the same size has counted."""
        if (self.width, self.depth) != (other.width, other.depth):
            raise ValueError("only sketches of the same size can be merged")
        for place, count in enumerate(other._counters):
            self._counters[place] += count
        self.total += other.total

    def take_least(self, others: Sequence[CountMinSketch]) -> None:
        """Count as much as the least of some sketches of the same size does."""
        assert all((other.width, other.depth) == (self.width, self.depth) for other in others), "of the same size"
        self._counters = array("Q", map(min, zip(*(other._counters for other in others), strict=True)))
        self.total = min(other.total for other in others)

    @property
    def max_overestimate(self) -> int:
        """Grows with what was counted: e / width of it."""
        return math.floor(math.e / self.width * self.total)

    @property
    def confidence(self) -> float:
        return 1 - math.exp(-self.depth)

    @property
    def size_bytes(self) -> int:
        return self._counters.itemsize * len(self._counters)

    def _places(self, name: str) -> list[int]:
        digest = blake2b(name.encode(), digest_size=_HASH_BYTES * self.depth).digest()
        return [
            row * self.width + int.from_bytes(digest[_HASH_BYTES * row : _HASH_BYTES * (row + 1)]) % self.width
            for row in range(self.depth)
        ]
