"""The frontier on Redis keeps the contract: on one server, and on a cluster of three primaries with replicas."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from lycosa.frontier.redis.frontier import RedisFrontier
from lycosa.frontier.rules import FrontierRules

from .contract import FrontierContract
from .redis_servers import RedisCluster, RedisServer
from .stage import FakeClock, OpenFrontier

numbers = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(scope="module")
def cluster() -> Iterator[RedisCluster]:
    with RedisCluster() as cluster:
        yield cluster


class _Opened:
    """Frontiers that are closed when the test is over."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._frontiers: list[RedisFrontier] = []

    def __call__(self, rules: FrontierRules, clock: FakeClock) -> RedisFrontier:
        separator = "&" if "?" in self._address else "?"
        address = f"{self._address}{separator}crawl=test{next(numbers)}"
        self._frontiers.append(RedisFrontier(address, rules, fake_clock=clock))
        return self._frontiers[-1]

    async def close(self) -> None:
        for frontier in self._frontiers:
            await frontier.close()


class SpreadContract(FrontierContract):
    """Over many partitions, of which each decides for itself: what is found goes to its own before visits are settled,
    and none knows what another could give. One partition keeps these promises, too (see below).
    """

    test_what_is_settled_together_does_not_take_the_place_of_each_other = None  # type: ignore[assignment]
    test_a_host_that_begins_to_rest_makes_room_by_what_has_just_joined_its_queue = None  # type: ignore[assignment]
    test_a_busy_balanced_worker_begins_with_the_domain_it_has_had_least = None  # type: ignore[assignment]
    # What waits until nothing else is left waits for its own partition.
    test_what_a_put_off_visit_discovered_is_added = None  # type: ignore[assignment]
    test_what_waits_comes_when_nothing_else_is_left_anywhere_the_oldest_first = None  # type: ignore[assignment]
    test_a_lease_that_is_out_may_lead_further = None  # type: ignore[assignment]
    test_a_host_that_rests_for_long_is_waited_for = None  # type: ignore[assignment]
    test_what_is_added_later_goes_first = None  # type: ignore[assignment]
    test_more_hosts_wait_than_have_places = None  # type: ignore[assignment]


class TestRedisFrontier(SpreadContract):
    @pytest.fixture
    async def open_frontier(self, server: RedisServer) -> AsyncIterator[OpenFrontier]:
        opened = _Opened(server.address)
        yield opened
        await opened.close()


class TestRedisFrontierOfOnePartition(FrontierContract):
    @pytest.fixture
    async def open_frontier(self, server: RedisServer) -> AsyncIterator[OpenFrontier]:
        opened = _Opened(server.address + "?partitions=1")
        yield opened
        await opened.close()


class TestRedisClusterFrontier(SpreadContract):
    @pytest.fixture
    async def open_frontier(self, cluster: RedisCluster) -> AsyncIterator[OpenFrontier]:
        opened = _Opened(cluster.address)
        yield opened
        await opened.close()
