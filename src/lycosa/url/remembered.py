"""Fingerprints that the frontier has acknowledged, so that they need not be sent again. Knows no links."""

from __future__ import annotations

from collections.abc import Iterable

MAX_REMEMBERED = 200_000


class Remembered:
    """Most links end here. Bounded, in two generations. Fingerprints of another length than eight bytes may be lost."""

    def __init__(self, limit: int = MAX_REMEMBERED) -> None:
        self._limit = limit // 2
        self._young: set[bytes] = set()
        self._old: set[bytes] = set()

    def __contains__(self, fingerprint: object) -> bool:
        return fingerprint in self._young or fingerprint in self._old

    def add(self, fingerprints: Iterable[bytes]) -> None:
        self._young.update(fingerprints)
        if len(self._young) > self._limit:
            self._old, self._young = self._young, set()
