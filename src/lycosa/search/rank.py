"""The PageRank of a crawl's pages as a column beside the index, from 0 to 1. It changes for all pages at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from lycosa.inspect.ranks import EdgeList, page_rank
from lycosa.search.fields import key_of
from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.read import parquet_source

RANKS = "ranks.npy"
_KIND = np.dtype([("key", "<u8"), ("rank", "<f4")])
# Computed anew once there are so many times the links: all the work together is then a few times the last one.
_GROWTH = 1.2
_TOLERANCE = 1e-6


class Ranks:
    """The ranks as they were written last."""

    def __init__(self, path: Path) -> None:
        self._path = path / RANKS
        self._written_at = -1
        self._rows: NDArray[np.void] = np.zeros(0, _KIND)

    def of(self, keys: Sequence[int]) -> list[float]:
        """The rank of each page; of those without one, 0."""
        rows = self._read()
        if not len(rows):
            return [0.0] * len(keys)
        wanted = np.array(keys, dtype="<u8")
        places = np.minimum(np.searchsorted(rows["key"], wanted), len(rows) - 1)
        found = rows[places]
        ranks: list[float] = np.where(found["key"] == wanted, found["rank"], 0.0).tolist()
        return ranks

    def _read(self) -> NDArray[np.void]:
        try:
            written_at = self._path.stat().st_mtime_ns
        except FileNotFoundError:
            return self._rows
        if written_at != self._written_at:
            # The first row says how many links there were.
            self._rows, self._written_at = np.load(self._path)[1:], written_at
        return self._rows


def write_ranks(folder: CrawlFolder, path: Path) -> None:
    """Compute the ranks of all pages, unless there are hardly more links than the last time."""
    links = sorted(folder.links.glob(f"*{PARQUET}"))
    pages = sorted(folder.pages.glob(f"*{PARQUET}"))
    count = sum(pq.read_metadata(part).num_rows for part in links)
    target = path / RANKS
    if not links or not pages or (target.exists() and count < _GROWTH * int(np.load(target, mmap_mode="r")[0]["key"])):
        return
    urls, edges = _graph(pages, links)
    ranks = page_rank(edges, tolerance=_TOLERANCE)
    rows = np.zeros(len(urls), _KIND)
    rows["key"] = [key_of(url) for url in urls]
    rows["rank"] = scaled(ranks)
    rows.sort(order="key")
    fresh = path / (RANKS + ".new")
    with fresh.open("wb") as file:
        np.save(file, np.concatenate([np.array([(count, 0)], _KIND), rows]))
    fresh.replace(target)


def scaled(ranks: NDArray[np.float64]) -> NDArray[np.float64]:
    """From 0 for what is linked from nowhere to 1 for the first of all; each tenfold of rank is one step."""
    if not len(ranks):
        return ranks
    least, most = float(ranks.min()), float(ranks.max())
    if most <= least:
        return np.zeros(len(ranks))
    result: NDArray[np.float64] = np.log(ranks / least) / np.log(most / least)
    return result


def _graph(pages: Sequence[Path], links: Sequence[Path]) -> tuple[list[str], EdgeList]:
    """The pages that were kept, and who links to whom among them."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(
            "CREATE TEMP TABLE kept AS SELECT url, (row_number() OVER () - 1)::INT AS number FROM"  # noqa: S608
            f" (SELECT DISTINCT url FROM {parquet_source(pages)} WHERE outcome IN ('stored', 'duplicate'))"
        )
        # Each edge once before the joins: with the inequality beside them DuckDB compares all pages with all.
        ends = connection.execute(
            "SELECT DISTINCT a.number AS source, b.number AS target FROM"  # noqa: S608
            f" (SELECT DISTINCT source, target FROM {parquet_source(links)} WHERE source <> target) AS link"
            " JOIN kept AS a ON link.source = a.url JOIN kept AS b ON link.target = b.url"
        ).fetchnumpy()
        urls = [row[0] for row in connection.execute("SELECT url FROM kept ORDER BY number").fetchall()]
    return urls, EdgeList(len(urls), ends["source"].astype(np.int32), ends["target"].astype(np.int32))
