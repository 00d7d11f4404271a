"""Whatever is killed, stopped or cut off: two machines on Redis lose nothing, and an audit of both proves it.

All of them with `pytest tests/frontier/test_redis_faults.py -m 'full or not full'`.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from ..crawl.command import Running, start
from ..crawl.witness import WitnessedWeb
from .redis_servers import RedisCluster, RedisServer, needs_redis, wait_until
from .together import CONNECTIONS, PLAN, SETTINGS, assert_both_finished, crawl_together

pytestmark = needs_redis


def test_a_killed_worker_is_replaced(space: Path) -> None:
    def kill(running: list[Running], web: WitnessedWeb) -> None:
        os.kill(running[0].workers()[0], signal.SIGKILL)

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, kill)
    assert_both_finished(crawled.ends)
    crawled.assert_complete(extra=CONNECTIONS)


# A content that the dead machine had claimed is waited for until its lease would have ended.
@pytest.mark.full
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
            web.wait_for_requests(48)
            flush([running], web)
            ended = running.end()
    assert ended.exit_code == 1
    assert "INCOMPLETE" in ended.said


@pytest.mark.full
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
