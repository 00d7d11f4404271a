"""Whether a host or the network is to blame, found out without asking anybody who has no part in the crawl."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from lycosa.errors import NoNetwork, Unreachable
from lycosa.fetch.connectivity import DOUBT_SECONDS, Connectivity
from lycosa.fetch.dns import MAX_WITNESSES, Resolver
from lycosa.model import Failure

from .nameserver import NOERROR, SERVFAIL, NameServer
from .test_dns import Clock

DOWN = Unreachable(Failure.CONNECT, "Connection timed out", sent=False)


@pytest.fixture
async def server() -> AsyncIterator[NameServer]:
    server = NameServer()
    yield server
    server.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def resolver(server: NameServer, clock: Clock) -> AsyncIterator[Resolver]:
    resolver = Resolver([await server.start()], clock, timeout_seconds=0.3, tries=1)
    yield resolver
    await resolver.close()


async def found(resolver: Resolver, server: NameServer, *hosts: str) -> None:
    for host in hosts:
        server.records[host, "A"] = ["192.0.2.1"]
        await resolver.addresses(host)
    server.queries.clear()


async def test_only_names_below_hosts_of_the_crawl_are_asked_for(
    server: NameServer, resolver: Resolver, clock: Clock
) -> None:
    await found(resolver, server, "a.test", "b.example", "www.c.example")
    clock.now += 1
    assert await resolver.is_answered(since=clock.now)
    ((name, _),) = server.queries
    assert name.endswith(".www.c.example")


async def test_zones_that_fail_prove_nothing_while_another_answers(
    server: NameServer, resolver: Resolver, clock: Clock
) -> None:
    hosts = [f"www.{letter}.test" for letter in "abcdef"]
    await found(resolver, server, *hosts, "other.f.test")
    server.failure = SERVFAIL
    clock.now += 1
    assert not await resolver.is_answered(since=clock.now)
    zones = {".".join(name.split(".")[1:]) for name, _ in server.queries}
    assert zones == {"other.f.test", "www.e.test", "www.d.test"}
    assert len(zones) == MAX_WITNESSES
    server.failure = NOERROR
    assert await resolver.is_answered(since=clock.now)


async def test_many_who_wonder_at_once_ask_once(server: NameServer, resolver: Resolver, clock: Clock) -> None:
    await found(resolver, server, "a.test")
    clock.now += 1
    assert all(await asyncio.gather(*[resolver.is_answered(since=clock.now) for _ in range(50)]))
    assert server.queries.total() == 1


async def test_a_crawl_that_found_nobody_asks_nobody(server: NameServer, resolver: Resolver, clock: Clock) -> None:
    server.failure = SERVFAIL
    with pytest.raises(Unreachable):
        await resolver.addresses("a.test")
    assert not await resolver.is_answered(since=clock.now)
    assert set(server.queries) == {("a.test", "A")}


async def test_a_server_that_only_ever_failed_is_taken_at_its_word_after_a_while(
    server: NameServer, resolver: Resolver, clock: Clock
) -> None:
    connectivity = Connectivity(resolver)
    server.failure = SERVFAIL

    async def blamed() -> bool:
        trial = connectivity.begin()
        with pytest.raises(Unreachable) as failure:
            await resolver.addresses("a.test")
        try:
            await connectivity.check("a.test", failure.value, trial)
        except NoNetwork:
            return False
        return True

    assert [await blamed(), await blamed()] == [False, False]
    clock.now += DOUBT_SECONDS + 1
    # The visit that began while nobody could be reached proves nothing yet.
    assert [await blamed(), await blamed()] == [False, True]


async def test_a_silent_server_is_waited_for_however_long_it_takes(
    server: NameServer, resolver: Resolver, clock: Clock
) -> None:
    connectivity = Connectivity(resolver)
    server.is_silent = True
    for _ in range(3):
        trial = connectivity.begin()
        with pytest.raises(Unreachable) as failure:
            await resolver.addresses("a.test")
        with pytest.raises(NoNetwork):
            await connectivity.check("a.test", failure.value, trial)
        clock.now += 10 * DOUBT_SECONDS


async def test_a_host_that_is_down_is_blamed_where_its_own_zone_answers(
    server: NameServer, resolver: Resolver, clock: Clock
) -> None:
    connectivity = Connectivity(resolver)
    await found(resolver, server, "a.test")
    clock.now += 1
    await connectivity.check("a.test", DOWN, connectivity.begin())
    assert not connectivity.is_cut
    assert all(name.endswith(".a.test") for name, _ in server.queries)
