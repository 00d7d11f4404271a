"""Small plots as SVG text. Colours are classes of the page's style sheet, so they follow light and dark.

Each is drawn twice, for screens and for phones, and the style sheet shows one: a drawing made smaller has letters that
nobody can read. Every text is escaped here: labels come from pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, NARROW, HEIGHT = 720, 320, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 14, 30
_LABEL_CHARS = 34
_CHAR_WIDE, _TICK_CHAR_WIDE = 8.4, 7.2
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
    return _drawn_twice(lambda width: _area(values, title, ends, width))


def _area(values: Sequence[float], title: str, ends: tuple[str, str], width: int) -> str:
    top = max(values, default=0) or 1.0
    axis, top = _value_axis(top, width)
    wide, high = width - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    step = wide / max(1, len(values) - 1)
    points = [f"{_LEFT + at * step:.1f},{_TOP + high * (1 - value / top):.1f}" for at, value in enumerate(values)]
    floor_y = _TOP + high
    filled = " ".join([f"{_LEFT},{floor_y}", *points, f"{_LEFT + wide},{floor_y}"])
    shapes = f'<polygon class="area" points="{filled}"/><polyline class="line" points="{" ".join(points)}"/>'
    # Where both do not fit side by side, the second has a line of its own.
    below = 0 if _TICK_CHAR_WIDE * (len(ends[0]) + len(ends[1]) + 2) < wide else 16
    words = (
        f'<text class="tick" x="{_LEFT if not below else 0}" y="{HEIGHT - 8}">{escape(ends[0])}</text>'
        f'<text class="tick" x="{width - _RIGHT}" y="{HEIGHT - 8 + below}" text-anchor="end">{escape(ends[1])}</text>'
    )
    return _svg(title, width, HEIGHT + below, axis + shapes + words)


def curves(lines: Sequence[tuple[str, Sequence[float]]], *, title: str, ends: tuple[str, str]) -> str:
    """Up to three curves over the same equal steps, from nothing to a hundred per cent, each with its word below."""
    return _drawn_twice(lambda width: _curves(lines, title, ends, width))


def _curves(lines: Sequence[tuple[str, Sequence[float]]], title: str, ends: tuple[str, str], width: int) -> str:
    axis, top = _value_axis(100, width)
    wide, high = width - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    shapes = [
        f'<text class="tick" x="{_LEFT}" y="{HEIGHT - 8}">{escape(ends[0])}</text>'
        f'<text class="tick" x="{width - _RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(ends[1])}</text>'
    ]
    for number, (word, values) in enumerate(lines):
        step, colour = wide / max(1, len(values) - 1), ("", " good", " warn")[number]
        points = " ".join(
            f"{_LEFT + at * step:.1f},{_TOP + high * (1 - value / top):.1f}" for at, value in enumerate(values)
        )
        y = HEIGHT + 14 + 20 * number
        shapes.append(
            f'<polyline class="line{colour}" points="{points}"/>'
            f'<rect class="bar{colour}" x="{_LEFT}" y="{y - 10}" width="18" height="10" rx="2"/>'
            f'<text class="label" x="{_LEFT + 26}" y="{y}">{escape(word)}</text>'
        )
    return _svg(title, width, HEIGHT + 10 + 20 * len(lines), axis + "".join(shapes))


def columns(bars: Sequence[tuple[str, int]], *, title: str) -> str:
    """Upright bars with a word below each, or below every second or third where there is no room for all."""
    return _drawn_twice(lambda width: _columns(bars, title, width))


def _columns(bars: Sequence[tuple[str, int]], title: str, width: int) -> str:
    axis, top = _value_axis(max((count for _, count in bars), default=0) or 1, width)
    wide, high = width - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    room = wide / max(1, len(bars))
    thick = min(room * 0.78, 64)
    longest = max((len(label) for label, _ in bars), default=0)
    every = max(1, ceil(_TICK_CHAR_WIDE * (longest + 1) / room))
    shapes = []
    for at, (label, count) in enumerate(bars):
        centre, tall = _LEFT + room * (at + 0.5), high * count / top
        # What is there is seen, however little it is.
        tall = max(tall, 1.5) if count else 0
        shapes.append(
            f'<rect class="bar" x="{centre - thick / 2:.1f}" y="{_TOP + high - tall:.1f}" width="{thick:.1f}"'
            f' height="{tall:.1f}" rx="2"><title>{escape(label)}: {count:,}</title></rect>'
        )
        if at % every == 0:
            shapes.append(
                f'<text class="tick" x="{centre:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>'
            )
    return _svg(title, width, HEIGHT, axis + "".join(shapes))


def rows(bars: Sequence[tuple[str, int]], *, title: str, classes: dict[str, str] | None = None) -> str:
    """Lying bars, each with its word before and its count behind; what is left over (`REST`) has a count only."""
    return _drawn_twice(lambda width: _rows(bars, title, classes or {}, width))


def _rows(bars: Sequence[tuple[str, int]], title: str, classes: dict[str, str], width: int) -> str:
    line, count_wide = 26, 78
    named = [bar for bar in bars if bar[0] != REST]
    most_chars = min(_LABEL_CHARS, int((width - count_wide) / 2 / _CHAR_WIDE))
    label_wide = 18 + _CHAR_WIDE * min(most_chars, max((len(label) for label, _ in bars), default=0))
    most = max((count for _, count in named), default=0) or 1
    wide = width - label_wide - count_wide
    shapes = []
    for at, (label, count) in enumerate(bars):
        y, long = at * line, 0 if label == REST else max(wide * count / most, 1.5)
        shown = label if len(label) <= most_chars else label[: most_chars - 1] + "…"
        kind = classes.get(label, "bar")
        shapes.append(
            f'<text class="label" x="{label_wide - 10:.1f}" y="{y + 17}" text-anchor="end">{escape(shown)}'
            f"<title>{escape(label)}</title></text>"
            f'<rect class="{kind}" x="{label_wide:.1f}" y="{y + 5}" width="{long:.1f}" height="16" rx="2"/>'
            f'<text class="count" x="{label_wide + long + (8 if long else 0):.1f}" y="{y + 17}">{count:,}</text>'
        )
    return _svg(title, width, max(1, len(bars)) * line, "".join(shapes))


def _value_axis(limit: float, width: int) -> tuple[str, float]:
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
            f'<line class="grid" x1="{_LEFT}" x2="{width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{short(number * step)}</text>'
        )
    return "".join(lines), steps * step


def _drawn_twice(draw: Callable[[int], str]) -> str:
    return f'<div class="plot"><div class="wide">{draw(WIDTH)}</div><div class="narrow">{draw(NARROW)}</div></div>'


def _svg(title: str, width: int, height: float, content: str) -> str:
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">{content}</svg>'
