"""`lycosa status`: where a crawl stands, while it runs and after."""

from __future__ import annotations

import argparse
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from lycosa.cli import show
from lycosa.ports import Counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lycosa.frontier.records import HostRecord
    from lycosa.frontier.view import CrawlView, Crew, Machine, Shares, TroubledOrigin
    from lycosa.store.folder import CrawlFolder

_EXAMPLES = """\
  lycosa status --folder broad
  lycosa status --folder broad --json | jq .counts.queued
  lycosa status --frontier 'redis://10.0.0.1/0?crawl=web'
"""
# Hosts that are looked through for the longest queues: some seconds' work.
MAX_LOOKED_AT = 500_000
_OUTCOMES = ("stored", "duplicate", "unchanged", "moved", "refused", "failed", "crashed", "read")


class QueuedHost(msgspec.Struct, frozen=True):
    """A host that has something queued."""

    host: str
    queued: int
    visits: int
    failures: int
    free_at: float
    waits_for: str


class BannedHost(msgspec.Struct, frozen=True):
    """A host that told us to go away."""

    host: str
    said: str
    until: float
    queued: int


class OriginAside(msgspec.Struct, frozen=True):
    """An origin in trouble: its targets are set aside for a while."""

    origin: str
    trouble: str
    next_try_at: float
    queued: int


class WorkerBalance(msgspec.Struct, frozen=True):
    """How evenly the requests of a balanced crawl are spread over its workers."""

    requests: list[int]
    variation: float
    max_overestimate: int


class Status(msgspec.Struct, frozen=True):
    """A crawl at one moment. `process` is 0 unless a crawl runs on the folder.

    `machines` are those of a shared crawl that were heard lately, `crew` is all that is known of them; `troubled` are
    some of the `troubled_origins`.
    """

    folder: str
    state: str
    process: int
    counts: Counts
    waiting_hosts: int
    parked_hosts: int
    next_retry_at: float
    next_host_at: float
    last_visit_at: float
    disk_bytes: int
    hosts: list[QueuedHost]
    machines: list[str]
    banned: list[BannedHost]
    balance: WorkerBalance | None = None
    crew: Crew | None = None
    troubled: list[OriginAside] = []
    troubled_origins: int = 0


def add_parser(commands: Any) -> None:
    """Add the command to the command line."""
    parser = show.new_parser(
        commands,
        "status",
        "where a crawl stands: counters, queues, what it waits for",
        "Show where a crawl stands, while it runs and after.",
        _EXAMPLES,
    )
    show.add_crawl_options(parser)
    parser.add_argument("--hosts", type=int, default=10, metavar="N", help="hosts with most queued (default: 10)")
    show.add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with show.opened_crawl(options) as crawl:
        status = read_status(crawl, max(0, options.hosts))
    if options.json:
        counts = {"pages": status.counts.pages, **msgspec.structs.asdict(status.counts)}
        show.print_json({**msgspec.structs.asdict(status), "counts": counts})
    else:
        print_status(status, time.time())
    return 0


def read_status(crawl: show.OpenedCrawl, max_hosts: int) -> Status:
    """The status of a crawl now."""
    folder, view = crawl.folder, crawl.view
    process = folder.running_process() if folder else 0
    facts: dict[str, Any] = {
        "folder": str(folder.path) if folder else "",
        "process": process,
        "last_visit_at": _last_visit_at(folder) if folder else 0.0,
        "disk_bytes": folder.disk_bytes() if folder else 0,
    }
    if view is None:
        state = "running, with its frontier in memory" if process else "not running; its frontier was in memory only"
        return Status(state=state, counts=Counts(), **facts, **_NO_FRONTIER)
    counts, crew = view.counts(), view.crew
    return Status(
        state=_state(crawl, counts, is_running=process != 0 or bool(crew and crew.is_running)),
        counts=counts,
        machines=[_machine(each) for each in crew.machines if not each.is_silent] if crew else [],
        crew=crew,
        balance=_balance(view.shares) if view.shares else None,
        **_noteworthy_hosts(view, max_hosts),
        **view.lines()._asdict(),
        **facts,
    )


def _machine(machine: Machine) -> str:
    workers = f"{machine.workers} {'worker' if machine.workers == 1 else 'workers'}"
    return f"{machine.name} ({workers}{f', region {machine.region}' if machine.region else ''})"


def _balance(shares: Shares) -> WorkerBalance:
    return WorkerBalance(shares.requests, shares.variation, shares.max_overestimate)


_NO_FRONTIER: dict[str, Any] = {
    "waiting_hosts": 0,
    "parked_hosts": 0,
    "next_retry_at": 0.0,
    "next_host_at": 0.0,
    "hosts": [],
    "machines": [],
    "banned": [],
}


def _state(crawl: show.OpenedCrawl, counts: Counts, *, is_running: bool) -> str:
    settings = crawl.settings
    if is_running:
        return "running"
    if crawl.folder and crawl.folder.journals():
        return "interrupted: it did not end by itself; the same command goes on, and nothing is lost"
    if settings.max_pages and counts.pages >= settings.max_pages:
        return f"finished: it reached its limit of {settings.max_pages:,} pages"
    if not counts.known:
        return "not begun"
    if counts.queued or counts.delayed:
        return "stopped before its end; the same command goes on"
    return "finished: everything known has been visited"


def _last_visit_at(folder: CrawlFolder) -> float:
    from lycosa.store.read import connect

    with connect(folder) as connection:
        row = connection.execute("SELECT epoch_us(max(fetched_at)) FROM pages").fetchone()
    return row[0] / 1_000_000 if row and row[0] else 0.0


