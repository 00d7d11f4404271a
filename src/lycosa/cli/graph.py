"""`lycosa graph`: the link graph of a crawl, as edges or in figures."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.cli.arguments import add_folder_option, add_json_option, new_parser
from lycosa.cli.graph_ranks import add_rank_options, show_coverage, show_ranks
from lycosa.cli.graph_views import add_view_options, draw_hosts, show_in_links, write_graphml
from lycosa.cli.printing import print_facts, print_json, print_table, say
from lycosa.errors import SettingsError
from lycosa.inspect.link_graph import HOST_OF, add_link_graph
from lycosa.inspect.wording import visible_lines

if TYPE_CHECKING:
    import duckdb

_EXAMPLES = """\
  lycosa graph                                  degrees, the most linked pages
  lycosa graph --edges > edges.tsv
  lycosa graph --in-links https://example.org/  who links there, and with which words
  lycosa graph --picture hosts.svg
  lycosa graph --edges --format graphml --out graph.graphml
  lycosa graph --pagerank --top 20
  lycosa graph --coverage --reference wanted.txt
  lycosa graph --edges --hosts --format parquet --out hosts.parquet
"""
_ROWS_AT_ONCE = 10_000


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "graph",
        "Show the link graph of a crawl in figures, or write its edges.",
        _EXAMPLES,
    )
    add_folder_option(parser)
    parser.add_argument("--edges", action="store_true", help="write the edges: source and target")
    parser.add_argument("--hosts", action="store_true", help="between hosts instead of pages, with how many links")
    parser.add_argument("--format", choices=("tsv", "jsonl", "parquet", "graphml"), default="tsv", help="of edges")
    parser.add_argument("--out", type=Path, metavar="PATH", help="where edges go (default: standard output)")
    parser.add_argument("--top", type=int, default=10, metavar="N", help="most linked pages to show (default: 10)")
    add_view_options(parser)
    add_rank_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import duckdb

    from lycosa.inspect.opened import opened_folder
    from lycosa.store.read import connect

    if not options.edges and options.out:
        raise SettingsError("--out is for --edges")
    if not options.coverage and (options.truth or options.reference):
        raise SettingsError("--truth and --reference are for --coverage")
    with opened_folder(options.folder) as folder, connect(folder) as connection:
        add_link_graph(connection)
        try:
            if options.edges:
                _write_edges(connection, options)
            elif options.in_links:
                show_in_links(connection, options)
            elif options.picture:
                draw_hosts(connection, options.picture)
            elif options.coverage:
                show_coverage(connection, options, folder)
            elif options.pagerank or options.hits:
                show_ranks(connection, options)
            else:
                _show_degrees(connection, options)
        except duckdb.Error as error:
            raise SettingsError(f"the graph cannot be had: {visible_lines(str(error))}") from None
    return 0


# ---- edges


def _write_edges(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace) -> None:
    edges = "SELECT * FROM host_edges" if options.hosts else "SELECT * FROM edges"
    form = "jsonl" if options.json else options.format
    if options.out is None:
        _print_edges(connection, edges, form)
        return
    if options.out.exists():
        raise SettingsError(f"{options.out} exists already; name another place with --out")
    if form == "graphml":
        with options.out.open("x", encoding="utf-8", errors="replace") as out:
            count = write_graphml(connection, "host_edges" if options.hosts else "edges", out)
        say(f"{count:,} edges in {options.out}")
        return
    path = str(options.out).replace("'", "''")
    style = {"tsv": "csv, delimiter '\t', header false, quote ''", "jsonl": "json", "parquet": "parquet"}[form]
    row = connection.execute(f"COPY ({edges}) TO '{path}' (FORMAT {style})").fetchone()
    say(f"{row[0] if row else 0:,} edges in {options.out}")


def _print_edges(connection: duckdb.DuckDBPyConnection, edges: str, form: str) -> None:
    if form == "parquet":
        raise SettingsError("--format parquet needs --out FILE")
    if form == "graphml":
        write_graphml(connection, edges.rpartition(" ")[2], sys.stdout)
        return
    result = connection.execute(edges)
    names = [column[0] for column in result.description or []]
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        for row in rows:
            if form == "jsonl":
                print_json(dict(zip(names, row, strict=True)))
            else:
                # A URL in canonical form holds neither tabs nor line ends.
                print(*row, sep="\t")


# ---- figures


def _show_degrees(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace) -> None:
    edges = "host_edges" if options.hosts else "edges"
    figures = _figures(connection, edges)
    top = _most_linked(connection, edges, max(0, options.top))
    if options.json:
        print_json({**figures, "most_linked": [{"target": url, "in_links": count} for url, count in top]})
        return
    unit = "hosts" if options.hosts else "pages"
    print_facts(
        [
            (f"{unit} with links", f"{figures['sources']:,}"),
            (f"{unit} linked to", f"{figures['targets']:,}"),
            ("edges", f"{figures['edges']:,}"),
            ("between hosts", f"{figures['foreign_share']:.1%}"),
            ("links out", _degrees(figures["out_degrees"])),
            ("links in", _degrees(figures["in_degrees"])),
        ]
    )
    if top:
        print()
        print_table(["linked from", unit], [(count, url) for url, count in top], title="most linked")


def _figures(connection: duckdb.DuckDBPyConnection, edges: str) -> dict[str, Any]:
    is_foreign = f"{HOST_OF.format('source')} <> {HOST_OF.format('target')}" if edges == "edges" else "source <> target"
    row = connection.execute(
        f"SELECT count(*), count(DISTINCT source), count(DISTINCT target), coalesce(avg(({is_foreign})::INT), 0)"  # noqa: S608
        f" FROM {edges}"
    ).fetchone()
    assert row is not None, "an aggregate has a row"
    return {
        "edges": row[0],
        "sources": row[1],
        "targets": row[2],
        "foreign_share": row[3],
        "out_degrees": _quantiles(connection, edges, "source"),
        "in_degrees": _quantiles(connection, edges, "target"),
    }


def _quantiles(connection: duckdb.DuckDBPyConnection, edges: str, end: str) -> dict[str, float]:
    degrees = f"SELECT count(*) AS n FROM {edges} GROUP BY {end}"  # noqa: S608
    figures = ", ".join(f"coalesce({each}, 0)" for each in ("avg(n)", "median(n)", "quantile_disc(n, 0.99)", "max(n)"))
    row = connection.execute(f"SELECT {figures} FROM ({degrees})").fetchone()  # noqa: S608
    assert row is not None, "an aggregate has a row"
    return dict(zip(("mean", "median", "p99", "max"), map(float, row), strict=True))


def _most_linked(connection: duckdb.DuckDBPyConnection, edges: str, limit: int) -> list[tuple[str, int]]:
    query = f"SELECT target, count(*) FROM {edges} GROUP BY target ORDER BY 2 DESC, 1 LIMIT ?"  # noqa: S608
    return [(row[0], row[1]) for row in connection.execute(query, [limit]).fetchall()]


def _degrees(figures: dict[str, float]) -> str:
    return "mean {mean:,.1f}, median {median:,.0f}, 99 % up to {p99:,.0f}, most {max:,.0f}".format(**figures)
