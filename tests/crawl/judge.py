"""Holds what a crawl of a planned web did against the truth of that web."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from lycosa.simweb import LoggedRequest, Truth
from lycosa.site.judge import PROBE_PATH

from . import evidence

MAY_PASS = (429, 500, 503)


@dataclass(frozen=True)
class Verdict:
    """What was wrong, and figures for whoever wants to know; all lists are empty after a crawl without faults."""

    lost: list[str] = field(default_factory=list)
    unwanted: list[str] = field(default_factory=list)
    too_close: list[evidence.Gap] = field(default_factory=list)
    overlapping: list[tuple[LoggedRequest, LoggedRequest]] = field(default_factory=list)
    not_kept: list[str] = field(default_factory=list)
    without_record: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    left_open: list[Path] = field(default_factory=list)
    extra_requests: int = 0
    extra_rows: int = 0
    smallest_gap: float = 0.0

    def faults(self) -> dict[str, object]:
        """Everything that must never be, whatever was killed."""
        names = ("lost", "unwanted", "too_close", "overlapping", "not_kept", "without_record", "invalid", "left_open")
        return {name: value[:5] for name in names if (value := getattr(self, name))}


def judge(
    truth: Truth,
    requests: Sequence[LoggedRequest],
    folder: Path,
    *,
    delay_seconds: float,
    tries: int = 1,
    killed_at: Iterable[float] = (),
) -> Verdict:
    """Compare what the server saw and what lies in the folder with what should have been."""
    port = urlsplit(truth.seeds[0]).port
    assert port is not None
    asked = evidence.requested(requests, port)
    wanted = Counter(
        {url: tries if truth.pages[url].status in MAY_PASS else 1 for url in truth.reachable}
        | {url: 1 for url in asked if _is_errand(url)}
    )
    rows = evidence.pages(folder)
    kept = Counter(row["url"] for row in rows if row["outcome"] in evidence.KEPT)
    answered = {url for url in truth.reachable if truth.pages[url].status == 200}
    records = evidence.warc_responses(folder)
    gaps = evidence.gaps(requests, killed_at)
    return Verdict(
        lost=sorted(url for url, times in wanted.items() if asked[url] < times),
        unwanted=sorted(set(asked) - set(wanted)),
        too_close=evidence.too_close(gaps, {}, delay_seconds),
        overlapping=evidence.overlapping(requests),
        not_kept=sorted((answered ^ set(kept)) - {url for url in kept if _is_errand(url)}),
        without_record=sorted(row["url"] for row in rows if row["status"] and not records[row["url"]]),
        invalid=evidence.invalid_warcs(folder),
        left_open=evidence.left_open(folder),
        extra_requests=sum((asked - wanted).values()),
        extra_rows=sum((kept - Counter(answered)).values()),
        smallest_gap=min((gap.seconds for gap in gaps), default=0.0),
    )


def _is_errand(url: str) -> bool:
    """Whether this was asked for to read rules or sitemaps, or since it cannot exist; the truth does not list those."""
    path = urlsplit(url).path
    return path == "/robots.txt" or "sitemap" in path or path.startswith(PROBE_PATH)
