"""`lycosa crawl`: run a crawl, or go on with it."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from contextlib import nullcontext, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lycosa.cli.arguments import place
from lycosa.cli.commands import COMMANDS
from lycosa.cli.serve import introduce
from lycosa.clock import steady_clock
from lycosa.dashboard.serve import ANYWHERE, ServedBeside, listen
from lycosa.errors import BackendLost, SettingsError
from lycosa.store.objects import ObjectPlace, Objects

if TYPE_CHECKING:
    from lycosa.crawl.session import Ending, Session
    from lycosa.observe.progress import Style
    from lycosa.observe.tally import Tally
    from lycosa.settings import Settings
    from lycosa.store.folder import CrawlFolder
    from lycosa.url.canonical import ParsedUrl

# Tables larger than this are not brought back from an object store for a report.
MAX_REPORT_BYTES = 1024**3
SECONDS_PER_DAY = 86_400
# What editors on Windows put before a text: without it the first seed would be a host of that name.
_MARK_OF_UTF_8 = "\ufeff"
# Options of the command line that are settings under another name.
_OPTIONS = {
    "max_pages": "max_pages",
    "render": "render",
    "requisites": "requisites",
    "max_depth": "max_depth",
    "scope": "scope",
    "include": "include",
    "exclude": "exclude",
    "order": "order",
    "topic": "topic",
    "like": "like",
    "workers": "workers",
    "connections": "connections",
    "min_delay": "min_delay_seconds",
    "delay_factor": "delay_factor",
    "open_network": "open_networks",
    "frontier": "frontier",
    "user_agent": "user_agent",
    "pages_per_second": "pages_per_second",
    "hooks": "hooks",
}
_EXAMPLES = """\
examples:
  lycosa crawl https://example.org/ --max-pages 1000
  lycosa crawl --seeds seeds.txt --scope any --folder broad --set max_body_bytes=2000000
  lycosa crawl https://example.org/ --serve      and watch it in the browser
  lycosa crawl https://example.org/ --topic "regular expressions" --max-pages 500
  lycosa crawl --folder broad          go on where it stopped
  lycosa crawl --folder broad --revisit --pages-per-day 50000      keep it fresh, until it is stopped
  lycosa crawl https://example.org/ --frontier redis://10.0.0.1/0?crawl=web      the same on every machine

