"""PageRank and HITS over a graph of numbered pages, in a few columns of memory. It knows neither URLs nor files.

Edges are taken a million at a time, so that beside them only columns over the pages are held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Scores = NDArray[np.float64]
# After each round: which it was, and by how much the scores still changed in all.
OnRound = Callable[[int, float], None]

DAMPING = 0.85
TOLERANCE = 1e-8
MAX_ROUNDS = 100
_EDGES_AT_ONCE = 1_000_000


class EdgeList(NamedTuple):
    """Who links to whom, by number; each edge once."""

    pages: int
    sources: Numbers
    targets: Numbers

    def portions(self) -> Iterator[tuple[Numbers, Numbers]]:
        """The edges, some at a time."""
        for begin in range(0, len(self.sources), _EDGES_AT_ONCE):
            end = begin + _EDGES_AT_ONCE
            yield self.sources[begin:end], self.targets[begin:end]


def _silent(number: int, change: float) -> None:
    """Nobody wants to know."""


def page_rank(
    edges: EdgeList,
    on_round: OnRound = _silent,
    *,
    start: Scores | None = None,
    tolerance: float = TOLERANCE,
    max_rounds: int = MAX_ROUNDS,
) -> Scores:
    """The PageRank of all pages, 1 in sum. Pages without links give to all alike."""
    if not edges.pages:
        return np.zeros(0)
    degrees = _counts(edges.sources, edges.pages)
    is_end = degrees == 0
    per_link = np.divide(DAMPING, degrees, out=np.zeros(edges.pages), where=~is_end)
    ranks = np.full(edges.pages, 1 / edges.pages) if start is None else start / start.sum()
    for number in range(1, max_rounds + 1):
        rest = 1 - DAMPING + DAMPING * float(ranks[is_end].sum())
        follow = _gathered(edges.pages, edges.portions(), ranks * per_link)
        follow += rest / edges.pages
        change = float(np.abs(follow - ranks).sum())
        ranks = follow
        on_round(number, change)
        if change < tolerance:
            break
    return ranks


def hits(
    edges: EdgeList, on_round: OnRound = _silent, *, tolerance: float = TOLERANCE, max_rounds: int = MAX_ROUNDS
) -> tuple[Scores, Scores]:
    """Authority and hub of all pages, each 1 in sum; all 0 where nothing links to anything."""
    if not len(edges.sources):
        return np.zeros(edges.pages), np.zeros(edges.pages)
    authorities, hubs = np.full(edges.pages, 1 / edges.pages), np.full(edges.pages, 1 / edges.pages)
    for number in range(1, max_rounds + 1):
        follow = _gathered(edges.pages, edges.portions(), hubs)
        follow /= follow.sum()
        hubs = _gathered(edges.pages, ((target, source) for source, target in edges.portions()), follow)
        hubs /= hubs.sum()
        change = float(np.abs(follow - authorities).sum())
        authorities = follow
        on_round(number, change)
        if change < tolerance:
            break
    return authorities, hubs


def _counts(numbers: Numbers, size: int) -> Scores:
    counts = np.zeros(size)
    for begin in range(0, len(numbers), _EDGES_AT_ONCE):
        counts += np.bincount(numbers[begin : begin + _EDGES_AT_ONCE], minlength=size)
    return counts


def _gathered(size: int, portions: Iterator[tuple[Numbers, Numbers]], scores: Scores) -> Scores:
    """What each page gets when every one gives its score along each of its edges."""
    sums = np.zeros(size)
    for sources, targets in portions:
        sums += np.bincount(targets, weights=scores[sources], minlength=size)
    return sums
