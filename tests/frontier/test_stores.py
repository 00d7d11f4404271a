"""The stores keep the contract of `Tables`, and RocksDB what only a disk can."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lycosa.dedupe.signature import signature_of
from lycosa.errors import BackendLost, FolderInUse, SettingsError, Shortage
from lycosa.frontier.entries import encode_block, entry_of
from lycosa.frontier.memory import MemoryReader, MemoryTables
from lycosa.frontier.records import block_key, due_key, encode
from lycosa.frontier.rocks import known
from lycosa.frontier.rocks.database import FRESH, KNOWN, Database
from lycosa.frontier.rocks.known import FILE_NAME
from lycosa.frontier.rocks.reader import RocksReader
from lycosa.frontier.rocks.tables import RocksTables
from lycosa.frontier.tables import DELAYED, HISTORY, HOSTS, META, QUEUE, WAITING, Batch, Reader, Tables
from lycosa.model import Target

from .stage import page
from .store_contract import OpenTables, StoreContract, batch_of, key_in, knowing, mark, numbers_in

EXACT: dict[str, Any] = {"durability": "process", "seen": "exact", "seen_capacity": 10_000}
BLOOM: dict[str, Any] = {"durability": "process", "seen": "bloom", "seen_capacity": 10_000, "seen_error": 1e-6}
MODES = pytest.mark.parametrize("choices", [EXACT, BLOOM], ids=["exact", "bloom"])


def opener(open_now: Callable[[], Tables]) -> OpenTables:
    async def opened() -> Tables:
        return open_now()

    return opened


class TestMemoryTables(StoreContract):
    @pytest.fixture
    def open_tables(self) -> OpenTables:
        return opener(MemoryTables)


class TestRocksTables(StoreContract):
    @pytest.fixture
    def open_tables(self, folder: Path) -> OpenTables:
        return opener(lambda: RocksTables(folder, **EXACT))


class TestRocksTablesSafeFromPowerCuts(StoreContract):
    @pytest.fixture
    def open_tables(self, folder: Path) -> OpenTables:
        return opener(lambda: RocksTables(folder, **EXACT | {"durability": "power"}))


class TestRocksTablesWithBloom(StoreContract):
    """The filter is large enough here that it never errs."""

    can_forget = False

    @pytest.fixture
    def open_tables(self, folder: Path) -> OpenTables:
        return opener(lambda: RocksTables(folder, **BLOOM))


# ---- reading beside a writer


async def write_a_little(tables: Tables) -> None:
    await tables.write(batch_of(WAITING, {number: b"%d" % number for number in (5, 1, 3)}))
    await tables.write(knowing(1, 2))


def assert_reads_a_little(reader: Reader) -> None:
    rows = [(key_in(WAITING, number), b"%d" % number) for number in (1, 3, 5)]
    assert list(reader.rows(WAITING)) == rows
    assert list(reader.rows(HOSTS)) == []
    assert reader.get(WAITING, [rows[2][0], b"nothing", rows[0][0]]) == [b"5", None, b"1"]
    assert reader.known([mark(1), mark(3)]) == [True, False]
    assert reader.count_known() == 2
    reader.close()


async def test_tables_in_memory_can_be_read() -> None:
    tables = MemoryTables()
    await write_a_little(tables)
    assert_reads_a_little(MemoryReader(tables))


@MODES
async def test_a_running_crawl_can_be_read_by_others(folder: Path, choices: dict[str, Any]) -> None:
    tables = RocksTables(folder, **choices)
    await write_a_little(tables)
    assert_reads_a_little(RocksReader(folder))
    await write_a_little(tables)
    await tables.close()
    assert_reads_a_little(RocksReader(folder))


async def test_readers_know_what_tables_name_where_a_filter_has_the_last_word(folder: Path) -> None:
    tables = RocksTables(folder, **BLOOM)
    await tables.write(visited_queued_and_delayed())
    reader = RocksReader(folder)
    visited, queued = page("a/visited").fingerprint, page("a/1").fingerprint
    assert reader.known([visited, queued, mark(1)]) == [True, False, False]
    assert reader.count_known() == 4
    reader.close()
    await tables.close()


def test_reading_where_no_crawl_was_says_so(folder: Path) -> None:
    with pytest.raises(SettingsError, match="no frontier here"):
        RocksReader(folder)
    assert not folder.exists()


async def test_readers_leave_nothing_behind(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(SettingsError):
        RocksReader(folder)
    await RocksTables(folder, **EXACT).close()
    RocksReader(folder).close()
    assert list(tmp_path.iterdir()) == []


# ---- what survives, and who is refused


@MODES
async def test_a_clean_close_keeps_everything(folder: Path, choices: dict[str, Any]) -> None:
    tables = RocksTables(folder, **choices)
    batch = batch_of(WAITING, {1: b"one", 2: b"two"})
    batch.put(HOSTS, b"a.test", b"record")
    batch.known[mark(1)] = True
    await tables.write(batch)
    await tables.close()
    tables = RocksTables(folder, **choices)
    assert await tables.scan(WAITING, b"", 9) == [(key_in(WAITING, 1), b"one"), (key_in(WAITING, 2), b"two")]
    assert await tables.get(HOSTS, [b"a.test"]) == [b"record"]
    assert await tables.known([mark(1), mark(2)]) == [True, False]
    await tables.close()


async def test_the_crawls_key_is_made_once(folder: Path) -> None:
    tables = RocksTables(folder, **EXACT)
    key = tables.crawl_key()
    assert len(key) == 16
    assert tables.crawl_key() == key
    await tables.close()
    tables = RocksTables(folder, **EXACT)
    assert tables.crawl_key() == key
    await tables.close()


async def test_a_second_crawl_on_the_same_folder_is_refused(folder: Path) -> None:
    first = RocksTables(folder, **EXACT)
    with pytest.raises(FolderInUse, match="another crawl"):
        RocksTables(folder, **EXACT)
    await first.close()
    await RocksTables(folder, **EXACT).close()


async def test_a_second_process_on_the_same_folder_is_refused(folder: Path) -> None:
    opens = (
        f"from pathlib import Path; from lycosa.frontier.rocks.tables import RocksTables as T; T(Path({str(folder)!r}))"
    )
    first = RocksTables(folder, **EXACT)
    second = subprocess.run([sys.executable, "-c", opens], capture_output=True, text=True, check=False)
    assert "FolderInUse" in second.stderr
    await first.close()


@pytest.mark.parametrize("opens", [lambda folder: RocksTables(folder, **EXACT), RocksReader], ids=["tables", "reader"])
async def test_a_format_of_another_version_is_refused(folder: Path, opens: Callable[[Path], object]) -> None:
    tables = RocksTables(folder, **EXACT)
    batch = Batch()
    batch.put(META, b"format", b"\x63")
    await tables.write(batch)
    await tables.close()
    with pytest.raises(SettingsError, match="format 99") as refusal:
        opens(folder)
    with pytest.raises(SettingsError, match="format 99"):
        opens(folder)
    del refusal  # whoever still holds it does not hold the lock by it


@pytest.mark.parametrize("opens", [lambda folder: RocksTables(folder, **EXACT), RocksReader], ids=["tables", "reader"])
def test_tables_of_another_version_are_refused(folder: Path, opens: Callable[[Path], object]) -> None:
    from rocksdict import Options, Rdict

    options = Options(raw_mode=True)
    options.create_missing_column_families(True)
    folder.parent.mkdir(exist_ok=True)
    Rdict(str(folder), options, column_families={"default": options, "seen": options}).close()
    with pytest.raises(SettingsError, match="another version of lycosa"):
        opens(folder)


async def test_groups_of_texts_are_kept_with_the_next_write(folder: Path) -> None:
    signature = signature_of("what somebody wrote and others copied")
    tables = RocksTables(folder, **EXACT)
    first = tables.group_of(signature)
    assert first.is_first
    assert not tables.group_of(signature).is_first, "seen before it is written"
    reader = Database(folder, is_secondary=True)
    assert reader.groups is not None
    assert list(reader.groups.signatures.keys()) == []
    reader.close()
    await tables.write(batch_of(HOSTS, {1: b"one"}))
    assert list(tables.groups.signatures.keys()) == [first.group]
    assert not tables._planner._sketches, "from now on the database is asked"
    await tables.close()
    tables = RocksTables(folder, **EXACT)
    again = tables.group_of(signature)
    assert (again.group, again.is_first) == (first.group, False)
    await tables.close()


async def test_groups_that_no_write_followed_are_kept_by_a_clean_close(folder: Path) -> None:
    signature = signature_of("what somebody wrote and others copied")
    tables = RocksTables(folder, **EXACT)
    assert tables.group_of(signature).is_first
    await tables.close()
    tables = RocksTables(folder, **EXACT)
    assert not tables.group_of(signature).is_first
    await tables.close()


# A writer of its own process; the number that it prints last was acknowledged.
WRITES_FOR_EVER = """
import asyncio, itertools, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.frontier.store_contract import mark
from tests.frontier.test_stores import numbered
from lycosa.frontier.rocks.tables import RocksTables

