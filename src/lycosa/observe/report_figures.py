"""The figures of the report: aggregates over a crawl's tables, each of them small however large the crawl is."""

from __future__ import annotations

import duckdb
import msgspec

from lycosa.errors import BackendLost
from lycosa.inspect.coverage_course import CoverageCourse, kept
from lycosa.inspect.freshness import CollectionFreshness, freshness_of_folder
from lycosa.inspect.opened import opened_view
from lycosa.model import Failure
from lycosa.observe.report_svg import REST
from lycosa.page.installation import what_is_missing
from lycosa.ports import Counts
from lycosa.store.folder import CrawlFolder
from lycosa.store.logbook import Incident, incidents
from lycosa.store.read import connect

BUCKETS = 120
MIN_BUCKET_SECONDS = 0.5
# Upper ends of the histograms; the last bar takes the rest.
FETCH_SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
BODY_BYTES = tuple(1024 * 2**power for power in range(0, 13, 1))
MAX_DEPTH_BARS = 20
TOP = 12

_IS_PAGE = "outcome IN ('stored', 'duplicate', 'unchanged')"
_IS_TROUBLE = "outcome IN ('failed', 'crashed')"
# Which status it was says why; of other reasons the detail is what one host or library had to add.
_STATUS = f"CASE reason WHEN '{Failure.STATUS}' THEN status ELSE 0 END"

Share = tuple[str, int]


class Course(msgspec.Struct, frozen=True):
    """Pages over time: how many came in each of equal stretches of time."""

    started_at: float = 0.0
    ended_at: float = 0.0
    bucket_seconds: float = 1.0
    pages: list[int] = []

    @property
    def seconds(self) -> float:
        return self.ended_at - self.started_at


class Skip(msgspec.Struct, frozen=True):
    """How many visits ended like this for one reason. The status is 0 unless it is the reason."""

    outcome: str
    reason: str
    status: int
    visits: int


class TroubledHost(msgspec.Struct, frozen=True):
    """A host that failed, and why it mostly did. The status is 0 unless it is the reason."""

    host: str
    failures: int
    visits: int
    reason: str
    status: int


class SlowHost(msgspec.Struct, frozen=True):
    """A host by its fetch times."""

    host: str
    fetches: int
    median_seconds: float
    max_seconds: float


class HostQueued(msgspec.Struct, frozen=True):
    """A host with something left in its queue."""

    host: str
    queued: int
    visits: int
    failures: int


class Figures(msgspec.Struct, frozen=True):
    """All that the report shows."""

    folder: str
    written_at: float
    counts: Counts
    visits: int
    body_bytes: int
    median_seconds: float
    course: Course
    outcomes: list[Share]
    statuses: list[Share]
    skips: list[Skip]
    depths: list[Share]
    fetch_times: list[Share]
    body_sizes: list[Share]
    media_types: list[Share]
    charsets: list[Share]
    languages: list[Share]
    hosts: list[Share]
    troubled: list[TroubledHost]
    slow: list[SlowHost]
    queues: list[HostQueued]
    duplicates: list[Share]
    missing: str  # what the installation that writes the report lacks
    incidents: list[Incident] = []  # what happened to the folder
    freshness: CollectionFreshness | None = None  # of a crawl that visits its pages again
    coverage: CoverageCourse | None = None  # as it was measured last


def gather(folder: CrawlFolder, now: float, frontier: tuple[Counts, list[HostQueued]] | None = None) -> Figures:
    """The figures of a crawl as it is now; those of its frontier may have been looked up already."""
    counts, queues = frontier or _frontier(folder)
    with connect(folder) as connection:
        ask = _Asker(connection)
        visits, body_bytes, median_seconds = ask.row(
            "SELECT count(*), coalesce(sum(body_bytes), 0)::BIGINT,"
            " coalesce(approx_quantile(fetch_seconds, 0.5) FILTER (fetch_seconds > 0), 0) FROM pages"
        )
        return Figures(
            folder=str(folder.path.absolute()),
            written_at=now,
            counts=counts,
            visits=visits,
            body_bytes=body_bytes,
            median_seconds=median_seconds,
            course=_course(ask),
            outcomes=ask.shares("outcome"),
            statuses=ask.shares("status::VARCHAR", "status > 0", limit=20),
            skips=_skips(ask),
            depths=_depths(ask),
            fetch_times=_histogram(ask, "fetch_seconds", FETCH_SECONDS, [_seconds(end) for end in FETCH_SECONDS]),
            body_sizes=_histogram(ask, "body_bytes", BODY_BYTES, [_bytes(end) for end in BODY_BYTES]),
            media_types=ask.shares("media_type", "media_type <> ''"),
            charsets=ask.shares("charset", "charset <> ''"),
            languages=ask.shares("lower(split_part(language, '-', 1))", "language <> ''"),
            hosts=ask.shares("host", _IS_PAGE),
            troubled=_troubled(ask),
            slow=_slow(ask),
            queues=queues,
            duplicates=ask.shares("original", "outcome = 'duplicate' AND original <> ''", limit=8),
            missing=what_is_missing(),
            incidents=incidents(folder),
            freshness=_freshness(folder, now) if counts.resting else None,
            coverage=kept(folder.coverage),
        )


