"""Near duplicates: how many are found, what they cost, what they take: `python bench/dedupe.py`. Bounded: a minute.

Found: pairs planted in a simulated web, and edits of real texts to a known resemblance where the labelled pages are at
hand (`lycosa bench extraction` makes tables of both). Costs are the best of several turns.
`--groups 1000000` fills the tables with so many groups: that takes minutes.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from time import perf_counter, process_time, thread_time

from lycosa.bench.quality.duplicates import edited, found_of_planted, real_texts, simulated_texts
from lycosa.dedupe.comparison import BANDS, SKETCH_BYTES, Signature
from lycosa.dedupe.groups import THRESHOLD
from lycosa.dedupe.rocks import RocksContentGroups
from lycosa.dedupe.signature import compiled_sign, signature_of, signature_of_arrays
from lycosa.simweb.layout import PageRef

DATA = Path(__file__).parents[2] / "shared" / "data"


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
    real = real_texts(DATA)
    if real:
        print_edited(real)
    print_signature_costs({"simulated pages": [text for text, _ in planted][:300], "real main texts": real[:300]})
    print_tables(chosen.groups)


# Found


def print_planted(texts: list[tuple[str, PageRef]]) -> None:
    for seed in range(3):
        found = found_of_planted(texts, seed)
        print(
            f"planted, order {seed}: {len(texts)} pages, {found.true} pairs alike, {found.said} found:"
            f" precision {found.precision:.4f} recall {found.recall:.4f}"
        )


def print_edited(texts: list[str]) -> None:
    edits = edited(texts)
    print(f"\nedited real texts: {len(texts)} texts, {len(edits)} edits; together at {THRESHOLD:.0%}")
    for low, high in pairwise((0.7, 0.75, 0.8, 0.84, 0.86, 0.88, 0.89, 0.9, 0.91, 0.92, 0.94, 0.96, 0.98, 1.01)):
        some = [each for each in edits if low <= each.resemblance < high]
        if some:
            share = sum(each.is_together for each in some) / len(some)
            print(f"  resemblance {low:.2f} to {min(high, 1):.2f}: {len(some):5} edits, {share:6.1%} together")


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
