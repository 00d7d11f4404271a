from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from lycosa.errors import BackendLost
from lycosa.model import Links, OutcomeKind, Page, Visit
from lycosa.settings import Settings
from lycosa.store.files import publish
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.store.journal import read_rows
from lycosa.store.read import connect, versions
from lycosa.store.record import read_response
from lycosa.store.tables import LINKS, PAGES

from .samples import NO_LINKS, START, body_with, parse, response, visit


def open_store(folder: CrawlFolder, **settings: Any) -> FolderStore:
    return FolderStore(folder, 0, Settings(**settings), lambda: START)


def put(store: FolderStore, number: int, **changes: Any) -> None:
    url = f"http://a.example/{number}"
    answer = response(url, body_with(number))
    row = visit(url, START + number, **changes)
    store.put(row, answer, *parse(row, answer))


def urls(folder: CrawlFolder) -> list[str]:
    with connect(folder) as connection:
        return [url for (url,) in connection.execute("SELECT url FROM pages ORDER BY fetched_at").fetchall()]


def rows_in_journals(folder: CrawlFolder) -> list[str]:
    return [row.visit.url for journal in folder.journals() for row in read_rows(journal)]


async def test_a_closed_store_leaves_only_finished_files(folder: CrawlFolder) -> None:
    store = open_store(folder)
    for number in range(3):
        put(store, number)
    await store.close()
    names = sorted(path.name for path in folder.path.rglob("*") if path.is_file())
    assert names == [
        "logbook.jsonl",
        *["lycosa-20260202T024000-w0-00000.parquet"] * 2,
        "lycosa-20260202T024000-w0-00000.warc.gz",
    ]


async def test_rows_carry_the_visit_its_text_and_its_place(folder: CrawlFolder) -> None:
    store = open_store(folder)
    row = Visit(
        "http://a.example/1", "a.example", START, OutcomeKind.DUPLICATE, 200, "text/html", "utf-8", "de", "Titel",
        "Über", "", "sha1:A", "sha1:B", "g", "http://a.example/0", 2, "http://a.example/", 7, 2, '"e"', "Mon", 0.25,
        1_000, "length", reason="", noindex=True, author="Wer", published="2026-01-01",
    )  # fmt: skip
    page = Page("Titel", "Über", "Wörter", [], content="Worte", comments="Und ob", headings="Kopf")
    store.put(row, response(row.url, b"abc"), page, Links(["http://b/"], ["b"], ["nofollow"]))
    await store.close()
    (found,) = pq.read_table(folder.pages).to_pylist()
    texts = [found.pop(name) for name in ("text", "content", "comments", "headings")]
    assert texts == ["Wörter", "Worte", "Und ob", "Kopf"]
    assert found.pop("outcome") == "duplicate"
    assert found.pop("fetched_at").timestamp() == START
    assert (
        read_response(folder, found.pop("warc_file"), found.pop("warc_offset"), found.pop("warc_length")).body == b"abc"
    )
    assert found == {name: getattr(row, name) for name in found}
    (link,) = pq.read_table(folder.links).to_pylist()
    assert link.pop("fetched_at").timestamp() == START
    assert link == {"source": row.url, "target": "http://b/", "anchor": "b", "rel": "nofollow"}


async def test_the_columns_are_those_of_the_schema(folder: CrawlFolder) -> None:
    store = open_store(folder)
    put(store, 1)
    await store.close()
    assert pq.read_schema(next(folder.pages.iterdir())).equals(PAGES)
    assert pq.read_schema(next(folder.links.iterdir())).equals(LINKS)
    listed = (
        "url, host, fetched_at, outcome, status, media_type, charset, language, title, description, text, summary, "
        "digest, text_digest, group_id, original, depth, referrer, priority, out_links, etag, last_modified, "
        "fetch_seconds, body_bytes, truncated, warc_file, warc_offset, warc_length, reason, detail"
    )
    later = "noindex, author, published, usage, rendered, render_cause, changed"
    last = "relevance, promise, content, comments, headings"
    assert PAGES.names == f"{listed}, {later}, {last}".split(", ")


async def test_a_visit_without_a_response_is_a_row_without_a_record(folder: CrawlFolder) -> None:
    store = open_store(folder)
    store.put(visit(outcome=OutcomeKind.FAILED), None, None, NO_LINKS)
    await store.close()
    (found,) = versions(folder, "http://a.example/")
    assert (found.outcome, found.warc_offset, found.warc_file) == (OutcomeKind.FAILED, -1, "")
    assert folder.warc_files() == []
    assert list(folder.links.iterdir()) == []