exit codes: 0 finished, 1 backend lost, 2 bad settings, 3 stopped, incomplete, or a seed gave no page
"""


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser(
        "crawl",
        help=COMMANDS["crawl"],
        description="Crawl from seed URLs. The same command goes on where it stopped, also after a crash.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("seeds", nargs="*", metavar="SEED", help="URL to start from")
    parser.add_argument("--seeds", dest="seed_file", type=Path, metavar="FILE", help="file with one seed per line")
    parser.add_argument(
        "--folder", type=place, default=Path("crawl"), help="where the crawl is kept: a folder, or s3://BUCKET/PREFIX"
    )
    parser.add_argument("--spool", type=Path, metavar="DIR", help="with s3://: where files lie until they are shipped")
    parser.add_argument(
        "--frontier",
        help="where the queue lives: rocks (in the folder), memory, or redis://…",
    )
    parser.add_argument("--max-pages", type=int, metavar="N", help="stop after exactly N pages")
    parser.add_argument("--max-depth", type=int, metavar="N", help="follow at most N links away from a seed")
    parser.add_argument("--scope", choices=("host", "domain", "any"), help="which links are followed (default: domain)")
    parser.add_argument("--include", action="append", metavar="RE", help="follow only URLs that match (may repeat)")
    parser.add_argument("--exclude", action="append", metavar="RE", help="do not follow URLs that match (may repeat)")
    parser.add_argument("--order", choices=("breadth", "depth", "best", "topic"), help="what is fetched first")
    parser.add_argument("--topic", metavar="WORDS", help="what the crawl is about: such pages first (--order topic)")
    parser.add_argument(
        "--like", action="append", metavar="URL|FILE", help="a page as those that are wanted; the same (may repeat)"
    )
    parser.add_argument(
        "--render", choices=("never", "auto", "always"), help="which pages a browser shows before they are read"
    )
    parser.add_argument(
        "--requisites",
        action="store_true",
        default=None,
        help="also fetch what a browser loads to show the pages: styles, images, scripts, fonts",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="worker processes (default: one per core)")
    parser.add_argument(
        "--connections", type=int, metavar="N", help="open requests per worker (default: as many as hosts are ready)"
    )
    parser.add_argument("--min-delay", type=float, metavar="S", help="shortest pause per host in seconds (default: 1)")
    parser.add_argument("--delay-factor", type=float, metavar="X", help="pause = X times the last fetch (default: 10)")
    parser.add_argument("--user-agent", metavar="TEXT", help="how the crawler names itself, with a contact")
    parser.add_argument(
        "--open-network", action="append", metavar="CIDR", help="also fetch from this non-public network (may repeat)"
    )
    parser.add_argument(
        "--hooks",
        type=lambda path: str(Path(path).absolute()),
        metavar="FILE",
        help="Python file with functions that take part in visits (docs/how-to/hooks.md)",
    )
    parser.add_argument(
        "--revisit", action="store_true", help="go on until stopped: visit pages again as they change, new ones too"
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="with --revisit: if the crawl is finished, visit its pages once more, and end",
    )
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument(
        "--pages-per-second", type=float, metavar="X", help="with --revisit: budget for new and known pages"
    )
    budget.add_argument("--pages-per-day", type=float, metavar="N", help="the same, per day")
    parser.add_argument("-c", "--config", type=Path, metavar="FILE", help="settings file (TOML)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="any setting (may repeat)")
    parser.add_argument(
        "--serve",
        nargs="?",
        const=ANYWHERE,
        metavar="ADDRESS:PORT",
        help="show it in the browser while it runs (default: a free port of 127.0.0.1)",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="one JSON object at the end, progress as JSON lines")
    shown.add_argument("--quiet", action="store_true", help="say nothing but errors")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    import uvloop

    from lycosa.crawl.session import Session
    from lycosa.frontier.redis.address import is_redis
    from lycosa.observe.tally import Tally
    from lycosa.store.folder import CrawlFolder
    from lycosa.store.shipper import spool_of
    from lycosa.url.canonical import parse_seeds
    from lycosa.wiring.crawl import ProcessParts

    if options.serve and "://" in options.serve:
        # A seed, before which no address was named.
        options.seeds, options.serve = [options.serve, *options.seeds], ANYWHERE
    place = options.folder
    objects = Objects(place) if isinstance(place, ObjectPlace) else None
    folder = CrawlFolder(options.spool or spool_of(place), away=objects) if objects else CrawlFolder(place)
    tally = Tally(steady_clock())
    parts = ProcessParts()
    session = Session(
        parts,
        folder,
        partial(_settings, options),
        asked=frozenset(_asked(options)),
        objects=objects,
        on_settled=tally.add,
    )
    if options.once and not options.revisit:
        raise SettingsError("--once goes with --revisit: one more visit of every page, and then the end")
    seeds = parse_seeds(_seed_texts(options, session.settings), session.settings.schemes)
    is_shared = is_redis(session.settings.frontier)
    # A crawl of many machines has its seeds in the store.
    if not seeds and not folder.read_seeds() and not is_shared:
        raise SettingsError("no seeds: name a URL to start from, or --seeds FILE, or the --folder of a crawl")
    if objects and not is_shared:
        raise SettingsError(f"{place}: a crawl into an object store needs a --frontier redis://…")
    listening = listen(options.serve) if options.serve else None
    parts.begin()
    with session, ServedBeside(place, None, listening) if listening else nullcontext():
        if listening:
            introduce(listening)
        return uvloop.run(_crawl(options, session, tally, seeds))


async def _crawl(options: argparse.Namespace, session: Session, tally: Tally, seeds: list[ParsedUrl]) -> int:
    from lycosa.observe.live import LiveFile
    from lycosa.observe.progress import Progress

    loop = asyncio.get_running_loop()
    # Whoever closes the terminal wants the crawl stopped, like one who presses Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, session.stop)
    style: Style = "json" if options.json else "quiet" if options.quiet else "human"
    if session.settings.order == "topic":
        # Not before: it reads pages, which the command else leaves to others.
        from lycosa.library import take_in_topic

        await take_in_topic(session)
    async with Progress(session, tally, style), LiveFile(session, tally) as live:
        ending = await session.run(seeds, revisit=options.once)
    await live.end(ending)
    return await _sum_up(options, session, tally, ending)


async def _sum_up(options: argparse.Namespace, session: Session, tally: Tally, ending: Ending) -> int:
    """Say what came of a crawl, in a summary and a report; the exit code."""
    import msgspec

    from lycosa.cli.printing import standard_output
    from lycosa.crawl.session import Ending
    from lycosa.inspect.changes import count_changes
    from lycosa.inspect.freshness import freshness_of_folder
    from lycosa.inspect.left_out import left_out
    from lycosa.inspect.opened import readable_tables
    from lycosa.inspect.seeds import missed_seeds
    from lycosa.observe.progress import summary

    # Of a crawl that many machines share this folder has a part only.
    with readable_tables(session.folder):
        is_whole = ending is Ending.FINISHED and not session.folder.seat
        is_ended = ending is not Ending.STOPPED and not session.folder.seat
        if ending is Ending.INCOMPLETE and is_ended:
            _take_in_troubles(session.folder, tally)
        waiting = {origin: trouble.reason for origin, trouble in tally.troubled.items()}
        missed = missed_seeds(session.folder, waiting) if is_ended else []
        left = left_out(session.folder) if is_whole else []
        is_again = options.once or session.settings.continuous
        changes = count_changes(session.folder, tally.started_at) if is_again else None
    fresh = None
    if session.settings.continuous:
        # A store that machines share may be gone by now.
        with suppress(BackendLost):
            fresh = freshness_of_folder(session.folder, time.time())
    facts = summary(session, tally, options.folder, ending, missed, left, changes, fresh)
    with standard_output():
        if options.json:
            print(msgspec.json.encode(facts).decode())
        elif not options.quiet:
            facts.show()
    if session.settings.report:
        with readable_tables(session.folder):
            await asyncio.to_thread(_write_report, session.folder)
    is_within = facts.missed_share <= facts.left_out_share
    return 0 if ending is Ending.FINISHED and not missed and is_within else 3


def _take_in_troubles(folder: CrawlFolder, tally: Tally) -> None:
    """Origins that wait since an earlier run: this one may not have asked any of them, and ends because of them."""
    from lycosa.inspect.opened import opened_view
    from lycosa.observe.tally import MAX_TROUBLED, OriginTrouble

    with opened_view(folder) as view:
        for each in islice(view.troubled_origins(), MAX_TROUBLED) if view else ():
            tally.troubled.setdefault(each.origin, OriginTrouble(each.state.trouble, each.next_try_at))


def _write_report(folder: CrawlFolder) -> None:
    from lycosa.observe.report import write_report
    from lycosa.store.folder import PARQUET
    from lycosa.store.mirror import MirroredFolder

    if not isinstance(folder.away, Objects):
        write_report(folder)
        return
    # Of all machines, from what has arrived.
    if sum(size for name, size in folder.away.sizes().items() if name.endswith(PARQUET)) <= MAX_REPORT_BYTES:
        arrived = MirroredFolder(folder.away)
        write_report(arrived)
        folder.away.put_file(arrived.report, arrived.report.name)


def _settings(options: argparse.Namespace, folder: CrawlFolder) -> Settings:
    """The folder's own settings, or defaults, then the file, then the command line."""
    from lycosa import settings as settings_file
    from lycosa.crawl.restart import kept_settings

    kept = None if options.config else kept_settings(folder, _changes(options))
    return kept or settings_file.load(options.config, _changes(options))


