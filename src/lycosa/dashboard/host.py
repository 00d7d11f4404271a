"""The page of one host: what it is owed, what is known of it, what waits, and what was left out and why."""

from __future__ import annotations

import json
import time
from itertools import islice
from pathlib import Path

import msgspec

from lycosa.dashboard.glance import class_of, state_of
from lycosa.dashboard.markup import (
    Html,
    bars,
    card,
    facts,
    lines,
    outside,
    part_place,
    plot,
    table,
    tag,
    text,
    url_link,
)
from lycosa.dashboard.orders import host_card
from lycosa.dashboard.overview import OUTCOME_KINDS
from lycosa.errors import SettingsError
from lycosa.frontier.records import HostRecord
from lycosa.frontier.view import CrawlView
from lycosa.inspect.left_out import left_out_of
from lycosa.inspect.opened import OpenedCrawl, opened_crawl
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.status import waits_for
from lycosa.inspect.wording import duration, moment, size, until
from lycosa.robots.cache import Ruling
from lycosa.store.folder import CrawlFolder
from lycosa.store.objects import ObjectPlace
from lycosa.store.read import connect

MAX_QUEUED, MAX_VISITS, MAX_LEFT_OUT, MAX_RULES = 25, 25, 50, 200
BUCKETS = 100
_OUTCOMES = "SELECT outcome, count(*) FROM pages WHERE host = ? GROUP BY 1 ORDER BY 2 DESC"
_REASONS = """
SELECT outcome, reason, CASE reason WHEN 'status' THEN status ELSE 0 END, count(*) FROM pages
WHERE host = ? AND outcome IN ('refused', 'failed', 'crashed') GROUP BY ALL ORDER BY 4 DESC LIMIT 12
"""
_VISITS = """
SELECT url, outcome, status, fetched_at, fetch_seconds, body_bytes, title FROM pages
WHERE host = ? ORDER BY pages.fetched_at DESC LIMIT ?
"""
_ENDS = "SELECT epoch(min(fetched_at)), epoch(max(fetched_at)) FROM pages WHERE host = ? AND status > 0"
_COURSE = """
SELECT floor((epoch(fetched_at) - ?) / ?)::INT AS bucket, count(*), median(fetch_seconds) FROM pages
WHERE host = ? AND status > 0 GROUP BY 1 ORDER BY 1
"""


def page(place: Path | ObjectPlace, frontier: str | None, name: str) -> Html:
    """All that a crawl knows of a host. Raises `SettingsError` if it knows nothing."""
    return text(
        tag("h1", name),
        [part_place(key, part) for key, part in parts(place, frontier, name).items()],
    )


def parts(place: Path | ObjectPlace, frontier: str | None, name: str) -> dict[str, Html]:
    """The same part by part, so that those that changed can be sent alone."""
    with opened_crawl(place, frontier) as crawl:
        record = crawl.view.host(name) if crawl.view else None
        history = _history(crawl.folder, name) if crawl.folder else None
        if record is None and history is None:
            raise SettingsError(f"{name}: this crawl knows no such host")
        return {
            "standing": _record(record) if record else text(),
            "policy": host_card(place, crawl, name, record.policy) if record else text(),
            "history": history or text(),
            "host-queue": _queue(crawl, record) if record else text(),
            "robots": _robots(crawl.view, record) if crawl.view and record else text(),
            "host-left-out": _left_out(crawl.folder, name) if crawl.folder else text(),
        }


def _record(host: HostRecord) -> Html:
    now = time.time()
    return card(
        "Standing",
        facts(
            [
                (
                    "state",
                    f"{state_of(host, now)}: it waits for {waits_for(host, now)}" if host.queued else "nothing queued",
                ),
                ("queued", f"{host.queued:,}"),
                ("visits", f"{host.visits:,}, {host.pages:,} pages"),
                ("failures in a row", f"{host.failures:,}" if host.failures else ""),
                ("pause", f"{duration(host.delay_seconds)} between requests"),
                (
                    "Crawl-delay",
                    f"{duration(host.crawl_delay_seconds)}, by its robots.txt" if host.crawl_delay_seconds else "",
                ),
                ("slowed down", f"{host.slowdown:g} times, since it banned us" if host.slowdown > 1 else ""),
                ("may be asked", until(host.free_at, now)),
                ("a fetch takes", duration(host.fetch_seconds) if host.fetch_seconds else ""),
                ("ban", sentence_of(host.ban.code, host.ban.detail) if host.ban else ""),
                ("address", host.address),
                ("region", host.nearest),
                ("dropped", f"{host.dropped:,} times its queue was full" if host.dropped else ""),
            ]
        ),
    )


