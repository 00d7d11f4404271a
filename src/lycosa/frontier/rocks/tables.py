"""The frontier's tables in RocksDB, as their one writer has them."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

from rocksdict import ColumnFamily, WriteBatch

from lycosa.dedupe.comparison import Signature
from lycosa.dedupe.rocks import GroupPlanner, GroupTables
from lycosa.figures import Durations, FilterFigures
from lycosa.frontier.rocks.commit import GroupCommit
from lycosa.frontier.rocks.database import Database
from lycosa.frontier.rocks.known import KnownUrls, SeenMode
from lycosa.frontier.tables import META, Batch, Done, Row
from lycosa.model import Placement

_SECRET_BYTES = 16


class RocksTables:
    """Implements `Tables`. A batch is in the log of the operating system as soon as `write` returns."""

    def __init__(
        self,
        folder: Path,
        *,
        durability: Literal["power", "process"] = "power",
        seen: SeenMode = "exact",
        seen_capacity: int = 10_000_000,
        seen_error: float = 0.01,
    ) -> None:
        self._database = Database(folder)
        try:
            self._known = KnownUrls(self._database, seen, seen_capacity, seen_error)
        except BaseException:
            self._database.close()
            raise
        self._planner = GroupPlanner(self.groups)
        self._rows = _no_rows()  # of the next write: so far what texts have changed in their groups
        self._commit = GroupCommit(self._database.sync, is_wanted=durability == "power")

    async def get(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._database.get(table, keys)

    async def scan(self, table: str, after: bytes, limit: int) -> list[Row]:
        # No key stands between one and the same with a zero behind it.
        return list(islice(self._database.rows(table, after + b"\0"), limit))

    def rows(self, table: str) -> Iterator[Row]:
        """All rows of a table, as they are when they are reached."""
        return self._database.rows(table)

    async def known(self, fingerprints: Sequence[bytes]) -> list[bool]:
        return self._known.are_known(fingerprints)

    def write(self, batch: Batch) -> Awaitable[None]:
        for table, changes in batch.tables.items():
            _add_rows(self._rows, self._database.handles[table], changes)
        self._known.add_rows(self._rows, batch)
        self._write_rows()
        # Not before: a filter must not know what was never written.
        self._known.note(batch)
        return Done()

    async def durable(self) -> None:
        await self._commit.durable()

    @property
    def syncs(self) -> Durations:
        """How long the disk took."""
        return self._commit.syncs

    def filter_figures(self) -> FilterFigures:
        """How good the filter of known URLs is."""
        return self._known.figures()

    async def close(self) -> None:
        try:
            await self._commit.finish()
            self._known.part(self._rows)
            if len(self._rows):
                self._write_rows()
            self._database.sync()
            # Without the file the filter is built again at the next start.
            with contextlib.suppress(OSError):
                self._known.save()
        finally:
            del self._planner, self._rows
            self._database.close()

    @property
    def groups(self) -> GroupTables:
        """The groups of like texts, to read from."""
        assert self._database.groups, "open"
        return self._database.groups

    def group_of(self, signature: Signature) -> Placement:
        """Where a text belongs. What that changes is seen at once, and kept with the next write, all of it or nothing.

        A crash before that forgets the text together with its visit.
        """
        return self._planner.plan(self._rows, signature)

    def crawl_key(self) -> bytes:
        """The secret that keys this crawl's hashes; made on first use."""
        (key,) = self._database.get(META, [b"key"])
        if key is None:
            key = secrets.token_bytes(_SECRET_BYTES)
            self._database.put(META, b"key", key)
        return key

    def _write_rows(self) -> None:
        # A batch of RocksDB can be written once, also if that fails.
        rows, self._rows = self._rows, _no_rows()
        self._database.write(rows)
        self._planner.written()
        self._commit.note_write()


def _no_rows() -> WriteBatch:
    return WriteBatch(raw_mode=True)


def _add_rows(rows: WriteBatch, handle: ColumnFamily, changes: Mapping[bytes, bytes | None]) -> None:
    for key, value in changes.items():
        if value is None:
            rows.delete(key, handle)
        else:
            rows.put(key, value, handle)
