"""Rows that the tables should have, by the counters of the frontier, and do not: how many, and of which URLs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from lycosa.model import History, OutcomeKind
from lycosa.ports import Counts
from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.logbook import RowsMissing, events

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
    kinds = [kind.name.lower() for kind in OutcomeKind if kind is not ROWLESS]
    # A crash between store and frontier may have left a row more, but never one less.
    return Counter({kind: missing for kind in kinds if (missing := getattr(counts, kind) - there[kind]) > 0})


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
