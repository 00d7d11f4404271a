"""Pages per second against the number of workers."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from lycosa.bench.contestants import lycosa_on
from lycosa.bench.experiments.plot import Axis, PlotLine, plot
from lycosa.bench.experiments.section import Section, table
from lycosa.bench.run import BenchPlan, bench
from lycosa.errors import LycosaError


def rate(workers: tuple[int, ...], plan: BenchPlan, say: Callable[[str], None]) -> Section:
    """The benchmark web crawled with several numbers of workers."""
    load = os.getloadavg()[0]
    result = bench(plan, [replace(lycosa_on("many", count), name=f"{count} workers") for count in workers], say)
    best = [max(row.runs, key=lambda run: run.pages_per_second, default=None) for row in result.rows]
    rows, lines = [], []
    for count, run in zip(workers, best, strict=True):
        if run is None or not run.pages:
            raise LycosaError(f"no page was crawled with {count} workers: {run.trouble if run else 'it did not run'}")
        first = best[0]
        assert first
        rows.append(
            (
                count,
                f"{run.pages:,}",
                f"{run.pages_per_second:,.0f}",
                f"{run.pages_per_second / first.pages_per_second:.2f}",
                f"{run.pages_per_cpu_second:,.0f}",
                f"{run.peak_bytes / 1e6:,.0f} MB",
            )
        )
        lines.append((float(count), run.pages_per_second))
    columns = ("workers", "pages", "pages/s", "against one", "pages per CPU-second", "memory")
    text = (
        f"{result.hosts:,} hosts with {result.pages_per_host:,} pages of 28 KB each, no pauses, everything on and "
        f"durable; {result.cores} cores, which the web's own server shares, and all that runs beside it (load "
        f"{load:.1f} at the start); the best of {result.repeat}:\n\n"
        f"{table(columns, rows)}\n\n"
        "A worker is bound by its core, not by waiting: it holds 512 requests open by itself. Beyond the cores, and "
        "beside other work, rates say little; pages per CPU-second say what a worker costs."
    )
    even = [(float(count), lines[0][1] * count / workers[0]) for count in workers if count <= result.cores]
    drawn = plot(
        "Rate against workers",
        Axis("workers"),
        Axis("pages per second"),
        [PlotLine("measured", lines), PlotLine("in proportion", even, is_theory=True, colour=1)],
    )
    return Section("Rate against workers", text, {"rate.svg": drawn})
