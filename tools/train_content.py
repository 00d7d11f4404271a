"""Train the model of `lycosa.page.content` from labelled pages, and say how good it is on sites it has not seen.

    python tools/train_content.py ../shared/data --model src/lycosa/page/content/content.model \\
        --figures src/lycosa/bench/quality/content_figures.json
    python tools/train_content.py ../shared/data --by-set --figures src/lycosa/bench/quality/content_figures.json

Needs numba, numpy and publicsuffixlist beside lycosa. Pages of one registered domain are always in the same
fold, so every figure printed is for sites that the judging model never saw. The features are those of the crawl: this
script calls the same extension.

The model is made in three steps: weights of words (of the text, and of class and id), a forest that judges each block
by itself and its surroundings, and a second forest that also knows what the first thought of the blocks around. The
later steps learn from what the earlier ones say about sites they did not see.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from forests import Forest, Shape, fit
from publicsuffixlist import PublicSuffixList

from lycosa.bench.quality.scoring import SHINGLE, TOKEN, ScoreTally, shingles
from lycosa.bench.quality.sets import names_of, pages_of
from lycosa.page import _native

FOLDS = 5
# Where a set is left out the others are parted into fewer, for there are eight models to make.
FOLDS_OF_OTHERS = 3
# Of pages with more blocks than this a part is drawn by lot: a table of a thousand cells teaches no more than 180.
MAX_BLOCKS = 180
SEED = 7
# Short blocks err without much harm; a page's blocks together weigh at most this.
MAX_PAGE_WEIGHT = 3.0
SEGMENT_WEIGHT = 0.12


@dataclass
class Labelled:
    """One labelled page: its blocks, how much of each is content, and how much that matters."""

    set_name: str
    truth: dict[str, Any]
    html: str
    site: str
    fold: int = 0
    count: int = 0
    labels: Any = None
    weights: Any = None
    words: list[bytes] = field(default_factory=list)
    classes: list[bytes] = field(default_factory=list)
    columns: Any = None
    scores: Any = None
    second: Any = None


# Pages


def read_pages(data: Path) -> list[Labelled]:
    suffixes = PublicSuffixList()
    pages = []
    for name in names_of(data):
        found = pages_of(data, name)
        pages += [Labelled(name, truth, html, site_of(truth, html, suffixes)) for truth, html in found]
    return pages


def site_of(truth: dict[str, Any], html: str, suffixes: Any) -> str:
    """The registered domain of a page; where its URL is not known, that of most of its links."""
    host = urlsplit(truth.get("url") or "").hostname or ""
    if not host:
        hosts = Counter(re.findall(r"https?://([a-z0-9.-]+)", html.lower()))
        host = hosts.most_common(1)[0][0] if hosts else truth["id"]
    return suffixes.privatesuffix(host) or host


def set_folds(pages: list[Labelled], count: int = FOLDS) -> None:
    """Sites to folds by lot, each set spread evenly."""
    lot = np.random.default_rng(SEED)
    sizes: Counter[int] = Counter()
    folds: dict[str, int] = {}
    sites = sorted({page.site for page in pages})
    by_site: dict[str, list[Labelled]] = {}
    for page in pages:
        by_site.setdefault(page.site, []).append(page)
    lot.shuffle(sites)
    for site in sorted(sites, key=lambda site: (by_site[site][0].set_name, -len(by_site[site]))):
        # The fold with the fewest pages of this set.
        name = by_site[site][0].set_name
        folds[site] = min(range(count), key=lambda fold: (sizes[hash_pair(name, fold)], fold))
        sizes[hash_pair(name, folds[site])] += len(by_site[site])
    for page in pages:
        page.fold = folds[page.site]


def hash_pair(name: str, fold: int) -> int:
    return sum(map(ord, name)) * 10 + fold


# Labels


def label(page: Labelled) -> None:
    page.count, _, _, texts, page.words, page.classes = _native.describe(page.html)
    if "with" in page.truth:
        page.labels, page.weights = labels_of_segments(page.truth, texts)
    else:
        page.labels, page.weights = labels_of_text(page.truth["text"], texts)


def labels_of_text(truth: str, texts: list[str]) -> tuple[Any, Any]:
    """The share of each block's tokens that stand in a run of four that the truth has."""
    want = shingles(TOKEN.findall(truth))
    blocks = [TOKEN.findall(text) for text in texts]
    tokens = [token for block in blocks for token in block]
    covered = np.zeros(len(tokens) + 1, dtype=np.int8)
    for index in range(len(tokens) - SHINGLE + 1):
        if tuple(tokens[index : index + SHINGLE]) in want:
            covered[index : index + SHINGLE] = 1
    ends = np.cumsum([len(block) for block in blocks])
    sums = np.concatenate([[0], np.cumsum(covered)])
    lengths = np.array([len(block) for block in blocks], dtype=np.float32)
    found = np.array([sums[end] - sums[end - len(block)] for end, block in zip(ends, blocks, strict=True)], np.float32)
    labels = found / np.maximum(lengths, 1)
    drop_copies(blocks, want, labels)
    # What a wrong block costs: its part of the page's truth.
    weights = (lengths + 1) / (sum(want.values()) + 60)
    total = weights.sum()
    return labels, weights * min(1.0, MAX_PAGE_WEIGHT / max(total, 1e-6))


