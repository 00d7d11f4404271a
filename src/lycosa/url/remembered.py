"""Fingerprints that the frontier has acknowledged, so that they need not be sent again. Knows no links."""

from __future__ import annotations

from collections.abc import Iterable

MAX_REMEMBERED = 200_000
MAX_MEETINGS = 0xFFFF
# Whoever is met so often may have become important: more often moves more URLs and fetches no better pages first.
SENT_AGAIN = frozenset(3 * 4**times for times in range(8))


class Remembered:
    """Most links end here. Bounded, in two generations. Fingerprints of another length than eight bytes may be lost."""

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit // 2
        # On how many pages each was met.
        self._young: dict[bytes, int] = {}
        self._old: dict[bytes, int] = {}

    def __contains__(self, fingerprint: object) -> bool:
        return fingerprint in self._young or fingerprint in self._old

    def add(self, fingerprints: Iterable[bytes]) -> None:
        for fingerprint in fingerprints:
            self._young.setdefault(fingerprint, self._old.get(fingerprint, 1))
        if len(self._young) > self._limit:
            self._old, self._young = self._young, {}

    def meet(self, fingerprint: bytes) -> bool:
        """One that is remembered is met on one more page: whether it is to be sent again."""
        generation = self._young if fingerprint in self._young else self._old
        meetings = generation.get(fingerprint, 0)
        if not 0 < meetings < MAX_MEETINGS:
            return False
        generation[fingerprint] = meetings + 1
        return meetings + 1 in SENT_AGAIN