async def test_a_store_nothing_was_put_into_leaves_nothing(folder: CrawlFolder) -> None:
    store = open_store(folder)
    await store.sync()
    await store.close()
    assert [path for path in folder.path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("durability", ["power", "process"])
async def test_what_was_synced_is_in_the_files_before_they_are_closed(folder: CrawlFolder, durability: str) -> None:
    store = open_store(folder, durability=durability)
    put(store, 1)
    assert rows_in_journals(folder) == []
    await store.sync()
    put(store, 2)
    assert rows_in_journals(folder) == ["http://a.example/1"]
    (found,) = versions(folder, "http://a.example/1")
    assert read_response(folder, found.warc_file, found.warc_offset, found.warc_length).body == body_with(1)
    await store.close()


async def test_a_row_reaches_the_journal_only_after_its_record_is_durable(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal_sizes: list[int] = []
    fdatasync = os.fdatasync

    def watched(fd: int) -> None:
        if ".warc.gz" in os.readlink(f"/proc/self/fd/{fd}"):
            journal_sizes.append(folder.journals()[0].stat().st_size)
        fdatasync(fd)

    monkeypatch.setattr(os, "fdatasync", watched)
    store = open_store(folder)
    put(store, 1)
    await store.sync()
    assert journal_sizes == [0]
    await store.close()


async def test_the_names_of_new_files_are_made_durable_too(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def watched(fd: int) -> None:
        synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}")))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", watched)
    store = open_store(folder)
    put(store, 1)
    await store.sync()
    put(store, 2)
    await store.sync()
    assert synced == ["warc", "pages"]
    await store.close()


async def test_nothing_is_synced_when_only_the_process_may_die(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fdatasync", lambda _: pytest.fail("no fdatasync was asked for"))
    store = open_store(folder, durability="process")
    put(store, 1)
    await store.sync()
    await store.close()


async def test_a_part_is_completed_when_it_has_its_rows(folder: CrawlFolder) -> None:
    store = open_store(folder, parquet_rows=3)
    for number in range(8):
        put(store, number)
        await store.sync()
    await store.close()
    parts = [pq.read_metadata(path).num_rows for path in sorted(folder.pages.glob("*.parquet"))]
    assert parts == [3, 3, 2]
    assert [pq.read_metadata(path).num_rows for path in sorted(folder.links.glob("*.parquet"))] == [6, 6, 4]
    assert urls(folder) == [f"http://a.example/{number}" for number in range(8)]


async def test_the_part_of_pages_appears_last_and_only_then_the_journal_goes(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def watched(path: Path) -> None:
        assert len(folder.journals()) == 1
        seen.append(path.parent.name)
        publish(path)

    monkeypatch.setattr("lycosa.store.tables.publish", watched)
    store = open_store(folder)
    put(store, 1)
    await store.close()
    assert seen == ["links", "pages"]
    assert folder.journals() == []


async def test_large_texts_are_written_before_the_part_is_full(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lycosa.store.folder_store.MAX_BUFFER_BYTES", 10_000)
    store = open_store(folder)
    for number in range(10):
        put(store, number)
    await store.close()
    (part,) = folder.pages.glob("*.parquet")
    assert pq.read_metadata(part).num_row_groups > 1
    assert urls(folder) == [f"http://a.example/{number}" for number in range(10)]


async def test_many_may_sync_at_once(folder: CrawlFolder) -> None:
    store = open_store(folder, parquet_rows=4)

    async def one(number: int) -> None:
        put(store, number)
        await store.sync()
        assert f"http://a.example/{number}" in [*rows_in_journals(folder), *urls(folder)]

    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(one(number))
    await store.close()
    assert urls(folder) == [f"http://a.example/{number}" for number in range(20)]


async def test_a_cancelled_sync_loses_nothing(folder: CrawlFolder) -> None:
    store = open_store(folder, parquet_rows=2)
    for number in range(6):
        put(store, number)
        sync = asyncio.create_task(store.sync())
        await asyncio.sleep(0)
        sync.cancel()
        await asyncio.gather(sync, return_exceptions=True)
    await store.close()
    assert urls(folder) == [f"http://a.example/{number}" for number in range(6)]
    assert folder.journals() == []


async def test_a_sync_cancelled_before_it_began_is_made_up_for(folder: CrawlFolder) -> None:
    store = open_store(folder)
    put(store, 1)
    held = threading.Event()
    store._committer.submit(held.wait)
    sync = asyncio.create_task(store.sync())
    await asyncio.sleep(0)
    sync.cancel()
    await asyncio.gather(sync, return_exceptions=True)
    held.set()
    await store.sync()
    assert rows_in_journals(folder) == ["http://a.example/1"]
    await store.close()


def failing(call: Callable[..., Any], error: int, times: int) -> Callable[..., Any]:
    """The call, but its first `times` tries fail; a write gets one byte through each time."""
    tries = count()

    def run(fd: int, *arguments: Any) -> Any:
        if next(tries) >= times:
            return call(fd, *arguments)
        if call is os.pwrite and len(arguments[0]) > 1:
            os.pwrite(fd, arguments[0][:1], arguments[1])
        raise OSError(error, os.strerror(error))

    return run


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_after_a_full_disk_the_next_sync_goes_on(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    store = open_store(folder)
    put(store, 1)
    with monkeypatch.context() as disk:
        disk.setattr(os, "pwrite", failing(os.pwrite, errno.ENOSPC, times))
        for _ in range(times):
            with pytest.raises(BackendLost, match="No space left"):
                await store.sync()
        await store.sync()
    assert rows_in_journals(folder) == ["http://a.example/1"]
    put(store, 2)
    await store.close()
    assert urls(folder) == ["http://a.example/1", "http://a.example/2"]
    for number in (1, 2):
        (row,) = versions(folder, f"http://a.example/{number}")
        assert read_response(folder, row.warc_file, row.warc_offset, row.warc_length).body == body_with(number)


async def test_a_disk_that_takes_little_at_a_time_gets_it_all(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pwrite = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, offset: pwrite(fd, data[:100], offset))
    store = open_store(folder)
    for number in range(3):
        put(store, number)
    await store.sync()
    assert len(rows_in_journals(folder)) == 3
    await store.close()
    subprocess.run(["gunzip", "-t", str(folder.warc_files()[0])], check=True)


async def test_after_a_failed_sync_of_the_disk_nothing_more_is_promised(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(folder)
    put(store, 1)
    with monkeypatch.context() as disk:
        disk.setattr(os, "fdatasync", failing(os.fdatasync, errno.EIO, 1))
        with pytest.raises(BackendLost):
            await store.sync()
    with pytest.raises(BackendLost, match="start again"):
        await store.sync()
    with pytest.raises(BackendLost):
        put(store, 2)
    with pytest.raises(BackendLost):
        await store.close()


async def test_rows_of_a_part_that_could_not_be_written_wait_in_the_journal(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    store = open_store(folder, parquet_rows=2)
    with monkeypatch.context() as disk:
        disk.setattr("lycosa.store.tables.publish", full)
        for number in range(2):
            put(store, number)
        await store.sync()
        # A part waits until its visits are settled, which the next sync tells.
        put(store, 2)
        await store.sync()
        await store._catch_up(behind=0)
    put(store, 3)
    await store.close()
    assert store.abandoned == 1
    assert rows_in_journals(folder) == ["http://a.example/0", "http://a.example/1"]
    assert folder.open_parts() == []
    assert len(urls(folder)) == 4


async def test_rows_never_synced_before_are_in_the_journal_if_the_last_part_fails(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("lycosa.store.tables.publish", full)
    store = open_store(folder)
    put(store, 1)
    await store.close()
    assert rows_in_journals(folder) == ["http://a.example/1"]


async def test_a_part_that_missed_a_batch_is_never_completed(
    folder: CrawlFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        raise ValueError("a fault of ours")

    store = open_store(folder)
    put(store, 1)
    assert store._sheet is not None
    with monkeypatch.context() as fault:
        fault.setattr("lycosa.store.tables.pages_table", broken)
        store._submit(store._sheet.part, store._sheet.part.take())
        with pytest.raises(ValueError, match="ours"):
            await store._catch_up(behind=0)
    put(store, 2)
    store._table_jobs.clear()
    await store.close()
    assert list(folder.pages.glob("*.parquet")) == []
    assert rows_in_journals(folder) == ["http://a.example/1", "http://a.example/2"]


async def test_half_a_surrogate_pair_spoils_nothing(folder: CrawlFolder) -> None:
    store = open_store(folder)
    row = Visit("http://a.example/", "a.example", START, OutcomeKind.STORED, title="half \ud800")
    store.put(row, None, Page("", "", "text \udfff", []), Links(["http://b/\ud800"], ["\ud800"], ["\ud800"]))
    put(store, 1)
    await store.sync()
    assert len(rows_in_journals(folder)) == 2
    await store.close()
    (found,) = versions(folder, "http://a.example/")
    assert found.title == "half ?"
