"""Putting a crawl's folder in order after a crash: WARC files are repaired, rows left in journals become tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from lycosa.errors import lost
from lycosa.model import Links, Page, Response, Texts, Visit
from lycosa.settings import Settings
from lycosa.store.files import SyncFailed, sync_folder
from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.journal import JournalRow, is_done, name_of, read_rows
from lycosa.store.record import RecordLost, complete, read_record
from lycosa.store.repair import Repair, repair
from lycosa.store.tables import MAX_BUFFER_BYTES, TablePart

# Reads a page again from its response, as the visit did; must not raise.
Parse = Callable[[Visit, Response], tuple[Page, Links]]


class Recovery(NamedTuple):
    """What was found and done: WARC files closed, rows brought into the tables, rows dropped with their record."""

    repairs: list[Repair]
    rows: int
    dropped: int

    @property
    def cut_bytes(self) -> int:
        return sum(each.cut_bytes for each in self.repairs)


def recover(folder: CrawlFolder, settings: Settings, parse: Parse, *, worker: int | None = None) -> Recovery:
    """Put in order what one worker, or all, left behind; none of them may be running.

    It may be interrupted at any point and repeated. Raises `BackendLost` when the disk does not play along.
    """
    try:
        return _recover(folder, settings, parse, worker)
    except (OSError, SyncFailed) as error:
        raise lost(f"{folder.path}: cannot be put in order", error) from error


def _recover(folder: CrawlFolder, settings: Settings, parse: Parse, worker: int | None) -> Recovery:
    journals = folder.journals(worker)
    for part in folder.open_parts(worker):
        part.unlink()
    repairs = repair(folder, worker=worker, known=_known_records(journals, settings))
    rows = dropped = 0
    for journal in journals:
        if not is_done(folder, journal):
            found = list(read_rows(journal))
            kept = _rebuild(folder, name_of(journal), found, settings, parse)
            rows += kept
            dropped += len(found) - kept
        journal.unlink()
        sync_folder(folder.pages)
    return Recovery(repairs, rows, dropped)


def _known_records(journals: Sequence[Path], settings: Settings) -> dict[str, int]:
    """Per WARC file the last record that a journal vouches for: only what follows needs to be looked at.

    Without fsync a journal may have reached the disk before the records did, so it vouches for nothing.
    """
    known: dict[str, int] = {}
    if settings.durability == "power":
        for journal in journals:
            for row in read_rows(journal):
                file, offset = row.visit.warc_file, row.visit.warc_offset
                known[file] = max(known.get(file, 0), offset)
    return known


def _rebuild(folder: CrawlFolder, name: str, rows: list[JournalRow], settings: Settings, parse: Parse) -> int:
    """Write the part that a journal stands for; returns how many rows it has. Nothing is written for none."""
    # Left by a crash between the two renames of a part.
    (folder.links / (name + PARQUET)).unlink(missing_ok=True)
    part = TablePart(folder, name)
    for row in rows:
        if (found := _read_again(folder, row, settings, parse)) is not None:
            part.add(row.visit, *found)
        if part.buffered_bytes >= MAX_BUFFER_BYTES:
            part.write(part.take())
    part.write(part.take())
    part.finish()
    return part.rows


def _read_again(folder: CrawlFolder, row: JournalRow, settings: Settings, parse: Parse) -> tuple[Texts, Links] | None:
    """Texts and links of a row, from its WARC record; None if that record was cut, and the row with it."""
    visit, nothing = row.visit, (Texts(), Links([], [], []))
    if visit.warc_offset < 0:
        return nothing
    try:
        record = read_record(folder, visit.warc_file, visit.warc_offset, visit.warc_length)
    except RecordLost:
        return None
    if not (row.has_text or row.has_links):
        return nothing
    try:
        response = complete(folder, record, settings.max_body_bytes)
    except RecordLost:
        # The record is there, but it refers to a file that someone took away.
        return nothing
    page, links = parse(visit, response)
    # A page that asked not to be indexed was kept without its text, and stays so.
    texts = Texts(page.text, page.content, page.comments) if row.has_text else Texts()
    return texts, links if row.has_links else nothing[1]
