"""`lycosa export`: a crawl in other people's formats."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa.cli.arguments import add_folder_option, add_json_option, new_parser
from lycosa.cli.export_sqlite import write_sqlite
from lycosa.cli.printing import print_json, say
from lycosa.errors import LycosaError, SettingsError
from lycosa.inspect.wording import moment, visible, visible_lines
from lycosa.model import OutcomeKind
from lycosa.robots.usage import PURPOSES

if TYPE_CHECKING:
    import duckdb

    from lycosa.store.folder import CrawlFolder

_DESCRIPTION = """\
Write a crawl, or the part of it that --where names, in another format:

  jsonl    one JSON object per line
  csv      for spreadsheets; cells that look like formulas are quoted
  parquet  one file, for DuckDB, pandas, Spark
  sqlite   a database for datasette and other tools; with pages come their links
  wacz     one web archive with its index, for replay tools such as ReplayWeb.page
  pywb     a folder from which pywb replays the crawl: its configuration and an index of the WARC files, which stay
  folder   every kept page as a UTF-8 file named by its content, with index.jsonl

The table `pages` is exported without the visits that gave no page (robots.txt, sitemaps, probes, redirects, what was
refused or failed); --all keeps them. Times are UTC and say so."""
_EXAMPLES = """\
  lycosa export --format jsonl --out pages.jsonl --where "outcome = 'stored' AND language LIKE 'de%'"
  lycosa export --format csv --what hosts --out hosts.csv
  lycosa export --format sqlite --out crawl.sqlite && datasette crawl.sqlite
  lycosa export --format wacz --out crawl.wacz
  lycosa export --format pywb --out replay && cd replay && wayback
