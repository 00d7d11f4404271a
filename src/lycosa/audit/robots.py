"""Whether each request was allowed by the robots.txt that the crawl itself kept. The parser is ours, the order is not:
what was in force when a request left is found anew from the records."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from lycosa.audit.files import AuditRow
from lycosa.audit.report import AuditReport, Rule
from lycosa.model import origin_of
from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import path_and_query, product_token
from lycosa.robots.verdict import RobotsRecord, robots_verdict
from lycosa.store.read import RecordLost, read_response


def look_for_disallowed(rows: Iterable[AuditRow], user_agent: str, report: AuditReport) -> None:
    """Requests sent while the newest robots.txt of their origin forbade them. Redirected ones are not judged."""
    agent = product_token(user_agent)
    answers: dict[str, list[tuple[float, RobotsRecord | None]]] = defaultdict(list)
    pages = []
    for row in sorted(rows, key=lambda row: row.fetched_at):
        origin = origin_of(row.url)
        if row.url == f"{origin}/robots.txt":
            answers[origin].append((row.fetched_at, _record(row, agent, answers[origin])))
        elif row.was_sent:
            pages.append(row)
    for row in pages:
        known = answers.get(origin_of(row.url), [])
        at = bisect_right(known, row.fetched_at, key=lambda answer: answer[0])
        record = known[at - 1][1] if at else None
        if record is not None and not RobotsMatcher(record.rules).allows(path_and_query(row.url)):
            report.add(Rule.DISALLOWED, row.url, "by the robots.txt in the WARC files")


def _record(row: AuditRow, agent: str, before: list[tuple[float, RobotsRecord | None]]) -> RobotsRecord | None:
    if row.warc_offset < 0 or 300 <= row.status < 400:
        return None
    try:
        body = read_response(row.folder, row.warc_file, row.warc_offset, row.warc_length).body
    except RecordLost:
        return None
    return robots_verdict(row.status, body, agent, row.fetched_at, before[-1][1] if before else None)
