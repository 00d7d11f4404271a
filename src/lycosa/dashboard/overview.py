"""The first page: how a crawl is doing, part by part, so that those that changed can be sent alone."""

from __future__ import annotations

import json
from collections.abc import Callable

from lycosa.dashboard.glance import CLASSES, STATES
from lycosa.dashboard.markup import (
    Html,
    bars,
    card,
    facts,
    host_link,
    link,
    outside,
    part_place,
    plot,
    table,
    tag,
    text,
    url_link,
)
from lycosa.dashboard.orders import orders_part, seeding, steering
from lycosa.dashboard.watch import Now
from lycosa.figures import Durations
from lycosa.inspect.freshness import CollectionFreshness
from lycosa.inspect.reasons import sentence_of
from lycosa.inspect.wording import duration, moment, size, until
from lycosa.observe.live import Sample
from lycosa.observe.report_svg import REST
from lycosa.orders import PauseCrawl, ResumeCrawl
from lycosa.ports import Counts

OUTCOME_KINDS = {
    "stored": "bar good",
    "read": "bar rest",
    "refused": "bar warn",
    "failed": "bar bad",
    "crashed": "bar bad",
}
_STATE_KINDS = {"ready": "bar good", "backing off": "bar warn", "set aside": "bar bad", "in doubt": "bar warn"}
_DURATION_WORDS = {
    "take": "leases given (take)",
    "settle": "visits settled (settle)",
    "sync": "written to disk (fsync)",
    "round trip": "round trip to the server",
}
# What only a frontier knows.
_OF_FRONTIER = ("queued", "under way")
# A rate is taken over so many samples, or it shows how answers happen to fall.
RATE_SAMPLES = 4


def parts(now: Now) -> dict[str, Html]:
    """The page by its parts."""
    made: dict[str, Callable[[Now], Html]] = {
        "state": _state,
        "steering": _steering,
        "tiles": _tiles,
        "queue": _queue,
        "hosts-by-state": _host_states,
        "outcomes": _outcomes,
        "reasons": _reasons,
        "workers": _workers,
        "caches": _caches,
        "collection": _collection,
        "store": _store,
        "left-out": _left_out,
        "troubled": _troubled,
        "longest": _longest,
        "slowest": _slowest,
        "largest": _largest,
        "machines": _machines,
        "orders": _orders,
    }
    return {key: make(now) for key, make in made.items()}


def page(now: Now) -> Html:
    """All parts in their places."""
    part = parts(now)

    def place(key: str) -> Html:
        return part_place(key, part[key])

    curves = series(now.course)
    return text(
        place("state"),
        place("steering"),
        place("tiles"),
        tag(
            "div",
            [
                tag("section", plot(key, title, json.dumps(curves[key]), unit=unit))
                for key, title, unit in (
                    ("rate", "Pages per second", ""),
                    ("queue", "Waiting to be visited", "URLs"),
                    ("under-way", "Visits under way", ""),
                    ("bytes", "Fetched per second", "MB"),
                )
            ],
            class_="pair",
        ),
        tag("div", place("queue"), place("hosts-by-state"), class_="pair"),
        tag("div", place("outcomes"), place("reasons"), class_="pair"),
        place("workers"),
        tag("div", place("collection"), place("caches"), class_="pair"),
        place("store"),
        place("machines"),
        place("left-out"),
        place("troubled"),
        tag("div", place("longest"), place("slowest"), class_="pair"),
        place("largest"),
        place("orders"),
        seeding() if now.may_order else None,
    )


def series(course: list[Sample]) -> dict[str, object]:
    """The columns of all curves."""
    at = [round(sample.at, 1) for sample in course]
    return {
        "rate": {"at": at, "lines": [{"name": "pages/s", "values": _rates(course, lambda each: each.pages)}]},
        "queue": {
            "at": at,
            "lines": [
                {"name": "queued", "values": [sample.queued for sample in course]},
                {"name": "to retry", "values": [sample.delayed for sample in course]},
            ],
        },
        "under-way": {"at": at, "lines": [{"name": "under way", "values": [sample.leased for sample in course]}]},
        "bytes": {
            "at": at,
            "lines": [{"name": "MB/s", "values": _rates(course, lambda each: each.fetched_bytes / 1e6)}],
        },
    }


def _rates(course: list[Sample], figure: Callable[[Sample], float]) -> list[float]:
    rates = []
    for place, sample in enumerate(course):
        before = course[max(0, place - RATE_SAMPLES)]
        seconds = sample.at - before.at
        rates.append(round(max(0.0, figure(sample) - figure(before)) / seconds, 3) if seconds > 0 else 0.0)
    return rates