def _changes(options: argparse.Namespace) -> dict[str, Any]:
    """What the command line itself asks for."""
    from lycosa.settings import parse_change

    changes = dict(parse_change(text) for text in options.set)
    for option, name in _OPTIONS.items():
        if (value := getattr(options, option)) is not None:
            changes[name] = value
    if options.topic is not None or options.like is not None:
        changes.setdefault("order", "topic")
    if options.like is not None:
        changes["like"] = [each if "://" in each else str(Path(each).absolute()) for each in options.like]
    if options.revisit:
        changes["continuous"] = not options.once
    if options.pages_per_day is not None:
        changes["pages_per_second"] = options.pages_per_day / SECONDS_PER_DAY
    return changes


def _asked(options: argparse.Namespace) -> set[str]:
    """The settings that the operator named now: on the command line, or in a file named there."""
    from lycosa.settings import names_in

    return {*_changes(options), *(names_in(options.config) if options.config else ())}


def _seed_texts(options: argparse.Namespace, settings: Settings) -> list[str]:
    texts = [*settings.seeds, *options.seeds]
    if options.seed_file:
        try:
            source = sys.stdin if str(options.seed_file) == "-" else options.seed_file.open(encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"{options.seed_file}: the seeds cannot be read: {error.strerror}") from None
        try:
            with source:
                lines = [line.removeprefix(_MARK_OF_UTF_8).strip() for line in source]
                texts += [line for line in lines if line and not line.startswith("#")]
        except UnicodeDecodeError as error:
            raise SettingsError(f"{options.seed_file}: the seeds are not UTF-8: {error}") from None
    return texts
