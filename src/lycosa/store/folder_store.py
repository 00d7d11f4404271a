"""The store in a crawl's folder: WARC records, the journal, and the tables behind it.

`put` only fills buffers. `sync` writes the WARC records, then the journal, on a thread of its own; the tables
are written by another whenever enough rows have come. A part is completed only after a sync that covers it, and after
its visits were settled: until then its journal tells `recover` which of them may not have counted.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import msgspec

from lycosa.errors import Shortage, lost
from lycosa.model import Items, Links, Page, Response, Visit, texts_of
from lycosa.settings import Settings
from lycosa.store.files import OPEN, FileNames, SyncFailed
from lycosa.store.folder import JOURNAL, PARQUET, CrawlFolder
from lycosa.store.journal import Journal, JournalRow
from lycosa.store.logbook import note
from lycosa.store.parts import part_kept
from lycosa.store.tables import MAX_BUFFER_BYTES, RowBatch, TablePart
from lycosa.store.warc import WarcWriter, is_kept

_log = logging.getLogger(__name__)
NO_LINKS = Links([], [], [])


class _Sheet(NamedTuple):
    """A part being filled, with its journal."""

    part: TablePart
    journal: Journal


class FolderStore:
    """Keeps the visits of one worker in a crawl's folder (`ports.Store`). Raises `BackendLost`."""

    def __init__(
        self, folder: CrawlFolder, worker: int, settings: Settings, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._warc = WarcWriter(folder, worker, settings, clock)
        self._names = FileNames(folder.seat, worker, clock)
        self._sheet: _Sheet | None = None
        # Full, waiting for the commit that covers their last rows.
        self._full: list[_Sheet] = []
        # Full and committed, waiting until their last visits are settled: whoever calls `sync` again has done that.
        self._committed: list[_Sheet] = []
        self._has_news = False
        self._is_broken = False
        self._one_commit = asyncio.Lock()
        self._committer = ThreadPoolExecutor(1, thread_name_prefix="store-commit")
        self._tabler = ThreadPoolExecutor(1, thread_name_prefix="store-tables")
        self._table_jobs: list[Future[None]] = []
        # Journals whose part could not be written; `recover` makes up for them at the next start.
        self.abandoned = 0

    def put(
        self,
        visit: Visit,
        response: Response | None,
        page: Page | None,
        links: Links = NO_LINKS,
        items: Items = (),
        *,
        fingerprint: bytes = b"",
        number: int = 0,
    ) -> None:
        """Buffer a visit; it is on disk once `sync` returned."""
        self._refuse_if_broken()
        try:
            sheet = self._writable()
            if response is not None and is_kept(response):
                # Of a rendered page it is the digest of what the browser made of the body.
                digest = "" if response.rendering else visit.digest
                file, offset, length = self._warc.append(response, visit.fetched_at, digest)
                visit = msgspec.structs.replace(visit, warc_file=file, warc_offset=offset, warc_length=length)
        except OSError as error:
            raise lost(f"{self._folder.path}: cannot be written", error) from error
        texts = texts_of(page)
        row = JournalRow(visit, any(texts), bool(links.targets), fingerprint, number, items)
        try:
            sheet.journal.append(row)
        except UnicodeEncodeError:
            sheet.journal.append(msgspec.structs.replace(row, visit=_encodable(visit)))
        sheet.part.add(visit, texts, links, items)
        self._has_news = True
        if sheet.part.buffered_bytes >= MAX_BUFFER_BYTES:
            self._submit(sheet.part, sheet.part.take())

    async def sync(self, *, is_power_safe: bool = True) -> None:
        """Make every visit put so far durable. After a full disk it may be called again and goes on."""
        async with self._one_commit:
            self._refuse_if_broken()
            if not self._has_news:
                return
            self._complete_parts()
            self._stage()
            await self._commit(is_power_safe=is_power_safe)
            self._committed, self._full = self._full, []
            await self._catch_up(behind=2)

    async def close(self) -> None:
        """Make everything durable, complete the tables, give the files their names."""
        self._warc.finish()
        self._retire()
        self._has_news = True
        try:
            await self.sync()
            self._complete_parts()
            await self._catch_up(behind=0)
        finally:
            self._committer.shutdown()
            self._tabler.shutdown()

    def _writable(self) -> _Sheet:
        if self._sheet is None:
            name = self._names.new(self._is_taken)
            self._sheet = _Sheet(TablePart(self._folder, name), Journal(self._folder, name))
        return self._sheet

    def _is_taken(self, name: str) -> bool:
        return any((self._folder.pages / (name + end)).exists() for end in (PARQUET, PARQUET + OPEN, JOURNAL + OPEN))

    def _stage(self) -> None:
        """Fix what this commit covers; a sheet that is full gets no more rows."""
        self._has_news = False
        self._warc.stage()
        if self._sheet is not None:
            self._sheet.journal.stage()
            if self._sheet.part.rows >= self._settings.parquet_rows:
                self._retire()

    def _retire(self) -> None:
        if self._sheet is not None:
            self._sheet.journal.stage()
            self._full.append(self._sheet)
            self._sheet = None

    async def _commit(self, *, is_power_safe: bool) -> None:
        journals = [sheet.journal for sheet in self._full]
        if self._sheet is not None:
            journals.append(self._sheet.journal)
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._committer, self._write, journals, is_power_safe)
        except OSError as error:
            self._has_news = True
            raise lost(f"{self._folder.path}: cannot be written", error) from error
        except SyncFailed as error:
            self._is_broken = True
            raise Shortage(f"{self._folder.path}: the disk lost what was written: {error}") from error
        except asyncio.CancelledError:
            # The thread may or may not have written it: the next sync looks again.
            self._has_news = True
            raise

    def _write(self, journals: list[Journal], is_power_safe: bool) -> None:
        self._warc.commit()
        for journal in journals:
            journal.commit(power_safe=is_power_safe and self._settings.durability == "power")

    def _complete_parts(self) -> None:
        for sheet in self._committed:
            self._submit(sheet.part, sheet.part.take(), completes=sheet.journal)
        self._committed.clear()

    def _submit(self, part: TablePart, batch: RowBatch, completes: Journal | None = None) -> None:
        self._table_jobs.append(self._tabler.submit(self._write_table, part, batch, completes))

    def _write_table(self, part: TablePart, batch: RowBatch, completes: Journal | None) -> None:
        if part.is_whole:
            try:
                part.write(batch)
                if completes is not None:
                    part.finish()
                    note(self._folder, part_kept(self._folder, part.name, part.rows, part.newest_at))
                    completes.remove()
                return
            except (OSError, SyncFailed) as error:
                self.abandoned += 1
                _log.warning("a Parquet part could not be written (%s); its rows wait in the journal", error)
                part.abandon()
        if completes is not None:
            completes.close()

    async def _catch_up(self, behind: int) -> None:
        """Wait until at most so many writes of tables are under way: they hold rows in memory."""
        while len(self._table_jobs) > behind:
            # Shielded: a visit that is given up must not take the rows of others with it.
            await asyncio.shield(asyncio.wrap_future(self._table_jobs[0]))
            self._table_jobs.pop(0)

    def _refuse_if_broken(self) -> None:
        if self._is_broken:
            raise Shortage(f"{self._folder.path}: a write to disk failed and may be lost; start again to recover")


def _encodable(visit: Visit) -> Visit:
    """The visit with half surrogate pairs replaced: they have no UTF-8 form."""
    values = msgspec.structs.asdict(visit)
    texts = {name: value.encode("utf-8", "replace").decode() for name, value in values.items() if type(value) is str}
    return msgspec.structs.replace(visit, **texts)
