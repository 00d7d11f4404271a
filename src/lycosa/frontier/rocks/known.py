"""The URL-seen test: a Bloom filter in memory, exact fingerprints on disk behind it.

exact   Every fingerprint has a row in `known`, or stands in a row of `fresh`, whose fingerprints are in memory as
        well: rows that are written in their order, thousands at once, cost half. "Certainly new" costs no look at the
        disk, "probably known" costs one: nothing is lost. The filter is the quick layout, since its errors only cost
        time.
bloom   The filter has the last word: a new URL is taken for known with a chance of `error` once `capacity` URLs are
        known, and more often beyond. Only a fingerprint that no queued or delayed target bears has a row. The filter
        is the small layout, since its errors cost pages.

How often the filter takes a new URL for known is measured: in exact mode by the rows, which know better; else by marks
that nobody has, drawn by chance.

A clean close leaves the filter in a file. After a crash it is built again from the tables, which name every known
URL in both modes: as a row of `known` or of `history`, or by the fingerprint of a target that is queued or delayed.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec
from rocksdict import WriteBatch

from lycosa.errors import SettingsError
from lycosa.figures import FilterFigures
from lycosa.frontier.bloom import BloomFilter
from lycosa.frontier.entries import readable_block
from lycosa.frontier.poison import UNREADABLE
from lycosa.frontier.rocks.database import FRESH, KNOWN, Database
from lycosa.frontier.tables import DELAYED, HISTORY, META, QUEUE, Batch

SeenMode = Literal["exact", "bloom"]

FILE_NAME = "seen.filter"
# Fewer fingerprints are read again from the tables (0.25 µs each) sooner than a filter is written and checked.
MIN_SAVED = 500_000
_LOAD_CHUNK = 100_000
_FINGERPRINT_BYTES = 8
# Fingerprints that have no row of their own yet: 1.5 MB, and 10 ms once that many pages brought so many.
MAX_GATHERED = 16_384
_SERIAL_BYTES = 8
# What was measured so long ago that the filter was much emptier weighs less and less.
_MAX_MEASURED = 1_000_000
_PROBES = 200


class _Saved(msgspec.Struct, array_like=True):
    """What stands before the bits: they fit only this shape and this state of the database."""

    bits: int
    hashes: int
    words: int
    changes: int
    added: int
    checksum: int


class _MarkedEntry(msgspec.Struct, array_like=True, gc=False):
    """An entry of a queue of which only the fingerprint is read."""

    place: msgspec.Raw
    fingerprint: bytes


class _MarkedTarget(msgspec.Struct, array_like=True, gc=False):
    """A target of which only the fingerprint is read."""

    url: msgspec.Raw
    host: msgspec.Raw
    fingerprint: bytes


_Decoder = msgspec.msgpack.Decoder[_MarkedEntry] | msgspec.msgpack.Decoder[_MarkedTarget]
_ENTRIES = msgspec.msgpack.Decoder(_MarkedEntry)
_TARGETS = msgspec.msgpack.Decoder(_MarkedTarget)


class KnownUrls:
    """Tells known URLs from new ones."""

    def __init__(self, database: Database, mode: SeenMode, capacity: int, error: float) -> None:
        self._database = database
        self._is_exact = mode == "exact"
        _keep_mode(database, mode)
        sized = BloomFilter.blocked_for_error if self._is_exact else BloomFilter.for_error
        self._filter = sized(capacity, error)
        self._new = self._mistaken = 0
        portions = list(database.rows(FRESH))
        self._gathered = gathered_in(raw for _, raw in portions)
        self._portions = [key for key, _ in portions]  # keys of what keeps those
        self._serial = int.from_bytes(self._portions[-1]) if portions else 0
        self._has_parted = False  # by the write that is under way
        if not self._restore(database.folder / FILE_NAME):
            self._rebuild()

    def are_known(self, fingerprints: Sequence[bytes]) -> list[bool]:
        """Whether each of these is known."""
        answers = self._filter.which_are_in(fingerprints)
        if not self._is_exact:
            return answers
        if True not in answers:
            self._measured(len(answers), 0)
            return answers
        doubtful = [fingerprint for fingerprint, answer in zip(fingerprints, answers, strict=True) if answer]
        asked = [fingerprint for fingerprint in doubtful if fingerprint not in self._gathered]
        rows = self._database.get(KNOWN, asked) if asked else []
        mistaken = {fingerprint for fingerprint, row in zip(asked, rows, strict=True) if row is None}
        self._measured(len(answers) - len(doubtful) + len(mistaken), len(mistaken))
        return [answer and mark not in mistaken for mark, answer in zip(fingerprints, answers, strict=True)]

    def figures(self) -> FilterFigures:
        """How good the filter is; each time that this is asked, a filter with the last word is tried out."""
        if not self._is_exact:
            unknown = os.urandom(_FINGERPRINT_BYTES * _PROBES)
            probes = [unknown[at : at + _FINGERPRINT_BYTES] for at in range(0, len(unknown), _FINGERPRINT_BYTES)]
            self._measured(_PROBES, self._filter.which_are_in(probes).count(True))
        return FilterFigures(self._filter.expected_error(), self._filter.size_bytes, self._new, self._mistaken)

    def _measured(self, new: int, mistaken: int) -> None:
        if self._new > _MAX_MEASURED:
            self._new, self._mistaken = self._new // 2, self._mistaken // 2
        self._new += new
        self._mistaken += mistaken

    def add_rows(self, rows: WriteBatch, batch: Batch) -> None:
        """Add to a write what keeps known, over a crash too, what the batch makes known."""
        handle, named = self._database.handles[KNOWN], list(_named(batch))
        if not self._is_exact:
            for fingerprint, _ in _unborne(batch):
                rows.put(fingerprint, b"", handle)
        elif len(named) < len(batch.known) or len(self._gathered) + len(named) > MAX_GATHERED:
            self.part(rows, named)
            for fingerprint, is_known in batch.known.items():
                if not is_known:
                    rows.delete(fingerprint, handle)
        elif named:
            rows.put((self._serial + 1).to_bytes(_SERIAL_BYTES), b"".join(named), self._database.handles[FRESH])

    def part(self, rows: WriteBatch, named: Iterable[bytes] = ()) -> None:
        """Add to a write a row for each of these, and for each that has none yet."""
        known, fresh = self._database.handles[KNOWN], self._database.handles[FRESH]
        # In their order: then RocksDB finds the place of a key beside that of the one before.
        for fingerprint in sorted(self._gathered.union(named)):
            rows.put(fingerprint, b"", known)
        for key in self._portions:
            rows.delete(key, fresh)
        self._has_parted = True

    def note(self, batch: Batch) -> None:
        """A batch was written. (Of a filter nothing can be taken out: it is the rows that forget.)"""
        named = list(_named(batch))
        self._filter.add_each(named)
        if self._has_parted:
            self._has_parted = False
            self._gathered.clear()
            self._portions.clear()
        elif named and self._is_exact:
            self._serial += 1
            self._portions.append(self._serial.to_bytes(_SERIAL_BYTES))
            self._gathered.update(named)

    def save(self) -> None:
        """Leave the filter for the next start. Only right if nothing is written to the database after it."""
        shape = self._filter
        if shape.added < MIN_SAVED:
            return
        bits = shape.to_bytes()
        head = _Saved(shape.bits, shape.hashes, shape.words, self._database.changes(), shape.added, zlib.crc32(bits))
        path = self._database.folder / FILE_NAME
        whole = path.with_suffix(".part")
        with whole.open("wb") as file:
            encoded = msgspec.msgpack.encode(head)
            file.write(len(encoded).to_bytes(4) + encoded + bits)
            file.flush()
            os.fsync(file.fileno())
        whole.replace(path)

    def _restore(self, path: Path) -> bool:
        """Load the filter of the last run, if it closed well and has the shape wanted now."""
        try:
            raw = path.read_bytes()
            size = 4 + int.from_bytes(raw[:4])
            head, bits = msgspec.msgpack.decode(raw[4:size], type=_Saved), raw[size:]
        except (FileNotFoundError, msgspec.DecodeError):
            return False
        mine = self._filter
        is_same_shape = (head.bits, head.hashes, head.words) == (mine.bits, mine.hashes, mine.words)
        if not is_same_shape or head.changes != self._database.changes() or head.checksum != zlib.crc32(bits):
            return False
        mine.load(bits, head.added)
        return True

    def _rebuild(self) -> None:
        fingerprints = named_fingerprints(self._database, is_exact=self._is_exact)
        while chunk := list(islice(fingerprints, _LOAD_CHUNK)):
            self._filter.add_many(b"".join(chunk))


def named_fingerprints(database: Database, *, is_exact: bool) -> Iterator[bytes]:
    """The fingerprints of all known URLs, as the tables name them; some more than once if they are not exact."""
    yield from database.keys(KNOWN)
    yield from gathered_in(raw for _, raw in database.rows(FRESH))
    if is_exact:
        return
    yield from database.keys(HISTORY)
    for _, block in database.rows(QUEUE):
        yield from _marks_in(readable_block(block) or (), _ENTRIES)
    yield from _marks_in((target for _, target in database.rows(DELAYED)), _TARGETS)


def gathered_in(portions: Iterable[bytes]) -> set[bytes]:
    """The fingerprints in rows of `fresh`."""
    width = _FINGERPRINT_BYTES
    return {raw[at : at + width] for raw in portions for at in range(0, len(raw) - width + 1, width)}


def _named(batch: Batch) -> Iterator[bytes]:
    """What a batch makes known."""
    return (fingerprint for fingerprint, is_known in batch.known.items() if is_known)


def _marks_in(records: Iterable[bytes | msgspec.Raw], decoder: _Decoder) -> Iterator[bytes]:
    """The fingerprints of those that have one and can be read; the others are set aside when their turn comes."""
    for raw in records:
        try:
            fingerprint = decoder.decode(raw).fingerprint
        except UNREADABLE:
            continue
        if len(fingerprint) == _FINGERPRINT_BYTES:
            yield fingerprint


def _unborne(batch: Batch) -> list[tuple[bytes, bool]]:
    """What becomes known without a target that waits: nothing else in the tables would tell of it after a crash."""
    waiting = b"".join(raw for table in (QUEUE, DELAYED) for raw in batch.tables.get(table, {}).values() if raw)
    return [(mark, is_known) for mark, is_known in batch.known.items() if is_known and mark not in waiting]


def _keep_mode(database: Database, mode: SeenMode) -> None:
    """A crawl keeps its mode: the rows that "exact" looks for were never written by "bloom"."""
    (before,) = database.get(META, [b"seen"])
    if before is None:
        database.put(META, b"seen", mode.encode())
    elif before != mode.encode():
        raise SettingsError(f"seen: this crawl was begun with {before.decode()!r} and cannot go on with {mode!r}")
