"""The logbook of a crawl's folder: what its files alone do not tell. Only ever added to, one JSON object a line.

It says which parts of the tables there must be and how long they are, which rows were left out since their visits did
not count, and what a start found missing. Without it a part that was taken away would leave no trace.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from lycosa.store.folder import CrawlFolder


class Begun(msgspec.Struct, frozen=True, tag_field="what", tag="begun"):
    """A crawl began in this folder."""

    at: float


class PartKept(msgspec.Struct, frozen=True, tag_field="what", tag="part", omit_defaults=True):
    """A part of the tables is complete: so many rows of `pages`, so many bytes of each file, and its newest visit."""

    name: str
    rows: int
    bytes: int
    link_bytes: int = 0
    newest_at: float = 0.0  # 0: not known
    item_bytes: int = 0


class PartLost(msgspec.Struct, frozen=True, tag_field="what", tag="lost"):
    """A part is gone or damaged: it is not looked for any more."""

    name: str


class RowsLeft(msgspec.Struct, frozen=True, tag_field="what", tag="left"):
    """Rows of a journal, by their numbers, whose visits never counted: they were repeated, and leave rows then.

    `records` are where the WARC records of these rows lie: file and offset.
    """

    journal: str
    rows: list[int]
    records: list[tuple[str, int]] = []


class RecordsLeft(msgspec.Struct, frozen=True, tag_field="what", tag="records left"):
    """WARC records whose rows never were on disk, by file and offset: their visits did not count, and were repeated."""

    records: list[tuple[str, int]]


class RecordsLost(msgspec.Struct, frozen=True, tag_field="what", tag="records lost"):
    """A closed WARC file is gone, or ends after so many bytes: rows, by outcome, name records that lay beyond."""

    file: str
    bytes: int
    rows: dict[str, int]


class RowsMissing(msgspec.Struct, frozen=True, tag_field="what", tag="missing"):
    """Rows that the counters know and the tables do not have, by outcome, and that cannot be asked for again."""

    at: float
    rows: dict[str, int]


class Incident(msgspec.Struct, frozen=True, tag_field="what", tag="incident"):
    """Something happened to the folder that its owner must know of, as a sentence."""

    at: float
    sentence: str


Event = Begun | PartKept | PartLost | RowsLeft | RecordsLeft | RecordsLost | RowsMissing | Incident

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


def note(folder: CrawlFolder, *events: Event) -> None:
    """Add events, durably. Several processes may do so at once: each writes its lines in one go."""
    # A line begins with its line break: one that a crash tore does not spoil the next.
    lines = b"".join(b"\n" + _encode(event) for event in events)
    if not lines:
        return
    fd = os.open(folder.logbook, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, lines)
        os.fsync(fd)
    finally:
        os.close(fd)


def events(folder: CrawlFolder) -> Iterator[Event]:
    """Everything noted, the oldest first; torn lines are passed over."""
    return _events(folder.logbook)


def _events(path: Path) -> Iterator[Event]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    for line in lines:
        try:
            if line:
                yield _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue


def incidents(folder: CrawlFolder) -> list[Incident]:
    """What happened to the folder and all its seats, the oldest first."""
    places = (folder, *folder.seats()) if not folder.seat else (folder,)
    found = [each for place in places for each in events(place) if isinstance(each, Incident)]
    return sorted(found, key=lambda each: each.at)


def begun_at(folder: CrawlFolder) -> float:
    """When the crawl in a folder began; 0 if that is not known."""
    noted = next((each.at for each in events(folder) if isinstance(each, Begun)), 0.0)
    if noted or not (identity := folder.frontier / "IDENTITY").exists():
        return noted
    # A crawl older than its logbook: RocksDB has a file that it writes once.
    return identity.stat().st_mtime
