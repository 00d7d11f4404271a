"""A machine that lacks something for a while: the crawl pauses, drops nothing, and goes on by itself."""

from __future__ import annotations

import asyncio
import errno
import gc
import itertools
import os
import resource
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa.crawl import shortage
from lycosa.crawl.shortage import ShortageWait, has_enough
from lycosa.errors import BackendLost, Shortage, lost
from lycosa.frontier.embedded import rocks_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.simweb import WebPlan
from lycosa.store.folder import CrawlFolder

from ..frontier.stage import page
from . import evidence
from .command import Running, start
from .hooks import install
from .judge import judge
from .test_stop import DELAY_SECONDS, SETTINGS, SIZE
from .witness import WitnessedWeb

MIB = 1024 * 1024
# While its flag lies there the disk fails to sync; everything else is as it is.
FAILING_SYNC = """
import errno
import gc

real, flag = os.fdatasync, os.environ["LYCOSA_TEST_FLAG"]

def failing(fd):
    if os.path.exists(flag):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    real(fd)

os.fdatasync = failing
"""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WitnessedWeb]:
    with WitnessedWeb(WebPlan.named("clean", is_prerendered=True, **SIZE), tmp_path) as web:
        yield web


class SmallDisk:
    """A file system of its own, in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def __enter__(self) -> SmallDisk:
        if self._mount("size=1500k"):
            pytest.skip("this machine lets nobody mount a small file system")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)

    def grow(self) -> None:
        assert self._mount("remount,size=256m") == 0

    def _mount(self, options: str) -> int:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        return subprocess.run(command, check=False, capture_output=True).returncode


class NameRelay:
    """A name server's address that leads nowhere until `open`: queries are refused, then passed on."""

    def __init__(self, dns_address: str) -> None:
        host, _, port = dns_address.rpartition(":")
        self._server = (host, int(port))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.dns_address = f"127.0.0.1:{self._port}"

    def open(self) -> None:
        self._ours = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._ours.bind(("127.0.0.1", self._port))
        threading.Thread(target=self._pass_on, daemon=True).start()

    def _pass_on(self) -> None:
        with self._ours, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as theirs:
            while True:
                query, asker = self._ours.recvfrom(4096)
                theirs.sendto(query, self._server)
                self._ours.sendto(theirs.recv(4096), asker)


def assert_all_found(web: WitnessedWeb, folder: Path) -> None:
    """Everything is there, once; whatever was under way when a pause began was fetched again."""
    verdict = judge(web.truth(), web.requests, folder, delay_seconds=DELAY_SECONDS)
    assert verdict.faults() == {}
    assert evidence.left_open(folder) == []


def record_resumption(running: Running, record: Callable[[str, object], None], *rows: str, what: str) -> None:
    """How long the crawl took to go on once it could."""
    since = time.monotonic()
    running.wait_until_said("the crawl goes on")
    for row in rows:
        record(row, f"resumed {time.monotonic() - since:.1f} s after there was {what} again")


def test_a_full_disk_is_waited_for(web: WitnessedWeb, space: Path, record_property: Any) -> None:
    with SmallDisk(space / "small") as disk:
        with start(web, disk.path, *web.seeds, **SETTINGS) as running:
            running.wait_until_said("No space left on device")
            # Told on a full disk, too.
            assert "No space left on device" in CrawlFolder(disk.path).paused()
            disk.grow()
            record_resumption(running, record_property, "G10", "F5", what="room on the disk")
            ended = running.end()
        assert ended.exit_code == 0, ended.said
        assert '"paused": ' in ended.said
        assert "the crawl goes on" in ended.said
        assert "Traceback" not in ended.said
        assert_all_found(web, disk.path)


@pytest.mark.full
def test_a_signal_ends_the_waiting(web: WitnessedWeb, space: Path) -> None:
    with SmallDisk(space / "small") as disk, start(web, disk.path, *web.seeds, **SETTINGS) as running:
        running.wait_until_said('"paused": ')
        running.signal(signal.SIGTERM)
        ended = running.end()
        assert ended.exit_code == 3, ended.said
        assert ended.summary["ending"] == "stopped"
        disk.grow()
        with start(web, disk.path, *web.seeds, **SETTINGS) as again:
            assert again.end().exit_code == 0
        assert_all_found(web, disk.path)


