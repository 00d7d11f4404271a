"""What a crawl's tables tell at one moment: aggregates over its frontier and its pages. The dear part of a dashboard.

`inspect` and `observe` know how to ask; here it is only put together.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from lycosa.frontier.records import HostRecord
from lycosa.frontier.rules import RANKS, WAITING_RANK, is_in_doubt
from lycosa.frontier.view import CrawlView, ServerFigures, troubled_origins_of
from lycosa.inspect.left_out import LeftOut, LeftOutUrl, left_out, left_out_of
from lycosa.inspect.opened import OpenedCrawl, opened_crawl
from lycosa.inspect.status import MAX_LOOKED_AT, Status, read_status
from lycosa.observe.report_figures import Figures, gather
from lycosa.orders import Obeyed
from lycosa.ports import Counts
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.objects import ObjectPlace
from lycosa.store.read import connect

_SUMS = "SELECT count(DISTINCT url), count(DISTINCT host), coalesce(sum(body_bytes), 0)::BIGINT FROM pages"
MAX_HOSTS = 12
MAX_ORDERS = 12
MAX_LEFT_OUT, MAX_SAMPLES_OF_EACH = 12, 3
# In the order in which they are shown.
STATES = ("ready", "waiting", "backing off", "set aside", "in doubt", "nothing queued")
CLASSES = ("requisites, robots.txt", *(f"class {number}" for number in range(10, 0, -1)), "in doubt", "last")


class LeftOutOf(msgspec.Struct, frozen=True):
    """What one rule left out of a host, with some of the URLs."""

    found: LeftOut
    samples: list[LeftOutUrl]


class Glance(msgspec.Struct, frozen=True):
    """A crawl at one moment. `figures` are of its tables, `None` where there is no folder at hand."""

    at: float
    settings: Settings
    seeds: list[str]
    status: Status
    figures: Figures | None
    host_states: dict[str, int]
    queued_by_class: dict[str, int]
    left_out: list[LeftOutOf]
    servers: list[ServerFigures]
    paused: str  # why an operator wants nothing begun
    orders: list[Obeyed]  # the last ones
    has_frontier: bool = True  # else only the tables tell of it: in an object store, or after a crawl in memory


def take_look(place: Path | ObjectPlace, frontier: str | None) -> Glance:
    """Glance at a crawl, whether it runs or not. Raises `LycosaError`."""
    with opened_crawl(place, frontier) as crawl:
        now = time.time()
        status = read_status(crawl, MAX_HOSTS)
        if crawl.view is None and crawl.folder:
            status = msgspec.structs.replace(status, counts=_counted(crawl.folder))
        states, classes = _of_hosts(crawl.view, now) if crawl.view else ({}, {})
        return Glance(
            at=now,
            settings=crawl.settings,
            seeds=[seed.url for seed in crawl.seeds],
            status=status,
            figures=gather(crawl.folder, now, (status.counts, [])) if crawl.folder else None,
            host_states=states,
            queued_by_class=classes,
            left_out=list(_left_out(crawl)),
            servers=crawl.view.servers() if crawl.view else [],
            paused=crawl.view.paused() if crawl.view else "",
            orders=crawl.view.orders()[-MAX_ORDERS:] if crawl.view else [],
            has_frontier=crawl.view is not None,
        )


def _counted(folder: CrawlFolder) -> Counts:
    """What the tables tell of how visits ended, where no frontier does."""
    with connect(folder) as connection:
        outcomes = dict(connection.execute("SELECT outcome, count(*) FROM pages GROUP BY 1").fetchall())
        [(urls, hosts, fetched_bytes)] = connection.execute(_SUMS).fetchall()
    named = {name: count for name, count in outcomes.items() if name in Counts.__struct_fields__}
    return Counts(known=urls, hosts=hosts, fetched_bytes=fetched_bytes, **named)


def _left_out(crawl: OpenedCrawl) -> Iterator[LeftOutOf]:
    if crawl.folder is None:
        return
    for found in left_out(crawl.folder)[:MAX_LEFT_OUT]:
        of_rule = (each for each in left_out_of(crawl.folder, found.host) if each.reason == found.reason)
        yield LeftOutOf(found, list(islice(of_rule, MAX_SAMPLES_OF_EACH)))


def _of_hosts(view: CrawlView, now: float) -> tuple[dict[str, int], dict[str, int]]:
    """How many hosts are in which state, and how many targets wait in which class."""
    states, ranks = Counter[str](), [0] * RANKS
    for host in islice(view.hosts(), MAX_LOOKED_AT):
        states[state_of(host, now)] += 1
        for lane in host.lanes:
            ranks[min(lane.rank, RANKS - 1)] += lane.entries
    classes = Counter[str]()
    for rank, entries in enumerate(ranks):
        classes[class_of(rank)] += entries
    return {name: states[name] for name in STATES}, {name: classes[name] for name in CLASSES}


def class_of(rank: int) -> str:
    """What the targets of a rank are called."""
    return CLASSES[-1] if rank == WAITING_RANK else CLASSES[-2] if is_in_doubt(rank) else CLASSES[rank]


def state_of(host: HostRecord, now: float) -> str:
    """What a host does at a moment, in one of `STATES`."""
    if not host.queued:
        return "nothing queued"
    troubled = {each.mark for each in troubled_origins_of(host)}
    if troubled and {lane.mark for lane in host.lanes} <= troubled:
        return "set aside"
    if all(is_in_doubt(lane.rank) for lane in host.lanes):
        return "in doubt"
    if host.free_at <= now:
        return "ready"
    return "backing off" if host.ban or host.failures else "waiting"
