"""`lycosa serve`: a crawl in the browser."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path
from typing import Any

from lycosa.cli.arguments import add_crawl_options, new_parser
from lycosa.cli.printing import say
from lycosa.dashboard.serve import ANYWHERE, DashboardAddress, listen, serve

_EXAMPLES = """\
  lycosa serve --folder broad
  lycosa serve --folder broad --listen 127.0.0.1:8080 --token-file token
  lycosa serve --frontier 'redis://10.0.0.1/0?crawl=web'
  lycosa serve --folder s3://bucket/web
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "serve",
        "Show a crawl in the browser, whether it runs or not: figures that move, hosts, URLs, search by words, "
        "orders (pause, block a host, add seeds), and /metrics for Prometheus. Prints the link that opens it. "
        "Ctrl-C ends it, and changes nothing for the crawl.",
        _EXAMPLES,
    )
    add_crawl_options(parser)
    parser.add_argument(
        "--listen", default=ANYWHERE, metavar="ADDRESS:PORT", help="where (default: a free port of 127.0.0.1)"
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="keep the token of the link here, so that it stays the same"
    )
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="also answer to this name (may repeat)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    listening = listen(options.listen, options.token_file, options.allow_host)
    introduce(listening)
    with suppress(KeyboardInterrupt):
        serve(options.folder, options.frontier, listening)
    return 0


def introduce(listening: DashboardAddress) -> None:
    """Say how one gets in."""
    say(f"Dashboard: {listening.link}")
    if not listening.is_on_loopback:
        say("others can reach it, and the link is not encrypted on its way: who reads it gets in")
