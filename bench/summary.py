"""Summaries and languages: how good, at what cost: `python bench/summary.py`. Needs the labelled pages; two minutes.

Summaries of a whole page: the share of chosen sentences that stand in the labelled main text, and F1 of shingles of
four against it, the mean over the data sets. Of the main text alone: the share of the words of the page's own
description that three chosen sentences have. Languages: against what is labelled, or else what the page declares.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path
from statistics import fmean
from time import perf_counter, process_time
from typing import NamedTuple

from lycosa.model import Page
from lycosa.page.language import language_of, primary_language
from lycosa.page.parser import PageParser
from lycosa.page.summary import METHODS, summarise
from lycosa.page.words import words_of
from lycosa.settings import Settings

DATA = Path(__file__).parents[2] / "shared" / "data" / "extraction"
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_TOKEN = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+")


class Labelled(NamedTuple):
    """A page with what is known of it."""

    kind: str
    page: Page
    main_text: str
    language: str


def main() -> None:
    """Print a table of methods and the languages found."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=400, help="pages to summarise (default: 400)")
    limit = arguments.parse_args().pages
    pages = labelled_pages()
    if not pages:
        raise SystemExit(f"{DATA}: the labelled pages are not there")
    summarised = [each for each in pages if each.main_text and each.page.text]
    print_methods(random.Random(1).sample(summarised, min(limit, len(summarised))))
    print_languages(pages)


def labelled_pages() -> list[Labelled]:
    parser = PageParser(Settings(), "lycosa")
    pages = []
    for folder in sorted(path.parent for path in DATA.glob("*/truth.jsonl")):
        rows = map(json.loads, (folder / "truth.jsonl").open(encoding="utf-8"))
        truth = {row["id"]: row for row in rows}
        with gzip.open(folder / "html.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                page = parser.parse(row["html"].encode("utf-8", "replace"), "text/html; charset=utf-8")
                known = truth.get(row["id"], {})
                language = known.get("lang") or ""
                pages.append(Labelled(folder.name, page, known.get("text") or "", "" if language == "xx" else language))
    return pages


# Summaries


def print_methods(pages: list[Labelled]) -> None:
    described = [each for each in pages if len(words_of(each.page.description)) >= 8]
    print(f"{len(pages)} pages, {len(described)} with a description\n")
    print(f"{'method':<22}{'in main text':>14}{'F1':>8}{'description':>13}{'ms a page':>11}")
    for method in METHODS:
        started = process_time()
        summaries = [summarise(each.page.text, method) for each in pages]
        cost = (process_time() - started) / len(pages)
        inside, by_kind = [], defaultdict(list)
        for each, summary in zip(pages, summaries, strict=True):
            main_text = squeezed(each.main_text)
            if summary.sentences:
                inside.append(fmean(squeezed(sentence.text) in main_text for sentence in summary.sentences))
            by_kind[each.kind].append(precision_recall(each.main_text, summary.text))
        f1 = fmean(harmonic(*map(fmean, zip(*scores, strict=True))) for scores in by_kind.values())
        words = fmean(
            covered(each.page.description, summarise(each.main_text, method, sentences=3).text) for each in described
        )
        print(f"{method:<22}{fmean(inside):>14.3f}{f1:>8.3f}{words:>13.3f}{cost * 1000:>11.2f}")


def squeezed(text: str) -> str:
    return "".join(text.split())


def covered(description: str, summary: str) -> float:
    wanted = set(words_of(description))
    return len(wanted & set(words_of(summary))) / len(wanted)


def precision_recall(truth: str, found: str) -> tuple[float, float]:
    want, got = shingles(truth), shingles(found)
    hits = (want & got).total()
    return (hits / got.total() if got else 0.0), (hits / want.total() if want else 0.0)


def shingles(text: str) -> Counter[tuple[str, ...]]:
    tokens = _TOKEN.findall(text)
    return Counter(tuple(tokens[start : start + 4]) for start in range(max(1, len(tokens) - 3)))


def harmonic(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


# Languages


def print_languages(pages: list[Labelled]) -> None:
    told, open_, wrong = 0, 0, Counter[tuple[str, str]]()
    for each in pages:
        wanted = each.language or primary_language(each.page.language)
        if not wanted or not each.page.text.strip():
            continue
        found = language_of(each.page.text)
        told += found == wanted
        open_ += not found
        if found not in ("", wanted):
            wrong[wanted, found] += 1
    all_ = told + open_ + wrong.total()
    print(f"\nlanguages: {all_} pages, {told / all_:.1%} as labelled or declared, {open_ / all_:.1%} left open")
    print("  differing:", ", ".join(f"{wanted} is {found} ({times})" for (wanted, found), times in wrong.most_common()))
    costs = sorted(best(each.page.text) for each in pages[::6])
    print(f"  µs a page: mean {fmean(costs) * 1e6:.1f}, median {costs[len(costs) // 2] * 1e6:.1f}")


def best(text: str) -> float:
    least = 1.0
    for _ in range(15):
        started = perf_counter()
        language_of(text)
        least = min(least, perf_counter() - started)
    return least


if __name__ == "__main__":
    main()
