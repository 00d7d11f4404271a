"""Content groups in RocksDB: two column families of whatever database they are given.

bands        band (8)   -> groups whose leaders have it, 8 bytes each
signatures   group (8)  -> the leader's sketch
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    ColumnFamily,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
)

from lycosa.dedupe.comparison import Signature
from lycosa.dedupe.groups import plan_of
from lycosa.errors import lost
from lycosa.model import Placement

FAMILIES = ("bands", "signatures")
_BLOCK_CACHE_BYTES = 32 * 1024 * 1024


class GroupTables(NamedTuple):
    """The families to read from and their handles to write to, of an open database."""

    bands: Any
    signatures: Any
    in_bands: ColumnFamily
    in_signatures: ColumnFamily

    @classmethod
    def of(cls, database: Rdict) -> GroupTables:
        """The tables of a database that was opened with `FAMILIES` among its column families."""
        bands, signatures = (database.get_column_family(name) for name in FAMILIES)
        return cls(bands, signatures, *(database.get_column_family_handle(name) for name in FAMILIES))


class GroupPlanner:
    """Plans within the caller's write batch: what was planned is seen at once and kept when the batch is written."""

    def __init__(self, tables: GroupTables) -> None:
        self._tables = tables
        self._bands: dict[bytes, bytes] = {}
        self._sketches: dict[bytes, bytes] = {}

    def plan(self, batch: WriteBatch, signature: Signature) -> Placement:
        """Where a text belongs; what that changes goes into the batch."""
        placement, writes = plan_of(self, signature)
        for band, groups in writes.bands:
            batch.put(band, groups, self._tables.in_bands)
        for group, sketch in writes.signatures:
            batch.put(group, sketch, self._tables.in_signatures)
        self._bands.update(writes.bands)
        self._sketches.update(writes.signatures)
        return placement

    def written(self) -> None:
        """The batch is in the database: from now on it is asked."""
        self._bands.clear()
        self._sketches.clear()

    def leaders_of(self, bands: Sequence[bytes]) -> list[bytes | None]:
        kept = _values(self._tables.bands, bands)
        if not self._bands:
            return kept
        return [self._bands.get(band, groups) for band, groups in zip(bands, kept, strict=True)]

    def sketches_of(self, groups: Sequence[bytes]) -> list[bytes | None]:
        kept = _values(self._tables.signatures, groups)
        return [self._sketches.get(group, sketch) for group, sketch in zip(groups, kept, strict=True)]


class RocksContentGroups:
    """`ContentGroups` in a database of its own."""

    def __init__(self, folder: Path) -> None:
        self._database = _open(folder)
        self._tables: GroupTables | None = GroupTables.of(self._database)
        self._planner = GroupPlanner(self._tables)

    def __len__(self) -> int:
        assert self._tables, "open"
        return int(self._tables.signatures.property_int_value("rocksdb.estimate-num-keys") or 0)

    def group_of(self, signatures: Sequence[Signature]) -> list[Placement]:
        batch = WriteBatch(raw_mode=True)
        placements = [self._planner.plan(batch, signature) for signature in signatures]
        if len(batch):
            try:
                self._database.write(batch)
            except Exception as error:  # rocksdict raises plain Exception
                raise lost("the content groups cannot be written", error) from error
        self._planner.written()
        return placements

    def close(self) -> None:
        """Let go of the folder."""
        assert self._tables, "open"
        # Families and their handles keep the database open, and its lock held, as long as they live.
        self._tables.bands.close()
        self._tables.signatures.close()
        self._tables = None
        self._planner = None  # type: ignore[assignment]
        self._database.close()


def _values(family: Any, keys: Sequence[bytes]) -> list[bytes | None]:
    try:
        found: list[bytes | None] = family.get(list(keys))
    except Exception as error:  # rocksdict raises plain Exception
        raise lost("the content groups cannot be read", error) from error
    return found


def _open(folder: Path) -> Rdict:
    folder.mkdir(parents=True, exist_ok=True)
    cache = Cache(_BLOCK_CACHE_BYTES)
    families = {"default": group_options(cache)} | {name: group_options(cache) for name in FAMILIES}
    try:
        return Rdict(str(folder), group_options(cache), column_families=families)
    except Exception as error:
        raise lost(f"{folder}: the content groups cannot be opened", error) from error


def group_options(cache: Cache) -> Options:
    """Options for both families: filters and indexes share the block cache, so memory has one bound."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_write_buffer_size(16 * 1024 * 1024)
    options.set_max_write_buffer_number(2)
    options.set_keep_log_file_num(2)
    options.set_max_total_wal_size(64 * 1024 * 1024)
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_bloom_filter(10, block_based=False)
    table.set_cache_index_and_filter_blocks(True)
    # In parts of 4 KB: the filter of a whole file (1.7 MB for a million keys) fits no shard of the cache, is read anew
    # for every question, and makes each cost 500 µs instead of 2.
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_partition_filters(True)
    table.set_metadata_block_size(4096)
    table.set_pin_top_level_index_and_filter(True)
    options.set_block_based_table_factory(table)
    return options
