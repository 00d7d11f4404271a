"""The frontier's tables in RocksDB: column families, keys and records. Knows no rule of crawling.

queue     host number (4) · rank (1) · serial (7)         -> Target
seen      fingerprint (8)                                 -> empty while waiting, History once visited
hosts     host name                                       -> HostRecord (the domain-policy table)
waiting   rank (1) · serial (7)                           -> host name; a host that has something queued
parked    due (8) · host number (4) · in trouble (1)      -> host name; a host that rests for long
delayed   due (8) · serial (7)                            -> Target to be queued again then
robots    origin                                          -> the robots record, opaque
sites     registered domain                               -> version (8) · the notes on it, opaque
contents  digest                                          -> URL under which this content was stored first
bands, signatures                                         -> the groups of like texts (see `dedupe/rocks.py`)
poisoned  family · : · key                                -> a value that could not be read, set aside
meta      format, counters, serial, epoch, mode of the URL-seen test, the key of this crawl's hashes
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from struct import pack, unpack_from
from typing import Any

import msgspec
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
from lycosa.errors import BackendLost, FolderInUse, SettingsError, lost
from lycosa.frontier.poison import UNREADABLE
from lycosa.frontier.rules import OriginState, host_of_origin
from lycosa.model import SiteNews, Target, origin_of
from lycosa.ports import Counts

BASE_FAMILIES = (
    "queue",
    "seen",
    "hosts",
    "waiting",
    "parked",
    "delayed",
    "robots",
    "sites",
    "contents",
    "poisoned",
    "meta",
)
FAMILIES = (*BASE_FAMILIES, *GROUP_FAMILIES)
FORMAT = 3
_BLOCK_CACHE_BYTES = 32 * 1024 * 1024
_WRITE_BUFFER_BYTES = 16 * 1024 * 1024
# All families together: twelve of them with two buffers each could hold 384 MiB otherwise.
_ALL_WRITE_BUFFERS_BYTES = 48 * 1024 * 1024
_SERIALS_RESERVED = 1_000_000
LAST_SERIAL = (1 << 56) - 1
_VERSION_BYTES = 8


class HostRecord(msgspec.Struct, array_like=True, gc=False):
    """One row of the domain-policy table: what a host is owed and what is known of it."""

    name: str
    number: int
    queued: int = 0
    waiting: bytes = b""
    parked: bytes = b""
    free_at: float = 0.0
    delay_seconds: float = 0.0
    crawl_delay_seconds: float = 0.0
    failures: int = 0
    visits: int = 0
    pages: int = 0
    fetch_seconds: float = 0.0
    # The epoch (run of a parent) in which a lease was last given out and not yet settled; 0 if none.
    leased_epoch: int = 0
    origins: dict[str, OriginState] = msgspec.field(default_factory=dict)
    address: str = ""
    # Rank and serial: nothing queued stands before it. Readers start here and so never meet what was deleted,
    # which RocksDB would pass one by one: a million visited entries cost 0.3 s per look.
    cursor: bytes = b""
    refusals: int = -1  # in a row, since it last gave a page; -1: it has not given any
    slowdown: float = 1.0
    # In which words it told us to go away, until it answers again.
    ban: str = ""
    region: str = ""  # whose machines visit it; empty: anybody's
    dropped: int = 0  # targets for which its queue had no room
    # Of a queue with a limit, rank and serial: nothing queued stands behind it.
    tail: bytes = b""


encode = msgspec.msgpack.Encoder().encode
decode_target = msgspec.msgpack.Decoder(Target).decode
decode_host = msgspec.msgpack.Decoder(HostRecord).decode
decode_counts = msgspec.msgpack.Decoder(Counts).decode


def readable_target(raw: bytes, host: str = "") -> Target | None:
    """The target that these bytes are; None if they are none, or none of this host."""
    try:
        target = decode_target(raw)
    except UNREADABLE:
        return None
    is_whole = not host or (target.host == host and host_of_origin(origin_of(target.url)) == host)
    return target if is_whole else None


def queue_key(host_number: int, rank: int, serial: int) -> bytes:
    return (host_number << 64 | rank << 56 | serial).to_bytes(12)


def waiting_key(rank: int, serial: int) -> bytes:
    return (rank << 56 | serial).to_bytes(8)


def due_key(due_at: float, serial: int, width: int) -> bytes:
    # The bits of a positive double sort like its value, and nothing is rounded to before its time.
    return pack(">d", due_at) + serial.to_bytes(width)


def due_of(key: bytes) -> float:
    return float(unpack_from(">d", key)[0])


class Tables:
    """The open database. Raises `FolderInUse` when another process holds it."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        self.folder = folder
        self._secondary: str | None = None
        self._first_error: Exception | None = None
        if read_only and not (folder / "CURRENT").exists():
            raise SettingsError(f"{folder}: there is no frontier here")
        try:
            self._db = self._open(folder, read_only)
        except Exception as error:  # rocksdict raises plain Exception
            if "/LOCK: " in str(error):
                raise FolderInUse(f"{folder}: another crawl is running on this folder") from error
            raise lost(f"{folder}: the frontier cannot be opened", error) from error
        families: dict[str, Any] = {name: self._db.get_column_family(name) for name in BASE_FAMILIES}
        self.queue, self.seen, self.hosts = families["queue"], families["seen"], families["hosts"]
        self.waiting, self.parked, self.delayed = families["waiting"], families["parked"], families["delayed"]
        self.robots, self.contents, self.meta = families["robots"], families["contents"], families["meta"]
        self.sites, self.poisoned = families["sites"], families["poisoned"]
        handles: dict[str, ColumnFamily] = {n: self._db.get_column_family_handle(n) for n in BASE_FAMILIES}
        self.in_queue, self.in_seen, self.in_hosts = handles["queue"], handles["seen"], handles["hosts"]
        self.in_waiting, self.in_parked = handles["waiting"], handles["parked"]
        self.in_delayed, self.in_robots, self.in_sites = handles["delayed"], handles["robots"], handles["sites"]
        self.in_poisoned = handles["poisoned"]
        self.in_contents, self.in_meta = handles["contents"], handles["meta"]
        self.groups: GroupTables | None = GroupTables.of(self._db)
        self._check_format()
        self._serial = self._serial_limit = int.from_bytes(self.meta.get(b"serial") or b"")

    def _open(self, folder: Path, read_only: bool) -> Rdict:
        cache = Cache(_BLOCK_CACHE_BYTES)
        families = {"default": _options(cache)} | {name: _options(cache) for name in FAMILIES}
        if not read_only:
            folder.mkdir(parents=True, exist_ok=True)
            return Rdict(str(folder), _options(cache), column_families=families)
        # A secondary follows the log of a running crawl without disturbing it.
        self._secondary = tempfile.mkdtemp(prefix="lycosa-reader-")
        options = _options(cache)
        options.set_max_open_files(-1)
        return Rdict(str(folder), options, column_families=families, access_type=AccessType.secondary(self._secondary))

    def _check_format(self) -> None:
        found = int.from_bytes(self.meta.get(b"format") or FORMAT.to_bytes(1))
        if found != FORMAT:
            self.close()
            raise SettingsError(f"{self.folder}: the frontier has format {found}, this version reads {FORMAT}")

    def write(self, batch: WriteBatch) -> None:
        """One atomic write; in the log of the operating system when this returns."""
        try:
            self._db.write(batch)
        except Exception as error:
            raise self._lost("written", error) from error

    def put_meta(self, key: bytes, value: bytes) -> None:
        """Write one of the few facts about the crawl as a whole."""
        try:
            self.meta[key] = value
        except Exception as error:  # rocksdict raises plain Exception
            raise self._lost("written", error) from error

    def sync(self) -> None:
        """Everything written so far is on the disk when this returns."""
        try:
            self._db.flush_wal(sync=True)
        except Exception as error:
            raise self._lost("synced", error) from error

    def close(self) -> None:
        """Let go of the database and its lock, also where it cannot be written any more; but then this raises."""
        # Families and their handles keep the database open, and its lock held, as long as they live.
        families = [getattr(self, name) for name in BASE_FAMILIES]
        families += [self.groups.bands, self.groups.signatures] if self.groups else []
        self.groups = None
        for name in BASE_FAMILIES:
            delattr(self, name)
            delattr(self, f"in_{name}")
        troubles = [trouble for part in (*families, self._db) if (trouble := _trouble_in_closing(part))]
        del self._db
        if self._secondary:
            shutil.rmtree(self._secondary, ignore_errors=True)
        if troubles:
            raise self._lost("closed", troubles[0]) from troubles[0]

    def _lost(self, done: str, error: Exception) -> BackendLost:
        # The database names its first error once, and then only that there was one.
        self._first_error = self._first_error or error
        return lost(f"the frontier cannot be {done}", self._first_error)

    def counts(self) -> Counts:
        raw = self.meta.get(b"counts")
        return decode_counts(raw) if raw else Counts()

    def crawl_key(self) -> bytes:
        """The secret that keys this crawl's hashes; made on first use."""
        key: bytes | None = self.meta.get(b"key")
        if key is None:
            key = secrets.token_bytes(16)
            self.put_meta(b"key", key)
        return key

    def begin_run(self) -> int:
        """Returns the epoch: a number that no earlier run had."""
        epoch = int.from_bytes(self.meta.get(b"epoch") or b"") + 1
        self.put_meta(b"epoch", epoch.to_bytes(8))
        self.put_meta(b"format", FORMAT.to_bytes(1))
        return epoch

    def next_serial(self) -> int:
        """A number greater than all before, in this run and in earlier ones."""
        self._serial += 1
        if self._serial >= self._serial_limit:
            # Reserved ahead, so that a crash can only skip numbers, never use one twice.
            self._serial_limit = self._serial + _SERIALS_RESERVED
            self.put_meta(b"serial", self._serial_limit.to_bytes(8))
        return self._serial

    def writes(self) -> int:
        """How many changes the tables have seen in all their runs."""
        return int(self._db.latest_sequence_number())

    def host(self, name: str) -> HostRecord | None:
        raw = self.hosts.get(name.encode())
        return decode_host(raw) if raw else None

    def host_records(self) -> Iterator[HostRecord]:
        return (decode_host(raw) for raw in self.hosts.values())


def _trouble_in_closing(part: Any) -> Exception | None:
    try:
        part.close()
    except Exception as error:  # rocksdict raises plain Exception
        return error
    return None


def batch() -> WriteBatch:
    return WriteBatch(raw_mode=True)


def pack_site(news: SiteNews) -> bytes:
    return news.version.to_bytes(_VERSION_BYTES) + news.notes


def site_version(raw: bytes | None) -> int:
    return int.from_bytes(raw[:_VERSION_BYTES]) if raw else 0


def site_notes(raw: bytes | None) -> bytes:
    return raw[_VERSION_BYTES:] if raw else b""


def first_due(family: Any) -> float | None:
    """When the first entry of a family that is ordered by due time is due."""
    return next((due_of(key) for key in family.keys()), None)


def items_after(family: Any, key: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a family behind a key, in order."""
    entries = family.items(from_key=key)
    for found, value in entries:
        if found != key:
            yield found, value


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
