from __future__ import annotations

from pathlib import Path
from struct import pack
from zlib import crc32

import msgspec
import pytest

from lycosa.errors import SettingsError
from lycosa.store.folder import CrawlFolder
from lycosa.store.journal import Journal, JournalRow, is_done, name_of, read_rows

from .samples import visit

NAME = "lycosa-20260202T024000-w0-00000"


@pytest.fixture
def rows() -> list[JournalRow]:
    return [JournalRow(visit(f"http://a.example/{number}"), number % 2 == 0, number == 1) for number in range(4)]


@pytest.fixture
def journal(folder: CrawlFolder, rows: list[JournalRow]) -> Path:
    written = Journal(folder, NAME)
    for row in rows:
        written.append(row)
    written.stage()
    written.commit(power_safe=True)
    return folder.journals()[0]


def test_rows_come_back_as_they_were(journal: Path, rows: list[JournalRow]) -> None:
    assert list(read_rows(journal)) == rows
    assert name_of(journal) == NAME


def test_a_row_torn_at_any_byte_takes_nothing_with_it(journal: Path, rows: list[JournalRow]) -> None:
    whole = journal.read_bytes()
    found = []
    for size in range(len(whole) + 1):
        journal.write_bytes(whole[:size])
        found.append(list(read_rows(journal)))
        assert found[-1] == rows[: len(found[-1])]
    assert found[-2] == rows[:-1]
    assert found[-1] == rows


@pytest.mark.parametrize(
    "tail", [b"\0" * 64, b"\xff" * 64, b"\x01\0\0\0\0\0\0\0x"], ids=["zeros", "ones", "bad checksum"]
)
def test_garbage_behind_the_rows_is_not_read(journal: Path, rows: list[JournalRow], tail: bytes) -> None:
    journal.write_bytes(journal.read_bytes() + tail)
    assert list(read_rows(journal)) == rows


def test_rows_of_another_version_are_refused_and_not_taken_for_damage(journal: Path) -> None:
    content = msgspec.msgpack.encode([["http://a/", "a", 1.0, 0, "200"]])
    journal.write_bytes(journal.read_bytes() + pack("<II", len(content), crc32(content)) + content)
    with pytest.raises(SettingsError, match="another version"):
        list(read_rows(journal))


def test_a_damaged_row_ends_the_journal(journal: Path, rows: list[JournalRow]) -> None:
    data = bytearray(journal.read_bytes())
    data[-5] ^= 0xFF
    journal.write_bytes(data)
    assert list(read_rows(journal)) == rows[:-1]


def test_only_staged_rows_are_committed(folder: CrawlFolder, rows: list[JournalRow]) -> None:
    written = Journal(folder, NAME)
    written.append(rows[0])
    written.stage()
    written.append(rows[1])
    written.commit(power_safe=False)
    assert list(read_rows(folder.journals()[0])) == rows[:1]


def test_a_journal_is_done_once_its_part_exists(folder: CrawlFolder, journal: Path) -> None:
    assert not is_done(folder, journal)
    (folder.pages / f"{NAME}.parquet").touch()
    assert is_done(folder, journal)
