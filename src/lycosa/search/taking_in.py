"""What new Parquet parts mean for an index: which pages come, which go, which anchors lead where. Only reads.

Of a URL that was visited more than once its newest visit counts, whatever part that is in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lycosa.errors import SettingsError
from lycosa.search.fields import PageRow
from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.read import parquet_source

_BATCH_ROWS = 500
# Visits that say something of whether a page is there, and what it says. A page that moved, is gone, became an error
# page or is forbidden by robots.txt leaves; any other failure says nothing.
_IS_GONE = (
    "(outcome = 'moved' OR (outcome = 'failed' AND (status IN (404, 410) OR reason = 'soft-404'))"
    " OR (outcome = 'refused' AND reason = 'robots'))"
)
# A page that asks not to be searched for is not.
_IS_HIDDEN = "(noindex OR list_contains(string_split(usage, ', '), 'search=n'))"
_HAS_CONTENT = "outcome IN ('stored', 'duplicate')"
_COLUMNS = PageRow._fields
# Of the texts by which the pages of one part link to a page.
MAX_ANCHORS = 20


class Part(NamedTuple):
    """One part of the tables; `links` may not be there."""

    name: str
    pages: Path
    links: Path
    rows: int


class Changes(NamedTuple):
    """What some parts bring: the moment (in microseconds) of each URL's visit that counts, and URLs that are gone."""

    newest: dict[str, int]
    gone: list[str]


def parts_of(folder: CrawlFolder, known: frozenset[str]) -> list[Part]:
    """The complete parts that are not known yet, oldest names first; raises `SettingsError` if one cannot be read."""
    found = []
    for path in sorted(folder.pages.glob(f"*{PARQUET}")):
        name = path.name.removesuffix(PARQUET)
        if name in known:
            continue
        try:
            metadata = pq.read_metadata(path)
        except FileNotFoundError:
            continue  # set aside just now
        except (OSError, pa.ArrowException) as error:
            raise SettingsError(f"{path}: cannot be read ({error}); `lycosa crawl` sets damaged parts aside") from None
        if "headings" not in metadata.schema.names:
            raise SettingsError(f"{path}: is of another version of lycosa, without headings; crawl anew to search")
        found.append(Part(name, path, folder.links / path.name, metadata.num_rows))
    return found


def changes_of(folder: CrawlFolder, parts: Sequence[Part]) -> Changes:
    """Which rows of these parts count."""
    import duckdb

    everything = sorted(folder.pages.glob(f"*{PARQUET}"))
    decisive = f"({_HAS_CONTENT} OR {_IS_GONE})"
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(
            f"CREATE TEMP TABLE fresh AS SELECT url, epoch_us(max(fetched_at)) AS came_at,"  # noqa: S608
            f" arg_max({_HAS_CONTENT} AND NOT {_IS_HIDDEN}, fetched_at) AS stays"
            f" FROM {parquet_source([part.pages for part in parts])} WHERE {decisive} GROUP BY url"
        )
        connection.execute(
            "CREATE TEMP TABLE latest AS SELECT url, epoch_us(max(fetched_at)) AS came_at"  # noqa: S608
            f" FROM {parquet_source(everything)} WHERE {decisive}"
            " AND fetched_at > (SELECT to_timestamp(min(came_at) / 1e6) FROM fresh) GROUP BY url"
        )
        newest, gone = {}, []
        counting = (
            "SELECT fresh.url, fresh.came_at, stays FROM fresh LEFT JOIN latest ON fresh.url = latest.url"
            " WHERE latest.came_at IS NULL OR latest.came_at <= fresh.came_at"
        )
        for url, at, stays in connection.execute(counting).fetchall():
            if stays:
                newest[url] = at
            else:
                gone.append(url)
    return Changes(newest, gone)


def pages_in(part: Part, newest: dict[str, int]) -> Iterator[PageRow]:
    """The pages of a part that count; each is taken out of `newest`, so that none comes twice."""
    file = pq.ParquetFile(part.pages)
    for batch in file.iter_batches(_BATCH_ROWS, columns=[*_COLUMNS, "outcome"]):
        has_content = pc.is_in(_plain(batch, "outcome"), pa.array(["stored", "duplicate"]))
        rows = batch.filter(has_content)
        columns = {name: _plain(rows, name).to_pylist() for name in _COLUMNS}
        columns["fetched_at"] = rows.column("fetched_at").cast(pa.int64()).to_pylist()
        for values in zip(*columns.values(), strict=True):
            page = PageRow(*values)
            if newest.get(page.url) != page.fetched_at:
                continue
            del newest[page.url]
            if page.title or page.text or page.headings:
                yield page


def anchors_in(part: Part) -> Iterator[tuple[str, list[str]]]:
    """The texts by which the pages of a part link to each target, the commonest first."""
    import duckdb

    if not part.links.exists():
        return
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        result = connection.execute(
            "SELECT target, list(anchor ORDER BY links DESC, anchor)[:?]"  # noqa: S608
            f" FROM (SELECT target, anchor, count(*) AS links FROM {parquet_source([part.links])}"
            " WHERE length(anchor) > 1 AND source <> target GROUP BY ALL) GROUP BY target",
            [MAX_ANCHORS],
        )
        while some := result.fetchmany(1000):
            yield from some


def _plain(batch: pa.RecordBatch, name: str) -> Any:
    column = batch.column(name)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
