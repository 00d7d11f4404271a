"""A Bloom filter over 8-byte fingerprints: "certainly new" or "probably seen". It knows nothing of URLs.

Sized by capacity and error, by n alone (m = 20 n), or by n, m and k. Two layouts, one code: each fingerprint
touches `words` 64-bit words and sets k / words bits in each. With words = k this is the standard filter, the
smallest for its error; with words = 1 the blocked one, four times as quick from Python for about a third
more memory at an error of 1 % (bench/bloom.py).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from math import ceil, exp, log
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import unpack

try:
    from lycosa.frontier import _native
except ImportError:  # installed without a compiler
    is_compiled = False
else:
    is_compiled = True

WORD_BITS = 64
_MASK = (1 << 64) - 1
# Fingerprints of one host share their first bytes; an odd multiplier spreads them over all bits.
_SPREAD = 0x9E37_79B9_7F4A_7C15
# Two fingerprints that share a word look alike when they share the pattern too: 2^14 patterns make that rare.
_PATTERN_INDEX_BITS = 14


class BloomFilter:
    """m bits, k of them set for each fingerprint, in `words` different places."""

    def __init__(self, capacity: int, bits: int, hashes: int, words: int | None = None) -> None:
        self.capacity = capacity
        self.hashes = max(1, hashes)
        self.words = self.hashes if words is None else words
        assert self.hashes % self.words == 0, "every word gets the same number of bits"
        # From the kernel, zero by itself: of a filter for ten million a small crawl never touches most pages.
        pages = mmap(-1, 8 * max(1, ceil(bits / WORD_BITS)), MAP_PRIVATE | MAP_ANONYMOUS)
        self._words: memoryview | array[int] = memoryview(pages).cast("Q")
        self.bits = WORD_BITS * len(self._words)
        self.added = 0
        per_word = self.hashes // self.words
        self._index_bits = 6 if per_word == 1 else _PATTERN_INDEX_BITS
        self._patterns = _patterns(per_word)

    @classmethod
    def for_error(cls, capacity: int, error: float) -> BloomFilter:
        """The smallest filter that keeps the error at this capacity."""
        bits = ceil(-capacity * log(error) / log(2) ** 2)
        return cls(capacity, bits, max(1, round(bits / capacity * log(2))))

    @classmethod
    def blocked_for_error(cls, capacity: int, error: float) -> BloomFilter:
        """The smallest filter with one memory access per fingerprint that keeps the error at this capacity."""
        bits_per_item, hashes, near = 4.0, 1, range(1, 13)
        while (found := min((_blocked_error(bits_per_item, k), k) for k in near))[0] > error:
            bits_per_item *= 1.02
            hashes = found[1]
            # With some more bits the best is the same number, or the next.
            near = range(hashes, hashes + 2)
        return cls(capacity, ceil(bits_per_item * capacity), hashes, words=1)

    @classmethod
    def for_capacity(cls, capacity: int) -> BloomFilter:
        """m = 20 n and k = ⌊ln 2 · m/n⌋ = 13: an expected error of 0.000068 (0.0000889 is the figure for k = 10)."""
        return cls(capacity, 20 * capacity, int(log(2) * 20))

    def expected_error(self, items: int | None = None) -> float:
        """The share of new fingerprints that look seen once `items` are in."""
        count = self.added if items is None else items
        if count == 0:
            return 0.0
        if self.words == 1:
            return _blocked_error(self.bits / count, self.hashes)
        return float((1.0 - exp(-self.hashes * count / self.bits)) ** self.hashes)

    def add(self, fingerprint: bytes) -> bool:
        """Add one; True if it was certainly new."""
        mixed = int.from_bytes(fingerprint, "little") * _SPREAD & _MASK
        mixed ^= mixed >> 32
        store, shift, is_new = self._words, self._index_bits, False
        if self.words == 1:
            pattern = self._patterns[mixed & (1 << shift) - 1]
            place = (mixed >> shift) % len(store)
            word = store[place]
            if word & pattern == pattern:
                return False
            store[place] = word | pattern
            self.added += 1
            return True
        step = mixed >> 17 | 1
        for _ in range(self.words):
            pattern = self._patterns[mixed & (1 << shift) - 1]
            place = (mixed >> shift) % len(store)
            word = store[place]
            if word & pattern != pattern:
                store[place] = word | pattern
                is_new = True
            mixed = mixed + step & _MASK
        self.added += is_new
        return is_new

    def __contains__(self, fingerprint: bytes) -> bool:
        mixed = int.from_bytes(fingerprint, "little") * _SPREAD & _MASK
        mixed ^= mixed >> 32
        step, shift, store = mixed >> 17 | 1, self._index_bits, self._words
        for _ in range(self.words):
            pattern = self._patterns[mixed & (1 << shift) - 1]
            if store[(mixed >> shift) % len(store)] & pattern != pattern:
                return False
            mixed = mixed + step & _MASK
        return True

    def which_are_in(self, fingerprints: Sequence[bytes]) -> list[bool]:
        """`in` for each of them."""
        if is_compiled:
            return _native.bloom_has(self._words, self._pattern_bytes, self.words, list(fingerprints))
        return self.which_are_in_by_values(fingerprints)

    def which_are_in_by_values(self, fingerprints: Sequence[bytes]) -> list[bool]:
        """The same without a compiler."""
        if self.words > 1:
            return [fingerprint in self for fingerprint in fingerprints]
        shift, store, patterns = self._index_bits, self._words, self._patterns
        low, places, answers = (1 << shift) - 1, len(store), []
        for mixed in _mixed(fingerprints):
            pattern = patterns[mixed & low]
            answers.append(store[(mixed >> shift) % places] & pattern == pattern)
        return answers

    def add_each(self, fingerprints: Sequence[bytes]) -> None:
        """`add` for each of them."""
        if is_compiled:
            self.added += _native.bloom_add(self._words, self._pattern_bytes, self.words, list(fingerprints))
        else:
            self.add_each_by_values(fingerprints)

    def add_each_by_values(self, fingerprints: Sequence[bytes]) -> None:
        """The same without a compiler."""
        if self.words > 1:
            for fingerprint in fingerprints:
                self.add(fingerprint)
            return
        shift, store, patterns = self._index_bits, self._words, self._patterns
        low, places = (1 << shift) - 1, len(store)
        for mixed in _mixed(fingerprints):
            pattern = patterns[mixed & low]
            word = store[place := (mixed >> shift) % places]
            if word & pattern != pattern:
                store[place] = word | pattern
                self.added += 1

    def add_many(self, fingerprints: bytes) -> None:
        """Add fingerprints that stand one behind the other, 8 bytes each; for loading millions at a start."""
        import numpy as np  # which takes longer to import than to load some thousands

        mixed = np.frombuffer(fingerprints, dtype="<u8") * np.uint64(_SPREAD)
        mixed ^= mixed >> np.uint64(32)
        step = mixed >> np.uint64(17) | np.uint64(1)
        store = np.frombuffer(self._words, dtype=np.uint64)
        patterns = np.array([self._patterns[index] for index in range(1 << self._index_bits)], dtype=np.uint64)
        shift, mask = np.uint64(self._index_bits), np.uint64((1 << self._index_bits) - 1)
        for _ in range(self.words):
            np.bitwise_or.at(store, (mixed >> shift) % np.uint64(len(store)), patterns[mixed & mask])
            mixed += step
        self.added += len(mixed)

    @cached_property
    def _pattern_bytes(self) -> bytes:
        """All patterns, for the compiled pass."""
        return _native.bloom_patterns(self.hashes // self.words, self._index_bits)

    def to_bytes(self) -> bytes:
        """The bits, for `load`."""
        return self._words.tobytes()

    def load(self, bits: bytes, added: int) -> None:
        """Take over the bits of a filter of the same shape."""
        assert len(bits) == self.size_bytes, "a filter of another size"
        self._words, self.added = array("Q", bits), added

    @property
    def size_bytes(self) -> int:
        return 8 * len(self._words)


def _mixed(fingerprints: Sequence[bytes]) -> Iterator[int]:
    """The bits of each, spread. One call of a function for all of them: it is more than the rest of the work."""
    for number in unpack(f"<{len(fingerprints)}Q", b"".join(fingerprints)):
        mixed = number * _SPREAD & _MASK
        yield mixed ^ mixed >> 32


@lru_cache(maxsize=256)
def _blocked_error(bits_per_item: float, hashes: int) -> float:
    """The error with one 64-bit word per item: words are hit unevenly (Poisson), the full ones dominate."""
    mean = WORD_BITS / bits_per_item
    chance, error = exp(-mean), 0.0
    for items in range(1, 40 + 4 * int(mean)):
        chance *= mean / items
        error += chance * (1.0 - (1.0 - hashes / WORD_BITS) ** items) ** hashes
    return error


class _Patterns(dict[int, int]):
    """One 64-bit pattern with so many bits for each index; the same in every run, for saved filters.

    Each is drawn when it is first asked for: all of them at once would take as long as opening the frontier.
    """

    def __init__(self, bits_set: int) -> None:
        super().__init__()
        self._bits_set = bits_set

    def __missing__(self, index: int) -> int:
        pattern, state = (1 << index, 0) if self._bits_set == 1 else (0, index)
        while pattern.bit_count() < self._bits_set:
            state = (state + 1) * _SPREAD & _MASK
            pattern |= 1 << (state >> 58)
            state ^= state >> 29
        self[index] = pattern
        return pattern


@lru_cache(maxsize=4)
def _patterns(bits_set: int) -> _Patterns:
    return _Patterns(bits_set)
