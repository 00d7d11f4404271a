"""Reading a crawl back: SQL over its tables, the versions of a page, and the bytes that came.

Everything here only reads, so it may run beside the crawl: each answer is of one moment.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from lycosa.errors import SettingsError
from lycosa.model import OutcomeKind, Response, Visit
from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.journal import JournalRow, name_of, read_rows
from lycosa.store.record import MAX_BODY_BYTES, Record, RecordLost, read_record, read_response, read_visit, records

# With `connect`, which imports them: a quarter of a second before anybody has asked for a row.
if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = [
    "RecordLost",
    "Version",
    "all_records",
    "connect",
    "page_at",
    "parquet_source",
    "read_record",
    "read_response",
    "response_of_visit",
    "versions",
    "visits_among",
]

_FIELDS = [field.name for field in msgspec.structs.fields(Visit)]
_COLUMNS = ", ".join("epoch_us(fetched_at) AS fetched_at" if name == "fetched_at" else name for name in _FIELDS)
# The outcomes that bring content of their own.
_WITH_CONTENT = (OutcomeKind.STORED, OutcomeKind.DUPLICATE)


class Version(NamedTuple):
    """What one visit of a URL found. `text` is None while only the journal knows the visit."""

    visit: Visit
    text: str | None


def connect(folder: CrawlFolder) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with the views `pages`, `links` and `items`, as the folder was at this moment; times are UTC.

    Visits whose part is not written yet are in `pages` too, their `text` null, and their items in `items`; their links
    are not in `links`.
    Raises `SettingsError` if another version of lycosa wrote them.
    """
    import duckdb

    from lycosa.store.tables import LINKS, PAGES, plain, waiting_items_table, waiting_table

    # Journals first: rows that move into a part meanwhile are found there, and left out here.
    waiting = {name_of(journal): _rows(journal) for journal in folder.journals()}
    pages, links, items = (sorted(place.glob(f"*{PARQUET}")) for place in (folder.pages, folder.links, folder.items))
    for part in pages:
        waiting.pop(part.name.removesuffix(PARQUET), None)
    connection = duckdb.connect()
    rows = [row for some in waiting.values() for row in some]
    _view(connection, "pages", pages, waiting_table([row.visit for row in rows]))
    _view(connection, "items", items, waiting_items_table([(row.visit, row.items) for row in rows]), "page_row")
    _view(connection, "links", links, plain(LINKS).empty_table())
    if set(connection.table("pages").columns) != set(PAGES.names):
        connection.close()
        raise SettingsError(f"{folder.path}: its tables are of another version of lycosa, with other columns")
    return connection


def versions(folder: CrawlFolder, url: str) -> list[Visit]:
    """Every visit of a URL, oldest first."""
    return [version.visit for version in _versions(folder, url, with_text=False)]


def page_at(folder: CrawlFolder, url: str, at: float | None = None) -> Version | None:
    """The newest version with content of a URL, at or before a moment; None if there is none."""
    found = [
        version
        for version in _versions(folder, url, with_text=True)
        if version.visit.outcome in _WITH_CONTENT and (at is None or version.visit.fetched_at <= at)
    ]
    return found[-1] if found else None


def response_of_visit(folder: CrawlFolder, visit: Visit, *, max_body_bytes: int = MAX_BODY_BYTES) -> Response | None:
    """The exchange of a visit, or None if it had none; an unchanged page has the one it was compared with.

    Raises `RecordLost`.
    """
    if visit.status == 304 and (before := page_at(folder, visit.url, visit.fetched_at)) is not None:
        visit = before.visit
    if visit.warc_offset < 0:
        return None
    return read_visit(folder, visit, max_body_bytes=max_body_bytes)


def visits_among(folder: CrawlFolder, is_wanted: Callable[[str, int], bool]) -> Iterator[Visit]:
    """The visits that brought content and have a record, of those URLs that are wanted by URL and depth."""
    query = (
        f"SELECT {_COLUMNS} FROM pages "  # noqa: S608
        "WHERE outcome IN ('stored', 'duplicate') AND warc_offset >= 0 ORDER BY warc_file, warc_offset"
    )
    url, depth = _FIELDS.index("url"), _FIELDS.index("depth")
    with connect(folder) as connection:
        found = connection.execute(query)
        while some := found.fetchmany(1000):
            yield from (_visit(row) for row in some if is_wanted(row[url], row[depth]))


def all_records(folder: CrawlFolder) -> Iterator[Record]:
    """Every whole WARC record of a crawl, file by file; those being written last."""
    for path in [*folder.warc_files(), *folder.open_warcs()]:
        yield from records(path)


def _versions(folder: CrawlFolder, url: str, *, with_text: bool) -> list[Version]:
    text = "text" if with_text else "NULL"
    # The names are ours; what a user gives goes in as a parameter.
    query = f"SELECT {_COLUMNS}, {text} FROM pages WHERE url = ? ORDER BY pages.fetched_at"  # noqa: S608
    with connect(folder) as connection:
        return [Version(_visit(row), row[-1]) for row in connection.execute(query, [url]).fetchall()]


def _visit(row: Sequence[Any]) -> Visit:
    values = dict(zip(_FIELDS, row, strict=False))
    values["fetched_at"] /= 1_000_000
    values["outcome"] = OutcomeKind[values["outcome"].upper()]
    return Visit(**values)


def _rows(journal: Path) -> list[JournalRow]:
    try:
        return list(read_rows(journal))
    except FileNotFoundError:
        return []  # its part was completed just now


def _view(
    connection: duckdb.DuckDBPyConnection, name: str, parts: list[Path], waiting: pa.Table, hidden: str = ""
) -> None:
    connection.register(f"{name}_waiting", waiting)
    query = f"SELECT * FROM {name}_waiting"  # noqa: S608
    if parts:
        query = f"SELECT * FROM {parquet_source(parts)} UNION ALL BY NAME {query}"  # noqa: S608
    # Moments as plain timestamps in UTC: those with a zone are shown in the reader's, and need further packages
    # to come out of DuckDB as Python values.
    moment = "make_timestamp(epoch_us(fetched_at)) AS fetched_at"
    shown = f"* EXCLUDE ({hidden})" if hidden else "*"
    connection.execute(f"CREATE VIEW {name} AS SELECT {shown} REPLACE ({moment}) FROM ({query})")  # noqa: S608


def parquet_source(parts: Sequence[Path]) -> str:
    """The rows of some Parquet files, as SQL names them."""
    return f"read_parquet([{', '.join(_quoted(part) for part in parts)}])"


def _quoted(path: Path) -> str:
    # DuckDB takes file names for patterns.
    return "'" + glob.escape(str(path)).replace("'", "''") + "'"
