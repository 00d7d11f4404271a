"""A result as a chart for the README: pages per CPU-second as bars, the spread of the runs as a line at their ends.

One SVG file with its own background, light or dark as its reader likes it. Crawlers of one host are left out: nobody
is compared there who does the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from lycosa.bench.report import LYCOSA, by_web
from lycosa.bench.run import BenchRow, Result

_WIDTH, _LEFT, _RIGHT = 720, 96, 190
_BAR, _GAP, _HEADING, _TOP, _BOTTOM = 20, 8, 42, 40, 34
_NAMES = {"scrapy": "Scrapy", "crawlee": "Crawlee"}
_TITLES = {
    "navigation": "Sites as they are built: most links have been met before",
    "strewn": "Strewn links: most of them are new",
}
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 }
  .heading { font-weight: 600 }
  .note { font-size: 11px; fill: #57606a }
  .ground { fill: #ffffff; stroke: #d0d7de }
  .ours { fill: #0072b2 }
  .theirs { fill: #8c959f }
  .spread { stroke: #24292f; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note { fill: #9198a1 }
    .ground { fill: #0d1117; stroke: #3d444d }
    .ours { fill: #4aa8e8 }
    .theirs { fill: #656c76 }
    .spread { stroke: #e6edf3 }
  }
"""


def chart(result: Result) -> str:
    """The chart of a result; of one without runs on many hosts, a title alone."""
    groups = [(rows[0].web, _shown(rows)) for _, rows in by_web(result) if rows[0].hosts == "many"]
    most = max((_rates(row)[-1] for _, rows in groups for row in rows), default=1.0)
    scale = (_WIDTH - _LEFT - _RIGHT) / most
    parts: list[str] = []
    y = _TOP
    for kind, rows in groups:
        parts.append(_text(16, y + 24, _TITLES[kind], "heading"))
        y += _HEADING
        for row in rows:
            parts += _bar(row, rows, y, scale)
            y += _BAR + _GAP
    runs = "1 run" if result.repeat == 1 else f"median of {result.repeat} runs in turns, with the least and the most"
    pages = f"{result.hosts * result.pages_per_host:,} pages of {result.page_bytes / 1000:.0f} KB"
    size = f"{pages} with 53 links, {result.hosts:,} hosts"
    height = y + _BOTTOM
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {height}' role='img'>",
            "<title>Pages per CPU-second</title>",
            f"<style>{_STYLE}</style>",
            f"<rect class='ground' x='0.5' y='0.5' width='{_WIDTH - 1}' height='{height - 1}' rx='6'/>",
            _text(16, 28, "Pages per CPU-second, over all processes of a crawler", "title"),
            *parts,
            _text(16, height - 12, f"Up to {size}, at most {result.max_seconds:g} s; {runs}", "note"),
            "</svg>",
            "",
        ]
    )


def _shown(rows: list[BenchRow]) -> list[BenchRow]:
    """Lycosa once, with the first number of workers, and the others."""
    ours = next((row for row in rows if row.crawler == LYCOSA), None)
    return [row for row in rows if row.runs and (row is ours or row.crawler != LYCOSA)]


def _bar(row: BenchRow, rows: list[BenchRow], y: int, scale: float) -> Iterator[str]:
    run, rates = row.median, _rates(row)
    assert run is not None, "rows without runs are not shown"
    rate, middle = run.pages_per_cpu_second, y + _BAR / 2
    kind = "ours" if row.crawler == LYCOSA else "theirs"
    yield _text(16, y + 15, _NAMES.get(row.crawler, row.crawler))
    yield f"<rect class='{kind}' x='{_LEFT}' y='{y}' width='{max(1.0, rate * scale):.1f}' height='{_BAR}' rx='2'/>"
    if len(rates) > 1:
        yield _spread(_LEFT + rates[0] * scale, _LEFT + rates[-1] * scale, middle)
    ours = next((each.median for each in rows if each.crawler == LYCOSA), None)
    ratio = f", lycosa is {ours.pages_per_cpu_second / rate:.1f} x" if ours and rate and run is not ours else ""
    yield _text(_LEFT + rates[-1] * scale + 8, y + 15, f"{rate:,.0f}{ratio}")


def _rates(row: BenchRow) -> list[float]:
    return sorted(run.pages_per_cpu_second for run in row.runs)


def _spread(low: float, high: float, y: float) -> str:
    ends = "".join(f"M{x:.1f} {y - 4}V{y + 4}" for x in (low, high))
    return f"<path class='spread' d='M{low:.1f} {y}H{high:.1f}{ends}'/>"


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f"<text x='{x:.1f}' y='{y}'{f' class={kind!r}' if kind else ''}>{escape(text)}</text>"