"""
_EXTENSIONS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "application/rss+xml": ".xml",
    "application/atom+xml": ".xml",
    "application/xml": ".xml",
    "text/xml": ".xml",
}
FORMATS = ("jsonl", "csv", "parquet", "sqlite", "wacz", "pywb", "folder")
_OF_PAGES = ("wacz", "pywb", "folder")
_ROWS_AT_ONCE = 1_000
_PAGES = ", ".join(f"'{kind.name.lower()}'" for kind in OutcomeKind if kind.is_page)
# The views have moments as plain timestamps in UTC; elsewhere they would be taken for local ones.
_MOMENT = "TIMESTAMP"


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(commands, "export", _DESCRIPTION, _EXAMPLES)
    add_folder_option(parser)
    parser.add_argument("--format", required=True, choices=FORMATS, help="how")
    parser.add_argument("--out", required=True, type=Path, metavar="PATH", help="where to; must not exist")
    parser.add_argument(
        "--what",
        choices=("pages", "links", "items", "history", "hosts"),
        default="pages",
        help="which table (default: pages)",
    )
    parser.add_argument(
        "--purpose",
        choices=(*PURPOSES, "any"),
        help="leave out pages whose site does not want them used for this (default: the setting `purpose`)",
    )
    parser.add_argument("--all", action="store_true", help="also visits that gave no page: robots.txt, failures, …")
    parser.add_argument("--where", metavar="SQL", default="", help="only rows for which this holds")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from lycosa.inspect.opened import opened_folder

    _check(options)
    # Under another name until it is whole: nobody takes half an export for all of it.
    unfinished = options.out.with_name(f"{options.out.name}.part")
    try:
        with opened_folder(options.folder) as folder:
            count = _write(folder, options, unfinished)
        unfinished.rename(options.out)
    except OSError as error:
        raise LycosaError(f"{options.out}: cannot be written: {error.strerror}") from None
    finally:
        _remove(unfinished)
    if options.json:
        print_json({"out": str(options.out), "format": options.format, "rows": count})
    else:
        what = {"wacz": "records", "pywb": "records", "folder": "pages"}.get(options.format, f"rows of {options.what}")
        print(f"{count:,} {what} in {visible(options.out)}")
    return 0


def _check(options: argparse.Namespace) -> None:
    if options.out.exists():
        raise SettingsError(f"{options.out} exists already; name another place with --out")
    if not options.out.absolute().parent.is_dir():
        raise SettingsError(f"{options.out}: there is no folder {options.out.absolute().parent} to put it in")
    if options.format in _OF_PAGES and options.what != "pages":
        raise SettingsError(
            f"--format {options.format} holds pages; --what {options.what} needs jsonl, csv, parquet or sqlite"
        )


def _write(folder: CrawlFolder, options: argparse.Namespace, out: Path) -> int:
    from lycosa.inspect.sql import check_reads_only, connect_for
    from lycosa.settings import load

    # Made of the choices above and of what the user may ask of `lycosa query` as well.
    rows = f"SELECT * FROM {options.what}" + (f" WHERE ({options.where})" if options.where else "")  # noqa: S608
    unwanted = _unwanted(options.purpose or load(folder.settings, {}).purpose)
    check_reads_only(rows)
    if options.what == "pages" and not options.all:
        rows = f"SELECT * FROM ({rows}) WHERE outcome IN ({_PAGES})"  # noqa: S608
    if options.what == "pages" and unwanted:
        rows = f"SELECT * FROM ({rows}) WHERE NOT ({unwanted})"  # noqa: S608
    if options.what == "items" and unwanted:
        rows = f"SELECT * FROM ({rows}) WHERE url NOT IN (SELECT url FROM pages WHERE {unwanted})"  # noqa: S608
    if options.what == "items" and options.format == "jsonl":
        rows = f"SELECT * REPLACE (item::JSON AS item) FROM ({rows})"  # noqa: S608
    with connect_for(folder, rows) as connection:
        _check_rows(connection, rows)
        match options.format:
            case "wacz":
                return _write_wacz(folder, connection, rows, unwanted, out)
            case "folder":
                return _write_folder(folder, connection, rows, out)
            case "pywb":
                return _write_replay(folder, connection, unwanted, out)
            case "sqlite":
                return write_sqlite(connection, options.what, rows, out, partial(_told_columns, connection))
            case "csv":
                return _copy(connection, f"SELECT {_safe_columns(connection, rows)} FROM ({rows})", out, "csv, header")  # noqa: S608
            case "jsonl":
                return _copy(connection, f"SELECT {_told_columns(connection, rows)} FROM ({rows})", out, "json")  # noqa: S608
            case _:
                zoned = _columns(connection, rows, {_MOMENT: """"{0}" AT TIME ZONE 'UTC' AS "{0}" """})
                return _copy(connection, f"SELECT {zoned} FROM ({rows})", out, "parquet, compression zstd")  # noqa: S608


def _unwanted(purpose: str) -> str:
    """The condition under which a page must not be used for a purpose; empty if there is none."""
    if purpose == "any":
        return ""
    said = "string_split(usage, ', ')"
    condition = f"list_contains({said}, '{purpose}=n')"
    if purpose == "ai":
        condition += f" OR (media_type LIKE 'image/%' AND list_contains({said}, 'ai-images=n'))"
    return f"coalesce({condition}, false)"


def _check_rows(connection: duckdb.DuckDBPyConnection, rows: str) -> None:
    import duckdb

    try:
        connection.execute(f"{rows} LIMIT 0")
    except duckdb.Error as error:
        raise SettingsError(f"--where does not fit: {visible_lines(str(error))}") from None


def _copy(connection: duckdb.DuckDBPyConnection, query: str, out: Path, form: str) -> int:
    path = str(out).replace("'", "''")
    row = connection.execute(f"COPY ({query}) TO '{path}' (FORMAT {form})").fetchone()
    return int(row[0]) if row else 0


_TOLD = {_MOMENT: """strftime("{0}", '%Y-%m-%dT%H:%M:%S.%fZ') AS "{0}" """}
_SAFE = {**_TOLD, "VARCHAR": """regexp_replace("{0}", '^([=+@\\t\\r-])', '''\\1') AS "{0}" """}


def _told_columns(connection: duckdb.DuckDBPyConnection, rows: str) -> str:
    """Every column, with moments as texts that name their zone."""
    return _columns(connection, rows, _TOLD)


def _safe_columns(connection: duckdb.DuckDBPyConnection, rows: str) -> str:
    """The same, with a quote before texts that a spreadsheet would take for a formula."""
    return _columns(connection, rows, _SAFE)


def _columns(connection: duckdb.DuckDBPyConnection, rows: str, changes: dict[str, str]) -> str:
    """Every column, those of some types changed by a template."""
    described = connection.execute(f"DESCRIBE {rows}").fetchall()
    return ", ".join(changes.get(kind, '"{0}"').format(name) for name, kind, *_ in described)


# ---- pages with their bytes


def _kept(connection: duckdb.DuckDBPyConnection, rows: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """The visits among the rows that brought content of their own, oldest first."""
    kept = f"SELECT {columns} FROM ({rows}) WHERE outcome IN ('stored', 'duplicate') ORDER BY fetched_at"  # noqa: S608
    result = connection.execute(kept)
    while some := result.fetchmany(_ROWS_AT_ONCE):
        yield from some


def _left_out(connection: duckdb.DuckDBPyConnection, unwanted: str) -> set[tuple[str, int]]:
    """The records of pages that must not be used for the purpose, by file and offset."""
    if not unwanted:
        return set()
    return set(connection.execute(f"SELECT warc_file, warc_offset FROM pages WHERE {unwanted}").fetchall())  # noqa: S608


def _write_replay(folder: CrawlFolder, connection: duckdb.DuckDBPyConnection, unwanted: str, out: Path) -> int:
    from lycosa.store.replay import write_replay

    if not folder.warc_files():
        raise SettingsError(f"{folder.path}: there is no finished WARC file yet")
    return write_replay(folder, out, _left_out(connection, unwanted))


def _write_wacz(folder: CrawlFolder, connection: duckdb.DuckDBPyConnection, rows: str, unwanted: str, out: Path) -> int:
    from lycosa.store.wacz import write_wacz

    if not folder.warc_files():
        raise SettingsError(f"{folder.path}: there is no finished WARC file yet")
    pages = (
        {"id": f"{number:x}", "url": url, "ts": at / 1_000_000, "title": title or url}
        for number, (url, at, title) in enumerate(_kept(connection, rows, "url, epoch_us(fetched_at), title"))
    )
    return write_wacz(folder, out, pages, time.time(), _left_out(connection, unwanted))


def _write_folder(folder: CrawlFolder, connection: duckdb.DuckDBPyConnection, rows: str, out: Path) -> int:
    from lycosa.store.read import RecordLost, read_response

    columns = "url, epoch_us(fetched_at), status, media_type, charset, language, title, digest, original"
    names = [name.strip() for name in columns.replace("epoch_us(fetched_at)", "fetched_at").split(",")]
    (out / "pages").mkdir(parents=True)
    count = 0
    with (out / "index.jsonl").open("wb") as index:
        for *values, file, offset, length in _kept(connection, rows, f"{columns}, warc_file, warc_offset, warc_length"):
            entry = dict(zip(names, values, strict=True))
            entry["fetched_at"] = moment(entry["fetched_at"] / 1_000_000)
            try:
                body = read_response(folder, file, offset, length).body
            except RecordLost as error:
                say(f"left out: {entry['url']}: {error}")
                continue
            entry["file"] = _keep(out, body, entry["media_type"] or "", entry["charset"] or "")
            index.write(msgspec.json.encode(entry) + b"\n")
            count += 1
    return count


def _keep(out: Path, body: bytes, media_type: str, charset: str) -> str:
    """Write a body under the hash of its content; returns where. Nothing of a page's own words is in a file's name."""
    import hashlib

    from lycosa.page.encoding import decode

    extension = _EXTENSIONS.get(media_type, ".html" if charset and not media_type else ".bin")
    name = hashlib.sha256(body).hexdigest()[:40]
    path = out / "pages" / name[:2] / (name + extension)
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        if extension != ".bin":
            text = decode(body, f"{media_type}; charset={charset}" if charset else media_type).text
            # The mark outweighs a declaration in the page of what it was encoded in before.
            body = text.encode("utf-8", "replace") if charset in ("", "utf-8") else text.encode("utf-8-sig", "replace")
        path.write_bytes(body)
    return str(path.relative_to(out))


def _remove(path: Path) -> None:
    """Take away what is left of an export that failed."""
    if path.is_dir():
        import shutil

        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
