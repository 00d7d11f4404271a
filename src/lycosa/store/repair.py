"""Putting WARC files in order that a crash left open: what is not a whole record is cut off, then they are closed.

Every step may be interrupted and done again: a cut file is cut at the same place, a closed one is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from lycosa.store.files import closed, publish, sync_folder
from lycosa.store.folder import CrawlFolder
from lycosa.store.record import members


class Repair(NamedTuple):
    """What was done to a file: how much of it was kept, and how much was cut off."""

    file: str
    kept_bytes: int
    cut_bytes: int


def repair(folder: CrawlFolder, *, worker: int | None = None, known: Mapping[str, int] | None = None) -> list[Repair]:
    """Close every WARC file that was left open, by one worker or by all; none of them may be running.

    `known` names an offset per file at which a record begins and before which everything is whole.
    """
    return [repair_file(path, known.get(closed(path).name, 0) if known else 0) for path in folder.open_warcs(worker)]


def repair_file(path: Path, known: int = 0) -> Repair:
    """Cut an open WARC file after its last whole record and close it; a file without any is removed."""
    kept = whole_bytes(path, known)
    cut = path.stat().st_size - kept
    if kept == 0:
        # An empty file is not a valid gzip file.
        path.unlink()
        sync_folder(path.parent)
        return Repair(closed(path).name, 0, cut)
    if cut:
        os.truncate(path, kept)
    publish(path)
    return Repair(closed(path).name, kept, cut)


def cut_to_records(path: Path) -> int:
    """Cut a closed WARC file that was damaged after its last whole record; how long it is then. 0: it is gone."""
    if not path.exists():
        return 0
    kept = whole_bytes(path)
    if not kept:
        path.unlink()
        sync_folder(path.parent)
    elif kept < path.stat().st_size:
        os.truncate(path, kept)
    return kept


def whole_bytes(path: Path, known: int = 0) -> int:
    """Up to where a WARC file consists of whole records."""
    end = known
    with path.open("rb") as stream:
        for member in members(stream, known):
            # Old content of a reused disk block may be a valid gzip member, but not one of ours.
            if not member.content.startswith(b"WARC/1."):
                break
            end = member.end
    if known and end == known:
        # The hint does not hold: look at everything.
        return whole_bytes(path)
    return end
