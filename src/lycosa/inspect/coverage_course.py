"""How much a crawl had found as time went on, as it was measured and kept for the report. It measures nothing."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import msgspec

from lycosa.store.files import replace_file


class CoverageRow(NamedTuple):
    """What was found until a moment, as shares of all targets."""

    seconds: float  # since the first page
    found: int
    pages: float
    page_rank: float
    authority: float


class CoverageCourse(msgspec.Struct, frozen=True):
    """How a measurement came out; `of` says in words what was to be found."""

    of: str
    targets: int
    course: list[CoverageRow]


def keep(coverage: CoverageCourse, path: Path) -> None:
    """Keep a measurement in the folder of its crawl, in place of an earlier one. Raises `OSError`."""
    replace_file(path, msgspec.json.encode(coverage).decode(), path.parent)


def kept(path: Path) -> CoverageCourse | None:
    """The last measurement that was kept; None if there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=CoverageCourse)
    except (OSError, msgspec.DecodeError):
        return None