# ---- the crawl as a whole


def _state(now: Now) -> Html:
    kind, sentence = state_of(now)
    lines: list[str] = [now.trouble] if now.trouble and now.look else []
    if now.look:
        lines += filter(None, [now.look.status.missing])
        lines += [f"{moment(each.at)}: {each.sentence}" for each in now.look.status.incidents]
    return text(tag("p", sentence, class_=f"state {kind}"), [tag("p", line, class_="state warn") for line in lines])


def _steering(now: Now) -> Html:
    # What was ordered last counts, obeyed or not.
    wanted = [each.order for each in now.waiting if isinstance(each.order, (PauseCrawl, ResumeCrawl))]
    is_over = now.look is not None and not now.is_running and _has_finished(now.look.status.state)
    if not now.may_order or (is_over and not wanted and not now.paused):
        return text()
    return steering(is_paused=isinstance(wanted[-1], PauseCrawl) if wanted else bool(now.paused))


def _orders(now: Now) -> Html:
    return orders_part(now.waiting, now.look.orders if now.look else [])


def state_of(now: Now) -> tuple[str, str]:
    """What a crawl does, as a class of the style sheet and a sentence."""
    if now.look is None:
        return "warn", now.trouble or "nothing is known of it yet"
    running = [each.live for each in now.machines if each.is_running]
    if now.paused:
        return "warn", f"paused: {now.paused}"
    if running and all(live.waits_until for live in running):
        due = min(live.waits_until for live in running)
        return "good", f"running: only retries are left, the next {until(due, now.at)}"
    if now.is_running:
        left = now.counts.queued + now.counts.delayed
        eta = f", about {duration(left / now.pages_per_second)} left of what is known" if now.pages_per_second else ""
        return "good", f"running{eta}"
    state = now.look.status.state
    return ("good" if _has_finished(state) else "warn"), state


def _has_finished(state: str) -> bool:
    return state.startswith("finished")


def _tiles(now: Now) -> Html:
    counts = now.counts
    begun = min((each.live.started_at for each in now.machines if each.is_running), default=0.0)
    tiles = [
        (f"{counts.pages:,}", "pages", f"{counts.duplicate:,} of them duplicates"),
        (f"{_speed(now):,.1f}", "pages/s", f"for {duration(now.at - begun)}" if begun else "on average, at last"),
        *([(f"{counts.harvest:.1%}", "on topic", f"{counts.on_topic:,} pages")] if counts.on_topic else []),
        (f"{counts.queued:,}", "queued", f"{counts.known:,} URLs known"),
        (f"{counts.leased:,}", "under way", f"{len(now.workers):,} workers"),
        (f"{counts.hosts:,}", "hosts", f"{size(counts.fetched_bytes)} fetched"),
        (f"{counts.refused:,}", "refused", "by robots.txt or by a rule"),
        (f"{counts.failed + counts.crashed:,}", "failed", f"{counts.delayed:,} to be tried again"),
    ]
    if now.look and not now.look.has_frontier:
        tiles = [tile for tile in tiles if tile[1] not in _OF_FRONTIER]
    return tag(
        "ul",
        [tag("li", tag("b", figure), tag("span", word), tag("small", note)) for figure, word, note in tiles],
        class_="tiles",
        aria_label="Figures of the crawl",
    )


def _speed(now: Now) -> float:
    """Pages per second: now, or over the whole of the last run."""
    if now.is_running or not now.machines:
        return now.pages_per_second
    return max(each.live.pages / max(each.live.at - each.live.started_at, 0.001) for each in now.machines)


def _queue(now: Now) -> Html:
    classes = now.look.queued_by_class if now.look else {}
    if not any(classes.values()):
        return text()
    shares = [(name, classes.get(name, 0)) for name in CLASSES]
    return card(
        "Queue by class",
        bars(shares, caption="Queued URLs in each class"),
        note="Class 10 goes first; what is in doubt may be without an end, and goes behind all else.",
        key="queue",
    )


def _host_states(now: Now) -> Html:
    if now.look and not now.look.has_frontier:
        return text()
    states = now.look.host_states if now.look else {}
    shares = [(name, states.get(name, 0)) for name in STATES]
    return card(
        "Hosts by state",
        bars(shares, caption="Hosts in each state", kinds=_STATE_KINDS),
        note="Waiting: within its pause. Backing off: it failed, or told us to go away. Set aside: its robots.txt"
        " cannot be read. In doubt: all that is queued may be without an end.",
        key="states",
    )


