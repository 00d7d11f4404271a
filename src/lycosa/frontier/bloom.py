"""A Bloom filter over 8-byte fingerprints: "certainly new" or "probably seen".

It knows nothing of URLs. Sized by capacity and error, by n alone (m = 20 n), or by n, m and k.
"""

from __future__ import annotations

from math import ceil, exp, log

import numpy as np
import numpy.typing as npt

_MASK = (1 << 64) - 1
# Fingerprints of one host share their first bytes; an odd multiplier spreads them over all bits.
_SPREAD = 0x9E37_79B9_7F4A_7C15


class BloomFilter:
    """m bits, k of them set for each fingerprint."""

    def __init__(self, capacity: int, bits: int, hashes: int) -> None:
        self.capacity = capacity
        self.bits = max(64, bits)
        self.hashes = max(1, hashes)
        self._bytes = bytearray((self.bits + 7) // 8)
        self.added = 0

    @classmethod
    def for_error(cls, capacity: int, error: float) -> BloomFilter:
        """The smallest filter that keeps the error at this capacity."""
        bits = ceil(-capacity * log(error) / log(2) ** 2)
        return cls(capacity, bits, max(1, round(bits / capacity * log(2))))

    @classmethod
    def for_capacity(cls, capacity: int) -> BloomFilter:
        """m = 20 n and k = ⌊ln 2 · m/n⌋ = 13: an expected error of 0.000067 (with k = 10 it would be 0.0000889)."""
        return cls(capacity, 20 * capacity, int(log(2) * 20))

    def expected_error(self, items: int | None = None) -> float:
        """The share of new fingerprints that look seen once `items` are in."""
        count = self.added if items is None else items
        return float((1.0 - exp(-self.hashes * count / self.bits)) ** self.hashes)

    def add(self, fingerprint: bytes) -> bool:
        """Add one; True if it was certainly new."""
        mixed = int.from_bytes(fingerprint, "little") * _SPREAD & _MASK
        mixed ^= mixed >> 32
        step, bits, store, is_new = mixed >> 17 | 1, self.bits, self._bytes, False
        for _ in range(self.hashes):
            place = mixed % bits
            byte, bit = place >> 3, 1 << (place & 7)
            if not store[byte] & bit:
                store[byte] |= bit
                is_new = True
            mixed += step
        self.added += is_new
        return is_new

    def __contains__(self, fingerprint: bytes) -> bool:
        mixed = int.from_bytes(fingerprint, "little") * _SPREAD & _MASK
        mixed ^= mixed >> 32
        step, bits, store = mixed >> 17 | 1, self.bits, self._bytes
        for _ in range(self.hashes):
            place = mixed % bits
            if not store[place >> 3] & 1 << (place & 7):
                return False
            mixed += step
        return True

    def add_many(self, fingerprints: bytes) -> None:
        """Add fingerprints that stand one behind the other, 8 bytes each; for loading millions at a start."""
        mixed = np.frombuffer(fingerprints, dtype="<u8") * np.uint64(_SPREAD)
        mixed ^= mixed >> np.uint64(32)
        step = mixed >> np.uint64(17) | np.uint64(1)
        store: npt.NDArray[np.uint8] = np.frombuffer(self._bytes, dtype=np.uint8)
        # mixed + i * step may pass 2^64 where Python's integers would not wrap: reduce both first.
        place, stride = mixed % np.uint64(self.bits), step % np.uint64(self.bits)
        for _ in range(self.hashes):
            bit = np.left_shift(1, place & np.uint64(7), dtype=np.uint64).astype(np.uint8)
            np.bitwise_or.at(store, (place >> np.uint64(3)).astype(np.int64), bit)
            place = (place + stride) % np.uint64(self.bits)
        self.added += len(mixed)

    @property
    def size_bytes(self) -> int:
        return len(self._bytes)
