"""The Bloom filter measured: false positives against expectation, layouts, hash functions.

python bench/bloom.py [--items 200000]
"""

from __future__ import annotations

import argparse
import os
import time
import zlib
from collections.abc import Callable
from hashlib import blake2b, md5, sha1
from random import Random

from lycosa.frontier.bloom import BloomFilter


def rate(bloom: BloomFilter, items: int) -> float:
    """The share of fingerprints never added that look seen."""
    bloom.add_many(Random(1).randbytes(8 * items))
    asked = Random(2).randbytes(8 * items)
    return sum(asked[start : start + 8] in bloom for start in range(0, len(asked), 8)) / items


def errors(items: int) -> None:
    print(f"false positives after {items:,} of {items:,} fingerprints")
    print(f"{'sized by':34} {'bits/item':>9} {'k':>3} {'words':>5} {'expected':>10} {'measured':>10}")
    filters = {
        "capacity, error 0.01": BloomFilter.for_error(items, 0.01),
        "capacity, error 0.001": BloomFilter.for_error(items, 0.001),
        "n alone (m = 20 n, k = 13)": BloomFilter.for_capacity(items),
        "n, m = 20 n, k = 10": BloomFilter(items, 20 * items, 10),
        "n, m = 8 n, k = 4": BloomFilter(items, 8 * items, 4),
        "blocked, error 0.01": BloomFilter.blocked_for_error(items, 0.01),
        "blocked, error 0.001": BloomFilter.blocked_for_error(items, 0.001),
    }
    for name, bloom in filters.items():
        expected, measured = bloom.expected_error(items), rate(bloom, items)
        shape = f"{bloom.bits / items:9.1f} {bloom.hashes:3} {bloom.words:5}"
        print(f"{name:34} {shape} {expected:10.7f} {measured:10.7f}")


def speed(call: Callable[[bytes], object], values: list[bytes]) -> float:
    """CPU per call in microseconds, the best of three."""
    best = 1e9
    for _ in range(3):
        began = time.process_time()
        for value in values:
            call(value)
        best = min(best, time.process_time() - began)
    return best / len(values) * 1e6


def layouts(items: int) -> None:
    print("\nadding a fingerprint, in a filter for 10 million at an error of 0.01")
    marks = [os.urandom(8) for _ in range(items)]
    for name, bloom in (
        ("standard", BloomFilter.for_error(10_000_000, 0.01)),
        ("blocked", BloomFilter.blocked_for_error(10_000_000, 0.01)),
    ):
        many = time.process_time()
        bloom.add_many(b"".join(marks))
        many = (time.process_time() - many) / items * 1e6
        print(
            f"{name:10} {speed(bloom.add, marks):5.2f} µs   in bulk {many:5.2f} µs   {bloom.size_bytes / 1e6:5.1f} MB"
        )


def hashes(items: int) -> None:
    print("\nhash functions on a URL of 60 bytes")
    urls = [b"https://www.example.com/section/%012d/page-%08d.html" % (number, number) for number in range(items)]
    keyed = blake2b(digest_size=8, key=os.urandom(16))

    def copied(value: bytes) -> bytes:
        state = keyed.copy()
        state.update(value)
        return state.digest()

    functions: dict[str, Callable[[bytes], object]] = {
        "blake2b, keyed (used)": copied,
        "md5": lambda value: md5(value, usedforsecurity=False).digest(),
        "sha1": lambda value: sha1(value, usedforsecurity=False).digest(),
        "crc32 (32 bits)": zlib.crc32,
        "hash() (keyed per process)": lambda value: hash(bytes(memoryview(value))),
    }
    try:
        from xxhash import xxh3_64_intdigest

        functions["xxh3 (seeded)"] = lambda value: xxh3_64_intdigest(value, seed=42)
    except ImportError:
        print("(xxhash is not installed)")
    for name, function in sorted(functions.items(), key=lambda item: speed(item[1], urls)):
        print(f"{name:28} {speed(function, urls):5.2f} µs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200_000)
    items = parser.parse_args().items
    errors(items)
    layouts(items)
    hashes(items)


if __name__ == "__main__":
    main()
