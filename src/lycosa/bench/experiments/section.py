"""What an experiment hands in: a heading, text with tables, and its plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Section(NamedTuple):
    """One experiment; `plots` has the text of its SVG files by name."""

    title: str
    text: str
    plots: dict[str, str]


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers are already words."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