async def write():
    tables = RocksTables(Path({folder!r}), **{choices!r})
    for number in itertools.count(1):
        await tables.write(numbered(number))
        await tables.durable()
        print(number, flush=True)

asyncio.run(write())
"""


def numbered(number: int) -> Batch:
    """A batch that says its number in every table it changes, and takes back part of the one before."""
    batch = batch_of(WAITING, {number: b"%d" % number, number - 1: None})
    batch.put(META, b"state", b"%d" % number)
    batch.put(HOSTS, b"a.test", b"%d" % number)
    batch.put(HISTORY, mark(number), bytes(300))
    batch.known[mark(number)] = True
    return batch


def acknowledged_before_kill_9(script: str, wanted: int) -> int:
    """Run a script, kill it in the middle of work, and return what it said last."""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = next(line for line in process.stdout if int(line) >= wanted)
    os.kill(process.pid, signal.SIGKILL)
    rest = process.stdout.read().split("\n")
    process.wait()
    process.stdout.close()
    whole = [said, *rest[:-1]]  # a line that was cut may be half a number
    return int(whole[-1])


@pytest.mark.parametrize("choices", [EXACT, EXACT | {"durability": "power"}, BLOOM], ids=["exact", "power", "bloom"])
async def test_no_acknowledged_batch_is_lost_to_kill_9_and_none_is_half(folder: Path, choices: dict[str, Any]) -> None:
    root = str(Path(__file__).parents[2])
    script = WRITES_FOR_EVER.format(root=root, folder=str(folder), choices=choices)
    acknowledged = acknowledged_before_kill_9(script, 40)
    tables = RocksTables(folder, **choices)
    (state,) = await tables.get(META, [b"state"])
    assert state is not None
    last = int(state)
    assert last >= acknowledged
    assert await tables.get(HOSTS, [b"a.test"]) == [state]
    assert await tables.scan(WAITING, b"", 9) == [(key_in(WAITING, last), state)]
    assert list(await numbers_in(tables, HISTORY, range(last + 5))) == list(range(1, last + 1))
    marks = [mark(number) for number in range(1, last + 5)]
    assert await tables.known(marks) == [number <= last for number in range(1, last + 5)]
    await tables.close()


async def test_what_is_durable_was_put_on_the_disk_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    put = Database.sync

    def sync(database: Database) -> None:
        written = database.changes()
        put(database)
        synced.append(written)

    monkeypatch.setattr(Database, "sync", sync)
    tables = RocksTables(folder, **EXACT | {"durability": "power"})
    await tables.write(knowing(1))
    assert synced == []
    await asyncio.gather(tables.durable(), tables.durable())
    assert synced == [tables._database.changes()]
    await tables.durable()
    assert len(synced) == 1, "nothing was written since"
    await tables.close()


@contextmanager
def small_disk(path: Path) -> Iterator[None]:
    """A file system of its own, in memory."""
    path.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", str(path)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a small file system")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


async def write_for_ever(tables: Tables, taken: list[int]) -> None:
    for number in itertools.count():
        await tables.write(batch_of(QUEUE, {number: os.urandom(5_000)}))
        taken.append(number)


async def test_a_full_disk_is_a_shortage_and_loses_nothing(folder: Path) -> None:
    taken: list[int] = []
    with small_disk(folder):
        tables = RocksTables(folder / "f", **EXACT)
        with pytest.raises(Shortage, match="No space left on device") as in_writing:
            await write_for_ever(tables, taken)
        with pytest.raises(Shortage, match="No space left on device") as in_closing:
            await tables.close()
        subprocess.run(["mount", "-o", "remount,size=64m", str(folder)], check=True)
        tables = RocksTables(folder / "f", **EXACT)
        assert set(await numbers_in(tables, QUEUE, range(len(taken)))) == set(taken)
        await tables.close()
    del in_writing, in_closing  # whoever still holds them does not hold the lock by them


# ---- the URL-seen test


def visited_queued_and_delayed() -> Batch:
    """As the scheduler leaves it: every known URL is named by a table, also where it has no row of its own."""
    visited, delayed = page("a/visited"), page("a/delayed")
    queued = [page("a/1"), page("a/2")]
    probe = Target("http://b/robots.txt", "b", b"")
    batch = Batch()
    batch.put(HISTORY, visited.fingerprint, b"history")
    batch.put(QUEUE, block_key(1, 6, 1), encode_block([entry_of(target) for target in (*queued, probe)]))
    batch.put(DELAYED, due_key(1.7e9, 1, 7), encode(delayed))
    batch.known.update((target.fingerprint, True) for target in (*queued, delayed))
    return batch


def crash(tables: RocksTables) -> None:
    """Let go without a clean close."""
    del tables._planner, tables._rows
    tables._database.close()


@MODES
@pytest.mark.parametrize("how", ["file", "no file", "torn file", "empty file", "stale file", "other shape"])
async def test_known_urls_stay_known_however_the_filter_comes_back(
    folder: Path, choices: dict[str, Any], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "MIN_SAVED", 0)
    marks = [mark(number) for number in range(500)]
    tables = RocksTables(folder, **choices)
    await tables.write(knowing(*range(400)))
    await tables.close()
    path = folder / FILE_NAME
    saved = path.read_bytes()
    tables = RocksTables(folder, **choices)
    await tables.write(knowing(*range(400, 500)))
    await tables.close()
    match how:
        case "no file":
            path.unlink()
        case "torn file":
            path.write_bytes(path.read_bytes()[: len(saved) // 2])
        case "empty file":
            path.write_bytes(b"")
        case "stale file":
            path.write_bytes(saved)
        case "other shape":
            choices = choices | {"seen_capacity": 20_000, "seen_error": 1e-7}
    tables = RocksTables(folder, **choices)
    assert await tables.known(marks) == [True] * 500
    assert await tables.known([mark(number) for number in range(500, 600)]) == [False] * 100
    await tables.close()


@MODES
async def test_a_clean_close_leaves_the_filter_and_no_table_is_read_for_it(
    folder: Path, choices: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "MIN_SAVED", 0)
    tables = RocksTables(folder, **choices)
    await tables.write(knowing(1))
    await tables.close()

    def refused(*_: object, **__: object) -> Iterator[bytes]:
        raise AssertionError("the tables are read")

    monkeypatch.setattr(known, "named_fingerprints", refused)
    for _ in range(3):
        tables = RocksTables(folder, **choices)
        assert await tables.known([mark(1), mark(2)]) == [True, False]
        await tables.close()


async def test_a_small_filter_is_not_saved(folder: Path) -> None:
    tables = RocksTables(folder, **EXACT)
    await tables.write(knowing(1))
    await tables.close()
    assert not (folder / FILE_NAME).exists()


async def test_after_a_crash_a_filter_alone_is_built_from_what_the_tables_name(folder: Path) -> None:
    tables = RocksTables(folder, **BLOOM)
    await tables.write(visited_queued_and_delayed())
    await tables.write(knowing(7))  # the page of another name: no target waits for it
    crash(tables)
    tables = RocksTables(folder, **BLOOM)
    named = [page(f"a/{name}").fingerprint for name in ("visited", "delayed", "1", "2")]
    assert await tables.known([*named, mark(7), page("a/3").fingerprint]) == [True] * 5 + [False]
    await tables.close()


async def test_what_cannot_be_read_is_passed_over_when_the_filter_is_built(folder: Path) -> None:
    tables = RocksTables(folder, **BLOOM)
    batch = visited_queued_and_delayed()
    short = encode(["s/", b"short"])
    whole = entry_of(page("c/1"))
    batch.put(QUEUE, block_key(2, 6, 1), b"\xc1 no block")
    batch.put(QUEUE, block_key(3, 6, 1), encode_block([encode("no entry"), short, encode(["s/", "text"]), whole]))
    batch.put(DELAYED, due_key(1.7e9, 2, 7), b"\xc1 no target")
    await tables.write(batch)
    crash(tables)
    tables = RocksTables(folder, **BLOOM)
    named = [page(url).fingerprint for url in ("a/visited", "a/delayed", "a/1", "a/2", "c/1")]
    assert await tables.known(named) == [True] * 5
    await tables.close()


async def test_bloom_mode_keeps_no_rows_of_waiting_urls(folder: Path) -> None:
    tables = RocksTables(folder, **BLOOM)
    await tables.write(visited_queued_and_delayed())
    assert list(tables._database.keys(KNOWN)) == []
    await tables.write(knowing(7))
    assert list(tables._database.keys(KNOWN)) == [mark(7)]
    await tables.close()


async def test_bloom_mode_is_bounded_and_loses_about_what_it_says(folder: Path) -> None:
    tables = RocksTables(folder, durability="process", seen="bloom", seen_capacity=2_000, seen_error=0.05)
    size = tables._known._filter.size_bytes
    await tables.write(knowing(*range(2_000)))
    mistaken = sum(await tables.known([mark(number) for number in range(2_000, 6_000)])) / 4_000
    assert 0.02 < mistaken < 0.08
    assert tables._known._filter.size_bytes == size <= 2_000
    await tables.close()


async def test_an_overfull_exact_filter_loses_nothing(folder: Path) -> None:
    tables = RocksTables(folder, durability="process", seen_capacity=100)
    await tables.write(knowing(*range(3_000)))
    assert await tables.known([mark(number) for number in range(6_000)]) == [True] * 3_000 + [False] * 3_000
    await tables.close()


async def test_what_is_certainly_new_costs_no_look_at_the_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = RocksTables(folder, **EXACT)
    await tables.write(knowing(1))
    await tables.close()
    tables = RocksTables(folder, **EXACT)
    await tables.write(knowing(50))
    looks: list[Sequence[bytes]] = []
    get = Database.get

    def look(database: Database, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        looks.append(keys)
        return get(database, family, keys)

    monkeypatch.setattr(Database, "get", look)
    assert await tables.known([mark(number) for number in range(2, 50)]) == [False] * 48
    assert looks == []
    assert await tables.known([mark(1), mark(2)]) == [True, False]
    assert looks == [[mark(1)]]
    # What is known since a moment ago is in memory.
    assert await tables.known([mark(50), mark(1)]) == [True, True]
    assert looks == [[mark(1)]] * 2
    await tables.close()


async def test_fingerprints_get_rows_when_there_are_enough_of_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "MAX_GATHERED", 10)
    tables = RocksTables(folder, **EXACT)
    database = tables._database
    for first in range(0, 9, 3):
        await tables.write(knowing(*range(first, first + 3)))
    assert (len(list(database.keys(FRESH))), len(list(database.keys(KNOWN)))) == (3, 0)
    crash(tables)
    tables = RocksTables(folder, **EXACT)
    database = tables._database
    assert await tables.known(list(map(mark, range(10)))) == [True] * 9 + [False]
    await tables.write(knowing(9, 10))
    assert list(database.keys(FRESH)) == []
    assert list(database.keys(KNOWN)) == sorted(map(mark, range(11)))
    await tables.write(knowing(11))
    forgets = Batch()
    forgets.known = {mark(3): False, mark(11): False, mark(12): True}
    await tables.write(forgets)
    assert list(database.keys(KNOWN)) == sorted(mark(number) for number in range(13) if number not in (3, 11))
    await tables.write(knowing(3))
    reader = RocksReader(folder)
    assert reader.known([mark(3), mark(11), mark(12)]) == [True, False, True]
    assert reader.count_known() == 12
    reader.close()
    await tables.close()


@pytest.mark.parametrize(("first", "second"), [(EXACT, BLOOM), (BLOOM, EXACT)], ids=["exact", "bloom"])
async def test_a_crawl_keeps_its_mode(folder: Path, first: dict[str, Any], second: dict[str, Any]) -> None:
    await RocksTables(folder, **first).close()
    with pytest.raises(SettingsError, match=f"begun with '{first['seen']}'"):
        RocksTables(folder, **second)
    await RocksTables(folder, **first).close()


async def test_a_batch_that_was_not_written_makes_nothing_known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = RocksTables(folder, **BLOOM)

    def failing(database: Database, batch: object) -> None:
        raise BackendLost("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Database, "write", failing)
        with pytest.raises(BackendLost):
            tables.write(knowing(1))
    assert await tables.known([mark(1)]) == [False]
    await tables.close()
