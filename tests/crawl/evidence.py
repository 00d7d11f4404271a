"""What a crawl did and left behind, for tests to judge: the server's log, the WARC files, the tables.

Shares no code with what wrote them: WARC files are read by gunzip, warcio and fastwarc, tables by pyarrow.
"""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator

from lycosa.simweb import LoggedRequest

# How long after a kill the server may come to read what had been sent before it.
ON_THE_WAY_SECONDS = 1.0
KEPT = ("stored", "duplicate", "unchanged")


def requested(requests: Iterable[LoggedRequest], port: int) -> Counter[str]:
    """How often each URL was asked for."""
    return Counter(f"http://{request.host}:{port}{request.path}" for request in requests)


@dataclass(frozen=True)
class Gap:
    """Two requests in a row to one host."""

    host: str
    seconds: float
    paths: tuple[str, str]
    at: float


def gaps(requests: Iterable[LoggedRequest], killed_at: Iterable[float] = ()) -> list[Gap]:
    """Start-to-start gaps between requests in a row to each host.

    What a killed process had sent may reach the server's eyes after the kill; it counts from the kill.
    """
    kills = list(killed_at)
    by_host: dict[str, list[LoggedRequest]] = defaultdict(list)
    for request in requests:
        by_host[request.host].append(request)
    found = []
    for host, own in by_host.items():
        own.sort(key=lambda request: request.arrived_at)
        for one, other in pairwise(own):
            kill = next((kill for kill in kills if 0 <= one.arrived_at - kill < ON_THE_WAY_SECONDS), None)
            sent_at = kill if kill is not None and one.finished_at is None else one.arrived_at
            found.append(Gap(host, other.arrived_at - sent_at, (one.path, other.path), other.arrived_at))
    return found


def too_close(found: Iterable[Gap], delays: Mapping[str, float], otherwise: float) -> list[Gap]:
    """The gaps shorter than their host's delay."""
    return [gap for gap in found if gap.seconds < delays.get(gap.host, otherwise)]


def overlapping(requests: Iterable[LoggedRequest]) -> list[tuple[LoggedRequest, LoggedRequest]]:
    """Requests that came while another to the same host was being answered."""
    last: dict[str, LoggedRequest] = {}
    found = []
    for request in sorted(requests, key=lambda request: request.arrived_at):
        before = last.get(request.host)
        if before and before.finished_at is not None and request.arrived_at < before.finished_at:
            found.append((before, request))
        last[request.host] = request
    return found


def pages(folder: Path) -> list[dict[str, Any]]:
    """The rows of `pages`, straight from the Parquet files."""
    return _rows(folder / "pages")


def links(folder: Path) -> list[dict[str, Any]]:
    """The rows of `links`, straight from the Parquet files."""
    return _rows(folder / "links")


def _rows(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for part in sorted(folder.glob("*.parquet")):
        rows += pq.read_table(part).to_pylist()
    return rows


def by_outcome(rows: Iterable[Mapping[str, Any]]) -> dict[str, Counter[str]]:
    """The URLs of each outcome, and how often each had it."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[row["outcome"]][row["url"]] += 1
    return found


def left_open(folder: Path) -> list[Path]:
    """Files that are still marked as being written."""
    return sorted(folder.rglob("*.open"))


def invalid_warcs(folder: Path) -> list[str]:
    """What is wrong with the WARC files: unpacking, two full parses, digests."""
    wrong = []
    for path in sorted((folder / "warc").glob("*.warc.gz*")):
        try:
            with gzip.open(path) as whole:
                while whole.read(1 << 20):
                    pass
            wrong += [f"{path.name}: {problem}" for problem in _digest_problems(path)]
            if _record_ids(path) != _fast_record_ids(path):
                wrong.append(f"{path.name}: warcio and fastwarc read different records")
        except (OSError, EOFError, ValueError) as error:
            wrong.append(f"{path.name}: {error}")
    return wrong


def warc_responses(folder: Path) -> Counter[str]:
    """How many response and revisit records each URL has."""
    found: Counter[str] = Counter()
    for path in sorted((folder / "warc").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type in ("response", "revisit"):
                    found[record.rec_headers.get_header("WARC-Target-URI")] += 1
    return found


def _digest_problems(path: Path) -> list[str]:
    problems = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests=True):
            record.content_stream().read()
            if record.digest_checker.passed is False:
                problems += record.digest_checker.problems
    return problems


def record_kinds(folder: Path) -> dict[str, list[str]]:
    """The kinds of the records of each URL, in the order in which they were written."""
    kinds = defaultdict[str, list[str]](list)
    for path in sorted((folder / "warc").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                kinds[record.rec_headers.get_header("WARC-Target-URI")].append(record.rec_type)
    return kinds


def _record_ids(path: Path) -> list[str]:
    with path.open("rb") as stream:
        return [record.rec_headers.get_header("WARC-Record-ID") for record in ArchiveIterator(stream)]


def _fast_record_ids(path: Path) -> list[str]:
    with path.open("rb") as stream:
        ids = []
        for record in FastIterator(stream, parse_http=False):
            if "WARC-Block-Digest" in record.headers and not record.verify_block_digest():
                raise ValueError(f"{record.record_id}: the block digest is wrong")
            ids.append(record.headers["WARC-Record-ID"])
        return ids
