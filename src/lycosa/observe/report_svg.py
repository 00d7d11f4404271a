"""Small plots as SVG text. Colours are classes of the page's style sheet, so they follow light and dark.

Every text is escaped here: labels come from pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import floor, log10

WIDTH, HEIGHT = 720, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 14, 30
_LABEL_CHARS = 34
_CHAR_WIDE = 8.4
# Below it a curve is as good as flat, and powers of ten come to an end.
_SMALLEST = 1e-9
# The word for all that has no bar of its own.
REST = "all others"


def nice_step(limit: float, steps: int = 4) -> float:
    """A round distance (1, 2, 2.5 or 5 times a power of ten) that makes about so many steps up to the limit."""
    if limit < _SMALLEST:
        return 1.0
    rough = limit / steps
    power = 10.0 ** floor(log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)


def short(number: float) -> str:
    """A number in little room."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def area(values: Sequence[float], *, title: str, ends: tuple[str, str]) -> str:
    """A curve over equal steps with its area; `ends` are the words below its first and last value."""
    top = max(values, default=0) or 1.0
    axis, top = _value_axis(top)
    wide, high = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    step = wide / max(1, len(values) - 1)
    points = [f"{_LEFT + at * step:.1f},{_TOP + high * (1 - value / top):.1f}" for at, value in enumerate(values)]
    floor_y = _TOP + high
    filled = " ".join([f"{_LEFT},{floor_y}", *points, f"{_LEFT + wide},{floor_y}"])
    shapes = f'<polygon class="area" points="{filled}"/><polyline class="line" points="{" ".join(points)}"/>'
    words = (
        f'<text class="tick" x="{_LEFT}" y="{HEIGHT - 8}">{escape(ends[0])}</text>'
        f'<text class="tick" x="{WIDTH - _RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(ends[1])}</text>'
    )
    return _svg(title, HEIGHT, axis + shapes + words)


def columns(bars: Sequence[tuple[str, int]], *, title: str) -> str:
    """Upright bars with a word below each."""
    axis, top = _value_axis(max((count for _, count in bars), default=0) or 1)
    wide, high = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    room = wide / max(1, len(bars))
    width = min(room * 0.78, 64)
    shapes = []
    for at, (label, count) in enumerate(bars):
        centre, tall = _LEFT + room * (at + 0.5), high * count / top
        # What is there is seen, however little it is.
        tall = max(tall, 1.5) if count else 0
        shapes.append(
            f'<rect class="bar" x="{centre - width / 2:.1f}" y="{_TOP + high - tall:.1f}" width="{width:.1f}"'
            f' height="{tall:.1f}" rx="2"><title>{escape(label)}: {count:,}</title></rect>'
            f'<text class="tick" x="{centre:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>'
        )
    return _svg(title, HEIGHT, axis + "".join(shapes))


def rows(bars: Sequence[tuple[str, int]], *, title: str, classes: dict[str, str] | None = None) -> str:
    """Lying bars, each with its word before and its count behind; what is left over (`REST`) has a count only."""
    line, count_wide = 26, 78
    named = [bar for bar in bars if bar[0] != REST]
    label_wide = 18 + _CHAR_WIDE * min(_LABEL_CHARS, max((len(label) for label, _ in bars), default=0))
    most = max((count for _, count in named), default=0) or 1
    wide = WIDTH - label_wide - count_wide
    shapes = []
    for at, (label, count) in enumerate(bars):
        y, long = at * line, 0 if label == REST else max(wide * count / most, 1.5)
        shown = label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1] + "…"
        kind = (classes or {}).get(label, "bar")
        shapes.append(
            f'<text class="label" x="{label_wide - 10:.1f}" y="{y + 17}" text-anchor="end">{escape(shown)}'
            f"<title>{escape(label)}</title></text>"
            f'<rect class="{kind}" x="{label_wide:.1f}" y="{y + 5}" width="{long:.1f}" height="16" rx="2"/>'
            f'<text class="count" x="{label_wide + long + (8 if long else 0):.1f}" y="{y + 17}">{count:,}</text>'
        )
    return _svg(title, max(1, len(bars)) * line, "".join(shapes))


def _value_axis(limit: float) -> tuple[str, float]:
    """Lines across at round values, and the value at the top."""
    step = nice_step(limit)
    if limit >= 1 and step < 1 and float(limit).is_integer():
        step = 1.0  # there is no half page
    steps = max(1, -int(-limit // step))
    high = HEIGHT - _TOP - _BOTTOM
    lines = []
    for number in range(steps + 1):
        y = _TOP + high * (1 - number / steps)
        lines.append(
            f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{short(number * step)}</text>'
        )
    return "".join(lines), steps * step


def _svg(title: str, height: float, content: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">{content}</svg>'
