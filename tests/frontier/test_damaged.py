"""A damaged file of the frontier is told; it must never pass for a table that ends early."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from lycosa.errors import BackendLost
from lycosa.frontier.rocks.database import KNOWN, Database
from lycosa.frontier.tables import HISTORY, Row


def filled(folder: Path, family: str) -> None:
    """Many rows of a family, in many blocks of a file."""
    draw = random.Random(0)
    database = Database(folder)
    for _ in range(3000):
        database.put(family, draw.randbytes(16), draw.randbytes(40))
    database.close()


def damage(folder: Path, share: float) -> None:
    """Change one byte of the longest file, so far from its beginning."""
    path = max(folder.glob("*.sst"), key=lambda each: each.stat().st_size)
    content = bytearray(path.read_bytes())
    content[int(len(content) * share)] ^= 0xFF
    path.write_bytes(content)


READERS: list[Callable[[Database, str], Iterable[Row | bytes]]] = [
    lambda database, family: database.rows(family),
    lambda database, family: database.rows(family, b"\x01"),
    lambda database, family: database.keys(family),
]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8])
def test_a_table_does_not_end_where_it_is_damaged(
    tmp_path: Path, read: Callable[[Database, str], Iterable[Row | bytes]], share: float
) -> None:
    filled(tmp_path, HISTORY)
    damage(tmp_path, share)
    database = Database(tmp_path)
    with pytest.raises(BackendLost, match=r"cannot be read since its files are damaged .*: Corruption"):
        list(read(database, HISTORY))
    database.close()


@pytest.mark.parametrize("read", READERS)
def test_a_whole_table_is_read_to_its_end(
    tmp_path: Path, read: Callable[[Database, str], Iterable[Row | bytes]]
) -> None:
    filled(tmp_path, KNOWN)
    database = Database(tmp_path)
    assert len(list(read(database, KNOWN))) > 2900
    assert list(read(database, HISTORY)) == []
    database.close()