class _Asker:
    """Asks for aggregates. What stands in the queries is written in this file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def rows(self, query: str) -> list[tuple]:  # type: ignore[type-arg]
        return self._connection.execute(query).fetchall()

    def row(self, query: str) -> tuple:  # type: ignore[type-arg]
        row = self._connection.execute(query).fetchone()
        assert row is not None, "an aggregate has a row"
        return row

    def shares(self, value: str, where: str = "true", *, limit: int = TOP) -> list[Share]:
        """The most frequent values with their counts; those beyond `limit` together as one."""
        query = f"SELECT {value} AS value, count(*) FROM pages WHERE {where} GROUP BY value ORDER BY 2 DESC, 1"  # noqa: S608
        result = self._connection.execute(query)
        shares: list[Share] = result.fetchmany(limit)
        rest = 0
        while rows := result.fetchmany(10_000):
            rest += sum(count for _, count in rows)
        return [*shares, (REST, rest)] if rest else shares


def _course(ask: _Asker) -> Course:
    started_at, ended_at = ask.row(
        f"SELECT epoch_us(min(fetched_at)) / 1e6, epoch_us(max(fetched_at)) / 1e6 FROM pages WHERE {_IS_PAGE}"  # noqa: S608
    )
    if started_at is None:
        return Course()
    # Below half a second the curve shows how answers happen to fall, not how fast the crawl is.
    width = max((ended_at - started_at) / BUCKETS, MIN_BUCKET_SECONDS)
    buckets = max(2, -int(-(ended_at - started_at) // width))
    pages = [0] * buckets
    place = f"least({buckets - 1}, floor((epoch_us(fetched_at) / 1e6 - {started_at!r}) / {width!r}))::INT"
    for bucket, count in ask.rows(f"SELECT {place}, count(*) FROM pages WHERE {_IS_PAGE} GROUP BY 1"):  # noqa: S608
        pages[bucket] = count
    return Course(started_at, ended_at, width, pages)


def _skips(ask: _Asker) -> list[Skip]:
    """What was refused, failed or crashed, by reason; the most frequent first."""
    rows = ask.rows(
        f"SELECT outcome, reason, {_STATUS}, count(*) FROM pages"  # noqa: S608
        " WHERE outcome IN ('refused', 'failed', 'crashed') GROUP BY ALL ORDER BY 4 DESC, 1, 2, 3 LIMIT 25"
    )
    return [Skip(*row) for row in rows]


def _depths(ask: _Asker) -> list[Share]:
    found = dict(
        ask.rows(f"SELECT least(depth, {MAX_DEPTH_BARS}), count(*) FROM pages WHERE {_IS_PAGE} GROUP BY 1")  # noqa: S608
    )
    deepest = max(found, default=-1)
    return [(str(depth) if depth < MAX_DEPTH_BARS else "more", found.get(depth, 0)) for depth in range(deepest + 1)]


def _histogram(ask: _Asker, column: str, ends: tuple[float, ...], labels: list[str]) -> list[Share]:
    """How many fetched visits lie below each end and above the one before; empty bars at the sides are left out."""
    steps = " ".join(f"WHEN {column} < {end} THEN {place}" for place, end in enumerate(ends))
    query = (
        f"SELECT CASE {steps} ELSE {len(ends)} END, count(*) FROM pages"  # noqa: S608
        f" WHERE status > 0 AND {column} > 0 GROUP BY 1"
    )
    found = dict(ask.rows(query))
    if not found:
        return []
    names = [*(f"< {label}" for label in labels), f"≥ {labels[-1]}"]
    return [(names[place], found.get(place, 0)) for place in range(min(found), max(found) + 1)]


def _troubled(ask: _Asker) -> list[TroubledHost]:
    rows = ask.rows(
        f"SELECT host, count(*) FILTER ({_IS_TROUBLE}) AS failures, count(*),"  # noqa: S608
        f" mode({{'reason': reason, 'status': {_STATUS}}}) FILTER ({_IS_TROUBLE})"
        f" FROM pages GROUP BY host HAVING failures > 0 ORDER BY failures DESC, host LIMIT {TOP}"
    )
    return [TroubledHost(host, failures, visits, **why) for host, failures, visits, why in rows]


def _slow(ask: _Asker) -> list[SlowHost]:
    rows = ask.rows(
        "SELECT host, count(*), approx_quantile(fetch_seconds, 0.5) AS half, max(fetch_seconds) FROM pages"  # noqa: S608
        f" WHERE status > 0 GROUP BY host ORDER BY half DESC, host LIMIT {TOP}"
    )
    return [SlowHost(*row) for row in rows]


def _freshness(folder: CrawlFolder, now: float) -> CollectionFreshness | None:
    try:
        return freshness_of_folder(folder, now)
    except BackendLost:
        return None


def _frontier(folder: CrawlFolder) -> tuple[Counts, list[HostQueued]]:
    """Where all known URLs are, and the longest queues."""
    try:
        return _frontier_figures(folder)
    except BackendLost:
        # A store that other machines share may be gone by now; what this machine did is in its folder.
        return Counts(), []


def _frontier_figures(folder: CrawlFolder) -> tuple[Counts, list[HostQueued]]:
    from heapq import nlargest

    with opened_view(folder) as view:
        if view is None:
            return Counts(), []
        counts = view.counts()
        # Of a crawl of many machines only the counters: its hosts may be millions, and not on this machine.
        is_listed = counts.queued > 0 and view.crew is None
        hosts = (host for host in view.hosts() if host.queued) if is_listed else iter(())
        longest = nlargest(TOP, hosts, key=lambda host: host.queued)
        return counts, [HostQueued(host.name, host.queued, host.visits, host.failures) for host in longest]


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:g} s"


def _bytes(size: float) -> str:
    return f"{size / 1024:.0f} KiB" if size < 1024**2 else f"{size / 1024**2:.0f} MiB"
