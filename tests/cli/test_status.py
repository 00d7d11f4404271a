from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from lycosa.cli.main import main
from lycosa.cli.status import print_status
from lycosa.frontier.records import HostRecord, Lane, encode
from lycosa.frontier.rocks.tables import RocksTables
from lycosa.frontier.rules import OriginState
from lycosa.frontier.tables import HOSTS, Batch
from lycosa.frontier.view import Crew, Machine, Shares, open_rocks_view
from lycosa.inspect.status import Status, WorkerBalance, read_status
from lycosa.model import Reason
from lycosa.store.folder import CrawlFolder
from lycosa.store.logbook import Incident, note

from .rows import change_rows, crawl_of
from .world import World


def status_of(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(["status", "--folder", str(folder), "--json"]) == 0
    status: dict[str, object] = json.loads(capsys.readouterr().out)
    return status


def test_a_crawl_that_waits_for_a_retry_can_go_on(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    status = status_of(world.folder.path, capsys)
    assert str(status["state"]).startswith("stopped before its end")
    assert status["process"] == 0
    counts = status["counts"]
    assert isinstance(counts, dict)
    assert (counts["pages"], counts["duplicate"], counts["delayed"], counts["queued"]) == (6, 1, 1, 0)
    assert status["next_retry_at"]


def test_a_crawl_at_its_limit_is_finished_and_shows_its_queue(begun: World, capsys: pytest.CaptureFixture[str]) -> None:
    status = status_of(begun.folder.path, capsys)
    assert status["state"] == "finished: it reached its limit of 1 pages"
    hosts = status["hosts"]
    assert isinstance(hosts, list)
    assert [(host["host"], host["waits_for"]) for host in hosts if host["host"] == "a.test"] == [("a.test", "its turn")]


def test_people_read_the_same(begun: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", *begun.place]) == 0
    out = capsys.readouterr().out
    assert "longest queues" in out
    assert "a.test" in out
    assert "\x1b" not in out


def test_a_running_crawl_is_seen_and_not_disturbed(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = CrawlFolder(shutil.copytree(world.folder.path, tmp_path / "crawl"))

    async def look_while_it_is_open() -> None:
        tables = RocksTables(folder.frontier)
        with folder.lock():
            status = status_of(folder.path, capsys)
            assert (status["state"], status["process"]) == ("running", os.getpid())
        await tables.close()

    asyncio.run(look_while_it_is_open())
    assert status_of(folder.path, capsys)["process"] == 0


def test_a_crash_is_told_from_a_stop(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = CrawlFolder(shutil.copytree(world.folder.path, tmp_path / "crawl"))
    (folder.pages / "lycosa-20310101T000000-w0-00000.journal.open").touch()
    assert str(status_of(folder.path, capsys)["state"]).startswith("interrupted")


def test_a_paused_crawl_says_what_it_waits_for(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = CrawlFolder(shutil.copytree(world.folder.path, tmp_path / "crawl"))
    with folder.lock() as lock:
        lock.tell("No space left\non device")
        status = status_of(folder.path, capsys)
        assert str(status["state"]).startswith("paused: No space left on device")
        assert status["process"] == os.getpid()
        lock.tell()
        assert status_of(folder.path, capsys)["state"] == "running"
        lock.tell("x" * 5000)
    # Whoever held it is gone, and so is the reason.
    assert status_of(folder.path, capsys)["paused"] == ""


def test_what_happened_to_the_folder_is_told(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = CrawlFolder(shutil.copytree(world.folder.path, tmp_path / "crawl"))
    note(folder, Incident(1_770_000_000.0, "2 rows were lost"))
    assert main(["status", "--folder", str(folder.path)]) == 0
    assert "happened  2026-02-02 02:40:00 UTC: 2 rows were lost\n" in capsys.readouterr().out


def test_a_crawl_on_a_medium_that_cannot_be_written_is_read(world: World, tmp_path: Path) -> None:
    folder = shutil.copytree(world.folder.path, tmp_path / "crawl")
    look = f"{sys.executable} -m lycosa.cli.main status --folder {folder}"
    mount = f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"
    before = sorted(path.name for path in (folder / "frontier").iterdir())
    spaces = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    if subprocess.run([*spaces, "sh", "-c", mount], capture_output=True, check=False).returncode == 0:
        command = [*spaces, "sh", "-c", f"{mount} && ! touch {folder}/x && {look}"]
    else:
        # No mounts here: a folder without the right to write is the same to everybody but root.
        for path in (folder, folder / "frontier"):
            path.chmod(0o555)
        command = ["sh", "-c", look]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "stopped before its end" in found.stdout
    assert sorted(path.name for path in (folder / "frontier").iterdir()) == before


def test_a_frontier_in_memory_leaves_no_queue(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = CrawlFolder(shutil.copytree(world.folder.path, tmp_path / "crawl"))
    shutil.rmtree(folder.frontier)
    assert "memory" in str(status_of(folder.path, capsys)["state"])


@pytest.mark.parametrize("command", [["status"], ["why", "http://a/"], ["page", "http://a/"], ["query", "SELECT 1"]])
def test_a_folder_without_a_crawl_is_refused(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--folder", str(tmp_path)]) == 2
    assert "there is no crawl in this folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ["status"],
        ["why", "http://a.test/never"],
        ["page", "http://a.test/"],
        ["query", "SELECT * FROM pages"],
        ["graph"],
        ["export", "--format", "csv", "--out", "{}/out"],
    ],
)
def test_a_damaged_table_is_a_sentence(
    world: World, command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = CrawlFolder(shutil.copytree(world.folder.path, tmp_path / "crawl"))
    for part in [*folder.pages.glob("*.parquet"), *folder.links.glob("*.parquet")]:
        part.write_bytes(part.read_bytes()[:100])
    arguments = [argument.format(tmp_path) for argument in command]
    assert main([*arguments, "--folder", str(folder.path)]) == 3
    assert "its tables cannot be read" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_host_that_bans_is_named_with_the_time_of_the_next_try(
    begun: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = CrawlFolder(shutil.copytree(begun.folder.path, tmp_path / "crawl"))
    with closing(open_rocks_view(folder.frontier)) as view:
        record = view.host("a.test")
    assert record is not None
    record.ban, record.failures, record.free_at = Reason("banned", "403, cf-mitigated"), 5, time.time() + 1800
    batch = Batch()
    batch.put(HOSTS, b"a.test", encode(record))
    change_rows(folder.frontier, batch)
    banned = status_of(folder.path, capsys)["banned"]
    assert isinstance(banned, list)
    told = [(host["host"], host["reason"], host["detail"]) for host in banned]
    assert told == [("a.test", "banned", "403, cf-mitigated")]
    assert main(["status", "--folder", str(folder.path)]) == 0
    out = capsys.readouterr().out
    assert "hosts that told us to go away" in out
    assert "the end of its ban" in out
    assert main(["why", begun.url("/one"), "--folder", str(folder.path)]) == 0
    assert "the end of its ban: the host told us to go away (403, cf-mitigated); next try in" in capsys.readouterr().out


# ---- what is in the tables


def host_in_trouble(name: str, *, queued: int = 1, **states: OriginState) -> HostRecord:
    origins = {f"{scheme}://{name}": state for scheme, state in states.items()}
    lanes = [Lane(number, {"http": "", "https": "s"}[scheme], 6, end=1) for number, scheme in enumerate(states)]
    for lane in lanes:
        lane.entries = queued
    return HostRecord(name, 1, queued=queued * len(lanes), lanes=lanes, origins=origins)


def printed(status: Status, capsys: pytest.CaptureFixture[str], now: float) -> str:
    print_status(status, now)
    return capsys.readouterr().out


def test_machines_are_named_with_who_is_silent_and_what_they_wait_for(capsys: pytest.CaptureFixture[str]) -> None:
    machines = [
        Machine("m1", 2, "eu", 0.5, is_silent=False, waits_for="", partitions=1),
        Machine("m2", 1, "", 0.5, is_silent=False, waits_for="a network", partitions=30),
        Machine("m3", 4, "", 75.0, is_silent=True, waits_for="", partitions=31),
    ]
    status = read_status(crawl_of(Batch(), crew=Crew(machines, 2)), 10)
    assert status.state == "running"
    assert status.machines == ["m1 (2 workers, region eu)", "m2 (1 worker)"]
    out = printed(status, capsys, time.time())
    assert "m1 (2 workers, region eu): 1 partition\n" in out
    assert "m2 (1 worker): 30 partitions, waits for a network\n" in out
    assert "m3 (4 workers): silent for 1 min 15 s, has 31 partitions\n" in out
    assert "no owner  2 partitions, whose hosts nobody visits now\n" in out


def test_a_crawl_whose_machines_are_all_silent_does_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    silent = Machine("m3", 4, "", 75.0, is_silent=True, waits_for="", partitions=64)
    status = read_status(crawl_of(Batch(), crew=Crew([silent], 0)), 10)
    assert (status.state, status.machines) == ("finished: everything known has been visited", [])
    assert "m3 (4 workers): silent for" in printed(status, capsys, time.time())


def test_a_crawl_that_nobody_takes_part_in_lacks_no_owner(capsys: pytest.CaptureFixture[str]) -> None:
    status = read_status(crawl_of(Batch(), crew=Crew([], 64)), 10)
    assert "no owner" not in printed(status, capsys, time.time())


def test_a_balanced_crawl_tells_how_evenly_it_is_spread(capsys: pytest.CaptureFixture[str]) -> None:
    status = read_status(crawl_of(Batch(), shares=Shares([0, 10], 3)), 10)
    assert status.balance == WorkerBalance([0, 10], 1.0, 3)
    assert "2 workers had 0 to 10 requests each, variation 100.0%" in printed(status, capsys, time.time())


def test_origins_in_trouble_are_named_with_the_reason_and_the_next_try(capsys: pytest.CaptureFixture[str]) -> None:
    now = float(int(time.time()))
    refused = OriginState(0.0, now + 3000, is_pending=True, trouble=Reason("connect", "refused"))
    well = OriginState(now, now + 3000)
    hosts = [host_in_trouble(f"h{number}", queued=number, http=refused) for number in range(1, 5)]
    hosts.append(host_in_trouble("both", queued=9, http=well, https=OriginState(now, now + 9000, rest_until=now + 600)))
    status = read_status(crawl_of(Batch(), *hosts), 2)
    assert [each.origin for each in status.troubled] == ["https://both", "http://h4"]
    assert status.troubled_origins == 5
    # The other origin of this host goes on.
    assert [host.waits_for for host in status.hosts if host.host == "both"] == ["its turn"]
    (waits_for,) = (host.waits_for for host in status.hosts if host.host == "h4")
    assert waits_for.startswith("the next try, in 49 min")
    assert waits_for.endswith("its robots.txt could not be read (connect: refused)")
    out = printed(status, capsys, now)
    assert "origins in trouble" in out
    assert "https://both       9  it failed again and again" in out
    assert "http://h4          4  its robots.txt could not be read (connect: refused)  in 50 min 00 s" in out
    assert "and 3 more" in out


def test_nobody_is_in_trouble_where_none_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    host = host_in_trouble("a", http=OriginState(0.0, time.time() + 300, is_pending=True))
    status = read_status(crawl_of(Batch(), host), 0)
    assert (status.troubled, status.troubled_origins, status.hosts) == ([], 0, [])
    assert "in trouble" not in printed(status, capsys, time.time())


def test_a_crawl_that_goes_on_without_an_end_is_not_said_to_be_finished() -> None:
    crawl = crawl_of(Batch(), crew=Crew([Machine("m3", 4, "", 75.0, is_silent=True, waits_for="", partitions=64)], 0))
    going_on = crawl._replace(settings=replace(crawl.settings, continuous=True))
    assert read_status(going_on, 10).state.startswith("stopped: everything known has been visited, and is due again")
