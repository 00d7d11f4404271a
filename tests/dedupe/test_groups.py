from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rocksdict import Options, Rdict, WriteBatch

from lycosa.dedupe.groups import ContentGroups
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.dedupe.rocks import FAMILIES, GroupPlanner, GroupTables, RocksContentGroups
from lycosa.errors import BackendLost

from .contract import GroupsContract, signed, text_of, variant


class TestMemoryContentGroups(GroupsContract):
    @pytest.fixture
    def groups(self) -> ContentGroups:
        return MemoryContentGroups()

    def test_only_leaders_are_kept(self) -> None:
        groups = MemoryContentGroups()
        groups.group_of([signed(variant(text_of(1), seed, changes=1)) for seed in range(30)])
        assert len(groups) == 1


class TestRocksContentGroups(GroupsContract):
    @pytest.fixture
    def groups(self, tmp_path: Path) -> Iterator[ContentGroups]:
        groups = RocksContentGroups(tmp_path / "groups")
        yield groups
        groups.close()

    def test_groups_outlive_the_process(self, tmp_path: Path) -> None:
        groups = RocksContentGroups(tmp_path / "groups")
        (first,) = groups.group_of([signed(text_of(1))])
        groups.close()
        groups = RocksContentGroups(tmp_path / "groups")
        (second,) = groups.group_of([signed(variant(text_of(1), 2, changes=2))])
        groups.close()
        assert second.group == first.group

    def test_a_damaged_file_is_told(self, tmp_path: Path) -> None:
        groups = RocksContentGroups(tmp_path / "groups")
        signatures = [signed(text_of(seed)) for seed in range(300)]
        groups.group_of(signatures)
        groups.close()
        path = max((tmp_path / "groups").glob("*.sst"), key=lambda each: each.stat().st_size)
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 0xFF
        path.write_bytes(content)
        groups = RocksContentGroups(tmp_path / "groups")
        with pytest.raises(BackendLost, match="content groups cannot be read: Corruption"):
            groups.group_of(signatures)
        groups.close()

    def test_a_folder_in_use_is_told(self, tmp_path: Path) -> None:
        groups = RocksContentGroups(tmp_path / "groups")
        with pytest.raises(BackendLost, match="cannot be opened"):
            RocksContentGroups(tmp_path / "groups")
        groups.close()


def test_a_plan_counts_only_when_the_callers_batch_is_written(tmp_path: Path) -> None:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    database = Rdict(str(tmp_path), options, column_families=dict.fromkeys(FAMILIES, options))
    tables = GroupTables.of(database)
    planner, other = GroupPlanner(tables), GroupPlanner(tables)
    batch = WriteBatch(raw_mode=True)
    first = planner.plan(batch, signed(text_of(1)))
    assert planner.plan(batch, signed(variant(text_of(1), 2, changes=1))).group == first.group
    assert other.plan(WriteBatch(raw_mode=True), signed(text_of(1))).is_first
    database.write(batch)
    planner.written()
    third = planner.plan(WriteBatch(raw_mode=True), signed(variant(text_of(1), 3, changes=1)))
    assert (third.group, third.is_first) == (first.group, False)
