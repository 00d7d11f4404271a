"""A result as a table for people and as Markdown for the documents."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from lycosa.bench.run import BenchRow, Result, Run

_COLUMNS = (
    "crawler", "pages", "requests", "wall s", "pages/s", "CPU s", "pages per CPU-s", "spread", "peak MB",
    "fetched MB", "kept MB", "lycosa is",
)  # fmt: skip
_WEBS = {"many": "many hosts", "one": "one host"}


def show(result: Result, console: Console) -> None:
    """Print a table for each web."""
    for kind, rows in _by_web(result):
        table = Table(title=_title(result, kind), title_justify="left")
        for number, column in enumerate(_COLUMNS):
            table.add_column(column, justify="left" if number == 0 else "right")
        for row in rows:
            table.add_row(*_cells(row, _ours(rows)))
        console.print(table)
    console.print(_footnote(result))


def markdown(result: Result) -> str:
    """The same as Markdown tables."""
    lines: list[str] = []
    for kind, rows in _by_web(result):
        lines += [f"**{_title(result, kind)}**", "", f"| {' | '.join(_COLUMNS)} |", "|---|" + "---:|" * 11]
        lines += [f"| {' | '.join(_cells(row, _ours(rows)))} |" for row in rows]
        lines.append("")
    return "\n".join([*lines, _footnote(result), ""])


def _by_web(result: Result) -> Iterator[tuple[str, list[BenchRow]]]:
    for kind in _WEBS:
        if rows := [row for row in result.rows if row.web == kind]:
            yield kind, rows


def _title(result: Result, kind: str) -> str:
    hosts, pages = (
        (result.hosts, result.pages_per_host) if kind == "many" else (1, result.hosts * result.pages_per_host)
    )
    return f"{_WEBS[kind]}: {hosts:,} x {pages:,} pages"


def _ours(rows: list[BenchRow]) -> Run | None:
    return next((row.best for row in rows if row.crawler == "lycosa"), None)


def _cells(row: BenchRow, ours: Run | None) -> list[str]:
    best = row.best
    if best is None:
        return [row.crawler, f"not installed: {row.missing}", *[""] * (len(_COLUMNS) - 2)]
    rates = sorted(run.pages_per_cpu_second for run in row.runs)
    return [
        row.crawler,
        f"{best.pages:,}{' (cut)' if best.is_cut else ''}{' (failed)' if best.trouble else ''}",
        f"{best.requests:,}",
        f"{best.wall_seconds:.1f}",
        f"{best.pages_per_second:,.0f}",
        f"{best.cpu_seconds:.2f}",
        f"{best.pages_per_cpu_second:,.0f}",
        f"{rates[0]:,.0f}-{rates[-1]:,.0f}",
        f"{best.peak_bytes / 1e6:,.0f}",
        f"{best.page_bytes / 1e6:,.0f}",
        f"{best.kept_bytes / 1e6:,.0f}",
        _ratio(best, ours),
    ]


def _ratio(run: Run, ours: Run | None) -> str:
    if ours is None or not run.pages:
        return ""
    return f"{ours.pages_per_cpu_second / run.pages_per_cpu_second:.2f} x" if run is not ours else "1"


def _footnote(result: Result) -> str:
    runs = "1 run" if result.repeat == 1 else f"best of {result.repeat} runs in turns"
    return (
        f"{runs}, at most {result.max_seconds:g} s each; {result.cores} cores, {result.machine}, "
        f"Python {result.python}, lycosa {result.lycosa}. CPU and memory over all processes of a crawler; pages as "
        "the server saw them; cut: stopped at the time limit; lycosa is: its pages per CPU-second to theirs."
    )
