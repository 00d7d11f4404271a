"""Whatever is killed, stopped or cut off: machines on one Redis lose nothing, and an audit of all of them proves it.

All faults: `pytest tests/frontier/test_redis_faults.py -m 'full or not full'`.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from ..crawl.command import Running
from ..crawl.witness import WitnessedWeb
from .cut_network import cut_network
from .redis_servers import RedisCluster, RedisServer, WatchedPair, wait_until
from .together import CONNECTIONS, PLAN, Machines, crawl_together

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
WORKERS = 2
# What one machine may have under way.
IN_FLIGHT = WORKERS * CONNECTIONS


def send(running: Running, number: signal.Signals) -> None:
    for pid in running.processes():
        os.kill(pid, number)


# ---- machines


@pytest.mark.full
def test_a_killed_worker_is_replaced(space: Path) -> None:
    def kill(machines: Machines) -> None:
        machines.strike()
        os.kill(machines["one"].workers()[0], signal.SIGKILL)

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, kill)
        crawled.assert_finished()
        crawled.assert_complete(extra=CONNECTIONS)
    assert crawled.ends["one"].summary["worker_restarts"] == 1


# It also gives up the contents that its past had claimed: nobody waits until those leases would have ended.
def test_a_killed_machine_that_comes_back_takes_its_place(space: Path) -> None:
    def kill(machines: Machines) -> None:
        machines.strike()
        machines["two"].kill_all()
        machines.start("two")

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, kill)
        crawled.assert_finished()
        crawled.assert_complete(extra=IN_FLIGHT)


@pytest.mark.full
def test_others_go_on_with_the_work_of_a_machine_that_is_gone(space: Path) -> None:
    def kill(machines: Machines) -> None:
        machines.strike()
        machines["two"].kill_all()
        machines.end("one", "two")
        # Its files are put in order by its own next start; there is nothing left to do for it.
        machines.start("two")
        machines.end("two")

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, kill, silence_seconds=10.0)
        crawled.assert_finished()
        crawled.assert_complete(extra=IN_FLIGHT)


@pytest.mark.full
def test_a_worker_that_stands_still_past_its_leases_changes_nothing(space: Path) -> None:
    def stop(machines: Machines) -> None:
        machines.strike()
        os.kill(machines["one"].workers()[0], signal.SIGSTOP)

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, stop, lease_seconds=8.0)
        crawled.assert_finished()
        crawled.assert_complete(extra=CONNECTIONS)
    assert crawled.ends["one"].summary["worker_restarts"] == 1


@pytest.mark.full
def test_a_machine_that_stands_still_until_all_is_done_changes_nothing(space: Path) -> None:
    def stop(machines: Machines) -> None:
        machines.strike()
        send(machines["two"], signal.SIGSTOP)
        machines.wait_for_all()
        send(machines["two"], signal.SIGCONT)

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, stop, lease_seconds=12.0, silence_seconds=10.0)
        crawled.assert_finished()
        crawled.assert_complete(extra=IN_FLIGHT)


@pytest.mark.full
def test_machines_come_and_go(space: Path) -> None:
    def change(machines: Machines) -> None:
        machines.start("three")
        machines.wait_for_requests(4)
        machines["one"].signal(signal.SIGINT)
        machines.end("one")
        machines.wait_for_requests(5)
        machines.strike()
        machines["two"].kill_all()
        machines.start("four")
        machines.wait_for_requests(6)
        machines.start("two")

    with RedisServer() as server:
        crawled = crawl_together(space, server.address, change)
        crawled.assert_finished("two", "three", "four")
        crawled.assert_complete(extra=IN_FLIGHT)
    assert crawled.ends["one"].exit_code == 3, "stopped"


# ---- the store


@pytest.mark.full
def test_a_killed_redis_is_waited_for(space: Path) -> None:
    with RedisServer(*DURABLE) as server:

        def kill(machines: Machines) -> None:
            for per_host in (3, 5, 7):
                machines.wait_for_requests(per_host)
                server.kill()
                time.sleep(1.0)
                server.start()

        crawled = crawl_together(space, server.address, kill)
        crawled.assert_finished()
        crawled.assert_complete()


def test_vanished_data_end_the_crawl_as_incomplete(space: Path) -> None:
    with RedisServer() as server, WitnessedWeb(PLAN, space) as web:
        machines = Machines(space, web, server.address)
        try:
            machines.start("one")
            machines.start("two")
            machines.wait_for_requests(3)
            server.client().flushall()
            machines.end("one", "two")
        finally:
            machines.kill()
    assert [end.exit_code for end in machines.ended.values()] == [1, 1]
    assert all("INCOMPLETE" in end.said for end in machines.ended.values())
    assert all("finished" not in end.said for end in machines.ended.values())


@pytest.mark.full
@pytest.mark.parametrize("is_lagging", [False, True], ids=["", "with a lagging replica"])
def test_sentinel_fails_over_and_nothing_is_lost(space: Path, is_lagging: bool) -> None:
    with WatchedPair() as pair:

        def kill(machines: Machines) -> None:
            if is_lagging:
                # What the primary accepts from now on, the replica does not hear.
                os.kill(pair.replica.pid, signal.SIGSTOP)
                time.sleep(0.5)
            pair.primary.kill()
            if is_lagging:
                os.kill(pair.replica.pid, signal.SIGCONT)
            wait_until(pair.has_failed_over, 60)
            # Until it is back as a replica nothing counts: nobody could confirm it.
            pair.primary.start()

        crawled = crawl_together(space, pair.address + "?replicas=1", kill)
        crawled.assert_finished()
        crawled.assert_complete()


@pytest.mark.full
def test_a_cluster_fails_over_and_nothing_is_lost(space: Path) -> None:
    with RedisCluster() as cluster:

        def kill(machines: Machines) -> None:
            cluster.servers[1].kill()
            wait_until(lambda: cluster.servers[4].client().info()["role"] == "master")
            cluster.servers[1].start()

        crawled = crawl_together(space, cluster.address, kill)
        crawled.assert_finished()
        crawled.assert_complete()


# ---- the network


@pytest.mark.full
@pytest.mark.parametrize("is_long", [False, True], ids=["for a moment", "until all is done"])
def test_a_machine_that_is_cut_off_changes_nothing(space: Path, is_long: bool) -> None:
    with cut_network() as network:
        first, second = network.addresses
        open_to_both = ("--bind", "0.0.0.0", "--protected-mode", "no")
        with RedisServer(*DURABLE, *open_to_both, host=first, prefix=network.prefix) as server:

            def cut(machines: Machines) -> None:
                machines["two"].signal(signal.SIGINT)
                machines.end("two")
                machines.start("two", frontier=server.address.replace(first, second))
                machines.wait_for_requests(5)
                network.cut(1)
                if is_long:
                    machines.wait_for_all()
                else:
                    time.sleep(2.0)
                network.mend(1)
                machines.end("two")

            crawled = crawl_together(space, server.address, cut, silence_seconds=10.0, lease_seconds=30.0)
            crawled.assert_finished()
            crawled.assert_complete(extra=IN_FLIGHT if is_long else 0)
