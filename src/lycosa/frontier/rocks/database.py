"""RocksDB as the frontier uses it: how it is opened, written, synced and let go, and what its errors mean.

Each table is a column family; `known` has the fingerprints of known URLs as keys, without values; `fresh` has those of
each write together, until there are enough of them to become rows (see `known.py`); `bands` and
`signatures` are the groups of like texts (see `dedupe/rocks.py`). Knows nothing of what stands in the tables.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rocksdict import (
    AccessType,
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    ColumnFamily,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
)

from lycosa.dedupe.rocks import FAMILIES as GROUP_FAMILIES
from lycosa.dedupe.rocks import GroupTables
from lycosa.errors import BackendLost, FolderInUse, LycosaError, SettingsError, lost
from lycosa.frontier.records import FORMAT
from lycosa.frontier.tables import META, TABLES, Row

KNOWN, FRESH = "known", "fresh"
_FORMAT = FORMAT.to_bytes(1)
_FAMILIES = (*TABLES, KNOWN, FRESH)
_SIGNS_OF_DAMAGE = ("Corruption", "No such file")
_LIBRARY_FILE = "rocksdict-config.json"
_BLOCK_CACHE_BYTES = 32 * 1024 * 1024
_WRITE_BUFFER_BYTES = 16 * 1024 * 1024
# All families together: fourteen of them with two buffers each could hold 448 MiB otherwise.
_ALL_WRITE_BUFFERS_BYTES = 48 * 1024 * 1024


class Database:
    """The open database. Raises `FolderInUse` when another process holds it.

    A secondary follows the log of a running crawl, up to when it is opened, without disturbing it.
    """

    def __init__(self, folder: Path, *, is_secondary: bool = False) -> None:
        self.folder = folder
        self._first_error: Exception | None = None
        self._notes = tempfile.mkdtemp(prefix="lycosa-reader-") if is_secondary else ""  # of a secondary on itself
        try:
            self._db = _open_secondary(folder, self._notes) if is_secondary else _open(folder)
        except Exception as error:  # rocksdict raises plain Exception
            self._remove_notes()
            raise _unopened(folder, error) from error
        self.families: dict[str, Any] = {name: self._db.get_column_family(name) for name in _FAMILIES}
        self.handles: dict[str, ColumnFamily] = {name: self._db.get_column_family_handle(name) for name in _FAMILIES}
        self.groups: GroupTables | None = GroupTables.of(self._db)
        self._check_format()

    def _check_format(self) -> None:
        (found,) = self.get(META, [b"format"])
        if found and found != _FORMAT:
            self.close()
            number = int.from_bytes(found)
            raise SettingsError(f"{self.folder}: the frontier has format {number}, this version reads {FORMAT}")
        if not found and not self._notes:
            self.put(META, b"format", _FORMAT)

    def get(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of these keys, in their order."""
        try:
            if len(keys) == 1:
                # 0.7 µs instead of 1.3. Of sixteen that are on the disk a list saves a fifth.
                return [self.families[family].get(keys[0])]
            found: list[bytes | None] = self.families[family].get(list(keys))
        except Exception as error:
            raise self._lost("read", error) from error
        return found

    def rows(self, family: str, begin: bytes = b"") -> Iterator[Row]:
        """The rows of a family from a key on, in order."""
        last = begin
        try:
            for row in self.families[family].items(from_key=begin):
                last = row[0]
                yield row
            self._check_ended(family, last)
        except Exception as error:
            raise self._lost("read", error) from error

    def keys(self, family: str) -> Iterator[bytes]:
        """All keys of a family, in order."""
        last = b""
        try:
            for last in self.families[family].keys():
                yield last
            self._check_ended(family, last)
        except Exception as error:
            raise self._lost("read", error) from error

    def _check_ended(self, family: str, last: bytes) -> None:
        """Raise if there is more behind this key that cannot be read: the library's own loops end there in silence."""
        behind = self.families[family].iter()
        behind.seek(last)
        if behind.valid():
            behind.next()
        behind.status()

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Write one row by itself."""
        try:
            self.families[family][key] = value
        except Exception as error:
            raise self._lost("written", error) from error

    def write(self, batch: WriteBatch) -> None:
        """One atomic write; in the log of the operating system when this returns."""
        try:
            self._db.write(batch)
        except Exception as error:
            raise self._lost("written", error) from error

    def sync(self) -> None:
        """Everything written so far is on the disk when this returns."""
        try:
            self._db.flush_wal(sync=True)
        except Exception as error:
            raise self._lost("synced", error) from error

    def changes(self) -> int:
        """How many changes the database has seen in all its runs."""
        return int(self._db.latest_sequence_number())

    def close(self) -> None:
        """Let go of the database and its lock, also where it cannot be written any more; but then this raises."""
        # Families and their handles keep the database open, and its lock held, as long as they live.
        families = [*self.families.values(), *(self.groups[:2] if self.groups else ())]
        self.groups = None
        self.families.clear()
        self.handles.clear()
        troubles = [trouble for part in (*families, self._db) if (trouble := _trouble_in_closing(part))]
        del self._db
        self._remove_notes()
        if troubles:
            raise self._lost("closed", troubles[0]) from troubles[0]

    def _remove_notes(self) -> None:
        if self._notes:
            shutil.rmtree(self._notes, ignore_errors=True)

    def _lost(self, done: str, error: Exception) -> BackendLost:
        # The database names its first error once, and then only that there was one. Kept without its traceback: the
        # frames in there could hold a handle, and that the lock.
        self._first_error = self._first_error or error.with_traceback(None)
        return _lost(f"the frontier cannot be {done}", self._first_error)


def _lost(message: str, error: Exception) -> BackendLost:
    """An error of the library, with what the operator can do about it."""
    if any(sign in str(error) for sign in _SIGNS_OF_DAMAGE):
        message += " since its files are damaged (put the folder back from a copy, or begin anew in another)"
    return lost(message, error)


def _open(folder: Path) -> Rdict:
    folder.mkdir(parents=True, exist_ok=True)
    cache = Cache(_BLOCK_CACHE_BYTES)
    return Rdict(str(folder), _options(cache), column_families=_family_options(cache))


def _open_secondary(folder: Path, notes: str) -> Rdict:
    if not (folder / "CURRENT").exists():
        raise SettingsError(f"{folder}: there is no frontier here")
    cache = Cache(_BLOCK_CACHE_BYTES)
    options = _options(cache)
    # All files are opened at once: the crawl deletes those that it has merged.
    options.set_max_open_files(-1)
    access = AccessType.secondary(notes)
    place = folder if os.access(folder, os.W_OK) else _stand_in(folder, Path(notes))
    return Rdict(str(place), options, column_families=_family_options(cache), access_type=access)


def _stand_in(folder: Path, notes: Path) -> Path:
    """A folder with the same files: the library writes a file of its own beside those that it only reads."""
    stand_in = notes / "frontier"
    stand_in.mkdir()
    for file in folder.iterdir():
        if file.name == _LIBRARY_FILE:
            shutil.copyfile(file, stand_in / file.name)
        else:
            (stand_in / file.name).symlink_to(file.resolve())
    return stand_in


def _unopened(folder: Path, error: Exception) -> LycosaError:
    """What it means that a database could not be opened."""
    if isinstance(error, LycosaError):
        return error
    if "/LOCK: " in str(error):
        return FolderInUse(f"{folder}: another crawl is running on this folder")
    if str(error).startswith("Invalid argument: Column famil"):
        # It has tables that this version does not know, or lacks some: so its format cannot even be looked up.
        return SettingsError(f"{folder}: the frontier is of another version of lycosa, this one reads format {FORMAT}")
    return _lost(f"{folder}: the frontier cannot be opened", error)


def _trouble_in_closing(part: Any) -> Exception | None:
    try:
        part.close()
    except Exception as error:  # rocksdict raises plain Exception
        return error
    return None


def _family_options(cache: Cache) -> dict[str, Options]:
    return {name: _options(cache) for name in ("default", *_FAMILIES, *GROUP_FAMILIES)}


def _options(cache: Cache) -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_bottommost_compression_type(DBCompressionType.zstd())
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_db_write_buffer_size(_ALL_WRITE_BUFFERS_BYTES)
    options.set_max_write_buffer_number(2)
    options.set_max_background_jobs(2)
    options.set_keep_log_file_num(2)
    options.set_max_total_wal_size(128 * 1024 * 1024)
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_bloom_filter(10, block_based=False)
    # In parts of 4 KiB: a whole filter (1.2 MB per million keys) does not fit into one of the cache's 64 shards and
    # was read anew for every key, at 170 µs instead of 4.
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_partition_filters(True)
    table.set_metadata_block_size(4096)
    table.set_pin_top_level_index_and_filter(True)
    table.set_cache_index_and_filter_blocks(True)
    options.set_block_based_table_factory(table)
    return options
