"""In place of the extension where there was no compiler: no blocks are found, and text is laid out by the parser."""

from __future__ import annotations

import turbohtml
from turbohtml import PlainText

_FINDINGS = 16
_LAYOUT = PlainText(layout="strict", bullet="", table_cell_separator=" ")


class Model:
    """A model that finds nothing."""

    def __init__(self, data: bytes, /) -> None:
        pass

    def extract(
        self, html: str, why: bool = False, /
    ) -> tuple[tuple[str, ...], list[tuple[str, str, float, float, bool]] | None]:
        return ("",) * _FINDINGS, [] if why else None


def lay_out(html: str, /) -> str:
    """All text, a block per line."""
    lines = turbohtml.parse(html, positions=False).to_text(_LAYOUT).split("\n")
    return "\n".join(line for line in map(str.strip, lines) if line)
