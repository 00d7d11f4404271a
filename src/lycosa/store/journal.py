"""The journal: the rows of settled visits, kept safe until the Parquet part that holds them is complete.

A journal and its parts share a name. The part of `pages` is renamed last, and the journal removed after it: a
journal whose part exists has nothing left to say, so no crash in between loses a row or doubles one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import msgspec

from lycosa.errors import SettingsError
from lycosa.model import Items, Visit
from lycosa.store.files import OPEN, AppendFile
from lycosa.store.folder import JOURNAL, PARQUET, CrawlFolder

# Length and CRC-32 of the row that follows.
_PREFIX = struct.Struct("<II")


class JournalRow(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A visit, and what the tables have of its page beside it: that can be read again from the WARC record."""

    visit: Visit
    has_text: bool = False
    has_links: bool = False
    fingerprint: bytes = b""  # by which the frontier knows the target; empty if it does not
    number: int = 0  # which visit of the target this is, the first being 1
    items: Items = ()  # not read again: what gave them may have changed


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(JournalRow).decode


class Journal:
    """The rows of one part, as an append-only file; threads as in `AppendFile`."""

    def __init__(self, folder: CrawlFolder, name: str) -> None:
        self._file = AppendFile(folder.pages / (name + JOURNAL + OPEN))

    def append(self, row: JournalRow) -> None:
        """Buffer a row; it is part of the next commit."""
        content = _encode(row)
        self._file.append(_PREFIX.pack(len(content), crc32(content)) + content)

    def stage(self) -> None:
        """Make everything appended so far part of the next `commit`."""
        self._file.stage()

    def commit(self, *, power_safe: bool) -> None:
        """Write what is staged. Only after the WARC records of these rows: a row on disk vouches for its record."""
        self._file.flush()
        if power_safe:
            self._file.sync()

    def close(self) -> None:
        """Let go of the file and leave it for `recover`."""
        self._file.close()

    def remove(self) -> None:
        """The part is complete: the journal has nothing left to say."""
        self._file.close()
        self._file.path.unlink()


def read_rows(path: Path) -> Iterator[JournalRow]:
    """The rows of a journal up to the first that is torn; raises `SettingsError` if another version wrote it."""
    data = path.read_bytes()
    position = 0
    while position + _PREFIX.size <= len(data):
        length, checksum = _PREFIX.unpack_from(data, position)
        content = data[position + _PREFIX.size : position + _PREFIX.size + length]
        # A tail of zeros, as a power cut leaves it, passes the checksum as an empty row.
        if not length or len(content) != length or crc32(content) != checksum:
            return
        try:
            yield _decode(content)
        except msgspec.MsgspecError:
            raise SettingsError(f"{path}: the rows are of another version of lycosa") from None
        position += _PREFIX.size + length


def name_of(journal: Path) -> str:
    """The name a journal shares with its parts."""
    return journal.name.removesuffix(JOURNAL + OPEN)


def is_done(folder: CrawlFolder, journal: Path) -> bool:
    """Whether the rows of a journal are in a complete part already."""
    return (folder.pages / (name_of(journal) + PARQUET)).exists()
