"""How good and how cheap main-content extraction is, next to others: the tables of docs/quality.md.

    python tools/measure_content.py ../shared/data/extraction --write docs/quality.md

Peers are those that are installed (trafilatura, resiliparse, readability-lxml, jusText, boilerpy3, turbohtml). Our own
F1 is the cross-validated one that tools/train_content.py left in tools/content_figures.json: each page judged by a
model that never saw its site. The shipped model has seen these pages, so its figure here would say nothing.

CPU is process time, all extractors in one run on the same pages, in turns. `--pages` takes only so many of each set.
"""

from __future__ import annotations

import argparse
import gzip
import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from statistics import fmean
from time import process_time
from typing import Any

from train_content import load_score

from lycosa.page.content import extract

FIGURES = Path(__file__).with_name("content_figures.json")
BEGIN, END = "<!-- content: begin (tools/measure_content.py) -->", "<!-- content: end -->"
OURS = "lycosa"
Extract = Callable[[str, str], str]
# The page sizes of the CPU table, in characters.
SIZES = ((0, 20_000), (20_000, 40_000), (40_000, 150_000), (150_000, 10_000_000))


def extractors() -> dict[str, Extract]:
    """Ours, then every peer that can be imported, each as it is used by default for plain text."""
    found: dict[str, Extract] = {OURS: lambda html, url: extract(html, url).text}
    for name, load in PEERS.items():
        try:
            found[name] = load()
        except ImportError as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
    return found


def load_trafilatura() -> Extract:
    import trafilatura

    return lambda html, url: trafilatura.extract(html, url=url or None) or ""


def load_resiliparse() -> Extract:
    from resiliparse.extract.html2text import extract_plain_text

    return lambda html, url: extract_plain_text(html, main_content=True, alt_texts=False)


def load_readability() -> Extract:
    import lxml.html
    from readability import Document

    return lambda html, url: "\n".join(lxml.html.fromstring(Document(html).summary()).itertext())


def load_justext() -> Extract:
    import justext

    # Its mode for any language: the sets have dozens, and one list of stop words would fail all but its own.
    def run(html: str, url: str) -> str:
        parts = justext.justext(html, frozenset(), stopwords_low=0, stopwords_high=0)
        return "\n".join(part.text for part in parts if not part.is_boilerplate)

    return run


def load_boilerpy() -> Extract:
    from boilerpy3.extractors import ArticleExtractor

    extractor = ArticleExtractor(raise_on_failure=False)
    return lambda html, url: str(extractor.get_content(html))


def load_turbohtml() -> Extract:
    import turbohtml

    return lambda html, url: turbohtml.parse(html).main_text() or ""


PEERS: dict[str, Callable[[], Extract]] = {
    "trafilatura": load_trafilatura,
    "resiliparse": load_resiliparse,
    "readability-lxml": load_readability,
    "jusText": load_justext,
    "boilerpy3": load_boilerpy,
    "turbohtml `main_text`": load_turbohtml,
}


