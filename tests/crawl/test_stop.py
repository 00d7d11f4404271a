"""How a crawl ends before its end: signals, a second parent, a disk that takes no more, settings that cannot be."""

from __future__ import annotations

import fcntl
import os
import pty
import resource
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from lycosa.cli.main import main
from lycosa.simweb import WebPlan

from . import evidence
from .command import Running, arguments_of, children_of, crawl, start, wait_until_gone
from .judge import judge
from .witness import WitnessedWeb

DELAY_SECONDS = 0.1
SETTINGS: dict[str, Any] = {"min_delay_seconds": DELAY_SECONDS, "connections": 8}
SIZE: dict[str, Any] = {"hosts": 16, "pages_per_host": 14, "min_page_bytes": 3_000, "max_links": 20}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WitnessedWeb]:
    with WitnessedWeb(WebPlan.named("clean", is_prerendered=True, **SIZE), tmp_path) as web:
        yield web


def assert_whole(web: WitnessedWeb, folder: Path, *, extra: int = 0) -> None:
    """The same command, once more, finds all that is left."""
    ended = crawl(web, folder, *web.seeds, **SETTINGS)
    assert ended.exit_code == 0, ended.said
    verdict = judge(web.truth(), web.requests, folder, delay_seconds=DELAY_SECONDS)
    assert verdict.faults() == {}
    assert verdict.extra_requests <= extra
    assert verdict.extra_rows <= extra


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_cleanly_and_the_same_command_goes_on(
    web: WitnessedWeb, space: Path, number: signal.Signals, record_property: Any
) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(60)
        workers = running.workers()
        signalled_at = time.monotonic()
        running.signal(number)
        ended = running.end()
        record_property("F18", f"{number.name}: ended after {time.monotonic() - signalled_at:.1f} s")
        for pid in workers:
            wait_until_gone(pid)
    assert (ended.exit_code, ended.summary["ending"]) == (3, "stopped")
    assert ended.summary["queued"] > 0
    assert evidence.left_open(space / "c") == []
    assert evidence.invalid_warcs(space / "c") == []
    rows = [row for row in evidence.pages(space / "c") if row["status"]]
    assert len(rows) == len(web.requests), "what was asked for is kept"
    assert_whole(web, space / "c")


def test_a_signal_before_the_first_request_stops_too(web: WitnessedWeb, space: Path) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        wait_for_workers(running)
        running.signal(signal.SIGTERM)
        ended = running.end()
    assert ended.exit_code == 3
    assert_whole(web, space / "c")


def wait_for_workers(running: Running) -> None:
    while not running.workers():
        assert running.process.poll() is None


def slow_web(space: Path, seconds: float) -> WitnessedWeb:
    """A web in which every answer takes its time, robots.txt too."""
    plan = WebPlan.named("clean", **{**SIZE, "hosts": 4}, latency_seconds=seconds)
    return WitnessedWeb(plan, space)


def test_a_first_signal_waits_for_what_is_under_way_and_a_second_does_not(space: Path) -> None:
    with slow_web(space, 2.0) as web:
        with start(web, space / "patient", *web.seeds, **SETTINGS) as running:
            web.wait_for_requests(1)
            running.signal(signal.SIGINT)
            assert running.end().exit_code == 3
        assert all(request.finished_at for request in web.requests)
        assert len(web.requests) == len([row for row in evidence.pages(space / "patient") if row["status"]])
        with start(web, space / "hurried", *web.seeds, **SETTINGS) as running:
            before = len(web.requests)
            web.wait_for_requests(before + 1)
            running.signal(signal.SIGINT)
            running.signal(signal.SIGINT)
            assert running.end().exit_code == 3
        # Rows that nobody had the time to put into tables wait in a journal, for the next start.
        assert all(path.name.endswith(".journal.open") for path in evidence.left_open(space / "hurried"))
        assert evidence.invalid_warcs(space / "hurried") == []


@pytest.mark.full
def test_a_signal_does_not_wait_for_an_answer_that_takes_too_long(space: Path) -> None:
    with slow_web(space, 40.0) as web, start(web, space / "c", *web.seeds, **SETTINGS) as running:
        # The robots.txt is under way as soon as the name was asked for; nothing else can be seen from outside.
        wait_for_workers(running)
        running.signal(signal.SIGTERM)
        assert running.end().exit_code == 3


def test_a_closed_terminal_stops_cleanly(web: WitnessedWeb, space: Path) -> None:
    """Whoever closes the window hangs up, and from then on nothing can be shown to anybody."""
    ours, theirs = pty.openpty()
    crawling = subprocess.Popen(
        [sys.executable, "-m", "lycosa.cli.main", *arguments_of(web, space / "c", **SETTINGS), *web.seeds],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
    )
    os.close(theirs)
    # A terminal that is never read blocks whoever writes to it.
    reader = threading.Thread(target=lambda: drain(ours), daemon=True)
    reader.start()
    try:
        web.wait_for_requests(60)
        os.close(ours)
        assert crawling.wait(60) == 3
    finally:
        crawling.kill()
        crawling.wait()
    assert evidence.left_open(space / "c") == []
    assert_whole(web, space / "c")


