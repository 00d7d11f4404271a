"""Whether the frontier's tables agree with each other, and with what the store has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lycosa.audit.files import AuditRow
from lycosa.audit.report import AuditReport, Rule
from lycosa.frontier.view import CrawlView
from lycosa.model import OutcomeKind, Target
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import RecordLost, read_response
from lycosa.wiring.worker import make_discovery, page_parser

_KEPT = (OutcomeKind.STORED, OutcomeKind.DUPLICATE, OutcomeKind.UNCHANGED)


def queued_urls(view: CrawlView) -> set[str]:
    """What still waits to be visited."""
    return {target.url for target in view.queued()} | {target.url for _, target in view.retries()}


def look_at_counters(view: CrawlView, report: AuditReport) -> None:
    """Every counter that a table can be counted for."""
    counts, sums = view.counts(), view.sums()
    for name, says, found in sums:
        if says != found:
            report.add(Rule.COUNTERS, name, f"the counter says {says:,}, the table has {found:,}")
    found_in = {each.name: each.found for each in sums}
    report.figures |= {
        "known": counts.known,
        "queued": found_in["queued"],
        "delayed": found_in["delayed"],
        "late settles": counts.late,
    }
    for _ in range(counts.late):
        report.add(Rule.LATE, "a settlement")


def look_for_stranded(view: CrawlView, report: AuditReport) -> None:
    """Hosts with something queued that neither wait for their turn nor rest until a time."""
    for host in view.stranded():
        report.add(Rule.STRANDED, host.name, f"{host.queued:,} queued")


def look_for_visits_without_row(view: CrawlView, rows: Sequence[AuditRow], report: AuditReport) -> None:
    """What the frontier knows of visits, and counts of them, against the pages table."""
    kept = {row.url for row in rows if row.outcome in ("stored", "duplicate", "unchanged")}
    visited = {row.url for row in rows}
    for past in view.histories():
        if past.outcome in _KEPT and past.url not in kept:
            report.add(Rule.PAGE_WITHOUT_ROW, past.url, past.outcome.name.lower())
        elif past.outcome is not OutcomeKind.CRASHED and past.url not in visited:
            report.add(Rule.OUTCOME_WITHOUT_ROW, past.url, f"{past.outcome.name.lower()}: {past.reason}")
    outcomes = Counter(row.outcome for row in rows)
    counts = view.counts()
    for kind in OutcomeKind:
        name = kind.name.lower()
        # A worker that died of a page leaves no row; a request for robots.txt that did not count leaves one more.
        if kind is not OutcomeKind.CRASHED and getattr(counts, name) > outcomes[name]:
            report.add(Rule.COUNTERS, name, f"the counter says {getattr(counts, name):,}, rows: {outcomes[name]:,}")


def look_for_doubled(view: CrawlView, rows: Sequence[AuditRow], report: AuditReport) -> None:
    """URLs that have more rows than visits: one was written, and its visit repeated."""
    visits: Counter[str] = Counter()
    for past in view.histories():
        if past.outcome is not OutcomeKind.READ:
            visits[past.url] += past.visits
    # What is refused for its scheme is so wherever it is found.
    written = Counter(row.url for row in rows if row.outcome != "read" and row.reason != "scheme")
    doubled = {url: number for url, number in written.items() if 0 < visits[url] < number}
    # A settlement that came too late left its row; the visit that took its place left another.
    if sum(number - visits[url] for url, number in doubled.items()) > view.counts().late:
        for url, number in doubled.items():
            report.add(Rule.DOUBLED, url, f"{number:,} rows, {visits[url]:,} visits")


def look_for_vanished(view: CrawlView, report: AuditReport) -> None:
    """Every URL that was taken in is queued, waits for a retry, or has an outcome."""
    if not view.is_exact:
        return
    vanished = view.unaccounted()
    report.figures["left no record"] = max(vanished, 0)
    if vanished > 0:
        report.add(Rule.VANISHED, "known URLs", f"{vanished:,} of {view.counts().known:,}")
    elif vanished < 0:
        report.add(Rule.COUNTERS, "known", f"{-vanished:,} URLs are queued or visited that do not count as known")


def look_for_lost_links(
    folder: CrawlFolder, view: CrawlView, rows: Iterable[AuditRow], settings: Settings, report: AuditReport
) -> None:
    """Links of kept pages that the frontier does not know. Every page is read once more, by the crawl's own rules."""
    if not view.is_exact:
        return
    parser = page_parser(settings)
    discovery = make_discovery(settings, folder.read_seeds(), view.crawl_key())
    looked_at, known = 0, set[bytes]()
    for row in rows:
        if row.outcome not in ("stored", "duplicate") or row.warc_offset < 0:
            continue
        try:
            response = read_response(
                row.folder, row.warc_file, row.warc_offset, row.warc_length, max_body_bytes=settings.max_body_bytes
            )
        except RecordLost:
            continue  # a finding of its own
        directives = [value for name, value in response.headers if name == "x-robots-tag"]
        page = parser.parse(response.body, response.header("content-type"), directives, url=row.url)
        named = discovery.of_page(Target(row.url, row.host, b"", depth=row.depth), page)
        found = [*named.new, *named.requisites]
        looked_at += len(found)
        for target in found:
            if target.fingerprint in known:
                continue
            if view.is_known(target.host, target.fingerprint):
                known.add(target.fingerprint)
            else:
                report.add(Rule.LINK_LOST, target.url, f"on {row.url}")
    report.figures["links looked at"] = looked_at
