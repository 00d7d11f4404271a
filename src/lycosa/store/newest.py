"""When a crawl last visited anything: `status` asks it so often that it shall not wait for DuckDB and Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.journal import read_rows
from lycosa.store.logbook import PartKept, events


def newest_visit_at(folder: CrawlFolder) -> float:
    """When the newest row of `pages` was fetched; 0 if there is none.

    The logbook knows it of every part that is as long as it was. Where one is not, the tables are read, with their
    errors.
    """
    waiting = [at for journal in folder.journals() for at in _moments(journal)]
    noted = {
        (event.name + PARQUET, event.bytes): event.newest_at
        for place in (folder, *folder.seats())
        for event in events(place)
        if isinstance(event, PartKept)
    }
    parts = [noted.get(part, 0.0) for part in _parts(folder)]
    return max((*waiting, *parts), default=0.0) if all(parts) else _newest_by_tables(folder)


def _parts(folder: CrawlFolder) -> Iterator[tuple[str, int]]:
    """The parts of `pages` by name and length."""
    for path in folder.pages.glob(f"*{PARQUET}"):
        with suppress(FileNotFoundError):  # somebody has set it aside just now
            yield path.name, path.stat().st_size


def _moments(journal: Path) -> Iterator[float]:
    with suppress(FileNotFoundError):  # its part was completed just now
        yield from (row.visit.fetched_at for row in read_rows(journal))


def _newest_by_tables(folder: CrawlFolder) -> float:
    from lycosa.store.read import connect

    with connect(folder) as connection:
        row = connection.execute("SELECT epoch_us(max(fetched_at)) FROM pages").fetchone()
    return row[0] / 1_000_000 if row and row[0] else 0.0
