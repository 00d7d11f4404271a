"""How much of what there is a crawl has found: pages, and their PageRank and HITS authority, as time went on.

Edges come as a table `edges` (source, target) of URLs, the crawl as the view `pages`. It knows no files but a truth.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from lycosa.errors import SettingsError
from lycosa.inspect.coverage_course import CoverageRow
from lycosa.inspect.ranks import EdgeList, OnRound, hits, page_rank

if TYPE_CHECKING:
    import duckdb

STEPS = 10
_IS_PAGE = "outcome IN ('stored', 'duplicate', 'unchanged')"


class UrlGraph(NamedTuple):
    """A graph, and the URL of each of its pages."""

    edges: EdgeList
    urls: list[str]


class _TruePage(msgspec.Struct):
    url: str
    links: list[str] = []
    redirects_to: str | None = None


class _TruthFile(msgspec.Struct):
    storable: list[str]
    pages: list[_TruePage]


def url_graph(connection: duckdb.DuckDBPyConnection, edges: str = "edges") -> UrlGraph:
    """The edges of a table of the connection by number; each edge once."""
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE edge_urls AS SELECT url, (row_number() OVER () - 1)::INT AS number FROM"  # noqa: S608
        f" (SELECT source AS url FROM {edges} UNION SELECT target FROM {edges})"
    )
    ends = connection.execute(
        f"SELECT a.number AS source, b.number AS target FROM {edges} e JOIN edge_urls a ON e.source = a.url"  # noqa: S608
        " JOIN edge_urls b ON e.target = b.url"
    ).fetchnumpy()
    urls = [row[0] for row in connection.execute("SELECT url FROM edge_urls ORDER BY number").fetchall()]
    return UrlGraph(EdgeList(len(urls), ends["source"].astype(np.int32), ends["target"].astype(np.int32)), urls)


def true_graph(path: Path) -> tuple[UrlGraph, list[str]]:
    """The graph of a simulated web's truth, and the pages that are to be kept."""
    try:
        truth = msgspec.json.decode(path.read_bytes(), type=_TruthFile)
    except OSError as error:
        raise SettingsError(f"--truth: {path} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise SettingsError(f"--truth: {path} is no truth of a simulated web: {error}") from None
    number = {page.url: place for place, page in enumerate(truth.pages)}
    pairs = [
        (number[page.url], number[link])
        for page in truth.pages
        for link in dict.fromkeys([*page.links, *([page.redirects_to] if page.redirects_to else [])])
        if link in number and link != page.url
    ]
    ends = np.array(pairs, np.int32).reshape(-1, 2)
    return UrlGraph(EdgeList(len(number), ends[:, 0], ends[:, 1]), list(number)), truth.storable


def coverage(
    connection: duckdb.DuckDBPyConnection, graph: UrlGraph, targets: list[str], on_round: OnRound
) -> list[CoverageRow]:
    """In equal steps of time, how much of the targets had been found."""
    number = {url: place for place, url in enumerate(graph.urls)}
    wanted = set(targets)
    ranks, authorities = page_rank(graph.edges, on_round), hits(graph.edges, on_round)[0]
    times = connection.execute(
        f"SELECT url, epoch_us(min(fetched_at)) / 1e6 FROM pages WHERE {_IS_PAGE} GROUP BY url ORDER BY 2"  # noqa: S608
    ).fetchall()
    if not times or not wanted:
        return []
    begin, end = times[0][1], times[-1][1]
    rows = []
    for step in range(1, STEPS + 1):
        until = end if step == STEPS else begin + (end - begin) * step / STEPS
        found = {url for url, at in times if at <= until} & wanted
        masses = (_share(scores, number, found, wanted) for scores in (ranks, authorities))
        rows.append(CoverageRow(until - begin, len(found), len(found) / len(wanted), *masses))
    return rows


def _share(scores: NDArray[np.float64], number: dict[str, int], found: set[str], wanted: set[str]) -> float:
    """Of the targets' scores, those of the ones that were found."""
    mine, whole = (
        float(scores[[number[url] for url in urls if url in number]].sum()) if urls else 0.0 for urls in (found, wanted)
    )
    return mine / whole if whole else 0.0
