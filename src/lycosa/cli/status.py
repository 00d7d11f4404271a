"""`lycosa status`: where a crawl stands, while it runs and after."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa.cli.arguments import add_crawl_options, add_json_option, new_parser
from lycosa.cli.printing import print_facts, print_json, print_table
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.wording import duration, moment, size, until

if TYPE_CHECKING:
    from lycosa.frontier.view import Crew, Machine
    from lycosa.inspect.status import Status, WorkerBalance
    from lycosa.ports import Counts

_EXAMPLES = """\
  lycosa status --folder broad
  lycosa status --folder broad --json | jq .counts.queued
  lycosa status --frontier 'redis://10.0.0.1/0?crawl=web'
"""
_OUTCOMES = ("stored", "duplicate", "unchanged", "moved", "refused", "failed", "crashed", "read")


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = new_parser(
        commands,
        "status",
        "Show where a crawl stands, while it runs and after.",
        _EXAMPLES,
    )
    add_crawl_options(parser)
    parser.add_argument("--hosts", type=int, default=10, metavar="N", help="hosts with most queued (default: 10)")
    add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from lycosa.inspect.opened import opened_crawl
    from lycosa.inspect.status import read_status

    with opened_crawl(options.folder, options.frontier) as crawl:
        status = read_status(crawl, max(0, options.hosts))
    if options.json:
        counts = {
            "pages": status.counts.pages,
            "harvest": status.counts.harvest,
            **msgspec.structs.asdict(status.counts),
        }
        print_json({**msgspec.structs.asdict(status), "counts": counts})
    else:
        print_status(status, time.time())
    return 0


def print_status(status: Status, now: float) -> None:
    """A status for people."""
    counts = status.counts
    process = f" (process {status.process})" if status.process > 0 else ""
    place = [("crawl", status.folder)] if status.folder else []
    crew = _crew_facts(status.crew) if status.crew else []
    happened = [("happened", f"{moment(each.at)}: {each.sentence}") for each in status.incidents]
    print_facts([*place, ("state", f"{status.state}{process}"), ("missing", status.missing), *happened, *crew])
    print()
    print_facts(
        [
            ("pages", f"{counts.pages:,} from {counts.hosts:,} hosts, {size(counts.fetched_bytes)} fetched"),
            ("on topic", f"{counts.on_topic:,}, {counts.harvest:.1%} of the pages read" if counts.on_topic else ""),
            ("URLs known", f"{counts.known:,}"),
            (
                "queued",
                f"{counts.queued:,} ({status.waiting_hosts:,} hosts wait, {status.parked_hosts:,} rest for long)",
            ),
            ("under way", f"{counts.leased:,}" if status.process or status.machines else ""),
            ("to retry", f"{counts.delayed:,}{_when(status.next_retry_at, now)}"),
            ("freshness", status.freshness.in_words() if status.freshness else ""),
            ("requisites", _requisites(counts)),
            ("resting", f"{counts.resting:,} until they are due again" if counts.resting else ""),
            *((name, f"{getattr(counts, name):,}") for name in _OUTCOMES),
            ("dropped", f"{counts.dropped:,} times a host's queue was full" if counts.dropped else ""),
            ("set aside", f"{counts.poisoned:,} records that cannot be read" if counts.poisoned else ""),
            ("balance", _spread(status.balance) if status.balance else ""),
            ("last visit", moment(status.last_visit_at) if status.folder else ""),
            ("on disk", size(status.disk_bytes) if status.folder else ""),
        ]
    )
    if status.hosts:
        print()
        print_table(
            ["host", "queued", "visits", "failures", "waits for"],
            [(host.host, host.queued, host.visits, host.failures, host.waits_for) for host in status.hosts],
            title="longest queues",
        )
    if status.banned:
        print()
        print_table(
            ["host", "queued", "how", "next try"],
            [
                (host.host, host.queued, sentence_of(host.reason, host.detail), until(host.until, now))
                for host in status.banned
            ],
            title="hosts that told us to go away",
        )
    if status.troubled:
        print()
        print_table(
            ["origin", "queued", "why", "next try"],
            [
                (each.origin, each.queued, sentence_of(each.reason, each.detail), until(each.next_try_at, now))
                for each in status.troubled
            ],
            title="origins in trouble",
        )
        if more := status.troubled_origins - len(status.troubled):
            print(f"and {more:,} more")


def _crew_facts(crew: Crew) -> list[tuple[str, str]]:
    facts = [("machine", _standing(machine)) for machine in crew.machines]
    # Of a crawl that nobody takes part in, none has one.
    if crew.machines and crew.unowned_partitions:
        facts.append(("no owner", f"{_partitions(crew.unowned_partitions)}, whose hosts nobody visits now"))
    return facts


def _standing(machine: Machine) -> str:
    from lycosa.inspect.status import with_workers

    partitions = _partitions(machine.partitions)
    if machine.is_silent:
        return f"{with_workers(machine)}: silent for {duration(machine.heard_seconds_ago)}, has {partitions}"
    return f"{with_workers(machine)}: {partitions}{f', waits for {machine.waits_for}' if machine.waits_for else ''}"


def _partitions(count: int) -> str:
    return f"{count:,} {'partition' if count == 1 else 'partitions'}"


def _spread(balance: WorkerBalance) -> str:
    least, most = balance.requests[0], balance.requests[-1]
    return (
        f"{len(balance.requests):,} workers had {least:,} to {most:,} requests each, variation {balance.variation:.1%}"
        f"; a domain is counted at most {balance.max_overestimate:,} too high"
    )


def _requisites(counts: Counts) -> str:
    """What pages need to be shown, if that is fetched."""
    if not counts.requisites and not counts.requisites_queued:
        return ""
    waiting = f", {counts.requisites_queued:,} are queued" if counts.requisites_queued else ""
    return f"{counts.requisites:,} fetched{waiting}"


def _when(due: float, now: float) -> str:
    if not due:
        return ""
    return f", the first in {duration(due - now)}" if due > now else ", the first is due"
