"""Main content next to others: F1 on each labelled set, CPU by the size of pages.

Our own F1 on the sets that the model was trained on is the cross-validated one that `tools/train_content.py` left
beside this file: each page judged by a model that never saw its site. The shipped model has seen them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import NamedTuple

import msgspec

from lycosa.bench.quality.readers import ContentReader, Ours, ReaderAnswer, Say
from lycosa.bench.quality.scoring import ScoreTally
from lycosa.bench.quality.sets import LabelledPage, names_of, pages_of, size_of
from lycosa.page.content import extract

OURS = "lycosa"
PEERS = (
    "trafilatura",
    "resiliparse",
    "readability-lxml",
    "jusText",
    "boilerpy3",
    "newspaper4k",
    "turbohtml main_text",
)
# The page sizes of the CPU table, in characters.
SIZES = ((0, 20_000), (20_000, 40_000), (40_000, 150_000), (150_000, 10**9))


class Validated(msgspec.Struct, frozen=True):
    """What training said of the model: precision, recall and F1 of each set, on sites, or on whole sets, not seen."""

    pages: int
    sites: int
    folds: int
    sets: dict[str, tuple[float, float, float]]
    model: str = ""
    sets_unseen: dict[str, tuple[float, float, float]] = {}

    def is_about(self, sets: dict[str, int]) -> bool:
        """Whether it is about the model that is shipped, and about all these pages."""
        return self.model == digest_of_model() and set(sets) == set(self.sets) and sum(sets.values()) == self.pages


def digest_of_model() -> str:
    """Tells one model from another."""
    return sha256(files("lycosa.page.content").joinpath("content.model").read_bytes()).hexdigest()[:16]


def validated() -> Validated:
    """The figures that came with the model."""
    data = files("lycosa.bench.quality").joinpath("content_figures.json").read_bytes()
    return msgspec.json.decode(data, type=Validated)


class ContentFigures(NamedTuple):
    """F1 by reader and set, seconds by reader and size of page, and how many pages of each set there were."""

    f1: dict[str, dict[str, float]]
    seconds: dict[str, list[list[float]]]
    pages: dict[str, int]


def our_reader() -> ContentReader:
    """Main content as the crawl extracts it."""
    return Ours(OURS, lambda page: extract(*page).text, prepare=lambda question: (question["html"], question["url"]))


def measure_content(
    data: Path, readers: list[ContentReader], max_pages: int, max_seconds: float, say: Say
) -> ContentFigures:
    """Every reader on the same pages, in turns; a set whose share of the time is over ends early for all."""
    sizes = {name: min(max_pages, size_of(data, name)) for name in names_of(data)}
    figures = ContentFigures({reader.name: {} for reader in readers}, {}, {})
    figures.seconds.update({reader.name: [[] for _ in SIZES] for reader in readers})
    for name, size in sizes.items():
        until = monotonic() + max_seconds * size / sum(sizes.values())
        tallies = {reader.name: ScoreTally() for reader in readers}
        for page, answers in _answers(islice(pages_of(data, name), max_pages), readers, until):
            figures.pages[name] = figures.pages.get(name, 0) + 1
            kind = next(at for at, (low, high) in enumerate(SIZES) if low <= len(page.html) < high)
            for reader, answer in answers.items():
                tallies[reader].add(page.truth, answer.found)
                figures.seconds[reader][kind].append(answer.seconds)
        for reader_name, tally in tallies.items():
            figures.f1[reader_name][name] = tally.figures()[2]
        say(f"main content: {name}, {figures.pages.get(name, 0)} pages")
    return figures


def _answers(
    pages: Iterator[LabelledPage], readers: list[ContentReader], until: float
) -> Iterator[tuple[LabelledPage, dict[str, ReaderAnswer]]]:
    for page in pages:
        if monotonic() > until:
            return
        question = {"html": page.html, "url": page.url}
        yield page, {reader.name: reader.ask(question) for reader in readers}


def our_rows(figures: ContentFigures) -> dict[str, dict[str, float]]:
    """Our rows of the table by name, the first of which counts, with their F1 by set."""
    known = validated()
    if not known.is_about(figures.pages):
        return {f"**{OURS}** (the shipped model, which may have learnt from these pages)": figures.f1[OURS]}
    rows = {f"**{OURS}** (sites not seen)": known.sets, f"{OURS} (sets not seen)": known.sets_unseen}
    return {title: {name: figure[2] for name, figure in row.items()} for title, row in rows.items() if row}


def our_row(figures: ContentFigures) -> dict[str, float]:
    """Our F1 by set, on pages that taught the model nothing where that is known."""
    return next(iter(our_rows(figures).values()))


def f1_table(figures: ContentFigures) -> str:
    """F1 of everybody on every set."""
    names = sorted(figures.pages)
    rows = our_rows(figures) | {reader: row for reader, row in figures.f1.items() if reader != OURS}
    lines = ["| F1 | " + " | ".join(names) + " | mean |", "|---|" + "---|" * (len(names) + 1)]
    for reader, row in rows.items():
        cells = [*(row[name] for name in names), fmean(row[name] for name in names)]
        lines.append(f"| {reader} | " + " | ".join(_short(cell) for cell in cells) + " |")
    return "\n".join(lines)


def behind(figures: ContentFigures) -> str:
    """Where a peer is ahead, as a sentence."""
    ours = our_row(figures)
    found = [
        f"{name} ({reader} {_short(row[name])}, ours {_short(ours[name])})"
        for name in sorted(figures.pages)
        for reader, row in figures.f1.items()
        if reader != OURS and round(row[name], 3) > round(ours[name], 3)
    ]
    if len(figures.f1) == 1:
        return "No peer is installed: `lycosa bench extraction --install`."
    return f"Behind a peer: {'; '.join(found)}." if found else "Behind no peer of this table on any set."


def _short(figure: float) -> str:
    return f"{figure:.3f}".removeprefix("0")


def cpu_table(figures: ContentFigures) -> str:
    """CPU of everybody by the size of pages."""
    heads = [f"{low // 1000}-{high // 1000}k chars" if high < 10**9 else f"over {low // 1000}k" for low, high in SIZES]
    lines = ["| CPU per page, µs | " + " | ".join(heads) + " | all | lycosa = 1 |"]
    lines.append("|---|" + "---|" * (len(heads) + 2))
    whole = fmean(chain(*figures.seconds[OURS]))
    for reader, sizes in figures.seconds.items():
        cells = " | ".join(f"{fmean(times) * 1e6:,.0f}" if times else "-" for times in sizes)
        mean = fmean(chain(*sizes))
        lines.append(f"| {reader} | {cells} | {mean * 1e6:,.0f} | {mean / whole:.1f} |")
    return "\n".join(lines)
