"""The suites of other projects: first the copies in tests/data, then those beside the project, where there are more."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COPIES = Path(__file__).parent / "data"
BESIDE = Path(__file__).parents[2] / "shared" / "data"


def find(name: str) -> Path:
    """The file or folder of this name, a large file compressed; where there is none, the place it should be."""
    for place in (COPIES / name, COPIES / f"{name}.xz", BESIDE / name):
        if place.exists():
            return place
    return COPIES / name


def find_all(pattern: str) -> list[Path]:
    """All that match, each once: a copy counts for what lies beside the project under the same name."""
    found = {str(path.relative_to(BESIDE)): path for path in BESIDE.glob(pattern)}
    for copies in (pattern, f"{pattern}.xz"):
        found |= {str(path.relative_to(COPIES)).removesuffix(".xz"): path for path in COPIES.glob(copies)}
    return [found[name] for name in sorted(found)]


def read(path: Path) -> bytes:
    body = path.read_bytes()
    return lzma.decompress(body) if path.suffix == ".xz" else body


def load(name: str) -> list[Any]:
    """The cases of a JSON file."""
    return list(json.loads(read(find(name))))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """JSON lines, compressed or not."""
    opener: Any = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opener(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def pages(name: str) -> Iterator[dict[str, Any]]:
    """The labelled pages of a set, or the first few of them."""
    copy = COPIES / "extraction" / name / "html.jsonl.xz"
    return rows(copy if copy.exists() else BESIDE / "extraction" / name / "html.jsonl.gz")
