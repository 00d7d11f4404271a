"""`lycosa bench topic`: how many of the pages that a crawl with a topic fetches are on topic."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import nullcontext
from pathlib import Path

from lycosa.cli.printing import print_json, print_table, say

_EXAMPLES = """\
examples:
  lycosa bench topic                                       a simulated web of topics
  lycosa bench topic --web documents --pages 400           documentation of Debian packages, downloaded with apt
  lycosa bench topic --web documents --documents /usr/share/doc
"""


def add_topic(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the action."""
    parser = actions.add_parser(
        "topic",
        help="how many of the pages that a crawl with a topic fetches are on topic, beside breadth-first",
        description="Crawl a web on loopback with the real command: all of it breadth first, then for each of some "
        "topics a number of pages with --topic. Shown is how many of as many pages were on topic in either order. Who "
        "says so is the plan of the simulated web, or a pattern that is looked for in titles and main texts.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--web", choices=("simweb", "documents"), default="simweb", help="which web (default: simweb)")
    parser.add_argument("--pages", type=int, default=400, metavar="N", help="pages of each crawl (default: 400)")
    parser.add_argument("--documents", type=Path, metavar="DIR", help="a folder with documents of Debian packages")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another simulated web (default: 1)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="keep the crawls here")
    parser.add_argument("--json", action="store_true", help="print the result for machines")
    parser.set_defaults(run=run_topic)


def run_topic(options: argparse.Namespace) -> int:
    """Crawl, count and print."""
    from lycosa.bench.search.sites import PACKAGES, unpack
    from lycosa.bench.topic.run import cells, compare
    from lycosa.bench.topic.webs import documents_web, planned_web

    with nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory(prefix="lycosa-") as place:
        folder = Path(place)
        if options.web == "documents":
            web = documents_web(options.documents or unpack(PACKAGES, folder / "packages"))
        else:
            web = planned_web(options.seed)
        with web as served:
            result = compare(served, options.pages, folder, say)
    if options.json:
        print_json(result)
    else:
        print_table(*cells(result), title=f"{result.web}: {result.pages:,} pages")
    return 0