def test_a_disk_that_fails_to_sync_is_waited_for(
    web: WitnessedWeb, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    flag = tmp_path / "flag"
    install(FAILING_SYNC, tmp_path, monkeypatch, LYCOSA_TEST_FLAG=str(flag))
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(40)
        flag.touch()
        running.wait_until_said("the disk lost what was written")
        flag.unlink()
        record_resumption(running, record_property, "G10", "F5", what="a disk that syncs")
        ended = running.end()
    assert ended.exit_code == 0, ended.said
    assert_all_found(web, space / "c")


def test_a_lack_of_descriptors_is_no_fault_of_the_hosts(web: WitnessedWeb, space: Path, record_property: Any) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(40)
        for pid in running.workers():
            _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (8, hard))
        running.wait_until_said("Too many open files")
        record_resumption(running, record_property, "G10", "F9", what="descriptors")
        ended = running.end()
    assert ended.exit_code == 0, ended.said
    assert (ended.summary["failed"], ended.summary["crashed"]) == (0, 0)
    assert_all_found(web, space / "c")


def test_a_network_that_is_gone_is_waited_for(web: WitnessedWeb, space: Path, record_property: Any) -> None:
    relay = NameRelay(web.dns_address)
    with start(relay, space / "c", *web.seeds, **SETTINGS) as running:
        running.wait_until_said("no name server answers")
        relay.open()
        record_resumption(running, record_property, "G10", "F10", what="a name server")
        ended = running.end()
    assert ended.exit_code == 0, ended.said
    assert "the crawl goes on" in ended.said
    assert (ended.summary["failed"], ended.summary["delayed"]) == (0, 0)
    assert_all_found(web, space / "c")


# ---- the parts


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), Shortage),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), Shortage),
        (Exception("IO error: No space left on device: While appending to file: x.log"), Shortage),
        (Exception("IO error: Input/output error: While fsync"), Shortage),
        (OSError(errno.EACCES, os.strerror(errno.EACCES)), BackendLost),
        (Exception("Corruption: block checksum mismatch"), BackendLost),
    ],
)
def test_what_may_pass_is_told_from_what_will_not(error: Exception, kind: type[BackendLost]) -> None:
    assert type(lost("the disk", error)) is kind


def test_enough_is_room_and_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert has_enough(tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(shortage, "MIN_FREE_BYTES", 1 << 60)
    assert not has_enough(tmp_path)
    monkeypatch.undo()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The limit is on numbers, not on how many are open: what earlier tests left open may have high ones, with room
    # below. Nor may any of that be collected, and so closed, before the question is put.
    gc.collect()
    gc.disable()
    taken = {int(number) for number in os.listdir("/proc/self/fd")}
    free = itertools.islice((number for number in itertools.count() if number not in taken), 8)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(free), hard))
    try:
        assert not has_enough(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        gc.enable()


async def test_waiting_ends_with_the_shortage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shortage, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(shortage, "MAX_PAUSE_SECONDS", 0.001)
    looks = iter([False, False, True])
    monkeypatch.setattr(shortage, "has_enough", lambda folder: next(looks))
    await asyncio.wait_for(ShortageWait(tmp_path).wait(asyncio.Event()), 60)
    assert list(looks) == []


async def add_for_ever(frontier: Any, acknowledged: list[int]) -> None:
    for number in itertools.count():
        acknowledged.append(await frontier.add([page(f"h{host}/{number}{'x' * 300}") for host in range(50)]))


async def test_a_frontier_on_a_full_disk_can_be_opened_again(space: Path) -> None:
    rules = FrontierRules(durability="power", seen_capacity=1000)
    with SmallDisk(space / "small") as disk:
        frontier: Any = rocks_frontier(disk.path / "f", rules)
        acknowledged: list[int] = []
        with pytest.raises(Shortage):
            await add_for_ever(frontier, acknowledged)
        with pytest.raises(Shortage):
            await frontier.close()
        disk.grow()
        frontier = rocks_frontier(disk.path / "f", rules)
        assert frontier.counts().queued >= sum(acknowledged)
        await frontier.close()
