"""`lycosa policy`: how a host is treated, and to have it treated otherwise, also while the crawl runs."""

from __future__ import annotations

import argparse
import time
from typing import Any

import msgspec

from lycosa.cli.arguments import add_crawl_options, add_json_option, new_parser
from lycosa.cli.printing import print_facts, print_json

_EXAMPLES = """\
  lycosa policy example.org --folder broad
  lycosa policy example.org --delay 30 --pages-per-day 500
  lycosa policy example.org --block
  lycosa policy example.org --unblock --delay 0 --pages-per-day 0 --priority 0      as if nothing had been said
"""


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "policy",
        "Show how a host is treated: its pause, the robots rules in force, its budget, health and priority, and how "
        "often its pages change. Or change that: a crawl that runs obeys within a second, one that does not when it "
        "goes on.",
        _EXAMPLES,
    )
    parser.add_argument("host", metavar="HOST", help="a host name, without scheme and port")
    parser.add_argument(
        "--delay", type=float, metavar="S", help="at least so many seconds between two requests; 0: as politeness asks"
    )
    parser.add_argument("--pages-per-day", type=float, metavar="N", help="at most so many requests a day; 0: any")
    parser.add_argument(
        "--priority",
        type=int,
        metavar="N",
        help="so many classes (-9 to 9) before others when hosts are chosen; 0: none",
    )
    blocking = parser.add_mutually_exclusive_group()
    blocking.add_argument("--block", action="store_true", help="ask it for nothing; what is queued stays queued")
    blocking.add_argument("--unblock", action="store_true", help="take a block back")
    add_crawl_options(parser)
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Give the order, if there is one, and print the facts."""
    from lycosa.crawl.orders import give, pending
    from lycosa.inspect.host_policy import host_facts
    from lycosa.inspect.opened import opened_crawl
    from lycosa.orders import SetPolicy

    is_blocked = True if options.block else False if options.unblock else None
    order = SetPolicy(options.host, options.delay, options.pages_per_day, options.priority, is_blocked)
    with opened_crawl(options.folder, options.frontier) as crawl:
        given = None
        if order != SetPolicy(options.host):
            given = give(order, folder=crawl.folder, frontier=crawl.settings.frontier, by="lycosa policy")
        found = host_facts(crawl, options.host, time.time())
        waiting = len(pending(crawl.folder)) if crawl.folder else 0
        is_running = bool(crawl.folder and crawl.folder.running_process())
    if options.json:
        policy = msgspec.structs.asdict(found.policy) if found.policy else {}
        order_id = given.id if given else ""
        print_json({**msgspec.structs.asdict(found), "policy": policy, "order": order_id, "pending": waiting})
        return 0
    print_facts([("host", found.host), *found.facts])
    if given:
        when = "within a second" if is_running or options.frontier else "when the crawl goes on"
        print(f"ordered: it is obeyed {when}, and shown here from then on")
    elif waiting:
        print(f"{waiting:,} orders wait for the crawl to go on")
    return 0
