"""How much of a page's main text was found, counted as the labelled sets' own `score.py` counts it.

Precision and recall on runs of four tokens (a Chinese, Japanese or Korean character is a token), averaged over pages;
where a page lists segments that must and must not appear, on segments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from statistics import fmean
from typing import Any

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
TOKEN = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+")
SHINGLE = 4


def shingles(tokens: list[str]) -> Counter[tuple[str, ...]]:
    """The runs of four tokens; of a shorter text, all of it."""
    if 0 < len(tokens) < SHINGLE:
        return Counter([tuple(tokens)])
    return Counter(tuple(tokens[index : index + SHINGLE]) for index in range(len(tokens) - SHINGLE + 1))


def precision_recall(truth: str, found: str) -> tuple[float, float]:
    """Of one page."""
    want, got = shingles(TOKEN.findall(truth)), shingles(TOKEN.findall(found))
    if want == got:
        return 1.0, 1.0
    hits = (want & got).total()
    return (hits / got.total() if got else 0.0), (hits / want.total() if want else 0.0)


def segments(truth: Mapping[str, Any], found: str) -> tuple[int, int, int]:
    """Of one page: segments found, found wrongly, and missed."""
    page = _squeezed(found)
    hits = sum(_squeezed(part) in page for part in truth["with"])
    return hits, sum(_squeezed(part) in page for part in truth["without"]), len(truth["with"]) - hits


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)


class ScoreTally:
    """What one extractor found on one set."""

    def __init__(self) -> None:
        self._precisions: list[float] = []
        self._recalls: list[float] = []
        self._segments = (0, 0, 0)

    def add(self, truth: Mapping[str, Any], text: str) -> None:
        """Count one page. An empty answer has no precision and a recall of 0."""
        if "with" in truth:
            hits, wrong, missed = segments(truth, text)
            self._segments = (self._segments[0] + hits, self._segments[1] + wrong, self._segments[2] + missed)
            return
        precision, recall = precision_recall(truth["text"], text)
        self._recalls.append(recall)
        if text.strip():
            self._precisions.append(precision)

    def figures(self) -> tuple[float, float, float]:
        """Precision, recall and F1."""
        hits, wrong, missed = self._segments
        if any(self._segments):
            p, r = hits / max(1, hits + wrong), hits / max(1, hits + missed)
        else:
            p, r = fmean(self._precisions or [0.0]), fmean(self._recalls or [0.0])
        return p, r, 2 * p * r / (p + r) if p + r else 0.0
