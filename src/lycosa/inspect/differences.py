"""What changed from one version of a text to another, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

# Comparing takes time by the product of the lines that differ.
MAX_LINES = 5_000
CONTEXT = 2


class LineChange(NamedTuple):
    """A line that went, came, or stands beside one that did; a gap stands for lines that stayed."""

    kind: Literal["-", "+", " ", "gap"]
    text: str


def differences(old: str, new: str) -> Iterator[LineChange]:
    """The changed lines with some around them; nothing if none changed. Of long texts their beginnings are compared."""
    before, after = (_lines(text) for text in (old, new))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(CONTEXT)):
        if number:
            yield LineChange("gap", "")
        for kind, begin, end, new_begin, new_end in group:
            if kind == "equal":
                yield from (LineChange(" ", line) for line in before[begin:end])
                continue
            yield from (LineChange("-", line) for line in before[begin:end])
            yield from (LineChange("+", line) for line in after[new_begin:new_end])


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()][:MAX_LINES]
