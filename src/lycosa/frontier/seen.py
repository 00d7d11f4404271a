"""The URL-seen test: a Bloom filter in memory, exact fingerprints on disk behind it.

exact   Every fingerprint has a row in the `seen` table. "Certainly new" costs no look at the disk, "probably seen"
        costs one: nothing is lost. The filter is the quick layout, since its errors only cost time.
bloom   The filter has the last word: a new URL is taken for known with a chance of `seen_error` once
        `seen_capacity` URLs are known, and more often beyond. Waiting URLs need no row; visited ones have theirs,
        for the crawl history. The filter is the small layout, since its errors cost pages.

A clean close leaves the filter in a file. After a crash it is built again from the tables, which name every known
URL in both modes: as a row of `seen`, or by the fingerprint of a target that is queued or delayed.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec

from lycosa.errors import SettingsError
from lycosa.frontier.bloom import BloomFilter
from lycosa.frontier.poison import UNREADABLE
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.tables import Tables
from lycosa.model import Target

FILE_NAME = "seen.filter"
_LOAD_CHUNK = 100_000
# Fewer fingerprints are read again from the tables (0.25 µs each) sooner than a filter is written and checked.
MIN_SAVED = 500_000


class _Saved(msgspec.Struct, array_like=True):
    """What stands before the bits: they fit only this shape and this state of the tables."""

    bits: int
    hashes: int
    words: int
    writes: int
    added: int
    checksum: int


class _Marked(msgspec.Struct, array_like=True):
    """A target of which only the fingerprint is read."""

    url: msgspec.Raw
    host: msgspec.Raw
    fingerprint: bytes


_decode_marked = msgspec.msgpack.Decoder(_Marked).decode


class SeenTable:
    """Tells new targets from known ones."""

    def __init__(self, tables: Tables, rules: FrontierRules) -> None:
        self._tables = tables
        self.is_exact = rules.seen == "exact"
        sized = BloomFilter.blocked_for_error if self.is_exact else BloomFilter.for_error
        self._filter = sized(rules.seen_capacity, rules.seen_error)
        self._check_mode(rules.seen)
        if not self._restore(tables.folder / FILE_NAME):
            self._rebuild()
        tables.put_meta(b"seen", rules.seen.encode())
        self.known = tables.counts().known
        # Known, but in a batch that is not written yet: the table cannot say so.
        self._unwritten: set[bytes] = set()

    def keep_new(self, targets: Sequence[Target]) -> list[Target]:
        """The targets that were not known, each once, in order. They are known from now on."""
        first: dict[bytes, Target] = {}
        for target in targets:
            first.setdefault(target.fingerprint, target)
        self._drop_known(first)
        return list(first.values())

    def mark(self, fingerprints: Iterable[bytes]) -> list[bytes]:
        """The fingerprints that were not known. They are known from now on, and belong to no target that waits."""
        first = dict.fromkeys(fingerprints)
        self._drop_known(first)
        return list(first)

    def _drop_known(self, first: dict[bytes, Any]) -> None:
        """Leave what was not known, and know it."""
        add = self._filter.add
        doubtful = [fingerprint for fingerprint in first if not add(fingerprint)]
        if doubtful and self.is_exact:
            rows = self._tables.seen.get(doubtful)
            unwritten = self._unwritten
            doubtful = [
                fingerprint
                for fingerprint, row in zip(doubtful, rows, strict=True)
                if row is not None or fingerprint in unwritten
            ]
        for fingerprint in doubtful:
            del first[fingerprint]
        self.known += len(first)
        self._unwritten.update(first)

    def forget(self, fingerprint: bytes) -> None:
        """It may come again. (Of a filter alone nothing can be taken out.)"""
        self.known -= 1
        self._unwritten.discard(fingerprint)

    def note_write(self) -> None:
        """What was kept so far is in the table now."""
        self._unwritten.clear()

    def save(self) -> None:
        """Leave the filter for the next start. Only right if nothing is written to the tables after it."""
        if self.known < MIN_SAVED:
            return
        bits, shape = self._filter.to_bytes(), self._filter
        head = _Saved(shape.bits, shape.hashes, shape.words, self._tables.writes(), shape.added, zlib.crc32(bits))
        path = self._tables.folder / FILE_NAME
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
        if not is_same_shape or head.writes != self._tables.writes() or head.checksum != zlib.crc32(bits):
            return False
        mine.load(bits, head.added)
        return True

    def _rebuild(self) -> None:
        fingerprints = self._known_fingerprints()
        while chunk := list(islice(fingerprints, _LOAD_CHUNK)):
            self._filter.add_many(b"".join(chunk))

    def _known_fingerprints(self) -> Iterator[bytes]:
        rows: Iterable[bytes] = self._tables.seen.keys()
        if self.is_exact:
            return iter(rows)
        waiting = chain(self._tables.queue.values(), self._tables.delayed.values())
        return chain(rows, (mark for raw in waiting if (mark := _mark_in(raw))))

    def _check_mode(self, mode: str) -> None:
        """A crawl keeps its mode: the rows that "exact" looks for were never written by "bloom"."""
        before = (self._tables.meta.get(b"seen") or mode.encode()).decode()
        if before != mode:
            raise SettingsError(f"seen: this crawl was begun with {before!r} and cannot go on with {mode!r}")


def _mark_in(raw: bytes) -> bytes:
    """The fingerprint of a queued target; empty if it has none, or cannot be read: then it is set aside later."""
    try:
        return _decode_marked(raw).fingerprint
    except UNREADABLE:
        return b""
