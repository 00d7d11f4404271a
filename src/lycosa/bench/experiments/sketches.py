"""How wrong the count-min sketch and the Bloom filter are, by size, beside what theory says."""

from __future__ import annotations

from random import Random

import numpy as np

from lycosa.bench.experiments.plot import Axis, PlotLine, plot
from lycosa.bench.experiments.section import Section, table
from lycosa.frontier.bloom import BloomFilter
from lycosa.policy.sketch import CountMinSketch

DEPTH = 4
WIDTHS = (256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768)
BITS_PER_ITEM = (4, 6, 8, 10, 12, 16, 20)


def heavy_tailed(names: int, total: int, seed: int = 1) -> list[int]:
    """So many requests over so many domains as in a crawl: the n-th largest has 1/n as much as the largest."""
    weights = 1 / np.arange(1, names + 1)
    return [int(count) for count in np.random.default_rng(seed).multinomial(total, weights / weights.sum())]


def sketch_error(names: int, total: int) -> Section:
    """Counts of a heavy-tailed crawl against their estimates, for sketches of several widths."""
    counts = {f"site-{number}.example": count for number, count in enumerate(heavy_tailed(names, total))}
    rows, mean, largest, bound = [], [], [], []
    for width in WIDTHS:
        sketch = CountMinSketch(width, DEPTH)
        for name, count in counts.items():
            sketch.add(name, count)
        errors = np.array([sketch.estimate(name) - count for name, count in counts.items()])
        assert errors.min() >= 0, "an estimate is never too low"
        over = float((errors > sketch.max_overestimate).mean())
        rows.append(
            (
                f"{width:,} x {DEPTH}",
                f"{sketch.size_bytes / 1024:,.0f} kB",
                f"{errors.mean():,.1f}",
                f"{np.quantile(errors, 0.99):,.0f}",
                f"{errors.max():,}",
                f"{sketch.max_overestimate:,}",
                f"{over:.2%}",
                f"{1 - sketch.confidence:.2%}",
            )
        )
        size = sketch.size_bytes / 1024
        mean.append((size, float(errors.mean())))
        largest.append((size, float(errors.max())))
        bound.append((size, float(sketch.max_overestimate)))
    columns = (
        "counters",
        "memory",
        "too high by, mean",
        "99 of 100 below",
        "most",
        "bound",
        "over the bound",
        "allowed",
    )
    text = (
        f"{total:,} requests over {names:,} domains, the n-th largest with 1/n of the first. An estimate is never too "
        "low; how much too high it is, and the bound e/width of all that was counted, which "
        f"{DEPTH} rows may break in e^-{DEPTH} of the cases:\n\n{table(columns, rows)}"
    )
    drawn = plot(
        "Count-min sketch: by how much a count is too high",
        Axis("memory of the sketch, kB", is_log=True),
        Axis("requests", is_log=True),
        [
            PlotLine("mean", mean),
            PlotLine("most", largest, colour=1),
            PlotLine("bound e/width", bound, is_theory=True, colour=1),
        ],
    )
    return Section("Domain counters: error of the count-min sketch", text, {"sketch.svg": drawn})


def bloom_error(items: int) -> Section:
    """Fingerprints never added that look seen, for filters of several sizes and both layouts."""
    rows = []
    lines: dict[str, list[tuple[float, float]]] = {
        "standard": [],
        "standard, theory": [],
        "blocked": [],
        "blocked, theory": [],
    }
    for bits in BITS_PER_ITEM:
        row = [f"{bits}"]
        for name, words in (("standard", None), ("blocked", 1)):
            hashes = max(1, round(bits * np.log(2))) if words is None else max(1, min(8, round(bits * 0.45)))
            bloom = BloomFilter(items, bits * items, hashes, words)
            measured, expected = _false_positives(bloom, items), bloom.expected_error(items)
            row += [f"{hashes}", f"{expected:.5%}", f"{measured:.5%}"]
            lines[name].append((bits, measured))
            lines[f"{name}, theory"].append((bits, expected))
        rows.append(row)
    columns = ("bits per URL", "k", "expected", "measured", "blocked: k", "expected", "measured")
    text = (
        f"{items:,} fingerprints added, {items:,} others asked for. In the standard layout every hash function has a "
        'word of its own, in the blocked one, which `seen = "exact"` uses, all bits of a fingerprint lie in one word '
        f"(one memory access):\n\n{table(columns, rows)}\n\nBehind the filter an exact table answers, so with "
        '`seen = "exact"` a false positive costs a look-up and loses no page.'
    )
    drawn = plot(
        "Bloom filter: new URLs that look seen",
        Axis("bits per URL"),
        Axis("share", is_log=True),
        [
            PlotLine(name, points, is_theory="theory" in name, colour=int(name.startswith("blocked")))
            for name, points in lines.items()
        ],
    )
    return Section("URL-seen: error of the Bloom filter", text, {"bloom.svg": drawn})


def _false_positives(bloom: BloomFilter, items: int) -> float:
    bloom.add_many(Random(1).randbytes(8 * items))
    asked = Random(2).randbytes(8 * items)
    return sum(asked[start : start + 8] in bloom for start in range(0, len(asked), 8)) / items
