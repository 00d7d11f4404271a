"""A result as tables for people and as Markdown for the documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from lycosa.bench.run import BenchRow, Result, Run
from lycosa.bench.web import WEB_KINDS

_COLUMNS = (
    "crawler", "pages", "requests", "wall s", "pages/s", "CPU s", "pages per CPU-s", "min-max", "peak MB",
    "fetched MB", "kept MB", "lycosa is",
)  # fmt: skip
_PROCESS_COLUMNS = (
    "workers", "pages per CPU-s", "CPU µs per page", "parent", "forkserver", "workers", "peak MB", "parent",
    "a worker", "all workers",
)  # fmt: skip
_HOSTS = {"many": "many hosts", "one": "one host"}
LYCOSA = "lycosa"


class BenchTable(NamedTuple):
    """A heading and rows of cells; all columns but the first are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[str]]


def show(result: Result, console: Console) -> None:
    """Print the tables of each web."""
    for each in tables(result):
        table = Table(title=each.title, title_justify="left")
        for number, column in enumerate(each.columns):
            table.add_column(column, justify="left" if number == 0 else "right")
        for row in each.rows:
            table.add_row(*row)
        console.print(table)
    for sentence in (*_ratios(result), _footnote(result)):
        console.print(sentence)


def markdown(result: Result) -> str:
    """The same as Markdown tables."""
    lines: list[str] = []
    for each in tables(result):
        lines += [f"**{each.title}**", "", f"| {' | '.join(each.columns)} |"]
        lines += ["|---|" + "---:|" * (len(each.columns) - 1)]
        lines += [f"| {' | '.join(row)} |" for row in each.rows]
        lines.append("")
    return "\n".join([*lines, *(f"- {sentence}" for sentence in _ratios(result)), "", _footnote(result), ""])


def tables(result: Result) -> Iterator[BenchTable]:
    """For each web the crawlers, and what lycosa's processes are made of."""
    for title, rows in by_web(result):
        ours = ours_in(rows)
        yield BenchTable(title, _COLUMNS, [_cells(row, _label(row, rows), ours) for row in rows])
        parts = [_process_cells(row, row.median) for row in rows if row.crawler == LYCOSA and row.median]
        if parts:
            yield BenchTable(f"{title}: lycosa's processes", _PROCESS_COLUMNS, parts)


def by_web(result: Result) -> Iterator[tuple[str, list[BenchRow]]]:
    """The rows of each web under its name."""
    for kind in WEB_KINDS:
        for hosts, name in _HOSTS.items():
            if rows := [row for row in result.rows if (row.web, row.hosts) == (kind, hosts)]:
                yield f"{kind}, {name}: {_size(result, kind, hosts)}", rows


def ours_in(rows: list[BenchRow]) -> Run | None:
    """The run that others are compared with: lycosa's, with the first number of workers if there are several."""
    return next((row.median for row in rows if row.crawler == LYCOSA), None)


def _size(result: Result, kind: str, hosts: str) -> str:
    count, pages = (
        (result.hosts, result.pages_per_host) if hosts == "many" else (1, result.hosts * result.pages_per_host)
    )
    return f"{count:,} x {pages:,} pages" + (" of 200 times as many" if kind == "strewn" else "")


def _label(row: BenchRow, rows: list[BenchRow]) -> str:
    has_several = sum(each.crawler == row.crawler for each in rows) > 1
    return f"{row.crawler}, {_workers(row)}" if has_several else row.crawler


def _workers(row: BenchRow) -> str:
    return "1 per core" if not row.workers else str(row.workers)


def _cells(row: BenchRow, label: str, ours: Run | None) -> list[str]:
    run = row.median
    if run is None:
        return [label, f"not installed: {row.missing}", *[""] * (len(_COLUMNS) - 2)]
    rates = sorted(each.pages_per_cpu_second for each in row.runs)
    return [
        label,
        f"{run.pages:,}{' (cut)' if run.is_cut else ''}{' (failed)' if run.trouble else ''}",
        f"{run.requests:,}",
        f"{run.wall_seconds:.1f}",
        f"{run.pages_per_second:,.0f}",
        f"{run.cpu_seconds:.2f}",
        f"{run.pages_per_cpu_second:,.0f}",
        f"{rates[0]:,.0f}-{rates[-1]:,.0f}",
        f"{run.peak_bytes / 1e6:,.0f}",
        f"{run.page_bytes / 1e6:,.0f}",
        f"{run.kept_bytes / 1e6:,.0f}",
        _ratio(run, ours),
    ]


def _process_cells(row: BenchRow, run: Run) -> list[str]:
    per_page = 1e6 / max(1, run.pages)
    seconds, peaks, largest = (
        [getattr(each, name) for each in run.generations] + [0] * 3
        for name in ("cpu_seconds", "peak_bytes", "largest_bytes")
    )
    return [
        _workers(row),
        f"{run.pages_per_cpu_second:,.0f}",
        *(f"{each * per_page:,.0f}" for each in (run.cpu_seconds, *seconds[:3])),
        *(f"{each / 1e6:,.0f}" for each in (run.peak_bytes, peaks[0], largest[2], peaks[2])),
    ]


def _ratio(run: Run, ours: Run | None) -> str:
    if ours is None or not run.pages:
        return ""
    return f"{ours.pages_per_cpu_second / run.pages_per_cpu_second:.2f} x" if run is not ours else "1"


def _ratios(result: Result) -> Iterator[str]:
    """Of each web in a sentence, what is asked for first."""
    for title, rows in by_web(result):
        ours = ours_in(rows)
        theirs = next((row.median for row in rows if row.crawler == "scrapy"), None)
        if ours and theirs and theirs.pages:
            yield f"{title.partition(':')[0]}: lycosa has {_ratio(theirs, ours)} the pages per CPU-second of Scrapy"


def _footnote(result: Result) -> str:
    runs = "1 run" if result.repeat == 1 else f"the median of {result.repeat} runs in turns"
    return (
        f"{runs}, at most {result.max_seconds:g} s each; {result.cores} cores, {result.machine}, "
        f"Python {result.python}, lycosa {result.lycosa}. CPU and memory over all processes of a crawler; pages as "
        "the server saw them; cut: stopped at the time limit; min-max: pages per CPU-second over all runs; "
        "lycosa is: its pages per CPU-second to theirs."
    )
