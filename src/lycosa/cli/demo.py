"""`lycosa demo`: the whole of it without a network: a simulated web, a crawl of it, and whether all was found."""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa.cli.arguments import add_json_option, new_parser
from lycosa.cli.printing import console, print_facts, print_json
from lycosa.cli.serve import introduce
from lycosa.dashboard.serve import ANYWHERE, DashboardAddress, ServedBeside, listen
from lycosa.errors import SettingsError
from lycosa.inspect.wording import visible

if TYPE_CHECKING:
    from lycosa.simweb import SimWebProcess, Truth, WebPlan
    from lycosa.store.folder import CrawlFolder

EXIT_DIFFERENT = 3
MAX_SHOWN = 5
# Short enough that the demo takes seconds, long enough that politeness can be seen at work.
_PACE = ("--min-delay", "0.1", "--delay-factor", "1")
# Answers of 429, 500 and 503 are tried again; the pauses that suit the open web would take a day.
_RETRIES = "retry_after_seconds=[1.0, 2.0]"
_EXAMPLES = """\
  lycosa demo
  lycosa demo --hosts 100 --pages 50 --folder demo
"""


class Comparison(msgspec.Struct, frozen=True):
    """What the crawl has against what the web has."""

    expected: int
    found: int
    missing: list[str]
    extra: list[str]
    disallowed: list[str]
    repeated: list[str]

    @property
    def holds(self) -> bool:
        return not (self.missing or self.extra or self.disallowed or self.repeated)


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "demo",
        "Serve a simulated web on this machine, crawl it, and compare what was found with what is there.",
        _EXAMPLES,
    )
    parser.add_argument("--hosts", type=int, default=30, metavar="N", help="hosts of the web (default: 30)")
    parser.add_argument("--pages", type=int, default=20, metavar="N", help="pages on each host (default: 20)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another number is another web (default: 1)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where the crawl is kept (default: a new one)")
    parser.add_argument("--serve", action="store_true", help="with a dashboard, also where no terminal is at hand")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from lycosa.store.folder import CrawlFolder

    folder = CrawlFolder(options.folder or tempfile.mkdtemp(prefix="lycosa-demo-"))
    if folder.exists:
        raise SettingsError(f"{folder.path}: there is a crawl in this folder already; name another with --folder")
    if not (options.serve or _is_seen()):
        return _crawl_and_compare(options, folder)
    listening = listen(ANYWHERE)
    with ServedBeside(folder.path, None, listening) as dashboard:
        introduce(listening)
        code = _crawl_and_compare(options, folder)
        if _is_seen():
            _stay(listening, dashboard)
    return code


def _crawl_and_compare(options: argparse.Namespace, folder: CrawlFolder) -> int:
    from lycosa.cli.main import main
    from lycosa.simweb import SimWebProcess

    started = time.monotonic()
    with SimWebProcess(_plan(options)) as web:
        if not options.json:
            _introduce(web)
        arguments = [*_crawl_arguments(web, folder), *(["--quiet"] if options.json else [])]
        if not options.json:
            print(f"$ lycosa {shlex.join(arguments)}\n", flush=True)
        code = main(arguments)
        if code:
            return code
        comparison = compare(folder, web.truth())
    if options.json:
        facts = {"folder": str(folder.path), "report": str(folder.report), "seconds": time.monotonic() - started}
        print_json({**facts, **msgspec.structs.asdict(comparison), "holds": comparison.holds})
    else:
        _print(comparison)
        _print_next(folder)
    return 0 if comparison.holds else EXIT_DIFFERENT