def _outcomes(now: Now) -> Html:
    counts = now.counts
    names = ("stored", "duplicate", "unchanged", "moved", "read", "refused", "failed", "crashed")
    shares = [(name, getattr(counts, name)) for name in names]
    return card(
        "How visits ended",
        bars(shares, caption="Visits by outcome", kinds=OUTCOME_KINDS),
        note="“read” are robots.txt files and sitemaps.",
        key="outcomes",
    )


def _reasons(now: Now) -> Html:
    skips = now.look.figures.skips if now.look and now.look.figures else []
    rows = [(skip.visits, skip.outcome, sentence_of(skip.reason, str(skip.status or ""))) for skip in skips]
    if not rows:
        rows = [(each.times, "", sentence_of(each.reason, each.detail)) for each in now.reasons]
    return card(
        "What was skipped or failed, and why",
        table(("visits", "outcome", "reason"), rows[:12], caption="Reasons for which visits gave no page"),
        key="reasons",
    )


# ---- who does the work


def _workers(now: Now) -> Html:
    rows = [
        (
            f"{seat} {worker.number}".strip(),
            worker.process or "starting",
            worker.leases,
            worker.figures.under_way,
            f"{worker.figures.busy_share:.0%}",
            duration(worker.figures.lag_seconds),
            duration(worker.silent_seconds),
        )
        for seat, worker in now.workers
    ]
    if not rows:
        return text()
    restarts = sum(each.live.restarts for each in now.machines)
    return card(
        "Workers",
        table(
            ("worker", "process", "leases", "under way", "loop busy", "loop late", "last heard"),
            rows,
            caption="Workers and the load of their event loops",
        ),
        note=f"Started again {restarts:,} times. “Loop late”: by how much a timer came too late, at most, in the last"
        " two seconds.",
    )


def _machines(now: Now) -> Html:
    crew = now.look.status.crew if now.look else None
    if crew is None:
        return text()
    rows = [
        (
            machine.name,
            machine.workers,
            machine.partitions,
            machine.region,
            duration(machine.heard_seconds_ago),
            "silent" if machine.is_silent else machine.waits_for or "at work",
        )
        for machine in crew.machines
    ]
    unowned = f"{crew.unowned_partitions:,} partitions have no owner." if crew.unowned_partitions else ""
    columns = ("machine", "workers", "partitions", "region", "last heard", "state")
    return card("Machines", table(columns, rows, caption="Machines of this crawl"), note=unowned)


def _caches(now: Now) -> Html:
    if not (now.caches or now.known_filter):
        return text()
    rows: list[tuple[object, ...]] = [
        (name, hits.asked, hits.missed, f"{hits.share:.1%}") for name, hits in sorted(now.caches.items())
    ]
    return card(
        "Caches",
        table(("cache", "asked", "missed", "hit rate"), rows, caption="Hit rates of the workers' caches"),
        facts([("Bloom filter", _known_filter(now))]),
        note="Links: those that need not be told to the frontier, since they were.",
    )


def _known_filter(now: Now) -> str:
    """What the filter of known URLs gets wrong, and what that costs."""
    found = now.known_filter
    if found is None:
        return ""
    is_last_word = now.look is not None and now.look.settings.seen == "bloom"
    cost = "which are lost" if is_last_word else "which costs a look at the disk and no page"
    return (
        f"{found.measured:.3%} of new URLs look known ({found.mistaken:,} of {found.new:,}; {found.expected:.3%} are to"
        f" be expected), {cost}; {size(found.size_bytes)}"
    )


def _collection(now: Now) -> Html:
    """How much of what is known was visited, and how fresh that is."""
    counts, fresh = now.counts, now.look.status.freshness if now.look else None
    if not counts.known or (now.look and not now.look.has_frontier):
        return text()
    return card(
        "Coverage and freshness",
        facts(
            [
                ("visited", f"{visited_share(counts):.1%} of {counts.known:,} URLs that are known"),
                ("still to visit", f"{counts.known - counts.aliases - visited_urls(counts):,}"),
                ("deeper than allowed", f"{counts.beyond:,} links" if counts.beyond else ""),
                ("come back to", f"{counts.resting:,} pages" if counts.resting else "no page: this crawl ends"),
                *(_freshness(fresh) if fresh else []),
            ]
        ),
        tag("p", link("/graph", "How much was found when, and who links to whom"), class_="note"),
        note="Fresh: a page is still what its site shows, as far as is believed." if fresh else "",
        key="collection",
    )


