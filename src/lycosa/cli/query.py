"""`lycosa query`: SQL over a crawl."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lycosa.cli.arguments import add_folder_option, new_parser
from lycosa.cli.printing import print_json, print_table, say
from lycosa.errors import SettingsError
from lycosa.inspect.wording import visible, visible_lines

if TYPE_CHECKING:
    import duckdb

MAX_TABLE_ROWS = 1_000
_ROWS_AT_ONCE = 1_000
# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
_DESCRIPTION = """\
Run SQL (DuckDB) over a crawl; it only reads. The views:

  pages    a row per visit: url, host, fetched_at, outcome, status, reason, language, title, text, content, group_id …
  links    a row per link: source, target, anchor, rel, fetched_at
  items    a row per record that rules of sites or hooks made of a page: url, host, fetched_at, number, item (JSON)
  history  a row per URL: its last outcome and the reason for it, how often it was visited, when it is due again
  hosts    a row per host: queued, visits, failures, delays, robots.txt, address

`DESCRIBE pages` lists all columns."""
_EXAMPLES = """\
  lycosa query --examples
  lycosa query "SELECT outcome, count(*) FROM pages GROUP BY ALL ORDER BY 2 DESC"
  lycosa query "SELECT host, queued, free_at FROM hosts ORDER BY queued DESC LIMIT 20"
  lycosa query "SELECT group_id, count(*), min(url) FROM pages GROUP BY 1 HAVING count(*) > 1 ORDER BY 2 DESC"
  lycosa query "SELECT url, title FROM pages WHERE text ILIKE '%crawler%'" --format csv > found.csv
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(commands, "query", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("sql", nargs="?", metavar="SQL", help="what to ask; - reads it from standard input")
    parser.add_argument("--examples", action="store_true", help="show the questions that people ask first, as SQL")
    add_folder_option(parser)
    parser.add_argument(
        "--format",
        choices=("table", "csv", "json"),
        default="table",
        help=f"table (the first {MAX_TABLE_ROWS:,} rows), csv, or json (an object per line); default: table",
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import duckdb

    from lycosa.inspect.examples import examples_text
    from lycosa.inspect.opened import opened_folder
    from lycosa.inspect.sql import check_reads_only, connect_for

    if options.examples:
        print(examples_text())
        return 0
    if options.sql is None:
        raise SettingsError("say what to ask; `lycosa query --examples` shows how")
    sql = sys.stdin.read() if options.sql == "-" else options.sql
    check_reads_only(sql)
    with opened_folder(options.folder) as folder, connect_for(folder, sql) as connection:
        try:
            result = connection.execute(sql)
            _print(result, options.format)
        except duckdb.Error as error:
            raise SettingsError(f"the query failed: {visible_lines(str(error))}") from None
    return 0


def _print(result: duckdb.DuckDBPyConnection, style: str) -> None:
    columns = [column[0] for column in result.description or []]
    if style == "json":
        for row in _rows(result):
            print_json(dict(zip(columns, row, strict=True)))
    elif style == "csv":
        write_csv(columns, _rows(result))
    else:
        rows = list(map(_zoned, result.fetchmany(MAX_TABLE_ROWS)))
        print_table(columns, rows)
        if result.fetchone() is not None:
            say(f"only the first {MAX_TABLE_ROWS:,} rows are shown; --format csv or json gives all")


def _rows(result: duckdb.DuckDBPyConnection) -> Iterator[Sequence[Any]]:
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        yield from map(_zoned, rows)


def _zoned(row: Sequence[Any]) -> Sequence[Any]:
    """A row whose moments say that they are in UTC, as all of a crawl's are."""
    return [value.replace(tzinfo=UTC) if type(value) is datetime and not value.tzinfo else value for value in row]


def write_csv(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """CSV to standard output, safe to open in a spreadsheet."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    is_seen = sys.stdout.isatty()
    for row in rows:
        writer.writerow([_safe_cell(visible(value) if is_seen else value) for value in row])


def _safe_cell(value: object) -> object:
    # A title such as =HYPERLINK(…) must stay a text.
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
