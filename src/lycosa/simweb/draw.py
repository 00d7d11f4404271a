"""Chance by keyed hashing: the same seed and keys always draw the same value, so a web needs no storage.

Knows nothing of hosts or pages; the callers name their own topics and keys.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """Repeatable draws of one seed; each topic and each tuple of keys is independent of all others."""

    __slots__ = ("_key",)

    def __init__(self, seed: int) -> None:
        self._key = seed.to_bytes(16, "big", signed=True)

    def number(self, topic: str, *keys: int) -> int:
        """A whole number of 64 bits."""
        message = f"{topic}/{'/'.join(map(str, keys))}".encode()
        return int.from_bytes(hashlib.blake2b(message, digest_size=8, key=self._key).digest(), "big")

    def fraction(self, topic: str, *keys: int) -> float:
        """A real number in [0, 1)."""
        return (self.number(topic, *keys) >> 11) / (1 << 53)

    def happens(self, share: float, topic: str, *keys: int) -> bool:
        """Whether something that befalls this share of all keys befalls these."""
        return share > 0 and self.fraction(topic, *keys) < share

    def pick(self, choices: Sequence[T], topic: str, *keys: int) -> T:
        """One of the choices, all equally likely."""
        return choices[self.number(topic, *keys) % len(choices)]

    def stream(self, topic: str, *keys: int) -> random.Random:
        """Many draws in a row. Only `random()` of it is used: the rest may differ between Python versions."""
        return random.Random(self.number(topic, *keys))


def pick_next(stream: random.Random, choices: Sequence[T]) -> T:
    """One of the choices by the stream's next draw."""
    return choices[int(stream.random() * len(choices))]


def popular(stream: random.Random, count: int) -> int:
    """A rank in [0, count) by Zipf's law: rank r is drawn about in proportion to 1 / (r + 1)."""
    return min(int((count + 1) ** stream.random()) - 1, count - 1)
