"""Several commands that crawl together into one folder: nobody's files are touched by another."""

from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.errors import FolderInUse
from lycosa.store.files import maker_of
from lycosa.store.folder import CrawlFolder, take_seat

from .redis_servers import RedisServer
from .together import CONNECTIONS, Crawled, Machines, crawl_together, plan

# What one machine may have under way.
IN_FLIGHT = 2 * CONNECTIONS


def makers(crawled: Crawled) -> set[str]:
    """The seats whose names the WARC files and tables carry."""
    (folder,) = map(CrawlFolder, crawled.folders)
    files = [*folder.warc_files(), *folder.pages.glob("*.parquet"), *folder.links.glob("*.parquet")]
    found = [maker_of(path.name) for path in files]
    assert None not in found
    return {maker.seat for maker in found if maker}


def test_two_commands_crawl_into_one_folder(space: Path) -> None:
    with RedisServer() as server:
        crawled = crawl_together(space, server.address, web_plan=plan(12, 5), one_folder=True)
        crawled.assert_finished()
        crawled.assert_complete()
    (folder,) = map(CrawlFolder, crawled.folders)
    assert makers(crawled) <= {seat.seat for seat in folder.seats()}
    assert len(folder.seats()) == 2
    assert folder.report.is_file()
    assert folder.running_process() == 0


@pytest.mark.full
def test_a_command_that_comes_back_puts_its_own_files_in_order_and_no_others(space: Path) -> None:
    """The other one is in the middle of its files meanwhile."""

    def kill(machines: Machines) -> None:
        machines.strike()
        machines["two"].kill_all()
        machines.start("two")

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, kill, one_folder=True)
        crawled.assert_finished()
        crawled.assert_complete(extra=IN_FLIGHT)
    (folder,) = map(CrawlFolder, crawled.folders)
    assert len(folder.seats()) == 2, "it found its old seat"
    assert crawled.ends["one"].summary["worker_restarts"] == 0


@pytest.mark.full
def test_what_a_command_left_that_never_comes_back_is_put_in_order_by_the_next_of_its_machine(space: Path) -> None:
    def kill(machines: Machines) -> None:
        machines.strike()
        machines["one"].kill_all()
        machines["two"].kill_all()
        machines.start("two")
        machines.end("one", "two")

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, kill, one_folder=True, silence_seconds=10.0)
        crawled.assert_finished("two")
        crawled.assert_complete(extra=2 * IN_FLIGHT)


def test_a_seat_is_held_by_one_and_kept_for_its_machine(tmp_path: Path) -> None:
    first, lock = take_seat(CrawlFolder(tmp_path), "Web 1.example")
    second, other_lock = take_seat(CrawlFolder(tmp_path), "Web 1.example")
    assert first.seat.startswith("web-1-example-")
    assert first.seat != second.seat
    lock.release()
    again, lock = take_seat(CrawlFolder(tmp_path), "web-1-example")
    assert again.seat == first.seat
    elsewhere, third_lock = take_seat(CrawlFolder(tmp_path), "web-1")
    assert elsewhere.seat not in (first.seat, second.seat)
    assert [sibling.seat for sibling in first.siblings()] == [second.seat]
    for each in (lock, other_lock, third_lock):
        each.release()


def test_a_crawl_that_wants_the_folder_for_itself_and_one_that_wants_a_seat_exclude_each_other(tmp_path: Path) -> None:
    seat, lock = take_seat(CrawlFolder(tmp_path), "one")
    with lock, pytest.raises(FolderInUse):
        seat.whole.lock()
    with seat.whole.lock(), pytest.raises(FolderInUse):
        take_seat(CrawlFolder(tmp_path), "one")
    with seat.whole.lock():
        pass
