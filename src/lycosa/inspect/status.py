"""Where a crawl stands, while it runs and after. Says nothing to anybody: `lycosa status` prints it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from heapq import nlargest
from itertools import islice
from typing import Any

import msgspec

from lycosa.frontier.records import HostRecord
from lycosa.frontier.view import CrawlView, Crew, Machine, Shares, TroubledOrigin, troubled_origins_of
from lycosa.inspect.freshness import CollectionFreshness, collection_freshness
from lycosa.inspect.opened import OpenedCrawl
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.wording import duration, until
from lycosa.page.installation import what_is_missing
from lycosa.ports import Counts
from lycosa.store.logbook import Incident, incidents
from lycosa.store.newest import newest_visit_at

# Hosts that are looked through for the longest queues: some seconds' work.
MAX_LOOKED_AT = 500_000
MAX_INCIDENTS = 5


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
    reason: str
    detail: str
    until: float
    queued: int


class OriginAside(msgspec.Struct, frozen=True):
    """An origin in trouble: its targets are set aside for a while."""

    origin: str
    reason: str
    detail: str
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
    missing: str = ""  # what this installation lacks
    paused: str = ""  # what a running crawl waits for
    incidents: list[Incident] = []  # what happened to its folder, the last few
    freshness: CollectionFreshness | None = None  # of a crawl that visits its pages again


def read_status(crawl: OpenedCrawl, max_hosts: int) -> Status:
    """The status of a crawl now."""
    folder, view = crawl.folder, crawl.view
    process = folder.running_process() if folder else 0
    facts: dict[str, Any] = {
        "folder": str(folder.path) if folder else "",
        "process": process,
        "last_visit_at": newest_visit_at(folder) if folder else 0.0,
        "disk_bytes": folder.disk_bytes() if folder else 0,
        "missing": what_is_missing(),
        "paused": folder.paused() if folder else "",
        "incidents": incidents(folder)[-MAX_INCIDENTS:] if folder else [],
    }
    if view is None:
        state = "running, with its frontier in memory" if process else "not running; its frontier was in memory only"
        state = "seen in its object store: what has arrived there" if folder and folder.away else state
        state = f"paused: {facts['paused']}" if facts["paused"] else state
        return Status(state=state, counts=Counts(), **facts, **_NO_FRONTIER)
    counts, crew = view.counts(), view.crew
    return Status(
        state=_state(crawl, counts, facts["paused"], is_running=process != 0 or bool(crew and crew.is_running)),
        counts=counts,
        machines=[with_workers(each) for each in crew.machines if not each.is_silent] if crew else [],
        crew=crew,
        balance=_balance(view.shares) if view.shares else None,
        freshness=collection_freshness(view, time.time()),
        **_noteworthy_hosts(view, max_hosts),
        **view.lines()._asdict(),
        **facts,
    )


def with_workers(machine: Machine) -> str:
    """A machine by its name, with how many workers it has and where it stands."""
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


def _state(crawl: OpenedCrawl, counts: Counts, paused: str, *, is_running: bool) -> str:
    settings = crawl.settings
    if paused:
        return f"paused: {paused}; it goes on by itself when this has passed"
    if is_running:
        return "running"
    if crawl.folder and crawl.folder.journals():
        return "interrupted: it did not end by itself; the same command goes on, and nothing is lost"
    if settings.max_pages and counts.pages >= settings.max_pages and not counts.requisites_queued:
        return f"finished: it reached its limit of {settings.max_pages:,} pages"
    if not counts.known:
        return "not begun"
    if counts.queued or counts.delayed:
        return "stopped before its end; the same command goes on"
    if settings.continuous:
        return "stopped: everything known has been visited, and is due again later; the same command goes on"
    return "finished: everything known has been visited"


def _noteworthy_hosts(view: CrawlView, limit: int) -> dict[str, Any]:
    """Of the hosts with the longest queues, of those that banned us and of origins in trouble: the foremost."""
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
            BannedHost(host.name, host.ban.code, host.ban.detail, host.free_at, host.queued)
            for host in nlargest(limit, banned, key=by_queue)
        ],
        "troubled": nlargest(limit, troubled, key=by_queue),
        "troubled_origins": len(troubled),
    }


def _aside(troubled: TroubledOrigin) -> OriginAside:
    reason = troubled.reason
    return OriginAside(troubled.origin, reason.code, reason.detail, troubled.next_try_at, troubled.queued)


def waits_for(host: HostRecord, now: float) -> str:
    """What a host with something queued waits for."""
    troubled = troubled_origins_of(host)
    if troubled and {lane.mark for lane in host.lanes} <= {each.mark for each in troubled}:
        first = min(troubled, key=lambda each: each.next_try_at)
        why = sentence_of(first.reason.code, first.reason.detail)
        return f"the next try, {until(first.next_try_at, now)}: {why}"
    if host.policy and host.policy.is_blocked:
        return "the operator, who blocked it"
    if not host.origins:
        return "its robots.txt, which was not asked for yet"
    if host.free_at <= now:
        return "its turn"
    pause = duration(host.free_at - now)
    if host.ban:
        return f"the end of its ban: {sentence_of(host.ban.code, host.ban.detail)}; next try in {pause}"
    return f"back-off after {host.failures:,} failures: {pause}" if host.failures else f"its pause: {pause}"
