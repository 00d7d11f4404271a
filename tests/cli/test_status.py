from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.frontier.tables import Tables, encode
from lycosa.store.folder import CrawlFolder

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
    tables = Tables(folder.frontier)
    with folder.lock():
        status = status_of(folder.path, capsys)
        assert (status["state"], status["process"]) == ("running", os.getpid())
    tables.close()
    assert status_of(folder.path, capsys)["process"] == 0


def test_a_crash_is_told_from_a_stop(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = CrawlFolder(shutil.copytree(world.folder.path, tmp_path / "crawl"))
    (folder.pages / "lycosa-20310101T000000-w0-00000.journal.open").touch()
    assert str(status_of(folder.path, capsys)["state"]).startswith("interrupted")


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
    tables = Tables(folder.frontier)
    record = tables.host("a.test")
    assert record is not None
    record.ban, record.failures, record.free_at = "banned: 403, cf-mitigated", 5, time.time() + 1800
    tables.hosts[b"a.test"] = encode(record)
    tables.close()
    banned = status_of(folder.path, capsys)["banned"]
    assert isinstance(banned, list)
    assert [(host["host"], host["said"]) for host in banned] == [("a.test", "banned: 403, cf-mitigated")]
    assert main(["status", "--folder", str(folder.path)]) == 0
    out = capsys.readouterr().out
    assert "hosts that told us to go away" in out
    assert "the end of its ban" in out
    assert main(["why", begun.url("/one"), "--folder", str(folder.path)]) == 0
    assert "the end of its ban (banned: 403, cf-mitigated): next try in" in capsys.readouterr().out
