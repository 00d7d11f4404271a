"""The run: everybody answers the same questions over the same pages."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from lycosa.bench.search.contestants import CONTESTANTS, Answer
from lycosa.bench.search.questions import Document, KnownItem, documents_of, questions_of
from lycosa.store.folder import CrawlFolder

Say = Callable[[str], None]


class Score(msgspec.Struct, frozen=True):
    """How well one of them found the pages. Near duplicates count once, in everybody's answers."""

    name: str
    mrr: float
    first: float  # share of questions whose answer came first
    in_ten: float
    cpu_seconds: float  # of making its index; lycosa's is brought up from the tables
    milliseconds: float  # a question, median
    milliseconds_95: float


class SearchComparison(msgspec.Struct, frozen=True):
    """All scores, and what they are of."""

    pages: int
    questions: int
    seed: int
    scores: list[Score]


def compare_searches(folder: CrawlFolder, names: Sequence[str], count: int, seed: int, say: Say) -> SearchComparison:
    """Ask everybody; an answer beyond the tenth counts nothing."""
    documents = documents_of(folder)
    questions = questions_of(folder, documents, count, seed)
    say(f"{len(documents):,} pages, {len(questions):,} questions")
    scores = []
    with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as place:
        for name in names:
            began = time.process_time()
            answer = CONTESTANTS[name](folder, documents, Path(place))
            score = _score(name, answer, documents, questions, time.process_time() - began)
            scores.append(score)
            say(f"{name}: MRR {score.mrr:.3f}")
    return SearchComparison(len(documents), len(questions), seed, scores)


def _score(
    name: str, answer: Answer, documents: Sequence[Document], questions: Sequence[KnownItem], cpu_seconds: float
) -> Score:
    groups = {document.url: document.group for document in documents}
    places, times = [], []
    for question in questions:
        began = time.perf_counter()
        urls = answer(question.text)
        times.append(1000 * (time.perf_counter() - began))
        found = list(dict.fromkeys(groups[url] for url in urls if url in groups))[:10]
        places.append(found.index(question.group) + 1 if question.group in found else 0)
    times.sort()
    total = max(1, len(questions))
    return Score(
        name,
        sum(1 / place for place in places if place) / total,
        sum(place == 1 for place in places) / total,
        sum(place > 0 for place in places) / total,
        cpu_seconds,
        times[len(times) // 2] if times else 0.0,
        times[len(times) * 95 // 100] if times else 0.0,
    )


def cells(result: SearchComparison) -> tuple[list[str], list[list[str]]]:
    """The result as a table."""
    rows = [
        [
            score.name,
            f"{score.mrr:.3f}",
            f"{score.first:.1%}",
            f"{score.in_ten:.1%}",
            f"{score.cpu_seconds:.1f}",
            f"{score.milliseconds:.1f}",
            f"{score.milliseconds_95:.1f}",
        ]
        for score in result.scores
    ]
    return ["", "MRR", "first", "in ten", "CPU s to index", "ms a question", "ms, 95 %"], rows
