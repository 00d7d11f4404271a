"""`lycosa bench`: compare with other crawlers on simulated pages, and with other readers of pages on labelled ones."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lycosa.cli.bench_freshness import add_freshness
from lycosa.cli.bench_order import add_order
from lycosa.cli.bench_search import add_search
from lycosa.cli.bench_topic import add_topic
from lycosa.cli.commands import COMMANDS
from lycosa.errors import SettingsError

_EXAMPLES = """\
examples:
  lycosa bench --install                install the other crawlers into a cache folder, then stop
  lycosa bench --repeat 3               everybody, three times, in turns
  lycosa bench --peers none             lycosa alone
  lycosa bench --peers none --workers 1,2,4     what a page costs with more workers, and whom
"""


_EXTRACTION_EXAMPLES = """\
examples:
  lycosa bench extraction --install                install the others into a cache folder, then stop
  lycosa bench extraction --data ../shared/data --write docs/quality.md
"""
_EXPERIMENTS_EXAMPLES = """\
examples:
  lycosa bench experiments --write docs/experiments.md
  lycosa bench experiments --only scale
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    parser = commands.add_parser(
        "bench",
        help=COMMANDS["bench"],
        description="Crawl simulated webs on loopback with lycosa (everything on) and with other crawlers, one after "
        "the other, and print pages per second and per CPU-second, memory, and ratios. Two webs: navigation, where "
        "most links of a page are on all pages of its site, and strewn, where most links lead to pages that no link "
        "led to before; of the latter as many pages are fetched as the former has.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--web", choices=("navigation", "strewn", "both"), default="both", help="which of the webs (default: both)"
    )
    parser.add_argument("--hosts", type=int, default=200, metavar="N", help="hosts of the web (default: 200)")
    parser.add_argument("--pages", type=int, default=50, metavar="N", help="pages of each host (default: 50)")
    parser.add_argument("--page-bytes", type=int, default=28_000, metavar="N", help="of a page (default: 28000)")
    parser.add_argument(
        "--peers",
        default="scrapy,crawlee,wget2,spider-rs",
        metavar="NAMES",
        help="the other crawlers, or none (default: scrapy,crawlee,wget2,spider-rs)",
    )
    parser.add_argument("--seconds", type=float, default=120.0, metavar="S", help="limit of each run (default: 120)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each crawler (default: 1)")
    parser.add_argument(
        "--workers",
        default="0",
        metavar="NUMBERS",
        help="lycosa's workers: one number or several (default: 1 per core)",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of lycosa")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="keep the crawls, bench.json, .md and .svg here")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="where the other crawlers are installed")
    parser.add_argument("--install", action="store_true", help="install the other crawlers, then stop")
    parser.add_argument("--json", action="store_true", help="print the result for machines")
    parser.set_defaults(run=run)
    actions = parser.add_subparsers(title="actions", metavar="extraction, experiments, order, freshness, search")
    _add_extraction(actions)
    _add_experiments(actions)
    add_order(actions)
    add_freshness(actions)
    add_search(actions)
    add_topic(actions)


def _add_extraction(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Its options are its own: none of them means what the same word means of crawlers."""
    parser = actions.add_parser(
        "extraction",
        help="compare what is read from pages: main content, encodings, near duplicates",
        description="Let lycosa and other extractors and detectors read the same labelled pages, and write a page of "
        "tables: F1 and CPU of main content, encodings found, near duplicates found.",
        epilog=_EXTRACTION_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the labelled pages and files")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the page to write (default: print it)")
    parser.add_argument("--pages", type=int, metavar="N", help="so many pages of each set (default: all)")
    parser.add_argument("--hosts", type=int, default=100, metavar="N", help="hosts of the simulated web (default: 100)")
    parser.add_argument(
        "--seconds", type=float, default=3600.0, metavar="S", help="limit of reading main content (default: 3600)"
    )
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="where the others are installed")
    parser.add_argument("--install", action="store_true", help="install the others, then stop")
    parser.set_defaults(run=run_extraction)


def _add_experiments(actions: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = actions.add_parser(
        "experiments",
        help="rate against workers, balance over clients, sketch and Bloom error, a week of 1,000 workers",
        description="Repeat the experiments behind the scheduler and the filters, and simulate a week of 1,000 workers "
        "and 10 million hosts; makes a page of tables and plots. All of them take some minutes and 1 GB of memory.",
        epilog=_EXPERIMENTS_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", metavar="NAMES", help="some of rate,balance,crawl,sketch,bloom,scale (default: all)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the page to write, with its plots beside it")
    parser.add_argument("--quick", action="store_true", help="everything small: to see whether it works")
    parser.set_defaults(run=run_experiments)


def run(options: argparse.Namespace) -> int:
    """Install or run, then print and keep the result."""
    import msgspec
    from rich.console import Console

    from lycosa.bench.chart import chart
    from lycosa.bench.contestants import PEER_NAMES, lycosa_on, peers
    from lycosa.bench.install import Cache, checked_names, default_cache, install
    from lycosa.bench.report import markdown, show
    from lycosa.bench.run import BenchPlan, bench
    from lycosa.bench.web import WEB_KINDS

    cache = Cache(options.cache or default_cache())
    if options.install:
        install(cache, _say)
        return 0
    if min(options.hosts, options.pages, options.repeat, options.seconds, options.page_bytes) < 1:
        raise SettingsError("--hosts, --pages, --repeat, --seconds and --page-bytes must be at least 1")
    others = peers(cache, checked_names(options.peers, PEER_NAMES))
    ours = [
        lycosa_on(hosts, workers, tuple(options.set))
        for hosts in ("many", "one")
        if hosts == "many" or any(peer.hosts == hosts and not peer.missing for peer in others)
        for workers in worker_counts(options.workers)
    ]
    plan = BenchPlan(
        options.hosts,
        options.pages,
        options.seconds,
        options.repeat,
        options.folder,
        options.page_bytes,
        tuple(kind for kind in WEB_KINDS if options.web in (kind, "both")),
    )
    result = bench(plan, [*ours, *others], _say)
    if options.folder:
        (options.folder / "bench.json").write_bytes(msgspec.json.format(msgspec.json.encode(result)))
        (options.folder / "bench.md").write_text(markdown(result), encoding="utf-8")
        (options.folder / "bench.svg").write_text(chart(result), encoding="utf-8")
    if options.json:
        print(msgspec.json.encode(result).decode())
    else:
        show(result, Console(width=None if sys.stdout.isatty() else 180))
    return 0


def run_extraction(options: argparse.Namespace) -> int:
    """Install or measure, then print or write the page."""
    from datetime import UTC, datetime

    from lycosa.bench.install import Cache, default_cache, install_readers
    from lycosa.bench.quality.page import markdown
    from lycosa.bench.quality.run import ALL_PAGES, QualityPlan, measure_quality

    cache = Cache(options.cache or default_cache())
    if options.install:
        install_readers(cache, _say)
        return 0
    if options.data is None:
        raise SettingsError("--data: which folder has the labelled pages?")
    pages = ALL_PAGES if options.pages is None else options.pages
    if min(pages, options.hosts, options.seconds) < 1:
        raise SettingsError("--pages, --hosts and --seconds must be at least 1")
    plan = QualityPlan(options.data, cache.readers_python, pages, options.seconds, options.hosts)
    page = markdown(measure_quality(plan, datetime.now(UTC).date(), _say))
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    else:
        print(page, end="")
    return 0


def run_experiments(options: argparse.Namespace) -> int:
    """Measure, then print or write the page."""
    from lycosa.bench.experiments.run import FULL, NAMES, QUICK, experiments, markdown, write

    names = options.only.split(",") if options.only else NAMES
    if unknown := sorted(set(names) - set(NAMES)):
        raise SettingsError(f"--only: there is no experiment {unknown[0]!r} ({', '.join(NAMES)})")
    only, quick = f" --only {options.only}" if options.only else "", " --quick" if options.quick else ""
    command = f"lycosa bench experiments{only}{quick}"
    sections = list(experiments(names, QUICK if options.quick else FULL, _say))
    if options.write:
        write(sections, f"{command} --write {options.write}", options.write)
    else:
        print(markdown(sections, command, "experiments"), end="")
    return 0


def worker_counts(text: str) -> list[int]:
    """The numbers of workers to try, each once."""
    try:
        numbers = list(dict.fromkeys(map(int, text.split(","))))
    except ValueError:
        numbers = [-1]
    if min(numbers) < 0:
        raise SettingsError(f"--workers: {text!r} is no number, and no list of numbers like 1,2,4")
    return numbers


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
