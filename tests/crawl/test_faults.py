"""Faults of one machine that no signal from outside can time: each is put into the processes themselves."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb import WebPlan

from . import evidence
from .command import crawl, start
from .hooks import install
from .judge import judge
from .test_kill import DELAY_SECONDS, SETTINGS, WORKERS, kill_all, kill_one_worker
from .witness import WitnessedWeb

SIZE: dict[str, Any] = {"hosts": 12, "pages_per_host": 10, "min_page_bytes": 3_000, "max_links": 20}


@pytest.fixture
def web(tmp_path: Path) -> Iterator[WitnessedWeb]:
    with WitnessedWeb(WebPlan.named("clean", is_prerendered=True, **SIZE), tmp_path) as web:
        yield web


# ---- kill -9 at named points of the commit

# Before or after the n-th call of a function the process kills itself, once in a crawl.
KILL = """
module, name, when, count = os.environ["LYCOSA_TEST_POINT"].split()
owner = importlib.import_module(module)
*path, last = name.split(".")
for part in path:
    owner = getattr(owner, part)
real, calls = getattr(owner, last), 0

def strike(now):
    global calls
    calls += now == "before"
    if now == when and calls == int(count):
        try:
            os.close(os.open(os.environ["LYCOSA_TEST_FLAG"], os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

def wrapped(*args, **kwargs):
    strike("before")
    result = real(*args, **kwargs)
    strike("after")
    return result

async def wrapped_async(*args, **kwargs):
    strike("before")
    result = await real(*args, **kwargs)
    strike("after")
    return result

setattr(owner, last, wrapped_async if inspect.iscoroutinefunction(real) else wrapped)
"""

QUICK = [
    ("lycosa.store.journal Journal.commit after 5", "record and row are on disk, the frontier knows nothing"),
    ("lycosa.frontier.rocks.tables RocksTables.write after 20", "the frontier has it, nobody was told"),
]
MORE = [
    ("lycosa.store.warc WarcWriter.commit after 5", "the record is on disk, its row is not"),
    ("lycosa.store.folder_store FolderStore._stage before 5", "everything is in memory"),
    ("lycosa.store.folder_store FolderStore._stage after 5", "everything is in memory, about to be written"),
    ("lycosa.store.warc WarcWriter.commit before 5", "nothing is on disk"),
    ("lycosa.crawl.dispatcher RemoteDispatch.settle before 5", "all is on disk, nothing was sent"),
    ("lycosa.crawl.dispatcher RemoteDispatch.settle after 5", "all is acknowledged"),
    ("lycosa.frontier.rocks.tables RocksTables.write before 20", "the frontier is about to write"),
    ("lycosa.frontier.rocks.database Database.sync before 5", "written and not yet synced"),
    ("lycosa.frontier.rocks.database Database.sync after 5", "synced and not yet acknowledged"),
    ("lycosa.store.tables Part.finish before 1", "a part is complete under its working name"),
    ("lycosa.store.tables Part.finish after 1", "a part has its name, its journal is still there"),
    ("lycosa.store.journal Journal.remove after 1", "the journal of a part is gone"),
    ("lycosa.store.files publish before 2", "a file is about to get its name"),
]


@pytest.mark.parametrize(
    "point",
    [pytest.param(point, id=meaning) for point, meaning in QUICK]
    + [pytest.param(point, id=meaning, marks=pytest.mark.full) for point, meaning in MORE],
)
def test_a_kill_at_a_named_point_of_the_commit_loses_nothing(
    web: WitnessedWeb, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str, record_property: Any
) -> None:
    flag = tmp_path / "struck"
    install(KILL, tmp_path, monkeypatch, LYCOSA_TEST_POINT=point, LYCOSA_TEST_FLAG=str(flag))
    ended = crawl(web, space / "c", *web.seeds, **SETTINGS)
    killed_at = [time.monotonic()]
    if ended.exit_code != 0:
        ended = crawl(web, space / "c", *web.seeds, **SETTINGS)
    assert flag.exists(), "the point was never reached"
    assert ended.exit_code == 0, ended.said
    verdict = judge(web.truth(), web.requests, space / "c", delay_seconds=DELAY_SECONDS, killed_at=killed_at)
    record_property("F3", f"{' '.join(point.split()[1:3])}: 0 lost, {verdict.extra_requests} extra requests")
    assert verdict.faults() == {}
    assert verdict.extra_requests <= WORKERS * SETTINGS["connections"]


# ---- a slow disk, a clock that jumps, no memory

SLOW_SYNC = """
real = os.fdatasync
os.fdatasync = lambda fd: (time.sleep(0.2), real(fd))[1]
"""
CLOCK = """
real = time.time
time.time = lambda: real() + float(open(os.environ["LYCOSA_TEST_CLOCK"]).read())
"""


@pytest.mark.full
def test_a_slow_disk_costs_time_and_nothing_else(
    web: WitnessedWeb, space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(SLOW_SYNC, tmp_path, monkeypatch)
    ended = crawl(web, space / "c", *web.seeds, **SETTINGS)
    verdict = judge(web.truth(), web.requests, space / "c", delay_seconds=DELAY_SECONDS)
    assert ended.exit_code == 0, ended.said
    assert (verdict.faults(), verdict.extra_requests) == ({}, 0)


@pytest.mark.parametrize("kill", [kill_one_worker, pytest.param(kill_all, marks=pytest.mark.full)])
@pytest.mark.parametrize("jump_seconds", [86_400.0, pytest.param(-86_400.0, marks=pytest.mark.full)])
def test_a_clock_that_jumps_changes_no_pause(
    web: WitnessedWeb,
    space: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    jump_seconds: float,
    kill: Any,
    record_property: Any,
) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    install(CLOCK, tmp_path, monkeypatch, LYCOSA_TEST_CLOCK=str(clock))
    with start(web, space / "c", *web.seeds, **SETTINGS) as running:
        web.wait_for_requests(40)
        set_clock(clock, jump_seconds)
        killed_at = [time.monotonic()]
        # Whoever starts now believes the new time.
        kill(running)
        if running.process.poll() is None:
            ended = running.end()
    if kill is kill_all:
        ended = crawl(web, space / "c", **SETTINGS)
    verdict = judge(web.truth(), web.requests, space / "c", delay_seconds=DELAY_SECONDS, killed_at=killed_at)
    for row in ("G12", "F7"):
        record_property(row, f"{jump_seconds:+,.0f} s: smallest gap {verdict.smallest_gap:.3f} s of {DELAY_SECONDS} s")
    assert ended.exit_code == 0, ended.said
    assert verdict.faults() == {}
    # Rules of robots.txt hold for a day: whoever starts a day later reads them again.
    assert verdict.extra_requests <= WORKERS * SETTINGS["connections"] + SIZE["hosts"]


def set_clock(clock: Path, seconds: float) -> None:
    fresh = clock.with_name("fresh")
    fresh.write_text(str(seconds))
    fresh.replace(clock)


def test_a_lack_of_memory_is_no_fault_of_the_pages(space: Path) -> None:
    # Too long for what a process has left over, too short to be a page's own fault.
    size = {**SIZE, "min_page_bytes": 180_000, "max_page_bytes": 200_000}
    with WitnessedWeb(WebPlan.named("clean", is_prerendered=True, **size), space) as web:
        with start(web, space / "c", *web.seeds, **SETTINGS) as running:
            web.wait_for_requests(40)
            for pid in running.workers():
                held = int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
                resource.prlimit(pid, resource.RLIMIT_AS, (held, resource.RLIM_INFINITY))
            ended = running.end()
        verdict = judge(web.truth(), web.requests, space / "c", delay_seconds=DELAY_SECONDS)
    assert ended.exit_code == 0, ended.said
    assert (verdict.faults(), ended.summary["crashed"]) == ({}, 0)
    assert "no memory" in ended.said or ended.summary["worker_restarts"] > 0, "nobody felt it"


# ---- many hosts, one host


@pytest.mark.full
def test_ten_thousand_hosts_at_once_are_all_visited_once(space: Path, record_property: Any) -> None:
    plan = WebPlan.named("clean", hosts=10_000, pages_per_host=1, max_page_bytes=2_000, sitemap_share=0.0)
    with WitnessedWeb(plan, space) as web:
        (space / "seeds").write_text("\n".join(url for url in web.truth().pages if url.endswith("/")))
        seeds = ("--seeds", str(space / "seeds"))
        with start(web, space / "c", *seeds, connections=512, min_delay_seconds=1.0) as running:
            ended = running.end(hang_seconds=600.0)
        verdict = judge(web.truth(), web.requests, space / "c", delay_seconds=1.0)
    record_property("F11", f"{ended.summary['hosts']:,} hosts, 0 lost, {ended.summary['pages_per_second']:.0f} pages/s")
    assert ended.exit_code == 0, ended.said
    assert (verdict.faults(), verdict.extra_requests) == ({}, 0)


@pytest.mark.full
def test_one_hot_host_gets_one_request_at_a_time(space: Path, record_property: Any) -> None:
    plan = WebPlan.named("clean", hosts=1, pages_per_host=150, max_page_bytes=2_000, crawl_delay_share=0.0)
    with WitnessedWeb(plan, space) as web:
        ended = crawl(web, space / "c", *web.seeds, connections=64, min_delay_seconds=0.02)
        verdict = judge(web.truth(), web.requests, space / "c", delay_seconds=0.02)
    record_property("F13", f"{ended.summary['pages']} pages, smallest gap {verdict.smallest_gap:.3f} s of 0.02 s")
    assert ended.exit_code == 0, ended.said
    assert (verdict.faults(), verdict.extra_requests) == ({}, 0)
    assert evidence.left_open(space / "c") == []
