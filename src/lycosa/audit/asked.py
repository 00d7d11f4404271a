"""What was asked of the servers, by their own log or by the crawl's, and whether it was asked rightly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from lycosa.audit.files import AuditRow
from lycosa.audit.report import AuditReport, Rule
from lycosa.simweb.log import read_log

ROBOTS = "/robots.txt"


class Asked(NamedTuple):
    """One request: when, of which host, and for what (path and query)."""

    at: float
    host: str
    target: str

    @property
    def place(self) -> str:
        return self.host + self.target


class AuditedPage(msgspec.Struct, frozen=True):
    """What the truth of a simulated web says of one URL."""

    url: str
    is_allowed: bool = True


class TruthFile(msgspec.Struct, frozen=True):
    """The output of `lycosa simweb truth --json`, as far as an audit needs it."""

    reachable: list[str] = []
    storable: list[str] = []
    trap_prefixes: list[str] = []
    pages: list[AuditedPage] = []


def asked_by_log(file: Path) -> list[Asked]:
    """The requests that a simulated web saw."""
    return sorted(Asked(request.arrived_at, request.host, request.path) for request in read_log(file))


def asked_by_rows(rows: Iterable[AuditRow]) -> list[Asked]:
    """The requests that the crawl says it sent."""
    return sorted(Asked(row.fetched_at, row.host, _target(row.url)) for row in rows if row.was_sent)


def place_of(url: str) -> str:
    """A URL without its scheme and port, which a server's log does not have."""
    return (urlsplit(url).hostname or "") + _target(url)


def look_for_lost(
    asked: Sequence[Asked], rows: Sequence[AuditRow], truth: TruthFile, queued: set[str], report: AuditReport
) -> None:
    """What the truth says must be asked for and kept."""
    places = {request.place for request in asked}
    waiting = {place_of(url) for url in queued}
    kept = {row.url for row in rows if row.outcome in ("stored", "duplicate", "unchanged")}
    for url in truth.reachable:
        if place_of(url) not in places and place_of(url) not in waiting:
            report.add(Rule.LOST, url)
    for url in truth.storable:
        if url not in kept and place_of(url) in places and place_of(url) not in waiting:
            report.add(Rule.NOT_KEPT, url)


def look_for_unseen(asked: Sequence[Asked], rows: Iterable[AuditRow], report: AuditReport) -> None:
    """Answers that the crawl tells of, against the server's log: another web's log, or a row made up."""
    places = {request.place for request in asked}
    for row in rows:
        if row.status and place_of(row.url) not in places:
            report.add(Rule.UNSEEN, row.url)


def look_for_extra(
    asked: Sequence[Asked], rows: Sequence[AuditRow], runs: int, report: AuditReport, *, is_continuous: bool = False
) -> None:
    """Requests beyond one per run and the retries of visits that failed; of a continuous crawl, beyond its visits."""
    failed: Counter[str] = Counter()
    others: dict[str, set[bool]] = defaultdict(set)
    for row in rows:
        if row.outcome == "failed" or is_continuous:
            failed[place_of(row.url)] += 1
        else:
            # Once as a page, and once as what another page shows.
            others[place_of(row.url)].add(row.reason == "requisite")
    counts = Counter(request.place for request in asked if request.target != ROBOTS)
    extra = 0
    for place, count in counts.items():
        allowed = max(runs, failed[place] + runs * len(others[place]))
        if count > allowed:
            extra += count - allowed
            report.add(Rule.EXTRA, place, f"{count} requests, {allowed} explained")
    report.figures["extra requests"] = extra


def look_for_disallowed(asked: Sequence[Asked], truth: TruthFile, report: AuditReport) -> None:
    """Requests that the truth says robots.txt forbids."""
    forbidden = {place_of(page.url) for page in truth.pages if not page.is_allowed}
    for place in sorted({request.place for request in asked} & forbidden):
        report.add(Rule.DISALLOWED, place, "by the truth of the simulated web")


def look_for_pages_before_robots(asked: Sequence[Asked], report: AuditReport) -> None:
    """Hosts whose first request was not for their robots.txt."""
    met: set[str] = set()
    for request in asked:
        if request.host not in met:
            met.add(request.host)
            if request.target != ROBOTS:
                report.add(Rule.ROBOTS_FIRST, request.host, f"{request.target} came first")


class Pauses(NamedTuple):
    """How far apart requests must stand, by the unit that is left in peace."""

    rule: Rule
    unit: str
    of: Callable[[str], str]
    wanted: Mapping[str, float]
    otherwise: float


def look_for_short_gaps(asked: Sequence[Asked], pauses: Pauses, report: AuditReport) -> None:
    """The smallest start-to-start gap within each unit, and those that are too small."""
    moments: dict[str, list[float]] = defaultdict(list)
    for request in asked:
        if unit := pauses.of(request.host):
            moments[unit].append(request.at)
    smallest: float | None = None
    for unit, at in moments.items():
        at.sort()
        gap = min((second - first for first, second in pairwise(at)), default=None)
        if gap is None:
            continue
        smallest = gap if smallest is None else min(gap, smallest)
        wanted = pauses.wanted.get(unit, pauses.otherwise)
        if gap < wanted:
            report.add(pauses.rule, unit, f"{gap:.6f} s, wanted {wanted:g} s")
    report.figures[f"smallest gap per {pauses.unit} (s)"] = smallest


def _target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
