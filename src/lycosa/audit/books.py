"""Whether the frontier's tables agree with each other, and with what the store has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from lycosa.audit.files import Row
from lycosa.audit.report import Report, Rule
from lycosa.build import make_discovery, page_parser, read_seeds
from lycosa.frontier.tables import Tables, decode_history, decode_target
from lycosa.model import OutcomeKind, Target
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import RecordLost, read_response

_KEPT = (OutcomeKind.STORED, OutcomeKind.DUPLICATE, OutcomeKind.UNCHANGED)


def queued_urls(tables: Tables) -> set[str]:
    """What still waits to be visited."""
    waiting = [*tables.queue.values(), *tables.delayed.values()]
    return {decode_target(raw).url for raw in waiting}


def look_at_counters(tables: Tables, report: Report) -> None:
    """Every counter that a table can be counted for."""
    counts = tables.counts()
    in_queue, in_delayed = _count(tables.queue.keys()), _count(tables.delayed.keys())
    by_host = sum(host.queued for host in tables.host_records())
    pairs = [
        ("queued", counts.queued, in_queue),
        ("delayed", counts.delayed, in_delayed),
        ("queued, over all hosts", by_host, in_queue),
        ("hosts", counts.hosts, _count(tables.hosts.keys())),
    ]
    if _is_exact(tables):
        pairs.append(("known", counts.known, _count(tables.seen.keys())))
    for name, says, found in pairs:
        if says != found:
            report.add(Rule.COUNTERS, name, f"the counter says {says:,}, the table has {found:,}")
    report.figures |= {"known": counts.known, "queued": in_queue, "delayed": in_delayed, "late settles": counts.late}
    for _ in range(counts.late):
        report.add(Rule.LATE, "a settlement")


def look_for_stranded(tables: Tables, report: Report) -> None:
    """Hosts with something queued that neither wait for their turn nor rest until a time."""
    lined_up = {name for family in (tables.waiting, tables.parked) for name in family.values()}
    for host in tables.host_records():
        if host.queued and host.name.encode() not in lined_up:
            report.add(Rule.STRANDED, host.name, f"{host.queued:,} queued")


def look_for_pages_without_row(tables: Tables, rows: Sequence[Row], report: Report) -> None:
    """Pages that the frontier holds for kept, and counts of them, against the pages table."""
    urls = {row.url for row in rows if row.outcome in ("stored", "duplicate", "unchanged")}
    for raw in tables.seen.values():
        past = decode_history(raw) if raw else None
        if past is not None and past.outcome in _KEPT and past.url not in urls:
            report.add(Rule.PAGE_WITHOUT_ROW, past.url, past.outcome.name.lower())
    outcomes = Counter(row.outcome for row in rows)
    counts = tables.counts()
    for kind in (*_KEPT, OutcomeKind.MOVED):
        name = kind.name.lower()
        # A crash between store and frontier leaves a row more, never one less.
        if getattr(counts, name) > outcomes[name]:
            report.add(Rule.COUNTERS, name, f"the counter says {getattr(counts, name):,}, rows: {outcomes[name]:,}")


def look_for_lost_links(
    folder: CrawlFolder, tables: Tables, rows: Iterable[Row], settings: Settings, report: Report
) -> None:
    """Links of kept pages that the frontier does not know. Every page is read once more, by the crawl's own rules."""
    if not _is_exact(tables):
        return
    parser = page_parser(settings)
    discovery = make_discovery(settings, read_seeds(folder), tables.crawl_key())
    looked_at = 0
    for row in rows:
        if row.outcome not in ("stored", "duplicate") or row.warc_offset < 0:
            continue
        try:
            response = read_response(
                folder, row.warc_file, row.warc_offset, row.warc_length, max_body_bytes=settings.max_body_bytes
            )
        except RecordLost:
            continue  # a finding of its own
        directives = [value for name, value in response.headers if name == "x-robots-tag"]
        page = parser.parse(response.body, response.header("content-type"), directives, url=row.url)
        _, found = discovery.of_page(Target(row.url, row.host, b"", depth=row.depth), page)
        looked_at += len(found)
        for target in found:
            if tables.seen.get(target.fingerprint) is None:
                report.add(Rule.LINK_LOST, target.url, f"on {row.url}")
    report.figures["links looked at"] = looked_at


def _is_exact(tables: Tables) -> bool:
    return bool((tables.meta.get(b"seen") or b"exact") == b"exact")


def _count(keys: Iterable[object]) -> int:
    return sum(1 for _ in keys)
