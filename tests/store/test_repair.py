from __future__ import annotations

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lycosa.settings import Settings
from lycosa.store.files import closed
from lycosa.store.folder import CrawlFolder
from lycosa.store.record import records
from lycosa.store.repair import Repair, repair, repair_file, whole_bytes
from lycosa.store.warc import Location, WarcWriter

from .samples import START, response


@pytest.fixture
def left_open(folder: CrawlFolder) -> tuple[Path, list[Location]]:
    """A WARC file as a killed worker leaves it, and where its responses lie."""
    writer = WarcWriter(folder, 0, Settings(), lambda: START)
    places = [writer.append(response(body=f"page {number}".encode()), START) for number in range(3)]
    writer.stage()
    writer.commit()
    return folder.open_warcs()[0], places


def test_a_cut_anywhere_in_the_last_record_keeps_all_before_it(left_open: tuple[Path, list[Location]]) -> None:
    path, _ = left_open
    *before, last = records(path)
    whole = path.read_bytes()
    for size in range(last.offset, len(whole)):
        path.write_bytes(whole[:size])
        assert repair_file(path) == Repair(closed(path).name, last.offset, size - last.offset)
        assert closed(path).read_bytes() == whole[: last.offset]
    subprocess.run(["gunzip", "-t", str(closed(path))], check=True)
    assert [record.kind for record in records(closed(path))] == [record.kind for record in before]


def test_a_cut_anywhere_at_all_leaves_whole_records(left_open: tuple[Path, list[Location]]) -> None:
    path, _ = left_open
    ends = [record.offset + record.length for record in records(path)]
    whole = path.read_bytes()
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        assert whole_bytes(path) == max([end for end in ends if end <= size], default=0)


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_file_without_a_whole_record_is_removed(left_open: tuple[Path, list[Location]], size: int) -> None:
    path, _ = left_open
    os.truncate(path, size)
    assert repair_file(path) == Repair(closed(path).name, 0, size)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    "tail",
    [b"\0" * 5_000, b"garbage", b"\x1f", b"\x1f\x8b\x08\x00", b"WARC/1.1\r\n", gzip.compress(b"some other file")],
    ids=["zeros", "text", "half a mark", "half a head", "not compressed", "a member of something else"],
)
def test_garbage_behind_the_records_is_cut(left_open: tuple[Path, list[Location]], tail: bytes) -> None:
    path, _ = left_open
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    assert repair_file(path) == Repair(closed(path).name, len(whole), len(tail))
    assert closed(path).read_bytes() == whole


def test_a_damaged_byte_ends_the_file_before_its_record(left_open: tuple[Path, list[Location]]) -> None:
    path, places = left_open
    data = bytearray(path.read_bytes())
    middle = places[2].offset + places[2].length // 2
    data[middle] ^= 0xFF
    path.write_bytes(data)
    assert repair_file(path).kept_bytes == places[2].offset


def test_a_known_record_spares_looking_at_those_before_it(left_open: tuple[Path, list[Location]]) -> None:
    path, places = left_open
    data = bytearray(path.read_bytes())
    data[places[0].offset + 20] ^= 0xFF  # not looked at, so not found
    path.write_bytes(data)
    assert whole_bytes(path, known=places[1].offset) == len(data)
    assert whole_bytes(path) == places[0].offset


@pytest.mark.parametrize("known", [17, 10_000_000])
def test_a_wrong_hint_is_not_believed(left_open: tuple[Path, list[Location]], known: int) -> None:
    path, _ = left_open
    assert whole_bytes(path, known) == path.stat().st_size


def test_repair_may_be_interrupted_and_repeated(folder: CrawlFolder, left_open: tuple[Path, list[Location]]) -> None:
    path, _ = left_open
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    kept = whole_bytes(path)
    path.write_bytes(whole[:kept])  # as if it had stopped between the cut and the rename
    assert repair(folder) == [Repair(closed(path).name, kept, 0)]
    assert repair(folder) == []


def test_only_the_files_of_the_named_worker_are_touched(
    folder: CrawlFolder, left_open: tuple[Path, list[Location]]
) -> None:
    path, _ = left_open
    other = path.with_name(path.name.replace("-w0-", "-w1-"))
    shutil.copy(path, other)
    (folder.warc / "notes.warc.gz.open").write_bytes(b"someone else's")
    assert [each.file for each in repair(folder, worker=1)] == [closed(other).name]
    assert path.exists()
    repair(folder)
    assert [each.name for each in folder.warc.glob("*.open")] == ["notes.warc.gz.open"]
