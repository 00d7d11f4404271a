"""The frontier's tables in memory: dictionaries, and sorted keys where order matters. Nothing survives the process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Awaitable, Iterator, Mapping, Sequence

from lycosa.frontier.tables import ORDERED, TABLES, Batch, Done, Row


class MemoryTables:
    """Implements `Tables`."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
        self.fingerprints: set[bytes] = set()
        self._sorted: dict[str, list[bytes]] = {table: [] for table in ORDERED}

    async def get(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        rows = self.rows[table]
        return [rows.get(key) for key in keys]

    async def scan(self, table: str, after: bytes, limit: int) -> list[Row]:
        rows, keys = self.rows[table], self._sorted[table]
        first = bisect_right(keys, after)
        return [(key, rows[key]) for key in keys[first : first + limit]]

    async def known(self, fingerprints: Sequence[bytes]) -> list[bool]:
        return [fingerprint in self.fingerprints for fingerprint in fingerprints]

    def write(self, batch: Batch) -> Awaitable[None]:
        for table, changes in batch.tables.items():
            rows = self.rows[table]
            if table in self._sorted:
                _sort_in(self._sorted[table], rows, changes)
            for key, value in changes.items():
                if value is None:
                    rows.pop(key, None)
                else:
                    rows[key] = value
        for fingerprint, is_known in batch.known.items():
            (self.fingerprints.add if is_known else self.fingerprints.discard)(fingerprint)
        return Done()

    async def durable(self) -> None:
        """Nothing here survives a power cut, and nobody who chose it wants that."""

    async def close(self) -> None:
        """There is nothing to let go of."""


class MemoryReader:
    """Implements `Reader`, in the process of whoever writes."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables

    def get(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        rows = self._tables.rows[table]
        return [rows.get(key) for key in keys]

    def rows(self, table: str) -> Iterator[Row]:
        return iter(sorted(self._tables.rows[table].items()))

    def known(self, fingerprints: Sequence[bytes]) -> list[bool]:
        return [fingerprint in self._tables.fingerprints for fingerprint in fingerprints]

    def count_known(self) -> int:
        return len(self._tables.fingerprints)

    def close(self) -> None:
        """The writer's tables stay open."""


def _sort_in(keys: list[bytes], rows: Mapping[bytes, bytes], changes: Mapping[bytes, bytes | None]) -> None:
    """Keep the keys of a table in order, before its rows change."""
    for key, value in changes.items():
        if value is None and key in rows:
            del keys[bisect_left(keys, key)]
        elif value is not None and key not in rows:
            insort(keys, key)
