"""`lycosa bench order`: in which order a web is best crawled."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lycosa.cli.printing import print_json, print_table
from lycosa.errors import SettingsError

_EXAMPLES = """\
examples:
  lycosa bench order                               a made-up web of 200,000 pages
  lycosa bench order --edges edges.tsv             a graph of your own: lycosa graph --edges
  lycosa bench order --only lycosa,OPIC --folder order/
"""


def add_order(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the action."""
    parser = actions.add_parser(
        "order",
        help="in which order a web is best crawled: breadth, in-degree, OPIC, partial PageRank, ours",
        description="Crawl a graph in several orders, without a network, and show how much of its PageRank each has "
        "fetched after 10, 20 and 50 % of the pages. Lycosa's order is the product's own code. The made-up web has "
        "link farms and traps and comes out the same every time; it takes some minutes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--edges", type=Path, metavar="FILE", help="a graph: two columns of numbers or URLs, text or .parquet"
    )
    parser.add_argument(
        "--start", action="append", default=[], metavar="PAGE", help="where in it to start (default: its first page)"
    )
    parser.add_argument("--pages", type=int, default=200_000, metavar="N", help="of the made-up web (default: 200000)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another made-up web (default: 1)")
    parser.add_argument("--only", metavar="NAMES", help="some of the orders (default: all)")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="keep order.json, .md and .svg here")
    parser.add_argument("--json", action="store_true", help="print the result for machines")
    parser.set_defaults(run=run_order)


def run_order(options: argparse.Namespace) -> int:
    """Try the orders, then print and keep the result."""
    import msgspec

    from lycosa.bench.order.graph import from_file, synthetic
    from lycosa.bench.order.orders import ORDERS
    from lycosa.bench.order.run import cells, compare_orders, drawing, markdown

    names = options.only.split(",") if options.only else list(ORDERS)
    if unknown := [name for name in names if name not in ORDERS]:
        raise SettingsError(f"--only: there is no order {unknown[0]!r} ({', '.join(ORDERS)})")
    if options.start and not options.edges:
        raise SettingsError("--start is for --edges")
    graph = from_file(options.edges, options.start) if options.edges else synthetic(options.pages, options.seed)
    result = compare_orders(graph, names, _say)
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
        (options.folder / "order.json").write_bytes(msgspec.json.format(msgspec.json.encode(result)))
        (options.folder / "order.md").write_text(markdown(result), encoding="utf-8")
        (options.folder / "order.svg").write_text(drawing(result), encoding="utf-8")
    if options.json:
        print_json(result)
    else:
        print_table(*cells(result), title=f"{result.graph}: {result.links:,} links, {result.hosts:,} hosts")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