def _freshness(fresh: CollectionFreshness) -> list[tuple[str, str]]:
    return [
        ("fresh", f"{fresh.fresh:.1%} of the pages; {fresh.fresh_by_importance:.1%} by importance"),
        ("behind by", f"{duration(fresh.age_seconds)} on average; {duration(fresh.age_by_importance)} by importance"),
    ]


def visited_urls(counts: Counts) -> int:
    """How many of the known URLs were visited: all but those that wait, each of which may stand in queues twice."""
    waiting = counts.queued + counts.delayed - max(0, counts.moved_up - counts.passed_over)
    return max(counts.known - counts.aliases - max(0, waiting), counts.resting, 0)


def visited_share(counts: Counts) -> float:
    """The same as a share of what is known."""
    known = counts.known - counts.aliases
    return min(1.0, visited_urls(counts) / known) if known > 0 else 0.0


def _store(now: Now) -> Html:
    rows = [_duration_row(name, some) for name, some in now.durations.items()]
    servers = now.look.servers if now.look else []
    status = now.look.status if now.look else None
    return card(
        "Frontier and store",
        table(
            ("what", "times", "mean", "99 % within"), rows, caption="How long the frontier takes", empty="not running"
        ),
        facts(
            [
                ("on disk", size(status.disk_bytes) if status and status.disk_bytes else ""),
                ("last visit", moment(status.last_visit_at) if status and status.last_visit_at else ""),
                ("records set aside", f"{now.counts.poisoned:,}" if now.counts.poisoned else ""),
            ]
        ),
        [
            facts(
                [
                    ("server", server.address),
                    ("memory", size(server.used_bytes) + _of_limit(server.used_bytes, server.max_bytes)),
                    ("commands", f"{server.commands_per_second:,.0f} per second"),
                    ("CPU", f"{duration(server.cpu_seconds)} since its start"),
                    ("connections", f"{server.clients:,}"),
                ]
            )
            for server in servers
        ],
        key="store",
    )


def _of_limit(used: int, limit: int) -> str:
    return f" of {size(limit)} ({used / limit:.0%})" if limit else ", without a limit"


def _duration_row(name: str, some: Durations) -> tuple[object, ...]:
    mean = _milliseconds(some.seconds / some.times) if some.times else ""
    return _DURATION_WORDS.get(name, name), some.times, mean, _milliseconds(some.quantile(0.99))


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"


# ---- hosts, and what is wrong with them


def _left_out(now: Now) -> Html:
    rows = [
        (
            host_link(each.found.host),
            each.found.urls,
            sentence_of(each.found.reason),
            [tag("div", url_link(sample.url)) for sample in each.samples],
        )
        for each in (now.look.left_out if now.look else [])
    ]
    return card(
        "Left out by rule",
        table(
            ("host", "URLs", "verdict", "for example"), rows, caption="What the rules against endless sites left out"
        ),
        note="Parts of sites that seem without an end, copies and variants. The page of a host lists more.",
        key="left-out",
    )


def _troubled(now: Now) -> Html:
    status = now.look.status if now.look else None
    rows: list[tuple[object, ...]] = [
        (outside(each.origin), each.queued, sentence_of(each.reason, each.detail), until(each.next_try_at, now.at))
        for each in (status.troubled if status else [])
    ]
    rows += [
        (host_link(each.host), each.queued, sentence_of(each.reason, each.detail), until(each.until, now.at))
        for each in (status.banned if status else [])
    ]
    return card(
        "Set aside, or told us to go away",
        table(
            ("origin or host", "queued", "why", "next try"), rows, caption="Origins in trouble and hosts that banned us"
        ),
        key="troubled",
    )


def _longest(now: Now) -> Html:
    hosts = now.look.status.hosts if now.look else []
    if not hosts:
        return text()
    rows = [(host_link(each.host), each.queued, each.visits, each.waits_for) for each in hosts]
    return card(
        "Longest queues",
        table(("host", "queued", "visits", "waits for"), rows, caption="Hosts with the most queued URLs"),
        key="longest",
    )


def _slowest(now: Now) -> Html:
    figures = now.look.figures if now.look else None
    rows = [
        (host_link(each.host), each.fetches, duration(each.median_seconds), duration(each.max_seconds))
        for each in (figures.slow if figures else [])
    ]
    return card(
        "Slowest hosts",
        table(("host", "fetches", "median", "longest"), rows, caption="Hosts by how long a fetch takes"),
        key="slowest",
    )


def _largest(now: Now) -> Html:
    figures = now.look.figures if now.look else None
    hosts = [(host_link(name), pages) for name, pages in (figures.hosts if figures else []) if name != REST]
    return card("Largest hosts", bars(hosts, caption="Hosts with the most pages"), key="largest")
