"""What the tables should have and do not: rows, by the counters of the frontier, and records that rows name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lycosa.model import History, OutcomeKind
from lycosa.ports import Counts
from lycosa.store.files import OPEN
from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.logbook import RecordsLost, RowsMissing, events
from lycosa.store.repair import cut_to_records

# A worker that died while it read a page leaves a count and no row.
ROWLESS = OutcomeKind.CRASHED
# From the moment that a row bears to its settlement, beyond what a lease lasts.
SLACK_SECONDS = 60.0


def parts_of(folder: CrawlFolder) -> list[Path]:
    """The parts of `pages` that are there now."""
    return sorted(folder.pages.glob(f"*{PARQUET}"))


def missing_rows(folder: CrawlFolder, counts: Counts, parts: Iterable[Path], waiting: Counter[str]) -> Counter[str]:
    """By outcome, how many rows fewer there are than visits were counted; what was told before is not told again.

    `waiting` are rows that recovery brings into the tables.
    """
    there = sum(map(_outcomes_of, parts), waiting.copy())
    for event in events(folder):
        if isinstance(event, RowsMissing):
            there.update(event.rows)
        elif isinstance(event, RecordsLost):
            # Their visits do not count any more, and are repeated.
            there.subtract(event.rows)
    kinds = [kind.name.lower() for kind in OutcomeKind if kind is not ROWLESS]
    # A crash between store and frontier may have left a row more, but never one less.
    return Counter({kind: missing for kind in kinds if (missing := getattr(counts, kind) - there[kind]) > 0})


class LostRecord(NamedTuple):
    """A row whose WARC record is gone."""

    file: str
    url: str
    outcome: str
    fetched_at: float


def lost_records(folder: CrawlFolder, parts: Iterable[Path]) -> tuple[list[RecordsLost], list[LostRecord]]:
    """What closed WARC files that are gone, or shorter than they were, have cost; what was told before is left out.

    A file that does not end with a whole record is cut to the last one.
    """
    lost = [row for part in parts for row in _beyond_the_ends(folder, part)]
    told = {event.file: event.bytes for event in events(folder) if isinstance(event, RecordsLost)}
    rows: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in lost:
        rows[row.file][row.outcome] += 1
    found = [RecordsLost(file, cut_to_records(folder.warc / file), dict(rows[file])) for file in sorted(rows)]
    new = [each for each in found if told.get(each.file, each.bytes + 1) > each.bytes]
    files = {each.file for each in new}
    return new, [row for row in lost if row.file in files]


def _beyond_the_ends(folder: CrawlFolder, part: Path) -> Iterator[LostRecord]:
    """The rows of a part whose records lie, by their places, beyond the ends of their files."""
    from lycosa.store.tables import ends_of, places_of

    short = {file: length for file, end in ends_of(part).items() if (length := _length(folder, file)) < end}
    if short:
        for url, outcome, fetched_at, file, end in places_of(part):
            if end > short.get(file, end):
                yield LostRecord(file, url, outcome, fetched_at)


def _length(folder: CrawlFolder, file: str) -> int:
    """How long a WARC file is, also one that recovery has yet to close; 0 if it is gone."""
    for path in (folder.warc / file, folder.warc / (file + OPEN)):
        try:
            return path.stat().st_size
        except FileNotFoundError:
            continue
    return 0


def _outcomes_of(part: Path) -> Counter[str]:
    # A crawl that begins has no part yet, and need not wait for Arrow.
    from lycosa.store.tables import outcomes_of

    return outcomes_of(part)


class NewestRows:
    """When each URL last had which outcome, by the tables; 16 bytes a row."""

    def __init__(self, parts: Sequence[Path]) -> None:
        import numpy as np
        import pyarrow.parquet as pq

        marks, moments = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for part in parts:
            table = pq.read_table(part, columns=["url", "outcome", "fetched_at"])
            pairs = zip(table.column("url").to_pylist(), table.column("outcome").to_pylist(), strict=True)
            marks.append(np.fromiter(map(hash, pairs), np.int64, len(table)))
            moments.append(table.column("fetched_at").cast("int64").to_numpy())
        mark, moment = np.concatenate(marks), np.concatenate(moments)
        order = np.lexsort((moment, mark))
        self._marks, self._moments = mark[order], moment[order]

    def has(self, past: History, within_seconds: float) -> bool:
        """Whether there is a row of the visit that a history tells of."""
        mark = hash((past.url, past.outcome.name.lower()))
        after = int(self._marks.searchsorted(mark, side="right"))
        if not after or self._marks[after - 1] != mark:
            return False
        earliest = past.visited_at - within_seconds - SLACK_SECONDS
        return bool(self._moments[after - 1] / 1_000_000 >= earliest)
