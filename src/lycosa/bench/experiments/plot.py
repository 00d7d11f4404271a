"""Plots as SVG files: lines, either axis in powers of ten. In colours that everybody can tell apart, on white: so they
read the same wherever a page is shown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10
from typing import NamedTuple

WIDTH, HEIGHT = 760, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 190, 44, 54
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_FONT = "font-family='system-ui, sans-serif'"


class PlotLine(NamedTuple):
    """One line of a plot. Theory is dashed and has no marks."""

    name: str
    points: Sequence[tuple[float, float]]
    is_theory: bool = False
    colour: int = 0


class Axis(NamedTuple):
    """What an axis shows; `is_log`: in powers of ten."""

    label: str
    is_log: bool = False


def plot(title: str, x: Axis, y: Axis, lines: Sequence[PlotLine]) -> str:
    """The plot of some lines. A value of 0 has no place on an axis in powers of ten and is left out."""
    shown = [line._replace(points=[p for p in line.points if _has_place(p, x, y)]) for line in lines]
    points = [point for line in shown for point in line.points]
    across = _Scale(x, [point[0] for point in points], _LEFT, WIDTH - _RIGHT)
    up = _Scale(y, [point[1] for point in points], HEIGHT - _BOTTOM, _TOP)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>",
        f"<title>{escape(title)}</title>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='#fff'/>",
        _text(_LEFT, 24, title, size=16, weight=600),
        _text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 12, x.label, anchor="middle"),
        _text(18, (_TOP + HEIGHT - _BOTTOM) / 2, y.label, anchor="middle", turned=True),
    ]
    for value in across.ticks():
        at = across.at(value)
        parts.append(
            _rule(at, at, _TOP, HEIGHT - _BOTTOM) + _text(at, HEIGHT - _BOTTOM + 18, short(value), anchor="middle")
        )
    for value in up.ticks():
        at = up.at(value)
        parts.append(_rule(_LEFT, WIDTH - _RIGHT, at, at) + _text(_LEFT - 8, at + 4, short(value), anchor="end"))
    for number, line in enumerate(shown):
        parts.append(_line(line, across, up))
        parts.append(_legend(line, number))
    return "\n".join([*parts, "</svg>", ""])


def short(number: float) -> str:
    """A number in little room."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}" if number >= 0.001 or number == 0 else f"1e{round(log10(number))}"


class _Scale:
    """From values to places on the page."""

    def __init__(self, axis: Axis, values: Sequence[float], begin: float, end: float) -> None:
        self._axis, self._begin, self._end = axis, begin, end
        self.low, self.high = 0.0, 1.0
        if axis.is_log:
            self.low, self.high = floor(log10(min(values)) + 1e-9), ceil(log10(max(values)) - 1e-9)
            self.high = max(self.high, self.low + 1)
            self._step = 1.0
        else:
            self._step = _round_step(max(values))
            self.low, self.high = 0.0, self._step * ceil(max(values) / self._step - 1e-9)

    def at(self, value: float) -> float:
        place = log10(value) if self._axis.is_log else value
        return self._begin + (self._end - self._begin) * (place - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        count = round((self.high - self.low) / self._step)
        places = [self.low + number * self._step for number in range(count + 1)]
        return [10.0**place for place in places] if self._axis.is_log else places


def _round_step(limit: float) -> float:
    rough = (limit or 1.0) / 5
    power = 10.0 ** floor(log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)


def _has_place(point: tuple[float, float], x: Axis, y: Axis) -> bool:
    return not (x.is_log and point[0] <= 0) and not (y.is_log and point[1] <= 0)


def _line(line: PlotLine, across: _Scale, up: _Scale) -> str:
    colour = _COLOURS[line.colour % len(_COLOURS)]
    places = [(across.at(x), up.at(y)) for x, y in line.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dash = " stroke-dasharray='6 4'" if line.is_theory else ""
    drawn = f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'{dash}/>"
    if line.is_theory:
        return drawn
    return drawn + "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{colour}'/>" for x, y in places)


def _legend(line: PlotLine, number: int) -> str:
    x, y = WIDTH - _RIGHT + 14, _TOP + 12 + 22 * number
    colour = _COLOURS[line.colour % len(_COLOURS)]
    dash = " stroke-dasharray='6 4'" if line.is_theory else ""
    return f"<line x1='{x}' x2='{x + 22}' y1='{y}' y2='{y}' stroke='{colour}' stroke-width='2'{dash}/>" + _text(
        x + 28, y + 4, line.name
    )


def _rule(x1: float, x2: float, y1: float, y2: float) -> str:
    return f"<line x1='{x1:.1f}' x2='{x2:.1f}' y1='{y1:.1f}' y2='{y2:.1f}' stroke='#ddd'/>"


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", size: int = 12, weight: int = 400, turned: bool = False
) -> str:
    turn = f" transform='rotate(-90 {x:.1f} {y:.1f})'" if turned else ""
    style = f"font-size='{size}' font-weight='{weight}' text-anchor='{anchor}' fill='#222' {_FONT}{turn}"
    return f"<text x='{x:.1f}' y='{y:.1f}' {style}>{escape(text)}</text>"
