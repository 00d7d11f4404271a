"""Near duplicates: how many are found, what they cost, what they take: `python bench/dedupe.py`. Bounded: a minute.

Found: pairs planted in a simulated web, and edits of real texts to a known resemblance where the labelled pages are at
hand. Costs are the best of several turns. `--groups 1000000` fills the tables with so many groups: that takes minutes.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, NamedTuple

from lycosa.dedupe.groups import THRESHOLD, plan_of
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.dedupe.rocks import RocksContentGroups
from lycosa.dedupe.signature import (
    BANDS,
    SKETCH_BYTES,
    Signature,
    compiled_sign,
    signature_of,
    signature_of_arrays,
)
from lycosa.dedupe.tokens import tokens_of
from lycosa.page.parser import PageParser
from lycosa.settings import Settings
from lycosa.simweb.layout import STATUS_OF, Kind, Layout, PageRef
from lycosa.simweb.plan import WebPlan
from lycosa.simweb.render import Renderer

DATA = Path(__file__).parents[2] / "shared" / "data" / "extraction"
MIN_TOKENS = 30


def main() -> None:
    """Print what is found, what it costs and what it takes."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument(
        "--groups", type=int, default=100_000, help="groups to fill the tables with (default: 100000)"
    )
    arguments.add_argument("--hosts", type=int, default=100, help="hosts of the simulated web (default: 100)")
    chosen = arguments.parse_args()
    planted = simulated_texts(chosen.hosts)
    print_planted(planted)
    real = real_texts()
    if real:
        print_edited(real)
    print_signature_costs({"simulated pages": [text for text, _ in planted][:300], "real main texts": real[:300]})
    print_tables(chosen.groups)


# Found


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
            if kind is Kind.REDIRECT or STATUS_OF.get(kind, 200) != 200:
                continue
            page = parser.parse(b"".join(renderer.page(ref, 0)), content_type)
            texts.append((page.text, layout.content_of(ref)))
    return texts


def print_planted(texts: list[tuple[str, PageRef]]) -> None:
    for seed in range(3):
        shuffled = random.Random(seed).sample(texts, len(texts))
        placements = MemoryContentGroups().place([signature_of(text) for text, _ in shuffled])
        found = Counter(placement.group for placement in placements)
        planted = Counter(original for _, original in shuffled)
        right = Counter((placement.group, ref) for placement, (_, ref) in zip(placements, shuffled, strict=True))
        hits, said, true = pairs(right), pairs(found), pairs(planted)
        print(
            f"planted, order {seed}: {len(texts)} pages, {true} pairs alike, {said} found:"
            f" precision {hits / said:.4f} recall {hits / true:.4f}"
        )


def pairs(sizes: Counter[Any]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes.values())


class Edit(NamedTuple):
    """An edited text, how much of it is as before, and whether it was put with what it came from."""

    resemblance: float
    is_together: bool


def real_texts() -> list[str]:
    """The labelled main texts that are long enough to be edited, each once."""
    texts = {
        row["text"]: None
        for path in sorted(DATA.glob("*/truth.jsonl"))
        for row in map(json.loads, path.open(encoding="utf-8"))
        if len(tokens_of(row.get("text") or "")) >= MIN_TOKENS
    }
    return random.Random(1).sample(list(texts), len(texts))


