from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from warcio.archiveiterator import ArchiveIterator

from lycosa.audit.files import records_of, rows_of, uncounted_records
from lycosa.audit.report import AuditReport
from lycosa.errors import BackendLost
from lycosa.model import Links, OutcomeKind, Page, Visit
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.store.read import connect, page_at, versions
from lycosa.store.record import read_response
from lycosa.store.recover import Recovery, recover

from .samples import NO_LINKS, START, body_with, parse, response, visit

ROWS = 5


async def crash(folder: CrawlFolder, rows: int = ROWS, **settings: Any) -> FolderStore:
    """A store that synced its rows and then stopped being heard of."""
    store = FolderStore(folder, 0, Settings(**settings), lambda: START)
    for number in range(rows):
        row = visit(f"http://a.example/{number}", START + number)
        answer = response(row.url, body_with(number))
        store.put(row, answer, *parse(row, answer))
    await store.sync()
    return store


def run_recover(folder: CrawlFolder, **settings: Any) -> Recovery:
    return recover(folder, Settings(**settings), parse)


def tables(folder: CrawlFolder) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    with connect(folder) as connection:
        return _rows(connection, "pages ORDER BY fetched_at"), _rows(connection, "links ORDER BY fetched_at, target")


def _rows(connection: duckdb.DuckDBPyConnection, what: str) -> list[dict[str, Any]]:
    found = connection.execute(f"SELECT * FROM {what}")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def without_places(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows but for where their records lie: random record ids make those a byte longer or shorter."""
    return [{name: row[name] for name in row if name not in ("warc_offset", "warc_length")} for row in rows]


@pytest.mark.parametrize("durability", ["power", "process"])
async def test_recovered_tables_are_those_the_crash_prevented(tmp_path: Path, durability: str) -> None:
    killed, closed = CrawlFolder(tmp_path / "killed"), CrawlFolder(tmp_path / "closed")
    for folder in (killed, closed):
        folder.create()
    await crash(killed, durability=durability)
    await (await crash(closed)).close()
    assert run_recover(killed, durability=durability) == Recovery([*_repairs(killed)], ROWS, 0)
    for found, expected in zip(tables(killed), tables(closed), strict=True):
        assert without_places(found) == without_places(expected)
    assert [path.name for path in killed.warc_files()] == [path.name for path in closed.warc_files()]
    assert list(killed.path.rglob("*.open")) == []


def _repairs(folder: CrawlFolder) -> list[Any]:
    return [(path.name, path.stat().st_size, 0) for path in folder.warc_files()]


async def test_recovering_a_folder_in_order_changes_nothing(folder: CrawlFolder) -> None:
    await (await crash(folder)).close()
    before = tables(folder)
    assert run_recover(folder) == Recovery([], 0, 0)
    assert tables(folder) == before


async def test_a_seat_is_put_in_order_while_another_is_written(folder: CrawlFolder) -> None:
    gone, busy = (CrawlFolder(folder.path, seat) for seat in ("one-aa", "two-bb"))
    for seat in (gone, busy):
        seat.create()
    await crash(gone)
    store = await crash(busy)
    untouched = sorted(path.name for path in folder.path.rglob("*two-bb*.open"))
    assert len(untouched) >= 2
    assert run_recover(gone).rows == ROWS
    assert sorted(path.name for path in folder.path.rglob("*.open")) == untouched
    await store.close()
    assert len(tables(folder)[0]) == 2 * ROWS
    assert list(folder.path.rglob("*.open")) == []


async def test_a_row_whose_record_was_cut_is_dropped(folder: CrawlFolder) -> None:
    await crash(folder)
    (warc,) = folder.open_warcs()
    last = versions(folder, f"http://a.example/{ROWS - 1}")[0]
    os.truncate(warc, last.warc_offset + last.warc_length - 1)
    found = run_recover(folder)
    assert (found.rows, found.dropped) == (ROWS - 1, 1)
    assert found.cut_bytes == last.warc_length - 1
    assert [row["url"] for row in tables(folder)[0]] == [f"http://a.example/{number}" for number in range(ROWS - 1)]


async def test_a_torn_row_is_dropped_and_its_record_kept(folder: CrawlFolder) -> None:
    await crash(folder)
    (journal,) = folder.journals()
    os.truncate(journal, journal.stat().st_size - 1)
    assert run_recover(folder).rows == ROWS - 1
    (warc,) = folder.warc_files()
    with warc.open("rb") as stream:
        assert sum(record.rec_type == "response" for record in ArchiveIterator(stream)) == ROWS


async def test_records_whose_rows_never_came_to_the_disk_are_no_findings_of_an_audit(folder: CrawlFolder) -> None:
    await crash(folder)
    (journal,) = folder.journals()
    os.truncate(journal, journal.stat().st_size - 1)
    run_recover(folder)
    report = AuditReport()
    rows = {(row.warc_file, row.warc_offset) for row in rows_of(folder, report)}
    left = {(file, offset) for _, file, offset in uncounted_records(folder)}
    kept = {(record.file, record.offset) for record in records_of(folder, report)}
    assert len(rows) == ROWS - 1
    assert len(kept) == ROWS
    assert kept <= rows | left
    assert not rows & left


async def test_a_visit_without_a_record_is_kept(folder: CrawlFolder) -> None:
    store = FolderStore(folder, 0, Settings(), lambda: START)
    store.put(visit(outcome=OutcomeKind.REFUSED), None, None, NO_LINKS)
    await store.sync()
    assert run_recover(folder).rows == 1
    assert versions(folder, "http://a.example/")[0].outcome is OutcomeKind.REFUSED


async def test_a_text_that_was_kept_back_stays_so(folder: CrawlFolder) -> None:
    store = FolderStore(folder, 0, Settings(), lambda: START)
    answer = response(body=body_with(1))
    store.put(visit(), answer, Page("", "", "", []), parse(visit(), answer)[1])
    await store.sync()
    run_recover(folder)
    pages, links = tables(folder)
    assert pages[0]["text"] == ""
    assert len(links) == 2


async def test_a_duplicate_is_read_again_through_its_original(folder: CrawlFolder) -> None:
    store = FolderStore(folder, 0, Settings(), lambda: START)
    for number in (1, 2):
        row = visit(f"http://a.example/{number}", START + number)
        answer = response(row.url, body_with(7))
        store.put(row, answer, *parse(row, answer))
    await store.sync()
    assert run_recover(folder).rows == 2
    found = page_at(folder, "http://a.example/2")
    assert found is not None
    assert found.text == parse(visit(), response(body=body_with(7)))[0].text


async def test_a_duplicate_whose_original_was_taken_away_keeps_its_row(folder: CrawlFolder) -> None:
    store = FolderStore(folder, 0, Settings(warc_bytes=1), lambda: START)
    for number in (1, 2):
        row = visit(f"http://a.example/{number}", START + number)
        answer = response(row.url, body_with(7))
        store.put(row, answer, *parse(row, answer))
    await store.sync()
    folder.warc_files()[0].unlink()
    found = run_recover(folder)
    assert (found.rows, found.dropped) == (1, 1)
    assert page_at(folder, "http://a.example/2") == (versions(folder, "http://a.example/2")[0], "")


STEPS = ["links renamed", "pages renamed"]


@pytest.mark.parametrize("step", STEPS)
async def test_a_crash_between_the_renames_and_the_end_of_the_journal_doubles_nothing(
    folder: CrawlFolder, tmp_path: Path, step: str
) -> None:
    store = await crash(folder)
    journal = shutil.copy(folder.journals()[0], tmp_path / "journal")
    name = folder.journals()[0]
    await store.close()
    expected = tables(folder)
    shutil.copy(journal, name)
    if step == "links renamed":
        for part in folder.pages.glob("*.parquet"):
            part.unlink()
    assert run_recover(folder).rows == (0 if step == "pages renamed" else ROWS)
    assert tables(folder) == expected
    assert folder.journals() == []


async def test_a_links_part_without_a_right_to_be_there_goes(folder: CrawlFolder, tmp_path: Path) -> None:
    store = await crash(folder)
    name = folder.journals()[0]
    shutil.copy(name, tmp_path / "journal")
    await store.close()
    shutil.copy(tmp_path / "journal", name)
    for path in [*folder.pages.glob("*.parquet"), *folder.warc_files()]:
        path.unlink()
    assert run_recover(folder).dropped == ROWS
    assert tables(folder) == ([], [])


class Killed(BaseException):
    """Stands for the end of the process at this very line."""


async def test_recovery_itself_may_be_killed_at_any_file_operation(
    folder: CrawlFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await crash(folder)
    os.truncate(folder.open_warcs()[0], folder.open_warcs()[0].stat().st_size - 10)
    template = tmp_path / "template"
    shutil.copytree(folder.path, template)
    run_recover(folder)
    expected = tables(folder)
    steps = 0
    while True:
        again = CrawlFolder(tmp_path / f"try{steps}")
        shutil.copytree(template, again.path)
        with monkeypatch.context() as patch:
            die_before(patch, steps)
            try:
                run_recover(again)
                break
            except Killed:
                steps += 1
        run_recover(again)
        assert tables(again) == expected
        assert list(again.path.rglob("*.open")) == []
    assert steps >= 6


def die_before(patch: pytest.MonkeyPatch, step: int) -> None:
    """Let the process end before its n-th rename, removal or cut."""
    left = [step]

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return call(*arguments, **named)

        return run

    for owner, name in ((Path, "rename"), (Path, "unlink"), (os, "truncate"), (os, "fsync")):
        patch.setattr(owner, name, dying(getattr(owner, name)))


async def test_a_disk_without_room_is_the_backends_loss_and_no_rows(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    await crash(folder)
    with monkeypatch.context() as disk:
        disk.setattr("lycosa.store.tables.publish", full)
        with pytest.raises(BackendLost, match="No space left"):
            run_recover(folder)
    assert run_recover(folder).rows == ROWS


async def test_only_what_the_named_worker_left_is_touched(folder: CrawlFolder) -> None:
    for worker in (0, 1):
        store = FolderStore(folder, worker, Settings(), lambda: START)
        store.put(visit(f"http://a.example/{worker}"), response(body=body_with(worker)), None, NO_LINKS)
        await store.sync()
    assert recover(folder, Settings(), parse, worker=1).rows == 1
    assert [path.name.split("-")[2] for path in folder.journals() + folder.open_warcs()] == ["w0", "w0"]


WRITER = """
import asyncio, sys
sys.path.insert(0, sys.argv[2])
from tests.store.samples import START, body_with, parse, response, visit
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore

async def main():
    settings = Settings(warc_bytes=20_000, parquet_rows=37, durability=sys.argv[3])
    store = FolderStore(CrawlFolder(sys.argv[1]), 0, settings)
    number = 0
    while True:
        for number in range(number, number + 5):
            row = visit(f"http://a.example/{number}", START + number)
            answer = response(row.url, body_with(number % 50))
            store.put(row, answer, *parse(row, answer))
        await store.sync()
        print(number, flush=True)
        number += 1

asyncio.run(main())
"""


@pytest.mark.parametrize("durability", ["power", "process"])
@pytest.mark.parametrize("seed", range(5))
def test_kill_9_loses_no_row_that_was_acknowledged(folder: CrawlFolder, seed: int, durability: str) -> None:
    here = str(Path(__file__).parents[2])
    command = [sys.executable, "-c", WRITER, str(folder.path), here, durability]
    acknowledged = -1
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(random.Random(seed).randrange(5, 60)):
            acknowledged = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        acknowledged = max([acknowledged, *(int(line) for line in writer.stdout.read().split("\n")[:-1])])
    run_recover(folder, durability=durability)
    pages, links = tables(folder)
    found = [row["url"] for row in pages]
    assert found == [f"http://a.example/{number}" for number in range(len(found))]
    assert len(found) > acknowledged
    assert len(links) == 2 * len(found)
    for row in pages:
        answer = read_response(folder, row["warc_file"], row["warc_offset"], row["warc_length"])
        assert parse(visit(), answer)[0].text == row["text"]
    for path in folder.warc_files():
        subprocess.run(["gunzip", "-t", str(path)], check=True)
    assert list(folder.path.rglob("*.open")) == []
    for path in folder.pages.iterdir():
        pq.read_table(path)


def test_a_crash_while_parsing_costs_no_row_at_the_next_try(folder: CrawlFolder) -> None:
    import asyncio

    asyncio.run(crash(folder))

    def dies(row: Visit, _: object) -> tuple[Page, Links]:
        raise Killed

    with pytest.raises(Killed):
        recover(folder, Settings(), dies)
    assert run_recover(folder).rows == ROWS
