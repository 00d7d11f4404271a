"""Known URLs in small sets: where a fingerprint belongs, and how many sets there must be. Linear hashing; no I/O.

Redis keeps a set of up to 512 integers as a sorted array, at 8 bytes each; a larger one costs ten times as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from lycosa.frontier.poison import UNREADABLE

# On average. Those that are not yet split hold up to twice as many, and vary: by chance one in 10^8 passes 512.
URLS_PER_BUCKET = 200
# Enough that a first batch of thousands does not fill one.
FIRST_BUCKETS = 64
# What `lua/split.lua` sees of a number: its last nine digits, without a sign.
_DIGITS = 10**9


def number_of(fingerprint: bytes) -> int:
    """A fingerprint as the integer that a set keeps in eight bytes."""
    return int.from_bytes(fingerprint, signed=True)


class Buckets(msgspec.Struct, frozen=True, array_like=True):
    """How many sets there are: `level` times one or two; the first ones are split already."""

    level: int = FIRST_BUCKETS  # a power of two
    count: int = FIRST_BUCKETS

    def by_bucket(self, numbers: Iterable[int]) -> Mapping[int, list[int]]:
        """Numbers by where they belong."""
        low, high, split = self.level - 1, 2 * self.level - 1, self.count - self.level
        found: dict[int, list[int]] = {}
        for number in numbers:
            hashed = abs(number) % _DIGITS
            bucket = hashed & low
            if bucket < split:
                bucket = hashed & high
            if bucket in found:
                found[bucket].append(number)
            else:
                found[bucket] = [number]
        return found

    def missing(self, urls: int) -> int:
        """How many buckets there are too few for so many known URLs."""
        return -(-urls // URLS_PER_BUCKET) - self.count

    def due(self, wanted: int) -> range:
        """The buckets to split next, up to so many; none twice."""
        first = self.count - self.level
        return range(first, min(first + wanted, self.level))

    def grown(self, splits: int) -> Buckets:
        """As it is after so many of those due were split."""
        count = self.count + splits
        return Buckets(2 * self.level if count == 2 * self.level else self.level, count)


def pack_buckets(buckets: Buckets) -> bytes:
    return msgspec.msgpack.encode(buckets)


def read_buckets(raw: bytes | None) -> Buckets:
    """As they were kept; the first ones if none were."""
    try:
        return msgspec.msgpack.decode(raw, type=Buckets) if raw else Buckets()
    except UNREADABLE:
        return Buckets()
