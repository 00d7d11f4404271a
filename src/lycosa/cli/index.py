"""`lycosa index`: the search index brought up to the tables, for those who do not want to wait for it later."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from lycosa.cli.arguments import add_folder_option, add_json_option, new_parser
from lycosa.cli.printing import print_json, say
from lycosa.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

_EXAMPLES = """\
  lycosa index
  lycosa index --follow 60        go on every 60 seconds, beside a crawl, until Ctrl-C
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "index",
        "Bring the search index of a crawl up to the pages that are in its tables. `lycosa search` does it by itself.",
        _EXAMPLES,
    )
    add_folder_option(parser)
    parser.add_argument("--follow", type=float, metavar="S", help="look again every S seconds, until Ctrl-C")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from lycosa.inspect.opened import opened_folder
    from lycosa.search import open_index

    if options.follow is not None and not options.follow > 0:
        raise SettingsError("--follow takes a number of seconds above 0")
    while True:
        with opened_folder(options.folder) as folder, open_index(folder) as index:
            update, pages = index.update(tell_progress()), index.pages
        if options.json:
            print_json({**update._asdict(), "indexed": pages})
        elif update.is_busy:
            say("another process is bringing the index up to date")
        elif update.parts or options.follow is None:
            say(f"{pages:,} pages can be found; {update.pages:,} came or changed, {update.gone:,} are gone")
        if options.follow is None:
            return 0
        time.sleep(options.follow)


def tell_progress() -> Callable[[int, int], None]:
    """Tells people how far an index is, where it takes longer than one commit."""

    def tell(done: int, total: int) -> None:
        if done < total and sys.stderr.isatty():
            say(f"indexed {done:,} of {total:,} visits")

    return tell