def drain(descriptor: int) -> None:
    with suppress(OSError):
        while os.read(descriptor, 65536):
            pass


def test_a_second_parent_on_the_same_folder_is_refused(web: WitnessedWeb, space: Path) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(10)
        second = Running(["crawl", "--quiet", "--folder", str(space / "c")], space / "second" / "c")
        ended = second.end()
        assert ended.exit_code == 2
        assert ended.said.startswith("lycosa: ")
        assert f"another crawl (process {running.process.pid}) is using this folder" in ended.said
        assert running.end().exit_code == 0
    assert_whole(web, space / "c")


def test_workers_leave_when_their_parent_is_gone(web: WitnessedWeb, space: Path) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(30)
        workers = running.workers()
        assert len(workers) == 2
        running.process.kill()
        running.process.wait()
        for pid in workers:
            wait_until_gone(pid)
    assert_whole(web, space / "c", extra=16)


def test_the_loss_of_the_forkserver_costs_its_workers_and_nothing_else(web: WitnessedWeb, space: Path) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(40)
        (forkserver,) = children_of(running.process.pid)
        os.kill(forkserver, signal.SIGKILL)
        ended = running.end()
    assert ended.exit_code == 0
    assert ended.summary["worker_restarts"] >= 2
    assert_whole(web, space / "c", extra=16)


# ---- workers that hang


def test_a_worker_that_hangs_is_replaced_when_its_leases_have_ended(web: WitnessedWeb, space: Path) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS, lease_seconds=2.0) as running:
        web.wait_for_requests(40)
        os.kill(running.workers()[0], signal.SIGSTOP)
        ended = running.end()
    assert (ended.exit_code, ended.summary["worker_restarts"]) == (0, 1)
    assert_whole(web, space / "c", extra=8)


@pytest.mark.full
def test_a_worker_that_hangs_does_not_keep_a_crawl_from_stopping(web: WitnessedWeb, space: Path) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(40)
        os.kill(running.workers()[0], signal.SIGSTOP)
        running.signal(signal.SIGTERM)
        assert running.end().exit_code == 3
    assert_whole(web, space / "c", extra=8)


# ---- a disk that takes no more


@pytest.mark.parametrize("who", ["workers", "parent"])
def test_files_that_cannot_grow_end_the_crawl_with_a_sentence(web: WitnessedWeb, space: Path, who: str) -> None:
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(60)
        for pid in running.workers() if who == "workers" else [running.process.pid]:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, 4096))
        ended = running.end()
    assert ended.exit_code == 1
    assert "Traceback" not in ended.said
    assert "lycosa: " in ended.said
    assert "cannot be" in ended.said
    assert_whole(web, space / "c", extra=16)


# ---- what cannot be finished, what cannot be begun


def test_hosts_without_readable_robots_leave_a_crawl_incomplete(space: Path) -> None:
    plan = WebPlan.named("clean", **{**SIZE, "hosts": 8}, robots_broken_share=1.0, is_prerendered=True)
    with WitnessedWeb(plan, space) as web:
        settings = {**SETTINGS, "retry_after_seconds": [1.0], "max_wait_seconds": 1.0}
        ended = crawl(web, space / "c", *web.seeds, **settings)
        truth = web.truth()
        asked = evidence.requested(web.requests, web.origin_port)
    assert (ended.exit_code, ended.summary["ending"]) == (3, "incomplete")
    assert ended.summary["queued"] > 0
    pending = [each["detail"] for each in ended.summary["reasons"] if each["reason"] == "robots-pending"]
    assert any(detail.startswith("status: 5") for detail in pending)
    closed = {page.url for page in truth.pages.values() if not page.is_allowed}
    assert not closed & set(asked)
    assert truth.reachable <= set(asked)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "no seeds"),
        (["ftp://a.test/"], "seed 'ftp://a.test/'"),
        (["http://a.test/", "--set", "max_page=1"], "Did you mean 'max_pages'?"),
        (["http://a.test/", "--set", "max_pages=-1"], "max_pages"),
        (["http://a.test/", "--include", "(a"], "include: the pattern '(a'"),
        (["http://a.test/", "--open-network", "here"], "here"),
        (["http://a.test/", "--seeds", "/no/such/file"], "/no/such/file"),
        (["http://a.test/", "-c", "/no/such/file"], "/no/such/file"),
        (["http://a.test/", "--frontier", "paper"], "no such kind 'paper'"),
    ],
)
def test_settings_that_cannot_be_are_refused_with_a_sentence(
    space: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["crawl", "--folder", str(space / "c"), *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_a_command_that_is_refused_says_so_and_nothing_else(space: Path) -> None:
    ended = Running(["crawl", "--folder", str(space / "c")], space / "c").end()
    assert ended.exit_code == 2, ended.said
    assert "no seeds" in ended.said
    assert "Traceback" not in ended.said
