"""The story of an audit: read everything once, then ask one question after the other."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import NamedTuple

import msgspec

from lycosa.audit import asked as by_server
from lycosa.audit import robots
from lycosa.audit.asked import Asked, Pauses, TruthFile, asked_by_log, asked_by_rows
from lycosa.audit.files import (
    AuditRow,
    KeptRecord,
    Place,
    look_for_open_files,
    lost_ends,
    records_of,
    rows_of,
    uncounted_records,
)
from lycosa.audit.frontier import (
    look_at_counters,
    look_for_doubled,
    look_for_lost_links,
    look_for_stranded,
    look_for_vanished,
    look_for_visits_without_row,
    queued_urls,
)
from lycosa.audit.report import AuditReport, Rule
from lycosa.errors import SettingsError
from lycosa.frontier.view import CrawlView
from lycosa.inspect.opened import opened_view
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.url.domain import registered_domain


class Question(NamedTuple):
    """What to judge a crawl by. Gaps of None are as the crawl's settings say; those of 0 are measured only."""

    log: Path | None = None
    truth: Path | None = None
    runs: int = 1
    host_gap_seconds: float | None = None
    address_gap_seconds: float | None = None
    domain_gap_seconds: float | None = None
    allowed: Mapping[str, int] = {}
    has_links: bool = False
    is_running: bool = False


def audit(folders: Sequence[CrawlFolder], settings: Settings, question: Question) -> AuditReport:
    """Judge a crawl by its folder, or by those of all its machines; raises `SettingsError` for evidence that cannot
    be read."""
    report = AuditReport(allowed=dict(question.allowed))
    rows = [row for folder in folders for row in rows_of(folder, report)]
    records = [kept for folder in folders for kept in records_of(folder, report)]
    if not question.is_running:
        for folder in folders:
            look_for_open_files(folder, report)
        uncounted = {place for folder in folders for place in uncounted_records(folder)}
        report.figures["records of visits that did not count"] = len(uncounted)
        lost = {place: end for folder in folders for place, end in lost_ends(folder).items()}
        left = [row for row in rows if row.record_end <= lost.get((row.folder, row.warc_file), sys.maxsize)]
        report.figures["rows whose records are known to be lost"] = len(rows) - len(left)
        _join(left, records, uncounted, report)
    asked = _asked(question, rows)
    report.figures |= {"requests": len(asked), "rows": len(rows), "records": len(records)}
    with opened_view(folders[0]) as view:
        if view:
            _judge_frontier(folders[0], view, rows, settings, question, report)
        queued = queued_urls(view) if view else set()
        _judge_requests(asked, rows, queued, settings, question, report)
        _judge_pauses(asked, rows, view, settings, question, report)
    robots.look_for_disallowed(rows, settings.user_agent, report)
    return report


def _asked(question: Question, rows: Sequence[AuditRow]) -> list[Asked]:
    if question.log is None:
        return asked_by_rows(rows)
    try:
        return asked_by_log(question.log)
    except (OSError, msgspec.DecodeError) as error:
        raise SettingsError(f"{question.log}: not the log of a simulated web: {error}") from None


def _truth(path: Path) -> TruthFile:
    try:
        return msgspec.json.decode(path.read_bytes(), type=TruthFile)
    except (OSError, msgspec.DecodeError) as error:
        raise SettingsError(f"{path}: not the truth of a simulated web: {error}") from None


def _judge_frontier(
    folder: CrawlFolder,
    view: CrawlView,
    rows: Sequence[AuditRow],
    settings: Settings,
    question: Question,
    report: AuditReport,
) -> None:
    look_at_counters(view, report)
    look_for_stranded(view, report)
    look_for_visits_without_row(view, rows, report)
    look_for_doubled(view, rows, report)
    look_for_vanished(view, report)
    if question.has_links:
        look_for_lost_links(folder, view, rows, settings, report)


def _judge_requests(
    asked: Sequence[Asked],
    rows: Sequence[AuditRow],
    queued: set[str],
    settings: Settings,
    question: Question,
    report: AuditReport,
) -> None:
    if question.log is not None:
        by_server.look_for_unseen(asked, rows, report)
    by_server.look_for_extra(asked, rows, question.runs, report, is_continuous=settings.continuous)
    by_server.look_for_pages_before_robots(asked, report)
    if question.truth is not None:
        truth = _truth(question.truth)
        by_server.look_for_lost(asked, rows, truth, queued, report)
        by_server.look_for_disallowed(asked, truth, report)


def _judge_pauses(
    asked: Sequence[Asked],
    rows: Sequence[AuditRow],
    view: CrawlView | None,
    settings: Settings,
    question: Question,
    report: AuditReport,
) -> None:
    hosts = list(view.hosts()) if view else []
    wanted = settings.min_delay_seconds if question.host_gap_seconds is None else question.host_gap_seconds
    longest = settings.max_crawl_delay_seconds
    delays = {host.name: max(wanted, min(host.crawl_delay_seconds, longest)) for host in hosts}
    addresses = {host.name: host.address for host in hosts}
    by_server.look_for_short_gaps(asked, Pauses(Rule.HOST_GAP, "host", str, delays, wanted), report)
    # A host is asked again only after it answered; of two hosts the second may have the shorter way to the server. So
    # what the settings promise is the moments of sending, which only the crawl knows.
    sent = asked_by_rows([row for row in rows if row.status])
    promised = (settings.ip_delay_seconds, settings.domain_delay_seconds)
    wishes = (question.address_gap_seconds, question.domain_gap_seconds)
    address_gap, domain_gap = (
        min(promise, settings.min_delay_seconds) if wish is None else wish
        for promise, wish in zip(promised, wishes, strict=True)
    )
    for wish, pauses in (
        (wishes[0], Pauses(Rule.ADDRESS_GAP, "address", lambda host: addresses.get(host, ""), {}, address_gap)),
        (wishes[1], Pauses(Rule.DOMAIN_GAP, "registered domain", registered_domain, {}, domain_gap)),
    ):
        by_server.look_for_short_gaps(sent if wish is None else asked, pauses, report)


def _join(rows: Sequence[AuditRow], records: Sequence[KeptRecord], uncounted: Set[Place], report: AuditReport) -> None:
    """Every row names a record of its own URL, and every record has a row, but for those whose visits did not count."""
    places = {(kept.folder, kept.file, kept.offset): kept for kept in records}
    named = set(uncounted)
    for row in rows:
        if row.warc_offset < 0:
            if row.outcome in ("stored", "duplicate", "unchanged"):
                report.add(Rule.ROW_WITHOUT_RECORD, row.url, "kept, and names no record")
            continue
        place = (row.folder, row.warc_file, row.warc_offset)
        kept = places.get(place)
        named.add(place)
        if kept is None or kept.length != row.warc_length:
            report.add(Rule.ROW_WITHOUT_RECORD, row.url, f"{row.warc_file} at {row.warc_offset}")
        elif kept.url != row.url:
            report.add(Rule.ROW_WITHOUT_RECORD, row.url, f"the record there is of {kept.url}")
    for kept in records:
        if (kept.folder, kept.file, kept.offset) not in named:
            report.add(Rule.RECORD_WITHOUT_ROW, kept.url, f"{kept.file} at {kept.offset}")
