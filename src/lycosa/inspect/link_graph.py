"""The link graph of a crawl as SQL views, between pages and between hosts. It knows nobody who looks at it.

Of a page that was visited more than once, the links of its newest visit count.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lycosa.store.folder import PARQUET, CrawlFolder

if TYPE_CHECKING:
    import duckdb

HOST_OF = r"regexp_extract({}, '^https?://(\[[^]]*\]|[^/:?#]+)', 1)"
_EDGES = """
CREATE TEMP VIEW edges AS
SELECT DISTINCT source, target FROM links
JOIN (SELECT source, max(fetched_at) AS fetched_at FROM links GROUP BY source) USING (source, fetched_at)
"""
_HOST_EDGES = f"""
CREATE TEMP VIEW host_edges AS
SELECT {HOST_OF.format("source")} AS source, {HOST_OF.format("target")} AS target, count(*) AS links
FROM edges GROUP BY ALL
"""  # noqa: S608
# The weightiest connections of hosts; more than a picture can show.
MAX_HOST_LINKS = 20_000
# Links from which a picture is drawn without being asked for; a second or two of CPU.
MAX_SAMPLED_LINKS = 2_000_000


class HostLink(NamedTuple):
    """How many links lead from one host to another."""

    source: str
    target: str
    links: int


class HostGraph(NamedTuple):
    """The weightiest links between hosts, of so many links. If that is a sample, `share` is about how much of all."""

    links: list[HostLink]
    looked_at: int = 0
    share: float = 1.0


def add_link_graph(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the views `edges` (source, target) and `host_edges` (source, target, links)."""
    connection.execute(_EDGES)
    connection.execute(_HOST_EDGES)


def weightiest_host_links(connection: duckdb.DuckDBPyConnection) -> list[HostLink]:
    """Which hosts link to which, the most links first; the views must have been added."""
    rows = connection.execute(
        "SELECT source, target, links FROM host_edges WHERE source <> '' AND target <> ''"
        " ORDER BY links DESC, source, target LIMIT ?",
        [MAX_HOST_LINKS],
    ).fetchall()
    return [HostLink(*row) for row in rows]


def host_graph(folder: CrawlFolder, max_links: int = MAX_SAMPLED_LINKS) -> HostGraph:
    """Which hosts link to which, by the newest links up to a number: what it costs is bounded, however large a crawl.

    Each visit of a page counts.
    """
    import duckdb

    from lycosa.store.read import parquet_source

    parts = sorted(folder.links.glob(f"*{PARQUET}"), reverse=True)
    chosen: list[Path] = []
    rows = 0
    source, target = HOST_OF.format("source"), HOST_OF.format("target")
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        while rows < max_links and len(chosen) < len(parts):
            part = parts[len(chosen)]
            chosen.append(part)
            [(count,)] = connection.execute(f"SELECT count(*) FROM {parquet_source([part])}").fetchall()  # noqa: S608
            rows += count
        if not rows:
            return HostGraph([])
        looked_at = min(rows, max_links)
        found = connection.execute(
            "SELECT * FROM (SELECT one, other, count(*) AS links FROM"  # noqa: S608
            f" (SELECT {source} AS one, {target} AS other FROM {parquet_source(chosen)} LIMIT ?) GROUP BY one, other)"
            " WHERE one <> '' AND other <> '' ORDER BY links DESC, one, other LIMIT ?",
            [max_links, MAX_HOST_LINKS],
        ).fetchall()
    # Of thousands of parts nobody counts the rows; their sizes are at hand.
    share = _bytes_of(chosen) / _bytes_of(parts) * looked_at / rows
    return HostGraph([HostLink(*row) for row in found], looked_at, share)


def _bytes_of(parts: Iterable[Path]) -> int:
    return sum(part.stat().st_size for part in parts)
