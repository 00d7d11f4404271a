from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest

from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.store.parts import DamagedPart, check_parts
from lycosa.store.recover import recover

from .samples import START, body_with, parse, response, visit


async def keep(folder: CrawlFolder, rows: int = 6) -> list[str]:
    """Parts of two rows; their names."""
    store = FolderStore(folder, 0, Settings(parquet_rows=2), lambda: START)
    for number in range(rows):
        row = msgspec.structs.replace(visit(f"http://a.example/{number}", START + number), out_links=2)
        answer = response(row.url, body_with(number))
        store.put(row, answer, *parse(row, answer))
        await store.sync()
    await store.close()
    return sorted(path.stem for path in folder.pages.glob("*.parquet"))


def path_of(folder: CrawlFolder, name: str) -> Path:
    return folder.pages / f"{name}.parquet"


async def test_a_folder_in_order_has_no_damage(folder: CrawlFolder) -> None:
    names = await keep(folder)
    assert len(names) == 3
    assert check_parts(folder) == check_parts(folder) == []


async def test_a_part_that_is_gone_is_told_once(folder: CrawlFolder) -> None:
    names = await keep(folder)
    path_of(folder, names[1]).unlink()
    assert check_parts(folder) == [DamagedPart(names[1], 2, is_gone=True)]
    assert check_parts(folder) == []
    # The links of pages that are visited again would be there twice.
    assert (folder.links / "damaged" / f"{names[1]}.parquet").exists()


@pytest.mark.parametrize("is_listed", [True, False])
async def test_a_part_that_was_cut_is_set_aside(folder: CrawlFolder, *, is_listed: bool) -> None:
    names = await keep(folder)
    if not is_listed:
        folder.logbook.unlink()
    os.truncate(path_of(folder, names[0]), 1000)
    assert check_parts(folder) == [DamagedPart(names[0], 2 if is_listed else -1, is_gone=False)]
    assert (folder.pages / "damaged" / f"{names[0]}.parquet").stat().st_size == 1000
    assert [pq.read_metadata(path).num_rows for path in folder.pages.glob("*.parquet")] == [2, 2]


async def test_parts_of_an_older_version_are_taken_into_the_logbook(folder: CrawlFolder) -> None:
    names = await keep(folder)
    folder.logbook.unlink()
    assert check_parts(folder) == []
    path_of(folder, names[2]).unlink()
    assert check_parts(folder) == [DamagedPart(names[2], 2, is_gone=True)]


async def test_a_part_that_its_journal_still_has_is_no_damage(folder: CrawlFolder) -> None:
    names = await keep(folder, rows=2)
    whole = pq.read_table(path_of(folder, names[0])).to_pylist()
    (folder.links / f"{names[0]}.parquet").unlink()
    assert check_parts(folder) == []
    assert len(folder.journals()) == 1
    # Killed here, and started again.
    assert check_parts(folder) == []
    assert recover(folder, Settings(), parse).rows == 2
    assert pq.read_table(path_of(folder, names[0])).to_pylist() == whole
    assert pq.read_metadata(folder.links / f"{names[0]}.parquet").num_rows == 4
    assert check_parts(folder) == []
