"""What `lycosa graph` computes over a whole graph: PageRank, HITS, and how much of a web a crawl has covered."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from lycosa.cli.printing import print_json, print_table
from lycosa.errors import LycosaError, SettingsError

if TYPE_CHECKING:
    import duckdb

    from lycosa.inspect.coverage_course import CoverageCourse
    from lycosa.store.folder import CrawlFolder


def add_rank_options(parser: argparse.ArgumentParser) -> None:
    """The options of what is here."""
    parser.add_argument("--pagerank", action="store_true", help="the pages with the highest PageRank")
    parser.add_argument("--hits", action="store_true", help="the pages with the highest authority, and hubs")
    parser.add_argument(
        "--coverage", action="store_true", help="the share of pages, PageRank and authority found, over time"
    )
    parser.add_argument("--truth", type=Path, metavar="FILE", help="of a simulated web: what coverage is measured by")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="or a list of URLs, one on each line")


def show_ranks(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace) -> None:
    """The pages (or hosts) that come first, by PageRank or by HITS."""
    from lycosa.inspect.coverage import url_graph
    from lycosa.inspect.ranks import hits, page_rank

    graph = url_graph(connection, "host_edges" if options.hosts else "edges")
    _say(f"{graph.edges.pages:,} pages, {len(graph.edges.sources):,} edges")
    scores: dict[str, Any] = {}
    if options.pagerank:
        scores["pagerank"] = page_rank(graph.edges, _teller())
    if options.hits:
        scores["authority"], scores["hub"] = hits(graph.edges, _teller())
    for name, values in scores.items():
        top = values.argsort(kind="stable")[::-1][: max(0, options.top)].tolist()
        if options.json:
            print_json({name: [{"url": graph.urls[place], "score": float(values[place])} for place in top]})
        else:
            rows = [(f"{values[place]:.3g}", graph.urls[place]) for place in top]
            print_table([name, "hosts" if options.hosts else "pages"], rows)


def show_coverage(connection: duckdb.DuckDBPyConnection, options: argparse.Namespace, folder: CrawlFolder) -> None:
    """What was found over time, of a truth, of a list, or of all that the crawl knows of; the report draws it."""
    from lycosa.inspect.coverage import coverage, true_graph, url_graph
    from lycosa.inspect.coverage_course import CoverageCourse

    if options.truth and options.reference:
        raise SettingsError("--truth or --reference, not both")
    if options.truth:
        (graph, targets), of = true_graph(options.truth), "the truth of a simulated web"
    else:
        graph = url_graph(connection)
        targets = _listed(options.reference) if options.reference else graph.urls
        of = f"the list {options.reference.name}" if options.reference else "all that the crawl knows of"
    rows = coverage(connection, graph, targets, _teller())
    if rows:
        _keep(CoverageCourse(of, len(set(targets)), rows), folder)
    if options.json:
        print_json({"targets": len(set(targets)), "course": [row._asdict() for row in rows]})
        return
    shown = [
        (f"{row.seconds:.1f}", row.found, *(f"{share:.1%}" for share in (row.pages, row.page_rank, row.authority)))
        for row in rows
    ]
    title = f"of {len(set(targets)):,} target pages"
    print_table(["seconds", "found", "of pages", "of PageRank", "of authority"], shown, title=title)


def _keep(measured: CoverageCourse, folder: CrawlFolder) -> None:
    """Have the report draw what was measured, where its folder can be written."""
    from lycosa.inspect.coverage_course import keep
    from lycosa.observe.report import write_report
    from lycosa.store.mirror import MirroredFolder

    if isinstance(folder, MirroredFolder):
        return
    try:
        keep(measured, folder.coverage)
        write_report(folder)
    except (OSError, LycosaError) as error:
        _say(f"the report cannot show it: {error}")
    else:
        _say(f"drawn in {folder.report}")


def _listed(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise SettingsError(f"--reference: {path} cannot be read: {error.strerror}") from None
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _teller() -> Callable[[int, float], None]:
    """Tells every second how far a computation is."""
    told_at = monotonic()

    def tell(number: int, change: float) -> None:
        nonlocal told_at
        if (now := monotonic()) - told_at >= 1:
            told_at = now
            _say(f"round {number}: still changing by {change:.1e}")

    return tell


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