def _is_seen() -> bool:
    """Whether somebody sits in front of it, who can open a link and press Ctrl-C."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _stay(listening: DashboardAddress, dashboard: ServedBeside) -> None:
    print(f"\nLook at it in the browser: {listening.link}\nCtrl-C ends the dashboard.", flush=True)
    # The crawl had a use of its own for it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        dashboard.wait()


def _plan(options: argparse.Namespace) -> WebPlan:
    from lycosa.simweb import WebPlan

    try:
        # All that the open web has, but nobody should wait for it: hosts ask for shorter pauses and answer sooner.
        return WebPlan.named(
            "mixed",
            seed=options.seed,
            hosts=options.hosts,
            pages_per_host=options.pages,
            crawl_delay_seconds=0.5,
            slow_seconds=0.2,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _introduce(web: SimWebProcess) -> None:
    plan = web.plan
    console().print("A simulated web on this machine", style="bold")
    print(
        f"{plan.hosts:,} hosts with {plan.pages_per_host:,} pages each, in many languages and encodings; robots.txt,"
        " sitemaps, redirects,\n"
        "duplicates, errors and slow hosts as the open web has them. Nothing leaves this machine.\n"
    )


def _crawl_arguments(web: SimWebProcess, folder: CrawlFolder) -> list[str]:
    servers = f'dns_servers=["{web.dns_address}"]'
    arguments = ["crawl", *web.seeds, "--scope", "any", "--folder", str(folder.path)]
    return [*arguments, "--open-network", "127.0.0.0/8", *_PACE, "--set", servers, "--set", _RETRIES]


def compare(folder: CrawlFolder, truth: Truth) -> Comparison:
    """Hold the pages of a crawl against the truth of the web it crawled."""
    from lycosa.store.read import connect

    with connect(folder) as connection:
        asked = connection.execute(
            "SELECT url, count(*) FILTER (outcome IN ('stored', 'duplicate', 'unchanged')) FROM pages"
            " WHERE outcome NOT IN ('refused', 'read') GROUP BY url"
        ).fetchall()
    requested = {url for url, _ in asked}
    return Comparison(
        expected=len(truth.reachable),
        found=len(requested & truth.reachable),
        missing=sorted(truth.reachable - requested),
        extra=sorted(url for url in requested if url not in truth.pages),
        disallowed=sorted(url for url in requested & truth.pages.keys() if not truth.pages[url].is_allowed),
        repeated=sorted(url for url, pages in asked if pages > 1),
    )


def _print(comparison: Comparison) -> None:
    out = console()
    print()
    verdict = "Everything was found" if comparison.holds else "The crawl and the web differ"
    out.print(verdict, style="bold green" if comparison.holds else "bold red")
    print_facts(
        [
            ("to be found", f"{comparison.expected:,} URLs"),
            ("found", f"{comparison.found:,}"),
            ("missing", f"{len(comparison.missing):,}"),
            ("not of this web", f"{len(comparison.extra):,}"),
            ("disallowed", f"{len(comparison.disallowed):,} of those requested"),
            ("kept twice", f"{len(comparison.repeated):,}"),
        ],
        indent="  ",
    )
    for urls in (comparison.missing, comparison.extra, comparison.disallowed, comparison.repeated):
        for url in urls[:MAX_SHOWN]:
            print(f"    {visible(url)}")


def _print_next(folder: CrawlFolder) -> None:
    from lycosa.store.read import connect

    with connect(folder) as connection:
        refused = connection.execute("SELECT url FROM pages ORDER BY outcome <> 'refused', url LIMIT 1").fetchone()
        titled = connection.execute(
            "SELECT title FROM pages WHERE title <> '' ORDER BY language <> 'en', url"
        ).fetchone()
    url = refused[0] if refused else "http://example.org/"
    # Called by its path, as `make demo` does, it is called so again.
    program = "lycosa" if shutil.which("lycosa") else shlex.quote(str(Path(sys.executable).with_name("lycosa")))
    place = f"--folder {shlex.quote(str(folder.path))}"
    query = "SELECT host, count(*) AS pages FROM pages GROUP BY host ORDER BY 2 DESC LIMIT 5"
    print(f"\nThe report: {folder.report.absolute()}\n\nTry next:")
    print(f"  {program} status {place}")
    print(f'  {program} query "{query}" {place}')
    if titled:
        print(f"  {program} search {shlex.quote(visible(titled[0]))} {place}")
    print(f"  {program} why {shlex.quote(url)} {place}")
