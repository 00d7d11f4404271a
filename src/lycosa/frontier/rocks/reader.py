"""The frontier's tables in RocksDB, as others read them beside their one writer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lycosa.frontier.rocks.database import FRESH, KNOWN, Database
from lycosa.frontier.rocks.known import gathered_in, named_fingerprints
from lycosa.frontier.tables import HISTORY, META, Row


class RocksReader:
    """Implements `Reader`: the tables as they were when it was opened. Disturbs no crawl that writes them."""

    def __init__(self, folder: Path) -> None:
        self._database = Database(folder, is_secondary=True)
        (mode,) = self._database.get(META, [b"seen"])
        self._is_exact = mode != b"bloom"

    def get(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._database.get(table, keys)

    def rows(self, table: str) -> Iterator[Row]:
        return self._database.rows(table)

    def known(self, fingerprints: Sequence[bytes]) -> list[bool]:
        """Whether each of these has a row that says so: where a filter has the last word it may be known without."""
        marked, visited = (self._database.get(family, fingerprints) for family in (KNOWN, HISTORY))
        fresh = gathered_in(raw for _, raw in self._database.rows(FRESH))
        return [
            row is not None or past is not None or mark in fresh
            for mark, row, past in zip(fingerprints, marked, visited, strict=True)
        ]

    def count_known(self) -> int:
        """By counting; where a filter has the last word, those that the tables name, and what is due again twice."""
        return sum(1 for _ in named_fingerprints(self._database, is_exact=self._is_exact))

    def close(self) -> None:
        self._database.close()
