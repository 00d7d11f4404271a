"""On the way to an object store nothing is lost, doubled or written over, and it can be read back from there."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lycosa.crawl.restart import write_settings
from lycosa.errors import BackendLost, SettingsError
from lycosa.settings import Settings
from lycosa.store import objects as objects_module
from lycosa.store import shipper as shipper_module
from lycosa.store.folder import JOURNAL, PARQUET, WARC, CrawlFolder, Lock, take_seat
from lycosa.store.folder_store import FolderStore
from lycosa.store.mirror import MirroredFolder
from lycosa.store.objects import ObjectPlace, Objects, parse_place
from lycosa.store.read import all_records, page_at, response_of_visit, versions
from lycosa.store.recover import recover
from lycosa.store.shipper import Shipper, spool_of

from .object_server import HANG_SECONDS, ObjectServer, wait_for
from .samples import START, body_with, parse, response, visit

ROWS = 5
# Enough for several pieces of the smallest size that a store takes.
PIECE_BYTES = 5 * 1024 * 1024
SHIP = f"""
import sys
from lycosa.store import objects
from lycosa.store.folder import CrawlFolder
from lycosa.store.shipper import Shipper

objects.PIECE_BYTES = {PIECE_BYTES}
path, seat, place = sys.argv[1:]
shipper = Shipper(CrawlFolder(path, seat), objects.Objects(objects.parse_place(place)))
shipper.start()
shipper.finish(60.0).result()
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipper_module, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(shipper_module, "LONGEST_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(objects_module, "PIECE_BYTES", PIECE_BYTES)


class Spool:
    """A seat in a spool, and what is needed to ship from it."""

    def __init__(self, server: ObjectServer, machine: str = "one") -> None:
        self.objects = Objects(server.place("web/1"))
        self.folder: CrawlFolder
        self.lock: Lock
        self.folder, self.lock = take_seat(CrawlFolder(spool_of(self.objects.place), away=self.objects), machine)
        self.folder.settings.write_text("max_pages = 7\n")
        self.folder.seeds.write_text("http://a.example/\n")

    def shipper(self) -> Shipper:
        shipper = Shipper(self.folder, self.objects)
        shipper.start()
        return shipper

    def ship(self, patience_seconds: float = HANG_SECONDS) -> None:
        self.shipper().finish(patience_seconds).result(HANG_SECONDS)

    async def store(self, rows: int = ROWS, **settings: Any) -> FolderStore:
        store = FolderStore(self.folder, 0, Settings(**settings), lambda: START)
        for number in range(rows):
            row = visit(f"http://a.example/{number}", START + number)
            answer = response(row.url, body_with(number))
            store.put(row, answer, *parse(row, answer))
            await store.sync()
        return store

    def complete(self, name: str = "00001", body: bytes = b"complete") -> Path:
        path = self.folder.warc / f"lycosa-20310501T100000-{self.folder.seat}-w0-{name}{WARC}"
        path.write_bytes(body)
        return path


@pytest.fixture
def spool(objects_server: ObjectServer) -> Spool:
    return Spool(objects_server)


async def test_what_is_complete_is_shipped_and_what_is_open_stays(spool: Spool, objects_server: ObjectServer) -> None:
    await (await spool.store()).close()
    await spool.store()
    root = spool.folder.path
    complete = [*spool.folder.warc_files(), *root.glob(f"*/*{PARQUET}")]
    before = {str(path.relative_to(root)): path.read_bytes() for path in complete}
    staying = sorted(spool.folder.path.glob("*/*.open"))
    spool.ship()
    assert sorted(spool.folder.path.glob("*/lycosa-*")) == staying
    assert len(staying) >= 2
    shipped = {key.removeprefix("web/1/"): objects_server.body(key) for key in objects_server.keys()}
    assert before.items() <= shipped.items()
    assert len(before) == 3
    assert {*shipped} - {*before} == {"lycosa.toml", "seeds.txt"}


def test_a_part_whose_journal_is_there_waits_for_it(spool: Spool, objects_server: ObjectServer) -> None:
    name = f"lycosa-20310501T100000-{spool.folder.seat}-w0-00000"
    for place in (spool.folder.pages, spool.folder.links):
        (place / (name + PARQUET)).write_bytes(b"rows")
    journal = spool.folder.pages / f"{name}{JOURNAL}.open"
    journal.write_bytes(b"")
    spool.ship()
    assert not any(key.endswith(PARQUET) for key in objects_server.keys())
    journal.unlink()
    spool.ship()
    assert sum(key.endswith(PARQUET) for key in objects_server.keys()) == 2


def test_only_what_nobody_else_ships_is_shipped(spool: Spool, objects_server: ObjectServer) -> None:
    sibling, stranger = Spool(objects_server), Spool(objects_server, "two")
    for each in (sibling, stranger):
        each.complete()
    spool.ship()
    assert not any(WARC in key for key in objects_server.keys())
    for each in (sibling, stranger):
        each.lock.release()
    spool.ship()
    assert [key.rpartition("/")[2] for key in objects_server.keys() if WARC in key] == [sibling.complete().name]


def test_a_store_that_is_away_is_waited_for(spool: Spool, objects_server: ObjectServer) -> None:
    shipper = spool.shipper()
    objects_server.gateway.shut()
    path = spool.complete()
    done = shipper.finish(HANG_SECONDS)
    wait_for(objects_server.gateway.was_refused)
    assert path.exists()
    assert not done.done()
    objects_server.gateway.open()
    done.result(HANG_SECONDS)
    assert not path.exists()
    assert objects_server.body(f"web/1/warc/{path.name}") == b"complete"


def test_patience_ends_with_a_sentence_and_keeps_everything(spool: Spool, objects_server: ObjectServer) -> None:
    shipper = spool.shipper()
    objects_server.gateway.shut()
    path = spool.complete()
    with pytest.raises(BackendLost, match=r"1 files wait in .*the same command goes on"):
        shipper.finish(0).result(HANG_SECONDS)
    assert path.read_bytes() == b"complete"


def test_an_upload_that_a_crash_ended_is_not_seen_and_is_forgotten(spool: Spool, objects_server: ObjectServer) -> None:
    body = bytes(range(256)) * (3 * PIECE_BYTES // 256)
    path = spool.complete(body=body)
    objects_server.gateway.hold_after(PIECE_BYTES + PIECE_BYTES // 2)
    command = [sys.executable, "-c", SHIP, str(spool.folder.path), spool.folder.seat, str(spool.objects.place)]
    with subprocess.Popen(command) as doomed:
        wait_for(objects_server.gateway.is_full)
        doomed.kill()
    assert not any(WARC in key for key in objects_server.keys())
    assert len(objects_server.unfinished()) == 1
    foreign = "web/1/warc/lycosa-20310501T100000-two-0a0a0a0a-w0-00000.warc.gz"
    objects_server.begin(foreign)
    objects_server.gateway.open()
    spool.ship()
    assert objects_server.unfinished() == [foreign]
    assert objects_server.body(f"web/1/warc/{path.name}") == body
    assert not path.exists()


def test_a_file_that_arrived_before_the_crash_is_not_sent_again(spool: Spool, objects_server: ObjectServer) -> None:
    path = spool.complete()
    objects_server.put(f"web/1/warc/{path.name}", b"COMPLETE")
    spool.ship()
    assert objects_server.body(f"web/1/warc/{path.name}") == b"COMPLETE"
    assert not path.exists()


def test_what_lies_there_already_is_never_written_over(spool: Spool, objects_server: ObjectServer) -> None:
    path = spool.complete()
    objects_server.put(f"web/1/warc/{path.name}", b"torn")
    with pytest.raises(BackendLost, match="has 4 bytes instead of 8"):
        spool.ship(patience_seconds=0)
    assert path.read_bytes() == b"complete"
    assert objects_server.body(f"web/1/warc/{path.name}") == b"torn"


async def test_rows_are_recovered_whose_records_have_left_already(spool: Spool) -> None:
    # A WARC file is closed and shipped long before the part that holds its rows.
    await spool.store(warc_bytes=1)
    spool.ship()
    assert spool.folder.warc_files() == []
    found = recover(spool.folder, Settings(), parse)
    assert (found.rows, found.dropped) == (ROWS, 0)
    spool.ship()
    mirror = MirroredFolder(spool.objects)
    for number in range(ROWS):
        version = page_at(mirror, f"http://a.example/{number}")
        assert version
        assert version.text
    assert list(spool.folder.path.glob("*/lycosa-*")) == []


async def test_a_crawl_is_read_back_from_the_store(spool: Spool, objects_server: ObjectServer) -> None:
    await (await spool.store()).close()
    spool.ship()
    mirror = MirroredFolder(spool.objects)
    assert mirror.exists
    assert list(mirror.warc.iterdir()) == [], "brought when needed"
    (row,) = versions(mirror, "http://a.example/3")
    answer = response_of_visit(mirror, row)
    assert answer
    assert answer.body == body_with(3)
    assert sum(record.kind == "response" for record in all_records(MirroredFolder(spool.objects))) == ROWS
    assert mirror.disk_bytes() == sum(len(objects_server.body(key)) for key in objects_server.keys())
    # What is taken out of the store is no longer part of the crawl.
    for key in objects_server.keys():
        if key.endswith(PARQUET):
            objects_server.remove(key)
    assert versions(MirroredFolder(spool.objects), "http://a.example/3") == []


async def test_readers_at_the_same_time_do_not_take_copies_from_each_other(spool: Spool) -> None:
    await (await spool.store()).close()
    spool.ship()
    early = MirroredFolder(spool.objects)
    await (await spool.store()).close()
    spool.ship()
    late = MirroredFolder(spool.objects)
    assert len(early.warc_files()) == 1
    assert len(versions(late, "http://a.example/3")) == 2
    with ThreadPoolExecutor(4) as readers:
        found = readers.map(lambda _: len(MirroredFolder(spool.objects).warc_files()), range(8))
        assert list(found) == [2] * 8


def test_the_password_of_the_frontier_does_not_go_to_the_store(spool: Spool, objects_server: ObjectServer) -> None:
    for address, shown in (
        ("redis://:SECRET@10.0.0.1/0?crawl=web", "redis://10.0.0.1/0?crawl=web"),
        ("rediss://me:SECRET@h:7000", "rediss://me@h:7000"),
        ("redis+cluster://a:1,b:2", "redis+cluster://a:1,b:2"),
    ):
        write_settings(spool.folder, Settings(frontier=address, workers=3))
        spool.ship()
        kept = objects_server.body("web/1/lycosa.toml").decode()
        assert f'frontier = "{shown}"' in kept
        assert "SECRET" not in kept
        assert "workers = 0" in kept, "a machine's own affair"
        assert address in spool.folder.own_settings.read_text(), "this machine goes on with it"


def test_a_bucket_that_is_not_there_is_the_operators_to_mend(objects_server: ObjectServer) -> None:
    with pytest.raises(SettingsError, match="NoSuchBucket"):
        Objects(ObjectPlace("no-such-bucket", "")).put_text("x", "y")


def test_nothing_in_a_place_that_nobody_used(objects_server: ObjectServer) -> None:
    assert not MirroredFolder(Objects(objects_server.place("nothing"))).exists


def test_places_are_read() -> None:
    assert parse_place("s3://bucket-1/a/b/") == ObjectPlace("bucket-1", "a/b")
    assert parse_place("s3://bucket-1") == ObjectPlace("bucket-1", "")
    assert str(ObjectPlace("bucket-1", "")) == "s3://bucket-1"
    assert parse_place("crawl") == Path("crawl")


@pytest.mark.parametrize(
    "text", ["s3://", "s3:/bucket/a", "s3://UPPER/a", "s3://b/a", "s3://buck/../..", "s3://buck/a//b"]
)
def test_no_place_leads_out_of_its_folder(text: str) -> None:
    with pytest.raises(ValueError, match="s3://BUCKET"):
        parse_place(text)
