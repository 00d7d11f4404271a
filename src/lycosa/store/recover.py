"""Putting a crawl's folder in order after a crash: WARC files are repaired, rows left in journals become tables.

What there is to do is fixed first (`leftovers`), while nobody writes; the rest may take its time, beside those who
write new files by then: every page whose text no part has is read again from its WARC record.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

from lycosa.errors import lost
from lycosa.model import Links, Page, Response, Texts, Visit, texts_of
from lycosa.settings import Settings
from lycosa.store.files import SyncFailed, closed, sync_folder
from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.journal import JournalRow, is_done, name_of, read_rows
from lycosa.store.logbook import RecordsLeft, RowsLeft, events, note
from lycosa.store.parts import part_kept
from lycosa.store.record import RecordLost, complete_visit, members, read_record
from lycosa.store.repair import Repair, repair_file

# Reads a page again from its response, as the visit did; must not raise.
Parse = Callable[[Visit, Response], tuple[Page, Links]]


class RecoveryStopped(Exception):
    """It was not to go on; what is left to do waits for the next start."""


class Leftovers(NamedTuple):
    """What one worker, or all, left behind, and of each journal which rows do not count (see `RowsLeft`)."""

    journals: list[Path]
    warcs: list[Path]
    parts: list[Path]
    uncounted: Mapping[str, Collection[int]]

    def __bool__(self) -> bool:
        return bool(self.files)

    @property
    def files(self) -> set[Path]:
        return {*self.journals, *self.warcs, *self.parts}

    def without(self, files: Set[Path]) -> Leftovers:
        """What is left if somebody else takes care of these."""
        journals, warcs, parts = (
            [path for path in paths if path not in files] for paths in (self.journals, self.warcs, self.parts)
        )
        return Leftovers(journals, warcs, parts, self.uncounted)


class Recovery(NamedTuple):
    """What was found and done: WARC files closed, rows brought into the tables, rows dropped with their record.

    `lost` are the fingerprints of the dropped ones; `uncounted` is how many rows were left out because their visits
    had not been settled, and are repeated.
    """

    repairs: Sequence[Repair] = ()
    rows: int = 0
    dropped: int = 0
    lost: tuple[bytes, ...] = ()
    uncounted: int = 0

    @property
    def cut_bytes(self) -> int:
        return sum(each.cut_bytes for each in self.repairs)

    def and_then(self, other: Recovery) -> Recovery:
        """Both together."""
        return Recovery(
            [*self.repairs, *other.repairs],
            self.rows + other.rows,
            self.dropped + other.dropped,
            self.lost + other.lost,
            self.uncounted + other.uncounted,
        )


def leftovers(folder: CrawlFolder, worker: int | None = None) -> Leftovers:
    """What there is to put in order; none of those who made it may be running."""
    left = {event.journal: event.rows for event in events(folder) if isinstance(event, RowsLeft)}
    return Leftovers(folder.journals(worker), folder.open_warcs(worker), folder.open_parts(worker), left)


def note_uncounted(folder: CrawlFolder, found: Leftovers, uncounted: Mapping[Path, Sequence[int]]) -> Leftovers:
    """Rows that did not count stay out of the tables for good, also if their visits are repeated before recovery is."""
    new = {}
    for journal, numbers in uncounted.items():
        if numbers:
            rows, name = list(read_rows(journal)), name_of(journal)
            places = [(rows[each].visit.warc_file, rows[each].visit.warc_offset) for each in numbers]
            before = list(found.uncounted.get(name, ()))
            note(folder, RowsLeft(name, [*before, *numbers], [place for place in places if place[1] >= 0]))
            new[name] = [*before, *numbers]
    return found._replace(uncounted={**found.uncounted, **new})


def recover(
    folder: CrawlFolder,
    settings: Settings,
    parse: Parse,
    *,
    worker: int | None = None,
    found: Leftovers | None = None,
    rest: Callable[[], None] = lambda: None,
) -> Recovery:
    """Put in order what one worker, or all, left behind; or just what was found.

    It may be interrupted at any point and repeated. `rest` is called between pages, and may raise `RecoveryStopped`.
    Raises `BackendLost` when the disk does not play along.
    """
    try:
        return _recover(folder, settings, parse, leftovers(folder, worker) if found is None else found, rest)
    except (OSError, SyncFailed) as error:
        raise lost(f"{folder.path}: cannot be put in order", error) from error


def _recover(
    folder: CrawlFolder, settings: Settings, parse: Parse, found: Leftovers, rest: Callable[[], None]
) -> Recovery:
    for part in found.parts:
        part.unlink(missing_ok=True)
    last = _last_records(found.journals)
    _note_records_left(folder, found.warcs, last)
    # Without fsync a journal may have reached the disk before the records did, so it vouches for nothing.
    vouched = last if settings.durability == "power" else {}
    recovery = Recovery([repair_file(path, vouched.get(closed(path).name, 0)) for path in found.warcs])
    for journal in found.journals:
        if not is_done(folder, journal):
            uncounted = set(found.uncounted.get(name_of(journal), ()))
            recovery = recovery.and_then(_rebuild(folder, journal, uncounted, _Again(folder, settings, parse, rest)))
        journal.unlink()
        sync_folder(folder.pages)
    return recovery


def _last_records(journals: Sequence[Path]) -> dict[str, int]:
    """Per WARC file the last record that a row names: only what follows needs to be looked at."""
    last: dict[str, int] = {}
    for journal in journals:
        for row in read_rows(journal):
            file, offset = row.visit.warc_file, row.visit.warc_offset
            last[file] = max(last.get(file, 0), offset)
    return last


def _note_records_left(folder: CrawlFolder, warcs: Sequence[Path], last: Mapping[str, int]) -> None:
    """Records come to the disk before their rows do: those without one are told apart from lost rows later."""
    for path in warcs:
        file = closed(path).name
        if not last.get(file):
            continue
        with path.open("rb") as stream:
            _, *behind = [member.offset for member in members(stream, last[file])] or [0]
        if behind:
            note(folder, RecordsLeft([(file, offset) for offset in behind]))


class _Again(NamedTuple):
    """How pages are read again."""

    folder: CrawlFolder
    settings: Settings
    parse: Parse
    rest: Callable[[], None]


def _rebuild(folder: CrawlFolder, journal: Path, uncounted: set[int], again: _Again) -> Recovery:
    """Write the part that a journal stands for. Nothing is written for no rows."""
    # Imported here, since most crawls begin with nothing to mend.
    from lycosa.store.tables import MAX_BUFFER_BYTES, TablePart

    name, dropped = name_of(journal), []
    # Left by a crash between the two renames of a part.
    for place in (folder.links, folder.items):
        (place / (name + PARQUET)).unlink(missing_ok=True)
    part = TablePart(folder, name)
    try:
        for number, row in enumerate(read_rows(journal)):
            again.rest()
            if number in uncounted:
                continue
            if (found := _read_again(row, again)) is not None:
                part.add(row.visit, *found, row.items)
            else:
                dropped.append(row.fingerprint)
            if part.buffered_bytes >= MAX_BUFFER_BYTES:
                part.write(part.take())
    except RecoveryStopped:
        part.abandon()
        raise
    part.write(part.take())
    part.finish()
    if part.rows:
        note(folder, part_kept(folder, name, part.rows, part.newest_at))
    return Recovery([], part.rows, len(dropped), tuple(filter(None, dropped)), len(uncounted))


def _read_again(row: JournalRow, again: _Again) -> tuple[Texts, Links] | None:
    """Texts and links of a row, from its WARC record; None if that record was cut, and the row with it."""
    visit, nothing = row.visit, (Texts(), Links([], [], []))
    if visit.warc_offset < 0:
        return nothing
    try:
        record = read_record(again.folder, visit.warc_file, visit.warc_offset, visit.warc_length)
    except RecordLost:
        return None
    if not (row.has_text or row.has_links):
        return nothing
    try:
        response = complete_visit(again.folder, visit, record, again.settings.max_body_bytes)
    except RecordLost:
        # The record is there, but it refers to a file that someone took away.
        return nothing
    page, links = again.parse(visit, response)
    # A page that asked not to be indexed was kept without its text, and stays so.
    texts = texts_of(page) if row.has_text else Texts()
    return texts, links if row.has_links else nothing[1]
