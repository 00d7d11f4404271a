"""kill -9 at moments chosen by progress, then the same command again: nothing is lost, hardly anything is repeated.

The moments are drawn from a seed and named by the number of requests the server has answered by then.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb import WebPlan
from lycosa.simweb.layout import Layout

from . import evidence
from .command import Ended, Running, crawl, start
from .judge import Verdict, judge
from .witness import WitnessedWeb

CONNECTIONS = 8
WORKERS = 2
DELAY_SECONDS = 0.15
KILLS = 10
SETTINGS: dict[str, Any] = {
    "workers": WORKERS,
    "connections": CONNECTIONS,
    "min_delay_seconds": DELAY_SECONDS,
    "retry_after_seconds": [0.2],
    "max_backoff_seconds": 1.0,
    "circuit_seconds": 1.0,
    # Small enough that kills meet files being closed and parts being written.
    "warc_bytes": 300_000,
    "parquet_rows": 60,
}
PLAN = WebPlan.named(
    "mixed",
    hosts=16,
    pages_per_host=14,
    min_page_bytes=4_000,
    max_page_bytes=8_000,
    max_links=24,
    crawl_delay_share=0.0,
    slow_seconds=0.1,
    changes_per_day=(0.0,),
    is_prerendered=True,
)

Kill = Callable[[Running], None]


def kill_one_worker(running: Running) -> None:
    """The parent must start another in its place."""
    workers = running.workers()
    assert len(workers) == WORKERS
    os.kill(workers[0], signal.SIGKILL)


def kill_parent(running: Running) -> None:
    running.kill_parent()


def kill_all(running: Running) -> None:
    running.kill_all()


def moments(name: str, count: int) -> list[int]:
    """After how many requests of the whole crawl to kill; about 250 are needed."""
    return sorted(random.Random(name).sample(range(10, 220), count))


class Killed:
    """A crawl that was killed again and again, and then ended by itself."""

    def __init__(self, space: Path, kill: Kill, after: list[int]) -> None:
        self.folder = space / "crawl"
        self.killed_at: list[float] = []
        with WitnessedWeb(PLAN, space) as web:
            self.ended = self._crawl(web, kill, after)
            self.requests = web.requests
            self.truth = web.truth()

    def _crawl(self, web: WitnessedWeb, kill: Kill, after: list[int]) -> Ended:
        running = start(web, self.folder, *web.seeds, **SETTINGS)
        try:
            for count in after:
                web.wait_for_requests(count)
                self.killed_at.append(time.monotonic())
                kill(running)
                if running.process.poll() is not None:
                    running = start(web, self.folder, *web.seeds, **SETTINGS)
            return running.end()
        finally:
            running.__exit__()

    def judge(self) -> Verdict:
        return judge(
            self.truth, self.requests, self.folder, delay_seconds=DELAY_SECONDS, tries=2, killed_at=self.killed_at
        )


def assert_nothing_lost(killed: Killed, in_flight: int, record: Callable[[str, object], None]) -> None:
    verdict = killed.judge()
    figures = f"{verdict.extra_requests} extra requests, {verdict.extra_rows} extra rows after {killed.killed_at}"
    assert killed.ended.exit_code == 0, killed.ended.said
    assert verdict.faults() == {}, figures
    assert verdict.extra_requests <= in_flight, figures
    assert verdict.extra_rows == 0, figures
    summary = killed.ended.summary
    assert summary["pages"] == sum(killed.truth.pages[url].status == 200 for url in killed.truth.reachable)
    assert (summary["queued"], summary["delayed"], summary["crashed"]) == (0, 0, 0)
    kills = len(killed.killed_at)
    text = f"{kills} kills: 0 of {len(killed.truth.reachable)} URLs lost, {verdict.extra_requests} extra requests"
    for row, figure in (("G1", text), ("G3", text), ("F2", text), ("G6", f"smallest gap {verdict.smallest_gap:.3f} s")):
        record(row, figure if row != "G6" else f"{figure} of {DELAY_SECONDS} s over {kills} kills")


KINDS = [
    pytest.param(kill_one_worker, CONNECTIONS, id="worker"),
    pytest.param(kill_parent, WORKERS * CONNECTIONS, id="parent"),
    pytest.param(kill_all, WORKERS * CONNECTIONS, id="everything"),
]


@pytest.mark.parametrize(("kill", "in_flight"), KINDS)
def test_two_kills_in_one_crawl_lose_nothing(space: Path, kill: Kill, in_flight: int, record_property: Any) -> None:
    after = moments(f"quick {kill.__name__}", 2)
    killed = Killed(space, kill, after)
    assert_nothing_lost(killed, len(after) * in_flight, record_property)
    if kill is kill_one_worker:
        assert killed.ended.summary["worker_restarts"] == len(after)


@pytest.mark.full
@pytest.mark.parametrize("number", range(KILLS))
@pytest.mark.parametrize(("kill", "in_flight"), KINDS)
def test_a_kill_at_any_moment_loses_nothing(
    space: Path, kill: Kill, in_flight: int, number: int, record_property: Any
) -> None:
    killed = Killed(space, kill, [moments(kill.__name__, KILLS)[number]])
    assert_nothing_lost(killed, in_flight, record_property)


@pytest.mark.full
@pytest.mark.parametrize(("kill", "in_flight"), KINDS)
def test_ten_kills_in_one_crawl_lose_nothing(space: Path, kill: Kill, in_flight: int, record_property: Any) -> None:
    killed = Killed(space, kill, moments(f"ten {kill.__name__}", KILLS))
    assert_nothing_lost(killed, KILLS * in_flight, record_property)


@pytest.mark.parametrize("kill", [kill_parent, kill_all])
def test_a_pause_longer_than_a_restart_is_kept_over_it(space: Path, kill: Kill) -> None:
    """Half of the hosts answer at once, half of them are being waited for when the kill comes."""
    pause_seconds = 5.0
    plan = WebPlan.named("clean", hosts=8, pages_per_host=3, slow_host_share=0.5, slow_seconds=2.0)
    quick = sum(Layout(plan).host(number).latency_seconds == 0 for number in range(plan.hosts))
    settings = {**SETTINGS, "min_delay_seconds": pause_seconds, "workers": 1}
    with WitnessedWeb(plan, space) as web:
        seeds = [url for url in web.truth().pages if url.endswith("/")]
        with start(web, space / "crawl", *seeds, **settings) as running:
            web.wait_for_requests(quick)
            killed_at = time.monotonic()
            kill(running)
        before = {request.host for request in web.requests}
        with start(web, space / "crawl", **settings) as running:
            web.wait_for(lambda heard: all(sum(each.host == host for each in heard) > 1 for host in before))
        gaps = evidence.gaps(web.requests, [killed_at])
    assert any(request.finished_at is None for request in web.requests), "some were under way"
    assert evidence.too_close(gaps, {}, pause_seconds) == []


def test_a_kill_during_recovery_loses_nothing(space: Path) -> None:
    folder = space / "crawl"
    with WitnessedWeb(PLAN, space) as web:
        with start(web, folder, *web.seeds, **SETTINGS) as running:
            web.wait_for_requests(100)
            running.kill_all()
        # Dies while it looks at what the first one left: at the latest when it has repaired it.
        for delay in range(3):
            with start(web, folder, **SETTINGS) as running:
                await_first_sign(running, delay)
                running.kill_all()
        ended = crawl(web, folder, **SETTINGS)
        verdict = judge(web.truth(), web.requests, folder, delay_seconds=DELAY_SECONDS, tries=2)
    assert ended.exit_code == 0
    assert verdict.faults() == {}


def await_first_sign(running: Running, signs: int) -> None:
    """Return when the parent has opened the lock (0), its frontier (1) or started a worker (2)."""
    descriptors = Path(f"/proc/{running.process.pid}/fd")
    while running.process.poll() is None:
        names = [_target(entry) for entry in descriptors.iterdir()]
        has_lock = any(name.endswith("/crawl/lock") for name in names)
        has_frontier = any("/crawl/frontier/" in name for name in names)
        if [has_lock, has_frontier, bool(running.workers())][signs]:
            return


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except FileNotFoundError:
        return ""
