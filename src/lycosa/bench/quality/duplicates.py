"""Near duplicates: how many pairs are found together, how many wrongly, and what a text's signature costs.

On copies planted in a simulated web, and on real texts edited until a known part of them is as before.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from time import process_time
from typing import NamedTuple

from lycosa.bench.quality.readers import Say
from lycosa.bench.quality.sets import names_of, pages_of
from lycosa.dedupe.groups import THRESHOLD, plan_of
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.dedupe.signature import signature_of
from lycosa.dedupe.tokens import tokens_of
from lycosa.page.parser import PageParser
from lycosa.settings import Settings
from lycosa.simweb.layout import STATUS_OF, Layout, PageKind, PageRef
from lycosa.simweb.plan import WebPlan
from lycosa.simweb.render import Renderer

MIN_TOKENS = 30
EDITS_PER_TEXT = 4
# Nearer to the threshold than this a sketch of 2,048 slots cannot see.
BORDER = 0.02
_STEPS = (0.7, 0.8, 0.88, 0.89, 0.9, 0.91, 0.92, 1.01)
_COST_TURNS = 5


class PairCounts(NamedTuple):
    """Pairs that belong together, pairs that were put together, and pairs that are both."""

    true: int
    said: int
    hits: int

    @property
    def precision(self) -> float:
        """Of what was put together, the share that belongs together."""
        return self.hits / max(1, self.said)

    @property
    def recall(self) -> float:
        """Of what belongs together, the share that was put together."""
        return self.hits / max(1, self.true)


class Edit(NamedTuple):
    """An edited text, how much of it is as before, and whether it was put with what it came from."""

    resemblance: float
    is_together: bool


class DuplicateFigures(NamedTuple):
    """What was found of planted copies and of edits, and the seconds a signature takes, by kind of text."""

    planted_pages: int
    planted: PairCounts
    edited_texts: int
    edits: list[Edit]
    seconds: dict[str, list[float]]


def measure_duplicates(data: Path, hosts: int, max_texts: int, say: Say) -> DuplicateFigures:
    """Plant, edit, find and count; all draws are seeded."""
    planted = simulated_texts(hosts)
    say(f"near duplicates: {len(planted)} pages of a simulated web")
    texts = real_texts(data)[:max_texts]
    edits = edited(texts)
    say(f"near duplicates: {len(edits)} edits of {len(texts)} real texts")
    kinds = {"simulated pages": [text for text, _ in planted][:300], "real main texts": texts[:300]}
    costs = {kind: [best_seconds(text) for text in some] for kind, some in kinds.items() if some}
    return DuplicateFigures(len(planted), found_of_planted(planted, seed=0), len(texts), edits, costs)


def simulated_texts(hosts: int) -> list[tuple[str, PageRef]]:
    """The text of every page of a simulated web, and the page whose content it shows."""
    layout = Layout(WebPlan(hosts=hosts, near_copy_share=0.08))
    renderer, parser = Renderer(layout, 80), PageParser(Settings(), "lycosa")
    texts = []
    for host in range(hosts):
        content_type = f"text/html; charset={layout.host(host).encoding}"
        for number in range(layout.plan.pages_per_host):
            ref = PageRef(host, number)
            kind = layout.kind(ref)
            if kind is PageKind.REDIRECT or STATUS_OF.get(kind, 200) != 200:
                continue
            page = parser.parse(b"".join(renderer.page(ref, 0)), content_type)
            texts.append((page.text, layout.content_of(ref)))
    return texts


def found_of_planted(texts: Sequence[tuple[str, PageRef]], seed: int) -> PairCounts:
    """The groups of pages that arrive in an order drawn by lot."""
    shuffled = random.Random(seed).sample(texts, len(texts))
    groups = [placement.group for placement in MemoryContentGroups().group_of([signature_of(t) for t, _ in shuffled])]
    originals = [original for _, original in shuffled]
    return PairCounts(pairs(originals), pairs(groups), pairs(zip(groups, originals, strict=True)))


def pairs(names: Iterable[Hashable]) -> int:
    """How many pairs share a name."""
    return sum(size * (size - 1) // 2 for size in Counter(names).values())


def real_texts(data: Path) -> list[str]:
    """The labelled main texts that are long enough to be edited, each once, in an order drawn by lot."""
    found = (page.truth.get("text") or "" for name in names_of(data) for page in pages_of(data, name))
    texts = dict.fromkeys(text for text in found if len(tokens_of(text)) >= MIN_TOKENS)
    return random.Random(1).sample(list(texts), len(texts))


def edited(texts: Sequence[str]) -> list[Edit]:
    """Edits of each text that is like no other."""
    draws = random.Random(2)
    groups = MemoryContentGroups()
    edits = []
    for text, leader in zip(texts, groups.group_of([signature_of(text) for text in texts]), strict=True):
        if not leader.is_first:
            continue
        before = _shingles(text)
        for wanted in [draws.uniform(0.7, 1.0) for _ in range(EDITS_PER_TEXT)]:
            changed = edit(text, wanted, draws)
            after = _shingles(changed)
            # Looked up only: an edit that leads a group of its own must not catch the next one.
            group = plan_of(groups, signature_of(changed)).placement.group
            edits.append(Edit(len(before & after) / len(before | after), group == leader.group))
    return edits


def _shingles(text: str) -> set[tuple[int, ...]]:
    tokens = tokens_of(text).tolist()
    return set(zip(tokens, tokens[1:], tokens[2:], strict=False))


def edit(text: str, wanted: float, draws: random.Random) -> str:
    """The text with words replaced, left out or doubled, singly or some in a row, until about so much is as before."""
    words = re.findall(r"[\u3040-\u9fff]{2}|[\u3040-\u9fff]|\S+?(?=[\s\u3040-\u9fff]|$)|\s+", text)
    run = draws.choice((1, 1, 1, 3, 8))
    # A run of changed words costs two shingles more than it has words, on both sides of the comparison.
    changed = (1 - wanted) / (1 + wanted) * len(words) / 1.7
    for _ in range(round(changed / (run + 2))):
        place = draws.randrange(len(words))
        match draws.randrange(3):
            case 0:
                words[place : place + run] = [draws.choice(words) + " " for _ in range(run)]
            case 1:
                del words[place : place + run]
            case 2:
                words[place:place] = words[place : place + run][::-1]
    return "".join(words)


def found_of_edits(edits: Iterable[Edit]) -> PairCounts:
    """An edit that leaves as much as the threshold says belongs with its original."""
    some = list(edits)
    return PairCounts(
        sum(each.resemblance >= THRESHOLD for each in some),
        sum(each.is_together for each in some),
        sum(each.is_together and each.resemblance >= THRESHOLD for each in some),
    )


def best_seconds(text: str) -> float:
    """What a signature costs, the best of some turns."""
    least = 1.0
    for _ in range(_COST_TURNS):
        started = process_time()
        signature_of(text)
        least = min(least, process_time() - started)
    return least


def duplicate_table(figures: DuplicateFigures) -> str:
    """Precision and recall."""
    rows = [(f"planted in a simulated web of {figures.planted_pages:,} pages", figures.planted)]
    some = [each for each in figures.edits if each.resemblance >= _STEPS[0]]
    far = [each for each in some if abs(each.resemblance - THRESHOLD) >= BORDER]
    if some:
        rows.append(
            (f"{len(some):,} edits of {figures.edited_texts:,} real texts, .7 to 1 alike", found_of_edits(some))
        )
        rows.append((f"of these the {len(far):,} that are not within .02 of the threshold", found_of_edits(far)))
    lines = ["| | pairs alike | precision | recall |", "|---|---|---|---|"]
    lines += [f"| {title} | {found.true:,} | {found.precision:.3f} | {found.recall:.3f} |" for title, found in rows]
    return "\n".join(lines)


def border_table(figures: DuplicateFigures) -> str:
    """How sharp the threshold is."""
    heads, shares = [], []
    for low, high in pairwise(_STEPS):
        some = [each.is_together for each in figures.edits if low <= each.resemblance < high]
        heads.append(f"{low:.2f}-{min(high, 1):.2f}".replace("0.", "."))
        shares.append(f"{sum(some) / len(some):.1%}" if some else "-")
    lines = ["| alike | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    return "\n".join([*lines, "| found together | " + " | ".join(shares) + " |"])


def signature_table(figures: DuplicateFigures) -> str:
    """What a signature costs."""
    lines = ["| signature, µs of CPU | mean | median | 90 % under |", "|---|---|---|---|"]
    for kind, seconds in figures.seconds.items():
        costs = sorted(each * 1e6 for each in seconds)
        lines.append(f"| {kind} | {fmean(costs):.0f} | {median(costs):.0f} | {costs[len(costs) * 9 // 10]:.0f} |")
    return "\n".join(lines)
