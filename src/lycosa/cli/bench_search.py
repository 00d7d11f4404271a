"""`lycosa bench search`: how well known pages are found, next to others."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import nullcontext
from pathlib import Path

from lycosa.cli.printing import print_json, print_table, say
from lycosa.errors import SettingsError

_EXAMPLES = """\
examples:
  lycosa bench search                                  documentation of Debian packages, downloaded with apt
  lycosa bench search --documents /usr/share/doc/apache2-doc
  lycosa bench search --folder crawl --only lycosa --seed 2      a crawl that is there already
"""


def add_search(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the action."""
    parser = actions.add_parser(
        "search",
        help="how well known pages are found: lycosa, SQLite FTS5, tantivy",
        description="Crawl documentation over loopback with the real command, draw headings that only one page (or one "
        "group of near duplicates) has, ask for them, and show where that page stands: the mean of 1 / place (MRR, up "
        "to place ten), the share that came first, the share among ten.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--documents", type=Path, metavar="DIR", help="a folder of HTML files to serve and crawl")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="a crawl; made here if it is not there yet")
    parser.add_argument("--questions", type=int, default=500, metavar="N", help="how many (default: 500)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="other questions (default: 1)")
    parser.add_argument("--only", metavar="NAMES", help="some of those compared (default: all)")
    parser.add_argument("--json", action="store_true", help="print the result for machines")
    parser.set_defaults(run=run_search)


def run_search(options: argparse.Namespace) -> int:
    """Crawl if there is no crawl yet, then ask everybody."""
    from lycosa.bench.search.contestants import CONTESTANTS
    from lycosa.bench.search.run import cells, compare_searches
    from lycosa.bench.search.sites import PACKAGES, crawl_documents, unpack
    from lycosa.store.folder import CrawlFolder

    names = options.only.split(",") if options.only else list(CONTESTANTS)
    if unknown := [name for name in names if name not in CONTESTANTS]:
        raise SettingsError(f"--only: there is no {unknown[0]!r} ({', '.join(CONTESTANTS)})")
    if options.questions < 1:
        raise SettingsError("--questions takes a number above 0")
    with nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory(prefix="lycosa-") as place:
        folder = CrawlFolder(Path(place) if options.folder else Path(place) / "crawl")
        if not folder.exists:
            documents = options.documents or unpack(PACKAGES, Path(place) / "packages")
            say(f"crawling {documents}")
            crawl_documents(documents, folder.path)
        result = compare_searches(folder, names, options.questions, options.seed, say)
    if options.json:
        print_json(result)
    else:
        print_table(*cells(result), title=f"{result.pages:,} pages, {result.questions:,} questions")
    return 0