def drop_copies(blocks: list[list[str]], want: Counter[tuple[str, ...]], labels: Any) -> None:
    """Of blocks that repeat each other, as many are content as the truth has: those among the most content."""
    places: dict[tuple[str, ...], list[int]] = {}
    for index, block in enumerate(blocks):
        if labels[index] > 0.5 and len(block) >= SHINGLE:
            places.setdefault(tuple(block), []).append(index)
    content = np.concatenate([[0], np.cumsum(labels * np.array([len(block) for block in blocks]))])
    for tokens, copies in places.items():
        wanted = want[tokens[:SHINGLE]]
        if len(copies) > wanted:
            copies.sort(key=lambda at: content[max(0, at - 5)] - content[min(len(blocks), at + 6)])
            labels[copies[wanted:]] = 0


def labels_of_segments(truth: dict[str, Any], texts: list[str]) -> tuple[Any, Any]:
    """Blocks with a segment that must appear are content, those with one that must not are none, others unknown."""
    labels, weights = np.zeros(len(texts), np.float32), np.zeros(len(texts), np.float32)
    plain = [re.sub(r"\s+", " ", text) for text in texts]
    ends = np.cumsum([len(text) + 1 for text in plain])
    page = " ".join(plain)
    for kind in ("without", "with"):
        for part in truth[kind]:
            at = page.find(re.sub(r"\s+", " ", part).strip())
            if at >= 0 and part.strip():
                first, last = np.searchsorted(ends, [at, at + len(part) - 1], side="right")
                labels[first : last + 1] = kind == "with"
                weights[first : last + 1] = SEGMENT_WEIGHT
    return labels, weights


def balance(pages: list[Labelled]) -> None:
    """Small sets count for more than their share of pages, so that no set decides alone."""
    sizes = Counter(page.set_name for page in pages)
    mean = len(pages) / len(sizes)
    for page in pages:
        page.weights = (page.weights * (mean / sizes[page.set_name]) ** 0.5).astype(np.float32)


def thin(page: Labelled) -> None:
    if page.count > MAX_BLOCKS:
        lot = np.random.default_rng(page.count)
        kept = np.zeros(page.count, bool)
        kept[lot.choice(page.count, MAX_BLOCKS, replace=False)] = True
        page.weights = np.where(kept, page.weights * (page.count / MAX_BLOCKS), 0).astype(np.float32)


# Words


@dataclass(frozen=True)
class Heard:
    """How much a site's pages say for and against each slot of words."""

    content: Any
    other: Any


def hear(pages: list[Labelled], kind: str) -> dict[str, Heard]:
    """Each site by itself."""
    hits: dict[str, Any] = {}
    misses: dict[str, Any] = {}
    for page in pages:
        if page.site not in hits:
            hits[page.site], misses[page.site] = np.zeros(_native.WEIGHTS), np.zeros(_native.WEIGHTS)
        count_words(page, getattr(page, kind), hits[page.site], misses[page.site])
    return {site: heard_of(hits[site], misses[site]) for site in hits}


