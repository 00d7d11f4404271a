"""Tables as a SQLite database that datasette and others open."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_ROWS_AT_ONCE = 1_000
_INDEXED = {
    "pages": ("url", "host", "outcome", "fetched_at"),
    "links": ("source", "target"),
    "items": ("url",),
    "history": ("url",),
    "hosts": ("host",),
}


def write_sqlite(
    connection: duckdb.DuckDBPyConnection, what: str, rows: str, out: Path, told_columns: Callable[[str], str]
) -> int:
    """Write one table, and with pages the links that they have; returns the rows of the table."""
    with closing(sqlite3.connect(out)) as database:
        count = _copy(connection, database, what, rows, told_columns)
        if what == "pages":
            links = f"SELECT * FROM links WHERE source IN (SELECT url FROM ({rows}))"  # noqa: S608
            _copy(connection, database, "links", links, told_columns)
        database.commit()
    return count


def _copy(
    connection: duckdb.DuckDBPyConnection,
    database: sqlite3.Connection,
    table: str,
    rows: str,
    told_columns: Callable[[str], str],
) -> int:
    """Moments become texts that name their zone, which sort as they should."""
    result = connection.execute(f"SELECT {told_columns(rows)} FROM ({rows})")  # noqa: S608
    names = [column[0] for column in result.description or []]
    columns = ", ".join(f'"{name}"' for name in names)
    database.execute(f"CREATE TABLE {table} ({columns})")
    marks = ", ".join("?" * len(names))
    count = 0
    while some := result.fetchmany(_ROWS_AT_ONCE):
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", some)  # noqa: S608
        count += len(some)
    for name in _INDEXED[table]:
        database.execute(f"CREATE INDEX {table}_{name} ON {table} ({name})")
    return count
