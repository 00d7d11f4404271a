"""What `lycosa graph` shows beside figures: the links to one page, the graph as GraphML, a picture of the hosts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO
from xml.sax.saxutils import escape

from lycosa.cli.arguments import parse_url
from lycosa.cli.printing import print_json, print_table, say
from lycosa.errors import SettingsError
from lycosa.inspect.link_graph import weightiest_host_links

if TYPE_CHECKING:
    import duckdb

MAX_IN_LINKS = 1_000
_ROWS_AT_ONCE = 10_000
_NOT_XML = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF])


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """The options of what is here."""
    parser.add_argument("--in-links", metavar="URL", help="the pages that link to a URL, with the texts of their links")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="draw the graph of hosts into an SVG file")


def show_in_links(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace) -> None:
    """The links to one URL, of the newest visit of each page."""
    url = parse_url(options.in_links, is_kept=True).url
    rows = connection.execute(
        "SELECT DISTINCT source, anchor, rel FROM links"
        " JOIN (SELECT source, max(fetched_at) AS fetched_at FROM links GROUP BY source) USING (source, fetched_at)"
        " WHERE target = ? ORDER BY source, anchor LIMIT ?",
        [url, MAX_IN_LINKS + 1],
    ).fetchall()
    if options.json:
        print_json([{"source": source, "anchor": anchor, "rel": rel} for source, anchor, rel in rows[:MAX_IN_LINKS]])
        return
    if not rows:
        say(f"no page of this crawl links to {url}")
        return
    print_table(
        ["anchor", "linked from", "rel"], [(anchor, source, rel) for source, anchor, rel in rows[:MAX_IN_LINKS]]
    )
    if len(rows) > MAX_IN_LINKS:
        say(f"only the first {MAX_IN_LINKS:,} are shown; `lycosa query` gives all")


def draw_hosts(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Write the picture; raises `SettingsError` if it cannot be."""
    from lycosa.observe.host_picture import host_picture

    picture = host_picture(weightiest_host_links(connection))
    try:
        path.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be written: {error.strerror}") from None
    say(f"the graph of hosts is in {path}")


def write_graphml(connection: duckdb.DuckDBPyConnection, edges: str, out: TextIO) -> int:
    """The edges of a view as GraphML, for Gephi, yEd, networkx and others; returns how many there are."""
    connection.execute(
        "CREATE TEMP TABLE nodes AS SELECT url, row_number() OVER (ORDER BY url) AS number FROM"  # noqa: S608
        f" (SELECT source AS url FROM {edges} UNION SELECT target FROM {edges})"
    )
    has_links = edges == "host_edges"
    out.write(
        '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        '<key id="url" for="node" attr.name="url" attr.type="string"/>\n'
        '<key id="links" for="edge" attr.name="links" attr.type="long"/>\n<graph edgedefault="directed">\n'
    )
    for number, url in _rows(connection, "SELECT number, url FROM nodes ORDER BY number"):
        out.write(f'<node id="n{number}"><data key="url">{escape(str(url).translate(_NOT_XML))}</data></node>\n')
    count = 0
    links = "e.links" if has_links else "1"
    for source, target, weight in _rows(
        connection,
        f"SELECT a.number, b.number, {links} FROM {edges} AS e JOIN nodes AS a ON e.source = a.url"  # noqa: S608
        " JOIN nodes AS b ON e.target = b.url ORDER BY ALL",
    ):
        weight_of = f'<data key="links">{weight}</data>' if has_links else ""
        out.write(f'<edge source="n{source}" target="n{target}">{weight_of}</edge>\n')
        count += 1
    out.write("</graph>\n</graphml>\n")
    return count


def _rows(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[object, ...]]:
    result = connection.execute(query)
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        yield from rows
