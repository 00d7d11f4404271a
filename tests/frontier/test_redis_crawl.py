"""Whole crawls from several commands on one Redis: every page once, no host asked too soon, whatever is killed."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb import LoggedRequest, Truth, WebPlan

from ..crawl import evidence
from ..crawl.command import Ended, Running, start
from ..crawl.witness import WitnessedWeb
from .redis_servers import RedisCluster, RedisServer, needs_redis, wait_until

# Machines watch each other by the real clock, so a machine under load may be taken for dead: not for a quick run.
pytestmark = [needs_redis, pytest.mark.full]

DELAY_SECONDS = 0.15
CONNECTIONS = 8
SETTINGS: dict[str, Any] = {
    "workers": 2,
    "connections": CONNECTIONS,
    "min_delay_seconds": DELAY_SECONDS,
    "max_backoff_seconds": 1.0,
    "circuit_seconds": 1.0,
    "lease_seconds": 30.0,
    "max_wait_seconds": 60.0,
}
PLAN = WebPlan.named(
    "clean",
    hosts=24,
    pages_per_host=12,
    crawl_delay_share=0.0,
    slow_host_share=0.0,
    changes_per_day=(0.0,),
    is_prerendered=True,
)


@pytest.fixture
def space() -> Iterator[Path]:
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="lycosa-crawl-", dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@dataclass
class Crawled:
    """What two machines did together."""

    ends: list[Ended]
    folders: list[Path]
    requests: list[LoggedRequest]
    truth: Truth
    killed_at: list[float]

    def asked(self) -> Counter[str]:
        port = int(self.truth.seeds[0].split("/")[2].rpartition(":")[2])
        found = evidence.requested(self.requests, port)
        return Counter({url: times for url, times in found.items() if url in self.truth.pages})

    def assert_complete(self, extra: int = 0) -> None:
        asked = self.asked()
        assert sorted(url for url in self.truth.reachable if not asked[url]) == []
        assert sum(asked.values()) - len(asked) <= extra
        assert evidence.too_close(evidence.gaps(self.requests, self.killed_at), {}, DELAY_SECONDS) == []
        answered = {url for url in self.truth.reachable if self.truth.pages[url].status == 200}
        rows = [row for folder in self.folders for row in evidence.pages(folder)]
        assert answered <= {row["url"] for row in rows if row["outcome"] in evidence.KEPT}
        assert all(evidence.invalid_warcs(folder) == [] for folder in self.folders)


Disturb = Callable[[list[Running], WitnessedWeb], None]


def crawl_together(space: Path, address: str, disturb: Disturb | None = None, **settings: Any) -> Crawled:
    folders = [space / "one", space / "two"]
    killed_at: list[float] = []
    with WitnessedWeb(PLAN, space) as web:
        chosen = {**SETTINGS, **settings, "frontier": address}
        running = [start(web, folder, *web.seeds, **chosen) for folder in folders]
        try:
            if disturb:
                web.wait_for_requests(60)
                killed_at.append(time.monotonic())
                disturb(running, web)
                for place, folder in enumerate(folders):
                    if running[place].process.poll() is not None:
                        running[place] = start(web, folder, *web.seeds, **chosen)
            ends = [each.end() for each in running]
        finally:
            for each in running:
                each.__exit__()
        return Crawled(ends, folders, web.requests, web.truth(), killed_at)


def assert_both_finished(ends: Sequence[Ended]) -> None:
    words = [[line for line in end.said.splitlines() if not line.startswith("{")] for end in ends]
    assert [(end.exit_code, end.summary.get("ending")) for end in ends] == [(0, "finished")] * 2, words


def test_two_commands_crawl_every_page_once(space: Path) -> None:
    with RedisServer() as server:
        crawled = crawl_together(space, server.address)
    assert_both_finished(crawled.ends)
    crawled.assert_complete()
    assert all(evidence.pages(folder) for folder in crawled.folders), "both had something to do"


def test_two_commands_share_one_page_limit(space: Path) -> None:
    with RedisServer() as server:
        crawled = crawl_together(space, server.address, max_pages=41)
    assert_both_finished(crawled.ends)
    kept = [row for folder in crawled.folders for row in evidence.pages(folder) if row["outcome"] in evidence.KEPT]
    assert len(kept) == 41
    assert {end.summary["pages"] for end in crawled.ends} == {41}


def test_a_killed_worker_is_replaced(space: Path) -> None:
    def kill(running: list[Running], web: WitnessedWeb) -> None:
        os.kill(running[0].workers()[0], signal.SIGKILL)

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, kill)
    assert_both_finished(crawled.ends)
    crawled.assert_complete(extra=CONNECTIONS)


def test_a_killed_machine_that_comes_back_takes_its_place(space: Path) -> None:
    def kill(running: list[Running], web: WitnessedWeb) -> None:
        running[1].kill_all()

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, kill)
    assert_both_finished(crawled.ends)
    crawled.assert_complete(extra=2 * CONNECTIONS)


def test_a_killed_redis_is_waited_for(space: Path) -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:

        def kill(running: list[Running], web: WitnessedWeb) -> None:
            server.kill()
            time.sleep(1.0)
            server.start()

        crawled = crawl_together(space, server.address, kill)
    assert_both_finished(crawled.ends)
    # Leases whose answer was lost expire; their pages were not asked for.
    crawled.assert_complete()


def test_vanished_data_end_the_crawl_as_incomplete(space: Path) -> None:
    with RedisServer() as server:

        def flush(running: list[Running], web: WitnessedWeb) -> None:
            server.client().flushall()
            for each in running:
                each.process.wait(60)

        folder = space / "one"
        with WitnessedWeb(PLAN, space) as web:
            running = start(web, folder, *web.seeds, **SETTINGS, frontier=server.address)
            web.wait_for_requests(60)
            flush([running], web)
            ended = running.end()
    assert ended.exit_code == 1
    assert "INCOMPLETE" in ended.said


def test_a_cluster_fails_over_and_nothing_is_lost(space: Path) -> None:
    with RedisCluster() as cluster:

        def kill(running: list[Running], web: WitnessedWeb) -> None:
            cluster.servers[1].kill()
            wait_until(lambda: cluster.servers[4].client().info()["role"] == "master")
            # Until it is back as a replica nothing counts: nobody could confirm it.
            cluster.servers[1].start()

        crawled = crawl_together(space, cluster.address, kill)
    assert_both_finished(crawled.ends)
    crawled.assert_complete()
