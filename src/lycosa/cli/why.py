"""`lycosa why`: what became of a URL in a crawl, and for which reason."""

from __future__ import annotations

import argparse
import time
from typing import Any

import msgspec

from lycosa.cli.arguments import add_crawl_options, add_json_option, new_parser
from lycosa.cli.printing import console, print_facts, print_json, print_table
from lycosa.inspect.wording import visible

_EXAMPLES = """\
  lycosa why https://example.org/private/ --folder broad
  lycosa why example.org/a --json
  lycosa why --left-out example.org --folder broad
  lycosa why example.org/a --frontier 'redis://10.0.0.1/0?crawl=web'
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "why",
        "Explain any URL: whether the crawl knows it, visited it, refused it, or where it waits and what for. "
        "Or list what the rules against endless sites left out of a host.",
        _EXAMPLES,
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("url", metavar="URL", nargs="?", help="any URL, as a page or a person writes it")
    what.add_argument("--left-out", metavar="HOST", help="list the URLs of this host that were left out by rule")
    add_crawl_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from lycosa.inspect.opened import opened_crawl
    from lycosa.inspect.why import explain

    if options.left_out:
        return _list_left_out(options)
    with opened_crawl(options.folder, options.frontier) as crawl:
        answer = explain(crawl, options.url, time.time())
    if options.json:
        print_json({**msgspec.structs.asdict(answer), "facts": dict(answer.facts)})
        return 0
    console().print(visible(answer.url), style="bold")
    console().print(visible(answer.sentence))
    print_facts(answer.facts, indent="  ")
    if answer.inputs:
        print_table(
            ["whether and when", "says", "counts"],
            [(each.name, each.says, each.weight) for each in answer.inputs],
        )
    for source in answer.linked_from:
        rel = f"  (rel={source.rel})" if source.rel else ""
        print_facts([("linked from", f"{source.url}{rel}")], indent="  ")
    return 0


def _list_left_out(options: argparse.Namespace) -> int:
    from lycosa.inspect.left_out import left_out_of
    from lycosa.inspect.opened import opened_folder

    with opened_folder(options.folder) as folder:
        for each in left_out_of(folder, options.left_out):
            if options.json:
                print_json(msgspec.structs.asdict(each))
            else:
                print("\t".join(visible(field) for field in (each.reason, each.url, each.detail)))
    return 0