def heard_of(hits: Any, misses: Any) -> Heard:
    seen = hits + misses
    # A word's first blocks on a site say the most: ten say little more than three.
    heard = np.minimum(seen, 1) + np.log1p(np.maximum(seen - 1, 0)) * 0.5
    share = np.divide(hits, seen, out=np.zeros_like(hits), where=seen > 0)
    return Heard(heard * share, heard * (1 - share))


def fit_words(heard: dict[str, Heard], unseen: set[str]) -> bytes:
    """A weight from -127 to 127 for each slot of words: how much they speak for content, each site heard once."""
    content = sum((site.content for name, site in heard.items() if name not in unseen), np.zeros(_native.WEIGHTS))
    other = sum((site.other for name, site in heard.items() if name not in unseen), np.zeros(_native.WEIGHTS))
    prior = content.sum() / (content.sum() + other.sum())
    odds = np.log((content + 3 * prior) / (other + 3 * (1 - prior))) - np.log(prior / (1 - prior))
    return np.clip(np.round(odds * 24), -127, 127).astype(np.int8).tobytes()


def count_words(page: Labelled, words: list[bytes], hits: Any, misses: Any) -> None:
    for slots, value, weight in zip(words, page.labels, page.weights, strict=True):
        if weight > 0 and slots:
            found = np.frombuffer(slots, np.uint16)
            hits[found] += value
            misses[found] += 1 - value


# Forests

# A tree sees a quarter of the blocks, and a level asks one of a seventh of the features: other trees see the others.
QUARTER = {"block_share": 0.25, "feature_share": 0.15}
FIRST, SECOND = Shape(480, 0.055, **QUARTER), Shape(380, 0.045, **QUARTER)

# What the processes that fit a forest each find in memory: columns, labels and weights of all blocks, and the blocks
# that each of them learns from.
_shared: dict[str, Any] = {}


def fit_forests(columns: list[Any], pages: list[Labelled], taught: list[Any], shape: Shape, processes: int) -> Any:
    """A forest from each choice of blocks."""
    _shared["columns"] = np.ascontiguousarray(np.concatenate(columns).T)
    _shared["labels"] = np.clip(np.concatenate([page.labels for page in pages]), 0, 1)
    _shared["weights"] = np.concatenate([page.weights for page in pages])
    _shared["taught"] = [np.flatnonzero(blocks & (_shared["weights"] > 0)) for blocks in taught]
    with get_context("fork").Pool(processes) as pool:
        return pool.starmap(fit_one, [(shape, which) for which in range(len(taught))], chunksize=1)


def fit_one(shape: Shape, which: int) -> Forest:
    started = process_time()
    blocks = _shared["taught"][which]
    forest = fit(_shared["columns"][:, blocks], _shared["labels"][blocks], _shared["weights"][blocks], shape, SEED)
    print(f"{shape.trees} trees on {blocks.size} blocks: {process_time() - started:.0f} s", flush=True)
    return forest


def model_bytes(words: tuple[bytes, bytes], first: Forest, second: Forest) -> bytes:
    return b"lycosac1" + b"".join(words) + first.to_bytes() + second.to_bytes()


# The steps


def train(pages: list[Labelled], processes: int, *, folds: bool, whole: bool) -> tuple[list[bytes], bytes]:
    """One model per fold, each ignorant of its fold, and the model of all pages; whichever are wanted."""
    held = [[page for page in pages if page.fold == fold] for fold in range(1 + max(page.fold for page in pages))]
    unseen = [{page.site for page in own} for own in held] + ([set[str]()] if whole else [])
    taught = [np.concatenate([np.full(page.count, page.site not in sites) for page in pages]) for sites in unseen]
    texts, classes = hear(pages, "words"), hear(pages, "classes")
    words = [(fit_words(texts, sites), fit_words(classes, sites)) for sites in unseen]
    for page in pages:
        page.columns = columns_of(_native.describe(page.html, *words[page.fold]))
    firsts = fit_forests([page.columns for page in pages], pages, taught, FIRST, processes)
    for fold, own in enumerate(held):
        give_scores(own, firsts[fold].judge(np.concatenate([page.columns for page in own]).T))
    for page in pages:
        around = columns_of(_native.describe(page.html, *words[page.fold], page.scores.tobytes()))
        page.second = np.concatenate([page.columns, around], axis=1)
    wanted = slice(0 if folds else len(held), len(unseen))
    seconds = fit_forests([page.second for page in pages], pages, taught[wanted], SECOND, processes)
    parts = zip(words[wanted], firsts[wanted], seconds, strict=True)
    models = [model_bytes(*each) for each in parts]
    return (models[:-1], models[-1]) if whole else (models, b"")