def print_edited(texts: list[str]) -> None:
    draws = random.Random(2)
    groups = MemoryContentGroups()
    leaders = groups.place([signature_of(text) for text in texts])
    edits = []
    for text, leader in zip(texts, leaders, strict=True):
        if not leader.is_first:
            continue
        before = shingles(text)
        for wanted in (draws.uniform(0.7, 1.0) for _ in range(4)):
            edited = edit(text, wanted, draws)
            after = shingles(edited)
            # Looked up only: an edit that leads a group of its own must not catch the next one.
            group = plan_of(groups, signature_of(edited)).placement.group
            edits.append(Edit(len(before & after) / len(before | after), group == leader.group))
    print(f"\nedited real texts: {len(texts)} texts, {len(edits)} edits; together at {THRESHOLD:.0%}")
    for low, high in pairwise((0.7, 0.75, 0.8, 0.84, 0.86, 0.88, 0.89, 0.9, 0.91, 0.92, 0.94, 0.96, 0.98, 1.01)):
        some = [each for each in edits if low <= each.resemblance < high]
        if some:
            share = sum(each.is_together for each in some) / len(some)
            print(f"  resemblance {low:.2f} to {min(high, 1):.2f}: {len(some):5} edits, {share:6.1%} together")
    for name, some in {
        "0.7 to 1": [each for each in edits if each.resemblance >= 0.7],
        "without 0.88 to 0.92": [each for each in edits if not 0.88 <= each.resemblance < 0.92],
    }.items():
        hits = sum(each.is_together and each.resemblance >= THRESHOLD for each in some)
        said = sum(each.is_together for each in some)
        true = sum(each.resemblance >= THRESHOLD for each in some)
        print(f"  {name}: {len(some)} edits, precision {hits / said:.4f} recall {hits / true:.4f}")


def shingles(text: str) -> set[tuple[int, ...]]:
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


# Costs


def print_signature_costs(sets: dict[str, list[str]]) -> None:
    print("\nsignature, µs a text (best of 15)")
    for (name, texts), (how, sign) in product(sets.items(), SIGNERS.items()):
        if texts and sign:
            costs = sorted(best(sign, text) * 1e6 for text in texts)
            mean_chars = sum(map(len, texts)) / len(texts)
            print(
                f"  {name:<16} {mean_chars:7.0f} characters in the mean, {how:<8}: mean {sum(costs) / len(costs):6.1f}"
                f"  median {costs[len(costs) // 2]:6.1f}  90 % {costs[len(costs) * 9 // 10]:6.1f}"
            )


SIGNERS = {"compiled": signature_of if compiled_sign else None, "arrays": signature_of_arrays}


def best(sign: Callable[[str], Signature], text: str) -> float:
    least = 1.0
    for _ in range(15):
        started = perf_counter()
        sign(text)
        least = min(least, perf_counter() - started)
    return least


def print_tables(groups: int, batch: int = 32) -> None:
    """Random signatures, the worst case: every text is new and nothing of it compresses."""
    print(f"\ntables: {groups} groups, {batch} texts at a time")
    draws = random.Random(3)
    with tempfile.TemporaryDirectory(prefix="lycosa-groups-") as folder:
        kept = RocksContentGroups(Path(folder))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        steps = max(1, groups // batch // 4)
        for step in range(4):
            started, in_thread = process_time(), thread_time()
            making = 0.0
            for _ in range(steps):
                made = thread_time()
                signatures = [drawn_signature(draws) for _ in range(batch)]
                making += thread_time() - made
                kept.place(signatures)
            texts = steps * batch
            print(
                f"  to {(step + 1) * texts:9}: {(thread_time() - in_thread - making) / texts * 1e6:6.1f} µs a new text,"
                f" {(process_time() - started - making) / texts * 1e6:6.1f} with all threads;"
                f" memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB, before {before // 1024} MB"
            )
        least = min(lookup(kept, [drawn_signature(draws)]) for _ in range(300))
        known = drawn_signature(draws)
        kept.place([known])
        again = min(lookup(kept, [known]) for _ in range(300))
        print(f"  one new text {least * 1e6:.1f} µs, a known one {again * 1e6:.1f} µs (best)")
        kept.close()
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        print(f"  disk {size / (steps * batch * 4):.0f} bytes a group")


def lookup(kept: RocksContentGroups, signatures: list[Signature]) -> float:
    started = thread_time()
    kept.place(signatures)
    return thread_time() - started


def drawn_signature(draws: random.Random) -> Signature:
    bands = tuple(band.to_bytes(1) + draws.randbytes(7) for band in range(BANDS))
    return Signature(draws.randbytes(20), bands, draws.randbytes(SKETCH_BYTES))


if __name__ == "__main__":
    main()
