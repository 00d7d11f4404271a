"""The resolver against a name server of our own: caching, joining, failing, staying honest about names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from lycosa.errors import NoSuchName, SettingsError, Unreachable
from lycosa.fetch.dns import (
    MAX_PREFETCHES_WAITING,
    MAX_STALE_SECONDS,
    MAX_TTL_SECONDS,
    NEGATIVE_SECONDS,
    Resolver,
)
from lycosa.model import Failure, Reason, Refusal

from .nameserver import SERVFAIL, NameServer


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


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
    resolver = Resolver([await server.start()], clock)
    yield resolver
    await resolver.close()


@pytest.fixture
async def impatient(server: NameServer, clock: Clock) -> AsyncIterator[Resolver]:
    resolver = Resolver([await server.start()], clock, timeout_seconds=0.3, tries=1)
    yield resolver
    await resolver.close()


async def failure_of(resolver: Resolver, host: str) -> Unreachable:
    with pytest.raises(Unreachable) as failure:
        await resolver.addresses(host)
    assert failure.value.reason is Failure.DNS
    assert not failure.value.sent
    return failure.value


async def test_a_name_is_asked_once_and_then_known(server: NameServer, resolver: Resolver) -> None:
    server.records["a.test", "A"] = ["192.0.2.1", "192.0.2.2"]
    assert resolver.known("a.test") == ()
    assert await resolver.addresses("a.test") == ("192.0.2.1", "192.0.2.2")
    assert await resolver.addresses("A.Test.") == ("192.0.2.1", "192.0.2.2")
    assert resolver.known("a.test") == ("192.0.2.1", "192.0.2.2")
    assert server.queries == {("a.test", "A"): 1}


async def test_ipv6_is_asked_for_only_where_there_is_no_ipv4(server: NameServer, resolver: Resolver) -> None:
    server.records["six.test", "AAAA"] = ["2001:db8::1"]
    assert await resolver.addresses("six.test") == ("2001:db8::1",)
    assert server.queries == {("six.test", "A"): 1, ("six.test", "AAAA"): 1}


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "2001:db8::1"])
async def test_literal_addresses_need_no_query(server: NameServer, resolver: Resolver, host: str) -> None:
    assert await resolver.addresses(host) == (host.strip("[]"),)
    assert not server.queries


@pytest.mark.parametrize("host", ["localhost", "localhost.", "foo.localhost.", "127.1", "0x7f000001", "2130706433"])
async def test_odd_names_are_asked_of_dns_and_of_nothing_else(
    server: NameServer, resolver: Resolver, host: str
) -> None:
    await failure_of(resolver, host)
    assert server.queries[host.removesuffix("."), "A"] == 1


@pytest.mark.parametrize("host", ["", ".", "a..b", "x" * 64 + ".test", ".".join(["long"] * 60), "exämple.test", "a b"])
async def test_impossible_names_fail_like_unknown_ones(resolver: Resolver, host: str) -> None:
    await failure_of(resolver, host)


async def test_unknown_names_are_remembered_for_five_minutes(
    server: NameServer, resolver: Resolver, clock: Clock
) -> None:
    await failure_of(resolver, "no.test")
    clock.now += NEGATIVE_SECONDS - 1
    await failure_of(resolver, "no.test")
    assert server.queries["no.test", "A"] == 1
    clock.now += 2
    server.records["no.test", "A"] = ["192.0.2.1"]
    assert await resolver.addresses("no.test") == ("192.0.2.1",)


async def test_a_name_that_led_nowhere_can_be_looked_for_again_at_once(server: NameServer, resolver: Resolver) -> None:
    server.records["a.test", "A"] = ["192.0.2.1"]
    await resolver.addresses("a.test")
    await failure_of(resolver, "no.test")
    for host in ("No.test.", "a.test", "never-asked.test", "127.0.0.1", ""):
        resolver.forget_absence(host)
    await failure_of(resolver, "no.test")
    await resolver.addresses("a.test")
    assert server.queries == {("no.test", "A"): 2, ("a.test", "A"): 1}


async def test_a_name_without_an_address_is_told_from_servers_that_fail(server: NameServer, resolver: Resolver) -> None:
    server.records["text-only.test", "TXT"] = []
    for host in ("no.test", "text-only.test", "a..b"):
        failure = await failure_of(resolver, host)
        assert isinstance(failure, NoSuchName)
        assert failure.in_short == Reason(Refusal.NAME)
    server.failure = SERVFAIL
    failure = await failure_of(resolver, "broken.test")
    assert not isinstance(failure, NoSuchName)
    assert failure.in_short.code == Failure.DNS


@pytest.mark.parametrize(("ttl", "known_seconds"), [(0, 60.0), (2**31 - 1, MAX_TTL_SECONDS)])
async def test_the_time_to_live_is_clamped(
    server: NameServer, resolver: Resolver, clock: Clock, ttl: int, known_seconds: float
) -> None:
    server.records["a.test", "A"], server.ttl = ["192.0.2.1"], ttl
    await resolver.addresses("a.test")
    clock.now += known_seconds - 1
    assert resolver.known("a.test")
    clock.now += 2
    assert not resolver.known("a.test")


async def test_a_changed_address_is_seen_after_the_time_to_live(
    server: NameServer, resolver: Resolver, clock: Clock
) -> None:
    server.records["a.test", "A"] = ["192.0.2.1"]
    await resolver.addresses("a.test")
    server.records["a.test", "A"] = ["192.0.2.9"]
    clock.now += 61
    assert await resolver.addresses("a.test") == ("192.0.2.9",)


def silence(server: NameServer) -> None:
    server.is_silent = True


def fail(server: NameServer) -> None:
    server.failure = SERVFAIL


@pytest.mark.parametrize("break_down", [silence, fail])
async def test_an_old_answer_serves_while_the_server_fails(
    server: NameServer, impatient: Resolver, clock: Clock, break_down: Callable[[NameServer], None]
) -> None:
    server.records["a.test", "A"] = ["192.0.2.1"]
    await impatient.addresses("a.test")
    break_down(server)
    clock.now += 61
    assert await impatient.addresses("a.test") == ("192.0.2.1",)
    clock.now += MAX_STALE_SECONDS + 1
    await failure_of(impatient, "a.test")


async def test_a_server_failure_is_not_remembered(server: NameServer, resolver: Resolver) -> None:
    server.records["a.test", "A"] = ["192.0.2.1"]
    server.failure = SERVFAIL
    await failure_of(resolver, "a.test")
    server.failure = 0
    assert await resolver.addresses("a.test") == ("192.0.2.1",)


async def test_a_silent_server_gives_a_failure(server: NameServer, impatient: Resolver) -> None:
    server.is_silent = True
    assert "imeout" in (await failure_of(impatient, "a.test")).detail


async def test_look_ups_of_one_name_are_joined(server: NameServer, resolver: Resolver) -> None:
    server.records["a.test", "A"] = ["192.0.2.1"]
    answers = await asyncio.gather(*(resolver.addresses("a.test") for _ in range(50)))
    assert set(answers) == {("192.0.2.1",)}
    assert server.queries == {("a.test", "A"): 1}


async def test_a_cancelled_look_up_does_not_disturb_the_others(server: NameServer, clock: Clock) -> None:
    resolver = Resolver([await server.start()], clock)
    server.records["a.test", "A"] = ["192.0.2.1"]
    server.gate.clear()
    first, second = (asyncio.create_task(resolver.addresses("a.test")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    server.gate.set()
    assert await second == ("192.0.2.1",)
    assert first.cancelled()
    await resolver.close()


async def test_prefetch_makes_names_known_and_never_raises(server: NameServer, resolver: Resolver) -> None:
    names = [f"h{n}.test" for n in range(200)]
    server.records = {(name, "A"): ["192.0.2.1"] for name in names}
    await resolver.prefetch([*names, "missing.test", "127.0.0.1", "", "a..b"])
    assert all(resolver.known(name) for name in names)
    await resolver.prefetch(names)
    assert set(server.queries.values()) == {1}


async def test_names_that_would_wait_too_long_are_not_prefetched(server: NameServer, resolver: Resolver) -> None:
    server.gate.clear()
    hosts = [f"h{number}.test" for number in range(5000)]
    prefetches = [asyncio.create_task(resolver.prefetch(hosts[start : start + 500])) for start in range(0, 5000, 500)]
    # What finds no room ends at once, while the rest still waits for the server.
    await asyncio.wait(prefetches[2:])
    assert not prefetches[0].done()
    server.gate.set()
    await asyncio.wait(prefetches)
    assert len(server.queries) == MAX_PREFETCHES_WAITING
    await resolver.prefetch(hosts[-10:])
    assert len(server.queries) == MAX_PREFETCHES_WAITING + 10


async def test_the_memory_of_names_is_bounded(server: NameServer, clock: Clock) -> None:
    resolver = Resolver([await server.start()], clock, max_names=10)
    server.records = {(f"h{n}.test", "A"): ["192.0.2.1"] for n in range(30)}
    for n in range(30):
        await resolver.addresses(f"h{n}.test")
        resolver.known("h0.test")
    assert sum(bool(resolver.known(f"h{n}.test")) for n in range(30)) == 10
    assert resolver.known("h0.test"), "what is used stays"
    await resolver.close()


async def test_close_ends_look_ups_under_way(server: NameServer, clock: Clock) -> None:
    resolver = Resolver([await server.start()], clock, timeout_seconds=60)
    server.gate.clear()
    waiting = asyncio.create_task(resolver.addresses("a.test"))
    while not server.queries:
        await asyncio.sleep(0)
    await resolver.close()
    with pytest.raises(Unreachable):
        await waiting


@pytest.mark.parametrize("text", ["", "dns.test", "127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1:x", "::1:53x", "1.2.3"])
def test_a_bad_server_is_a_settings_error(text: str) -> None:
    with pytest.raises(SettingsError, match="dns_servers"):
        Resolver([text])


@pytest.mark.parametrize("text", ["127.0.0.1", "127.0.0.1:5353", "::1", "[::1]:5353"])
def test_servers_may_have_a_port(text: str) -> None:
    Resolver([text])
