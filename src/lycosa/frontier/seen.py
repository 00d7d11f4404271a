"""The URL-seen test: a Bloom filter in memory, exact fingerprints on disk behind it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from lycosa.frontier.bloom import BloomFilter
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.tables import Tables
from lycosa.model import Target

_LOAD_CHUNK = 100_000


class SeenTable:
    """Tells new targets from known ones. In "bloom" mode the filter has the last word."""

    def __init__(self, tables: Tables, rules: FrontierRules) -> None:
        self._tables = tables
        self._is_exact = rules.seen == "exact"
        self._bloom = BloomFilter.for_error(rules.seen_capacity, rules.seen_error)
        self.known = 0
        fingerprints = iter(tables.seen.keys())
        while chunk := list(islice(fingerprints, _LOAD_CHUNK)):
            self._bloom.add_many(b"".join(chunk))
            self.known += len(chunk)

    def keep_new(self, targets: Sequence[Target]) -> list[Target]:
        """The targets that were not known, each once. They are known from now on."""
        first = {target.fingerprint: target for target in reversed(targets)}
        add = self._bloom.add
        doubtful = [fingerprint for fingerprint in first if not add(fingerprint)]
        if doubtful:
            if self._is_exact:
                found = self._tables.seen.get(doubtful)
                doubtful = [key for key, value in zip(doubtful, found, strict=True) if value is not None]
            for fingerprint in doubtful:
                del first[fingerprint]
        self.known += len(first)
        return list(reversed(first.values())) if len(first) > 1 else list(first.values())
