"""The labelled pages of a data folder: sets under `extraction/`, each with `truth.jsonl` and `html.jsonl.gz`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class LabelledPage(NamedTuple):
    """A page and what is true of it: `id`, perhaps `url`, and `text` or the segments `with` and `without`."""

    truth: dict[str, Any]
    html: str

    @property
    def url(self) -> str:
        """Where it came from, if that is known."""
        return self.truth.get("url") or ""

    @property
    def text(self) -> str:
        """Its main text, or what is known of it."""
        return self.truth.get("text") or "\n".join(self.truth.get("with", ()))


def names_of(data: Path) -> list[str]:
    """The sets that are there."""
    return sorted(path.parent.name for path in data.glob("extraction/*/truth.jsonl"))


def size_of(data: Path, name: str) -> int:
    """How many pages of a set are labelled."""
    with (data / "extraction" / name / "truth.jsonl").open("rb") as rows:
        return sum(1 for _ in rows)


def pages_of(data: Path, name: str) -> Iterator[LabelledPage]:
    """The labelled pages of a set."""
    folder = data / "extraction" / name
    with (folder / "truth.jsonl").open(encoding="utf-8") as rows:
        truths = {row["id"]: row for row in map(json.loads, rows)}
    with gzip.open(folder / "html.jsonl.gz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            if row["id"] in truths:
                yield LabelledPage(truths[row["id"]], row["html"])