def _history(folder: CrawlFolder, name: str) -> Html | None:
    with connect(folder) as connection:
        outcomes = connection.execute(_OUTCOMES, [name]).fetchall()
        if not outcomes:
            return None
        reasons = connection.execute(_REASONS, [name]).fetchall()
        visits = connection.execute(_VISITS, [name, MAX_VISITS]).fetchall()
        began_at, ended_at = connection.execute(_ENDS, [name]).fetchall()[0]
        course: list[tuple[int, int, float]] = []
        if began_at is not None:
            width = max((ended_at - began_at) / BUCKETS, 1.0)
            course = connection.execute(_COURSE, [began_at, width, name]).fetchall()
    curves = None
    if len(course) > 1:
        at = [round(began_at + bucket * width, 1) for bucket, *_ in course]
        requests = {"at": at, "lines": [{"name": "requests", "values": [times for _, times, _ in course]}]}
        seconds = {"at": at, "lines": [{"name": "seconds", "values": [round(half, 4) for *_, half in course]}]}
        curves = tag(
            "div",
            tag("section", plot("requests", f"Requests in {duration(width)}", json.dumps(requests))),
            tag("section", plot("seconds", "How long a fetch took (median)", json.dumps(seconds), unit="s")),
            class_="pair",
        )
    why = [(times, outcome, sentence_of(reason, str(status or ""))) for outcome, reason, status, times in reasons]
    rows = [
        (url_link(url, title or url), outcome, status or None, moment_, duration(seconds), size(body_bytes))
        for url, outcome, status, moment_, seconds, body_bytes, title in visits
    ]
    return text(
        curves,
        tag(
            "div",
            card("How visits ended", bars(outcomes, caption=f"Visits of {name} by outcome", kinds=OUTCOME_KINDS)),
            card("Why visits gave no page", table(("visits", "outcome", "reason"), why, caption="Reasons")),
            class_="pair",
        ),
        card(
            "Last visits",
            table(("page", "outcome", "status", "at", "took", "size"), rows, caption=f"The last visits of {name}"),
        ),
    )


def _queue(crawl: OpenedCrawl, host: HostRecord) -> Html:
    assert crawl.view
    is_last_first = crawl.settings.order == "depth"
    first = islice(crawl.view.queue(host, is_last_first=is_last_first), MAX_QUEUED)
    rows = [(url_link(target.url), target.priority, target.depth, target.attempt + 1) for target in first]
    classes: dict[str, int] = {}
    for lane in host.lanes:
        classes[class_of(lane.rank)] = classes.get(class_of(lane.rank), 0) + lane.entries
    note = f"The first {len(rows):,} of {host.queued:,}." if host.queued > len(rows) else ""
    return card(
        "Queue",
        bars(list(classes.items()), caption="Queued URLs of this host by class") if classes else None,
        table(("URL", "class", "depth", "try"), rows, caption="What is visited next", empty="nothing is queued"),
        note=note,
    )


def _robots(view: CrawlView, host: HostRecord) -> Html:
    parts = []
    for origin, state in host.origins.items():
        raw = view.robots(origin)
        ruling = msgspec.msgpack.decode(raw, type=Ruling) if raw else None
        rules = ruling.record.rules.rules if ruling else ()
        written = "\n".join(f"{'Allow' if allows else 'Disallow'}: {pattern}" for allows, pattern in rules[:MAX_RULES])
        trouble = sentence_of(state.trouble.code, state.trouble.detail) if state.trouble else ""
        parts.append(
            [
                tag("h3", outside(f"{origin}/robots.txt")),
                facts(
                    [
                        ("read", moment(state.fetched_at) if state.fetched_at else "not yet"),
                        ("used until", moment(state.expires_at)),
                        ("says", ruling.record.kind.name.lower().replace("_", " ") if ruling else ""),
                        ("trouble", trouble),
                        ("set aside until", moment(state.closed_until) if state.closed_until else ""),
                    ]
                ),
                tag("pre", lines(written), tabindex="0") if written else None,
            ]
        )
    return card("robots.txt", parts or tag("p", "not asked for yet", class_="none"), key="robots")


def _left_out(folder: CrawlFolder, name: str) -> Html:
    rows = [
        (url_link(each.url), sentence_of(each.reason), each.detail)
        for each in islice(left_out_of(folder, name), MAX_LEFT_OUT)
    ]
    return card("Left out by rule", table(("URL", "verdict", "so far"), rows, caption="What was left out, and why"))