def pages_of(folder: Path, name: str) -> Iterator[tuple[dict[str, Any], str]]:
    truths = {row["id"]: row for row in map(json.loads, (folder / name / "truth.jsonl").open(encoding="utf-8"))}
    with gzip.open(folder / name / "html.jsonl.gz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            if row["id"] in truths:
                yield truths[row["id"]], row["html"]


class Tally:
    """What one extractor did on one set, counted as score.py counts it."""

    def __init__(self, score: Any) -> None:
        self._score = score
        self.precisions: list[float] = []
        self.recalls: list[float] = []
        self.segments = [0, 0, 0]

    def add(self, truth: dict[str, Any], text: str) -> None:
        if "with" in truth:
            found = self._score.segments(truth, text)
            self.segments = [a + b for a, b in zip(self.segments, found, strict=True)]
            return
        precision, recall = self._score.precision_recall(truth["text"], text)
        self.recalls.append(recall)
        if text.strip():
            self.precisions.append(precision)

    @property
    def f1(self) -> float:
        hits, wrong, missed = self.segments
        p = hits / max(1, hits + wrong) if any(self.segments) else fmean(self.precisions or [0])
        r = hits / max(1, hits + missed) if any(self.segments) else fmean(self.recalls or [0])
        return 2 * p * r / (p + r) if p + r else 0.0


def measure(
    folder: Path, names: list[str], max_pages: int | None
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """F1 by extractor and set, and seconds by extractor and page size."""
    # Peers complain of pages, not of us.
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    score, every = load_score(folder), extractors()
    f1: dict[str, dict[str, float]] = {name: {} for name in every}
    seconds: dict[str, list[list[float]]] = {name: [[] for _ in SIZES] for name in every}
    for name in names:
        tallies = {extractor: Tally(score) for extractor in every}
        for truth, html in islice(pages_of(folder, name), max_pages):
            size = next(index for index, (low, high) in enumerate(SIZES) if low <= len(html) < high)
            for extractor, run in every.items():
                started = process_time()
                try:
                    text = run(html, truth.get("url") or "")
                except Exception:  # a peer's failure is its result
                    text = ""
                seconds[extractor][size].append(process_time() - started)
                tallies[extractor].add(truth, text)
        for extractor, tally in tallies.items():
            f1[extractor][name] = tally.f1
        print(f"{name} done", file=sys.stderr, flush=True)
    return f1, seconds


def f1_table(f1: dict[str, dict[str, float]], names: list[str]) -> list[str]:
    ours = {name: row[2] for name, row in json.loads(FIGURES.read_text())["sets"].items()}
    rows = {f"**{OURS}** (sites not seen)": ours} | {name: row for name, row in f1.items() if name != OURS}
    lines = ["| F1 | " + " | ".join(names) + " | mean |", "|---|" + "---|" * (len(names) + 1)]
    for extractor, row in rows.items():
        cells = " | ".join(f"{row[name]:.3f}".lstrip("0") for name in names)
        lines.append(f"| {extractor} | {cells} | {fmean(row[name] for name in names):.3f} |".replace("| 0.", "| ."))
    behind = [
        f"{name} ({extractor} {row[name]:.3f}, ours {ours[name]:.3f})"
        for extractor, row in f1.items() if extractor != OURS
        for name in names if row[name] > ours[name]
    ]  # fmt: skip
    lines += ["", "Behind a peer: " + ("; ".join(behind) if behind else "nowhere in this table") + "."]
    return lines


def cpu_table(seconds: dict[str, list[list[float]]]) -> list[str]:
    heads = [f"{low // 1000}-{high // 1000}k chars" if high < 10**7 else f"over {low // 1000}k" for low, high in SIZES]
    lines = ["| CPU per page, µs | " + " | ".join(heads) + " | all | lycosa = 1 |", "|---|" + "---|" * (len(heads) + 2)]
    whole = fmean(chain(*seconds[OURS]))
    for extractor, sizes in seconds.items():
        cells = " | ".join(f"{fmean(times) * 1e6:,.0f}" if times else "-" for times in sizes)
        mean = fmean(chain(*sizes))
        lines.append(f"| {extractor} | {cells} | {mean * 1e6:,.0f} | {mean / whole:.1f} |")
    return lines


def write(path: Path, lines: list[str]) -> None:
    """Between its marks in the file, so that other tables of the page stay."""
    text = path.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after, encoding="utf-8")


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("data", type=Path, help="the folder of labelled sets")
    arguments.add_argument("--pages", type=int, help="how many pages of each set (default: all)")
    arguments.add_argument("--write", type=Path, help="the Markdown file to put the tables into")
    options = arguments.parse_args()
    names = sorted(path.parent.name for path in options.data.glob("*/truth.jsonl"))
    f1, seconds = measure(options.data, names, options.pages)
    lines = [*f1_table(f1, names), "", *cpu_table(seconds)]
    print("\n".join(lines))
    if options.write:
        write(options.write, lines)


if __name__ == "__main__":
    main()
