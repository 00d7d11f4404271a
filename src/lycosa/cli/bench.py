"""`lycosa bench`: compare with other crawlers on the same simulated pages."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lycosa.errors import SettingsError

_EXAMPLES = """\
examples:
  lycosa bench --install                install the other crawlers into a cache folder, then stop
  lycosa bench --repeat 3               everybody, three times, in turns
  lycosa bench --peers none             lycosa alone
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "bench",
        help="compare with other crawlers",
        description="Crawl a simulated web on loopback with lycosa (everything on) and with other crawlers, one after "
        "the other, and print pages per second and per CPU-second, memory, and ratios.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--hosts", type=int, default=200, metavar="N", help="hosts of the web (default: 200)")
    parser.add_argument("--pages", type=int, default=50, metavar="N", help="pages of each host (default: 50)")
    parser.add_argument(
        "--peers",
        default="scrapy,crawlee,wget2,spider-rs",
        metavar="NAMES",
        help="the other crawlers, or none (default: scrapy,crawlee,wget2,spider-rs)",
    )
    parser.add_argument("--seconds", type=float, default=120.0, metavar="S", help="limit of each run (default: 120)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each crawler (default: 1)")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="lycosa's workers (default: one per core)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of lycosa")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="keep the crawls, bench.json and bench.md here")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="where the other crawlers are installed")
    parser.add_argument("--install", action="store_true", help="install the other crawlers, then stop")
    parser.add_argument("--json", action="store_true", help="print the result for machines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Install or run, then print and keep the result."""
    import msgspec
    from rich.console import Console

    from lycosa.bench.contestants import PEER_NAMES, lycosa_on, peers
    from lycosa.bench.install import Cache, checked_names, default_cache, install
    from lycosa.bench.report import markdown, show
    from lycosa.bench.run import Plan, bench

    cache = Cache(options.cache or default_cache())
    if options.install:
        install(cache, _say)
        return 0
    if min(options.hosts, options.pages, options.repeat, options.seconds) < 1:
        raise SettingsError("--hosts, --pages, --repeat and --seconds must be at least 1")
    others = peers(cache, checked_names(options.peers, PEER_NAMES))
    ours = [
        lycosa_on(web, options.workers, tuple(options.set))
        for web in ("many", "one")
        if web == "many" or any(peer.web == web and not peer.missing for peer in others)
    ]
    plan = Plan(options.hosts, options.pages, options.seconds, options.repeat, options.folder)
    result = bench(plan, [*ours, *others], _say)
    if options.folder:
        (options.folder / "bench.json").write_bytes(msgspec.json.format(msgspec.json.encode(result)))
        (options.folder / "bench.md").write_text(markdown(result), encoding="utf-8")
    if options.json:
        print(msgspec.json.encode(result).decode())
    else:
        show(result, Console(width=None if sys.stdout.isatty() else 180))
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
