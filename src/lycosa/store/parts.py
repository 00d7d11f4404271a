"""Whether the parts of the tables are there, and whole, as the logbook says. Looks at names, sizes and footers.

Arrow is imported where there is a part to look into: a crawl that begins has none, and need not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lycosa.store.files import OPEN, maker_of, sync_folder
from lycosa.store.folder import JOURNAL, PARQUET, CrawlFolder
from lycosa.store.journal import Journal, JournalRow
from lycosa.store.logbook import PartKept, PartLost, events, note

# Where a part goes that cannot be read: one of them would keep every reader from all others.
DAMAGED = "damaged"


class DamagedPart(NamedTuple):
    """A part that is gone, or cannot be read; -1 where nobody knows how many rows it had."""

    name: str
    rows: int
    is_gone: bool


def part_kept(folder: CrawlFolder, name: str, rows: int, newest_at: float = 0.0) -> PartKept:
    """What the logbook says of a part that was just completed."""
    pages, links, items = (_size(place / (name + PARQUET)) for place in (folder.pages, folder.links, folder.items))
    return PartKept(name, rows, pages, links, newest_at, items)


def check_parts(folder: CrawlFolder) -> list[DamagedPart]:
    """Find parts that are gone or damaged, set those aside, and note it; what the logbook did not know it knows then.

    What can be made again from a journal, or by reading pages again, is none of them: `recover` makes it. Of files
    that leave for an object store nothing can be said here.
    """
    if folder.away:
        return []
    listed = _listed(folder)
    found = {path.name.removesuffix(PARQUET) for path in _own(folder, folder.pages)}
    new = {name: part for name in sorted(found - listed.keys()) if (part := _part_on_disk(folder, name))}
    bad = [part for part in listed.values() if not _is_as_listed(folder, part)]
    bad += [PartKept(name, -1, 0) for name in sorted(found - listed.keys() - new.keys())]
    damaged = []
    for part in bad:
        if not _has_journal(folder, part.name) and not _write_journal(folder, part):
            damaged.append(DamagedPart(part.name, part.rows, part.name not in found))
        _set_aside(folder, part.name)
    note(folder, *new.values(), *(PartLost(part.name) for part in bad))
    return damaged


def _has_journal(folder: CrawlFolder, name: str) -> bool:
    return (folder.pages / (name + JOURNAL + OPEN)).exists()


def _write_journal(folder: CrawlFolder, part: PartKept) -> bool:
    """Where only the links of a part came to harm: what it takes to make all again. Returns whether it did."""
    pages, items = folder.pages / (part.name + PARQUET), folder.items / (part.name + PARQUET)
    if _size(pages) != part.bytes or _rows(pages) != part.rows or _size(items) != part.item_bytes:
        return False
    import pyarrow as pa

    from lycosa.store.tables import items_of, visits_of

    try:
        found = items_of(items) if part.item_bytes else {}
        rows = [
            JournalRow(visit, has_text=has_text, has_links=visit.out_links > 0, items=found.get(row, ()))
            for row, (visit, has_text) in enumerate(visits_of(pages))
        ]
    except (OSError, pa.ArrowException):
        return False
    journal = Journal(folder, part.name)
    for row in rows:
        journal.append(row)
    journal.stage()
    journal.commit(power_safe=True)
    journal.close()
    return True


def _listed(folder: CrawlFolder) -> dict[str, PartKept]:
    parts: dict[str, PartKept] = {}
    for event in events(folder):
        match event:
            case PartKept():
                parts[event.name] = event
            case PartLost():
                parts.pop(event.name, None)
    return parts


def _own(folder: CrawlFolder, place: Path) -> Iterable[Path]:
    """The parts of this seat, or of all."""
    for path in place.glob(f"*{PARQUET}"):
        maker = maker_of(path.name)
        if maker and folder.seat in ("", maker.seat):
            yield path


def _is_as_listed(folder: CrawlFolder, part: PartKept) -> bool:
    pages, links, items = (place / (part.name + PARQUET) for place in (folder.pages, folder.links, folder.items))
    sizes = part.bytes, part.link_bytes, part.item_bytes
    is_long_enough = (_size(pages), _size(links), _size(items)) == sizes
    has_others = all(_rows(path) >= 0 for path, size in ((links, part.link_bytes), (items, part.item_bytes)) if size)
    return is_long_enough and _rows(pages) == part.rows and has_others


def _part_on_disk(folder: CrawlFolder, name: str) -> PartKept | None:
    """A part that an older version wrote, or that a crash kept from being noted; None if it cannot be read."""
    rows = _rows(folder.pages / (name + PARQUET))
    others = (place / (name + PARQUET) for place in (folder.links, folder.items))
    is_whole = rows >= 0 and all(not path.exists() or _rows(path) >= 0 for path in others)
    return part_kept(folder, name, rows) if is_whole else None


def _rows(path: Path) -> int:
    """How many rows a Parquet file has by its footer; -1 if it has none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return -1


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _set_aside(folder: CrawlFolder, name: str) -> None:
    """Links and items too: the pages that they are of will be visited again."""
    for place in (folder.links, folder.items, folder.pages):
        path = place / (name + PARQUET)
        if path.exists():
            aside = place / DAMAGED
            aside.mkdir(exist_ok=True)
            path.replace(aside / path.name)
            sync_folder(aside)
            sync_folder(place)