def columns_of(described: tuple[Any, ...]) -> Any:
    count, stride, data = described[:3]
    return (
        np.frombuffer(data, np.uint8).reshape(-1, stride)[:, :count].T.copy() if stride else np.zeros((0, 0), np.uint8)
    )


def give_scores(pages: list[Labelled], scores: Any) -> None:
    at = 0
    for page in pages:
        page.scores = scores[at : at + page.count].copy()
        at += page.count


# Figures


Figures = dict[str, tuple[float, float, float]]


def by_site(pages: list[Labelled], processes: int, *, whole: bool) -> tuple[Figures, bytes]:
    """How sites fare that the judging model does not know; and the model of all."""
    set_folds(pages)
    models, model = train([page for page in pages if page.count], processes, folds=True, whole=whole)
    return measure(pages, models), model


def by_set(pages: list[Labelled], processes: int) -> Figures:
    """How each set fares with a model made from the others by the very same steps."""
    figures: Figures = {}
    for name in sorted({page.set_name for page in pages}):
        own = [page for page in pages if page.set_name == name]
        sites = {page.site for page in own}
        others = [page for page in pages if page.site not in sites and page.count]
        set_folds(others, FOLDS_OF_OTHERS)
        _, model = train(others, processes, folds=False, whole=True)
        for page in own:
            page.fold = 0
        figures |= measure(own, [model])
    return figures


def measure(pages: list[Labelled], models: list[bytes]) -> Figures:
    """Precision, recall and F1 of each set, each page judged by the model that does not know its site."""
    judges = [_native.Model(model) for model in models]
    tallies: dict[str, ScoreTally] = {}
    for page in pages:
        text = judges[page.fold].extract(page.html)[0][0]
        tallies.setdefault(page.set_name, ScoreTally()).add(page.truth, text)
    return {name: tally.figures() for name, tally in sorted(tallies.items())}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    arguments.add_argument("data", type=Path, help="the data folder, with the labelled sets in extraction/")
    arguments.add_argument("--model", type=Path, help="where the model is written")
    arguments.add_argument("--figures", type=Path, help="where the cross-validated figures are written, as JSON")
    arguments.add_argument(
        "--by-set", action="store_true", help="leave out one set at a time, and add to the figures how it fares"
    )
    arguments.add_argument("--processes", type=int, default=2)
    options = arguments.parse_args()
    pages = read_pages(options.data)
    for page in pages:
        label(page)
    known = [page for page in pages if page.count]
    balance(known)
    for page in known:
        thin(page)
    sites = len({page.site for page in pages})
    print(f"{len(known)} pages of {sites} sites, {sum(page.count for page in known)} blocks", flush=True)
    figures, model = (
        (by_set(pages, options.processes), b"")
        if options.by_set
        else by_site(pages, options.processes, whole=options.model is not None)
    )
    for name, (p, r, f1) in figures.items():
        print(f"{name:18} P {p:.3f} R {r:.3f} F1 {f1:.3f}")
    print(f"{'mean':18} F1 {np.mean([f1 for _, _, f1 in figures.values()]):.4f}")
    if model:
        options.model.write_bytes(model)
        print(f"{options.model}: {len(model)} bytes")
    if options.figures and options.by_set:
        whole = json.loads(options.figures.read_text()) | {"sets_unseen": figures}
        options.figures.write_text(json.dumps(whole, indent=1) + "\n")
    elif options.figures:
        digest = sha256(model).hexdigest()[:16] if model else ""
        whole = {"pages": len(pages), "sites": sites, "folds": FOLDS, "sets": figures, "model": digest}
        options.figures.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