def _noteworthy_hosts(view: CrawlView, limit: int) -> dict[str, Any]:
    """Of the hosts with the longest queues, of those that banned us and of origins in trouble: the foremost."""
    from heapq import nlargest

    from lycosa.frontier.view import troubled_origins_of

    banned: list[HostRecord] = []
    troubled: list[OriginAside] = []

    def looked_at() -> Iterator[HostRecord]:
        for host in islice(view.hosts() if limit else iter(()), MAX_LOOKED_AT):
            if host.ban:
                banned.append(host)
            troubled.extend(_aside(each) for each in troubled_origins_of(host))
            yield host

    def by_queue(each: HostRecord | OriginAside) -> int:
        return each.queued

    longest, now = nlargest(limit, looked_at(), key=by_queue), time.time()
    return {
        "hosts": [
            QueuedHost(host.name, host.queued, host.visits, host.failures, host.free_at, waits_for(host, now))
            for host in longest
            if host.queued
        ],
        "banned": [
            BannedHost(host.name, host.ban, host.free_at, host.queued) for host in nlargest(limit, banned, key=by_queue)
        ],
        "troubled": nlargest(limit, troubled, key=by_queue),
        "troubled_origins": len(troubled),
    }


def _aside(troubled: TroubledOrigin) -> OriginAside:
    return OriginAside(troubled.origin, troubled.trouble, troubled.next_try_at, troubled.queued)


def waits_for(host: HostRecord, now: float) -> str:
    """What a host with something queued waits for."""
    from lycosa.frontier.view import troubled_origins_of

    troubled = troubled_origins_of(host)
    if troubled and {lane.mark for lane in host.lanes} <= {each.mark for each in troubled}:
        first = min(troubled, key=lambda each: each.next_try_at)
        return f"the next try, {until(first.next_try_at, now)}: {first.trouble}"
    if not host.origins:
        return "its robots.txt, which was not asked for yet"
    if host.free_at <= now:
        return "its turn"
    pause = show.duration(host.free_at - now)
    if host.ban:
        return f"the end of its ban ({host.ban}): next try in {pause}"
    return f"back-off after {host.failures:,} failures: {pause}" if host.failures else f"its pause: {pause}"


def print_status(status: Status, now: float) -> None:
    """A status for people."""
    counts = status.counts
    process = f" (process {status.process})" if status.process > 0 else ""
    place = [("crawl", status.folder)] if status.folder else []
    crew = _crew_facts(status.crew) if status.crew else []
    show.print_facts([*place, ("state", f"{status.state}{process}"), *crew])
    print()
    show.print_facts(
        [
            ("pages", f"{counts.pages:,} from {counts.hosts:,} hosts, {show.size(counts.fetched_bytes)} fetched"),
            ("URLs known", f"{counts.known:,}"),
            (
                "queued",
                f"{counts.queued:,} ({status.waiting_hosts:,} hosts wait, {status.parked_hosts:,} rest for long)",
            ),
            ("under way", f"{counts.leased:,}" if status.process or status.machines else ""),
            ("to retry", f"{counts.delayed:,}{_when(status.next_retry_at, now)}"),
            *((name, f"{getattr(counts, name):,}") for name in _OUTCOMES),
            ("dropped", f"{counts.dropped:,} times a host's queue was full" if counts.dropped else ""),
            ("set aside", f"{counts.poisoned:,} records that cannot be read" if counts.poisoned else ""),
            ("balance", _spread(status.balance) if status.balance else ""),
            ("last visit", show.moment(status.last_visit_at) if status.folder else ""),
            ("on disk", show.size(status.disk_bytes) if status.folder else ""),
        ]
    )
    if status.hosts:
        print()
        show.print_table(
            ["host", "queued", "visits", "failures", "waits for"],
            [(host.host, host.queued, host.visits, host.failures, host.waits_for) for host in status.hosts],
            title="longest queues",
        )
    if status.banned:
        print()
        show.print_table(
            ["host", "queued", "said", "next try"],
            [(host.host, host.queued, host.said, until(host.until, now)) for host in status.banned],
            title="hosts that told us to go away",
        )
    if status.troubled:
        print()
        show.print_table(
            ["origin", "queued", "why", "next try"],
            [(each.origin, each.queued, each.trouble, until(each.next_try_at, now)) for each in status.troubled],
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
    partitions = _partitions(machine.partitions)
    if machine.is_silent:
        return f"{_machine(machine)}: silent for {show.duration(machine.heard_seconds_ago)}, has {partitions}"
    return f"{_machine(machine)}: {partitions}{f', waits for {machine.waits_for}' if machine.waits_for else ''}"


def _partitions(count: int) -> str:
    return f"{count:,} {'partition' if count == 1 else 'partitions'}"


def _spread(balance: WorkerBalance) -> str:
    least, most = balance.requests[0], balance.requests[-1]
    return (
        f"{len(balance.requests):,} workers had {least:,} to {most:,} requests each, variation {balance.variation:.1%}"
        f"; a domain is counted at most {balance.max_overestimate:,} too high"
    )


def until(due: float, now: float) -> str:
    """When something is due, as a stretch of time from now."""
    return f"in {show.duration(due - now)}" if due > now else "due"


def _when(due: float, now: float) -> str:
    if not due:
        return ""
    return f", the first in {show.duration(due - now)}" if due > now else ", the first is due"
