"""`lycosa changes`: what became of the pages of a crawl since a moment."""

from __future__ import annotations

import argparse
import re
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa.cli.arguments import add_folder_option, add_json_option, new_parser, parse_moment
from lycosa.cli.printing import print_facts, print_json
from lycosa.inspect.wording import moment, visible

if TYPE_CHECKING:
    from lycosa.inspect.changes import Kind

_EXAMPLES = """\
  lycosa changes --since 7d --folder broad
  lycosa changes --since 2031-05-01 --what changed --limit 100
  lycosa changes --since 12h --json > changes.jsonl
"""
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
_AGO = re.compile(rf"(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})")
_KINDS = ("new", "changed", "unchanged", "vanished")


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "changes",
        "Which pages are new since a moment, which have changed (and how much), which were looked at and have not, "
        "and which have vanished.",
        _EXAMPLES,
    )
    add_folder_option(parser)
    parser.add_argument(
        "--since", required=True, metavar="TIME", help="a moment (2031-05-01T10:00:00Z), or how long ago (12h, 7d)"
    )
    parser.add_argument("--what", choices=_KINDS, help="list these only (default: all but the unchanged)")
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="URLs listed of each kind (default: 20)")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the changes."""
    from lycosa.inspect.changes import changes_since, count_changes
    from lycosa.inspect.opened import opened_folder

    since = parse_since(options.since, time.time())
    with opened_folder(options.folder) as folder:
        if options.json:
            for change in changes_since(folder, since, options.what):
                print_json(msgspec.structs.asdict(change))
            return 0
        counted = count_changes(folder, since)
        print_facts([("since", moment(since)), *((kind, f"{number:,}") for kind, number in counted.items())])
        kinds: list[Kind] = [options.what] if options.what else ["new", "changed", "vanished"]
        for kind in kinds:
            for change in islice(changes_since(folder, since, kind), options.limit):
                how = f"{change.changed:.0%}" if kind == "changed" else change.detail
                print("\t".join((kind, moment(change.at), visible(change.url), visible(how))))
    return 0


def parse_since(text: str, now: float) -> float:
    """A moment, or how long ago it was."""
    if ago := _AGO.fullmatch(text.strip()):
        return now - float(ago[1]) * _UNITS[ago[2]]
    return parse_moment(text)
