"""The tables on Redis: who is fenced off, what is sent again, what must not be lost, and how small known URLs are."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
from redis.crc import key_slot

from lycosa.errors import BackendLost
from lycosa.frontier.records import State, encode
from lycosa.frontier.redis import channel as channel_module
from lycosa.frontier.redis import connection as connection_module
from lycosa.frontier.redis.address import Server, parse_address
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.known import Buckets
from lycosa.frontier.redis.reader import RedisReader
from lycosa.frontier.redis.tables import SPLITS_AT_ONCE, Channel, NotOwner, RedisTables
from lycosa.frontier.tables import CONTENTS, HISTORY, HOSTS, META, WAITING, Batch

from .proxy import Proxy
from .redis_servers import RedisCluster, RedisServer, WatchedPair, wait_until
from .store_contract import batch_of, key_in, knowing, mark

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
PATIENCE_SECONDS = 60.0


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def proxy(server: RedisServer) -> Iterator[Proxy]:
    with Proxy(server.port) as proxy:
        yield proxy


class Machine:
    """The owner of some partitions."""

    def __init__(self, address: str, fence: bytes, replicas: int) -> None:
        self.connection = Connection(parse_address(address), replicas)
        self.fence = fence
        self.channels: list[Channel] = []
        self.tables: list[RedisTables] = []

    async def take_over(self, partition: int) -> RedisTables:
        tag = self.connection.address.tag(partition)
        await self.connection.command(tag, "SET", f"{tag}f", self.fence)
        if not self.channels or self.connection.address.kind == "cluster":
            self.channels.append(Channel(self.connection, tag))
        self.tables.append(await RedisTables.open(self.channels[-1], partition, self.fence))
        return self.tables[-1]

    async def close(self) -> None:
        for tables in self.tables:
            await tables.close()
        for channel in self.channels:
            await channel.close()
        await self.connection.close()


@asynccontextmanager
async def machine(
    address: str, partitions: int = 1, fence: bytes = b"mine", replicas: int = 0
) -> AsyncIterator[Machine]:
    made = Machine(address, fence, replicas)
    for partition in range(partitions):
        await made.take_over(partition)
    try:
        yield made
    finally:
        await made.close()


def hosts(rows: dict[int, bytes | None], changes: int = 0) -> Batch:
    batch = batch_of(HOSTS, rows)
    if changes:
        batch.put(META, b"state", encode(State(changes=changes)))
    return batch


async def host(tables: RedisTables, number: int) -> bytes | None:
    (value,) = await tables.get(HOSTS, [key_in(HOSTS, number)])
    return value


async def until(is_so: Callable[[], bool]) -> None:
    """Look again until it is so, and let others work meanwhile."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not is_so():
            await asyncio.sleep(0.005)


def take_fence(server: RedisServer, partition: int, value: bytes = b"another's") -> None:
    tag = parse_address(server.address).tag(partition)
    server.client().set(f"{tag}f", value)


# ---- fences


async def test_whoever_lost_a_partition_changes_nothing_in_it(server: RedisServer) -> None:
    async with machine(server.address) as one:
        (tables,) = one.tables
        await tables.write(hosts({1: b"before"}))
        take_fence(server, 0)
        with pytest.raises(NotOwner, match="partition 0 belongs to another machine"):
            await tables.write(hosts({1: b"after"}))
        with pytest.raises(NotOwner):
            await tables.get(HOSTS, [b"x"])
    async with machine(server.address) as two:
        assert await host(two.tables[0], 1) == b"before"


async def test_a_write_that_waits_to_be_sent_is_refused_too(server: RedisServer) -> None:
    async with machine(server.address) as one:
        (tables,) = one.tables
        first, second = tables.write(hosts({1: b"a"})), tables.write(hosts({2: b"b"}))
        take_fence(server, 0)
        for written in (first, second):
            with pytest.raises(NotOwner):
                await written
    async with machine(server.address) as two:
        assert [await host(two.tables[0], number) for number in (1, 2)] == [None, None]


async def test_a_write_that_is_on_its_way_is_refused_too(server: RedisServer, proxy: Proxy) -> None:
    async with machine(proxy.address) as one:
        (tables,) = one.tables
        held = proxy.hold_request("EXEC")
        written = tables.write(hosts({1: b"late"}))
        await until(lambda: held.is_under_way)
        take_fence(server, 0)
        await asyncio.to_thread(held.release)
        with pytest.raises(NotOwner):
            await written
    async with machine(server.address) as two:
        assert await host(two.tables[0], 1) is None


async def test_a_partition_that_is_lost_while_a_full_server_is_waited_for_is_not_written_to(
    server: RedisServer,
) -> None:
    async with machine(server.address) as one:
        server.client().config_set("maxmemory", "1")
        written = one.tables[0].write(hosts({1: b"x"}))
        # The server refuses for want of memory, and does not even look at the fence.
        take_fence_however_full(server)
        await until(lambda: one.connection.trouble == "out of memory")
        server.client().config_set("maxmemory", "0")
        with pytest.raises(NotOwner):
            await written
        assert server.client().exists(f"{one.connection.address.tag(0)}h") == 0


def take_fence_however_full(server: RedisServer) -> None:
    fence = f"{parse_address(server.address).tag(0)}f"
    server.client().config_set("maxmemory", "0")
    take_fence(server, 0)
    assert server.client().get(fence) == b"another's"
    server.client().config_set("maxmemory", "1")


async def test_what_is_read_when_a_partition_is_lost_is_not_told(server: RedisServer, proxy: Proxy) -> None:
    async with machine(proxy.address) as one:
        (tables,) = one.tables
        await until(lambda: one.channels[0]._running is None)
        held = proxy.hold_request("WATCH")
        written, asked = tables.write(hosts({1: b"x"})), asyncio.ensure_future(host(tables, 1))
        await until(lambda: held.is_under_way)
        take_fence(server, 0)
        await asyncio.to_thread(held.release)
        await written  # it came before
        with pytest.raises(NotOwner):
            await asked


async def test_who_loses_one_partition_goes_on_with_the_others(server: RedisServer) -> None:
    async with machine(server.address, partitions=3) as one:
        first, second, third = one.tables
        written = [tables.write(hosts({1: b"x"})) for tables in one.tables]
        take_fence(server, 1)
        asked = asyncio.ensure_future(third.get(HOSTS, [key_in(HOSTS, 1)]))
        await written[0]
        with pytest.raises(NotOwner):
            await written[1]
        await written[2]
        assert await asked == [b"x"]
        await asyncio.gather(first.write(hosts({2: b"y"})), third.write(hosts({2: b"z"})))
        assert [await host(tables, 2) for tables in (first, third)] == [b"y", b"z"]
        with pytest.raises(NotOwner):
            await second.write(hosts({2: b"y"}))


async def test_a_fence_that_is_set_to_what_it_was_refuses_nobody(server: RedisServer) -> None:
    async with machine(server.address) as one:
        (tables,) = one.tables
        written = tables.write(hosts({1: b"x"}))
        take_fence(server, 0, one.fence)
        await written
        assert await host(tables, 1) == b"x"


async def test_a_partition_that_is_another_s_is_not_taken_up(server: RedisServer) -> None:
    async with machine(server.address) as one:
        take_fence(server, 1)
        with pytest.raises(NotOwner):
            await RedisTables.open(one.channels[0], 1, one.fence)
        await one.tables[0].write(hosts({1: b"x"}))


async def test_partitions_come_and_go_while_others_work(server: RedisServer) -> None:
    async with machine(server.address) as one:
        (first,) = one.tables
        pending = [first.write(hosts({number: b"x"})) for number in range(10)]
        second = await one.take_over(1)
        pending += [tables.write(hosts({number: b"y"})) for number in range(10) for tables in (first, second)]
        last = second.write(hosts({99: b"z"}))
        await second.close()
        await last
        one.tables.remove(second)
        with pytest.raises(NotOwner, match="given up"):
            await second.write(hosts({1: b"x"}))
        await asyncio.gather(*pending)
        take_fence(server, 1)
        await first.write(hosts({99: b"z"}))


# ---- what travels together


async def test_what_is_asked_at_the_same_time_travels_together(server: RedisServer, proxy: Proxy) -> None:
    async with machine(proxy.address, partitions=4) as one:
        before = proxy.requests.count("EXEC")
        work = [tables.write(hosts({1: b"x"})) for tables in one.tables for _ in range(5)]
        reads = [tables.get(HOSTS, [key_in(HOSTS, 1)]) for tables in one.tables]
        assert await asyncio.gather(*reads) == [[b"x"]] * 4
        await asyncio.gather(*work)
        assert proxy.requests.count("EXEC") == before + 1


async def test_whoever_was_just_answered_travels_with_those_who_waited(proxy: Proxy) -> None:
    async with machine(proxy.address) as one:
        (tables,) = one.tables
        await until(lambda: one.channels[0]._running is None)
        held = proxy.hold_request("EXEC")

        async def write_twice() -> None:
            await tables.write(hosts({1: b"x"}))
            await tables.write(hosts({2: b"x"}))

        before, writing = proxy.requests.count("EXEC"), asyncio.ensure_future(write_twice())
        await until(lambda: held.is_under_way)
        waiting = tables.write(hosts({3: b"x"}))
        await asyncio.to_thread(held.release)
        await asyncio.gather(writing, waiting)
        assert proxy.requests.count("EXEC") == before + 2


async def test_a_write_takes_effect_though_nobody_waits_for_it_any_more(proxy: Proxy) -> None:
    async with machine(proxy.address) as one:
        (tables,) = one.tables
        held = proxy.hold_request("EXEC")
        written = tables.write(hosts({1: b"x"}))
        waiting = asyncio.ensure_future(written)
        await until(lambda: held.is_under_way)
        waiting.cancel()
        await asyncio.to_thread(held.release)
        assert await host(tables, 1) == b"x"


async def test_nobody_is_left_waiting_for_a_channel_that_is_closed(server: RedisServer) -> None:
    async with machine(server.address) as one:
        (tables,) = one.tables
        written = tables.write(hosts({1: b"x"}))
        # Before the first step of whatever would have carried it out.
        await one.channels[0].close()
        with pytest.raises(BackendLost, match="the frontier was closed"):
            await written
        with pytest.raises(BackendLost, match="the frontier was closed"):
            await tables.write(hosts({1: b"y"}))


async def test_a_content_is_written_with_its_batch_wherever_it_belongs(server: RedisServer) -> None:
    async with machine(server.address) as one:
        await one.tables.pop().close()
        elsewhere = one.connection.address.tag(7)
        tables = await RedisTables.open(one.channels[0], 0, one.fence, contents_tag=elsewhere)
        batch = hosts({1: b"x"})
        batch.put(CONTENTS, b"digest", b"http://a/1")
        await tables.write(batch)
        assert server.client().hget(f"{elsewhere}c", b"digest") == b"http://a/1"
        assert await host(tables, 1) == b"x"
        take_fence(server, 0)
        batch = hosts({1: b"y"})
        batch.put(CONTENTS, b"digest", b"http://a/2")
        with pytest.raises(NotOwner):
            await tables.write(batch)
        assert server.client().hget(f"{elsewhere}c", b"digest") == b"http://a/1"
        await tables.close()


async def test_histories_may_be_left_out(server: RedisServer) -> None:
    async with machine(server.address) as one:
        await one.tables.pop().close()
        tables = await RedisTables.open(one.channels[0], 0, one.fence, keeps_history=False)
        await tables.write(batch_of(HISTORY, {1: b"x"}))
        assert await tables.get(HISTORY, [key_in(HISTORY, 1)]) == [None]
        await tables.close()


async def test_a_command_that_makes_no_sense_ends_its_partition_only(server: RedisServer) -> None:
    async with machine(server.address, partitions=2) as one:
        first, second = one.tables
        bad = first._channel.write(first._member, [("NOSUCHCOMMAND", "x")])
        good = second.write(hosts({1: b"x"}))
        with pytest.raises(BackendLost, match="partition 0: ERR unknown command"):
            await bad
        await good
        third = await one.take_over(2)
        wrong = [
            ("HSET", f"{one.connection.address.tag(2)}h", "1", "x"),
            ("SADD", f"{one.connection.address.tag(2)}h", "1"),
        ]
        wrong_type = third._channel.write(third._member, wrong)
        with pytest.raises(BackendLost, match="partition 2: WRONGTYPE"):
            await wrong_type
        with pytest.raises(BackendLost, match="partition 1: WRONGTYPE"):
            await second.read([("SCARD", f"{one.connection.address.tag(1)}h")])
        assert await host(second, 1) == b"x"


# ---- lost connections


@pytest.mark.parametrize("word", ["MULTI", "HSET", "EXEC", "HMGET", "WATCH", "MGET"])
@pytest.mark.parametrize("what", ["request", "answer"])
async def test_what_was_cut_off_is_sent_again_and_applied_once(proxy: Proxy, word: str, what: str) -> None:
    async with machine(proxy.address, partitions=2) as one:
        tables, other = one.tables
        await tables.write(batch_of(WAITING, {1: b"one", 2: b"two"}))
        (proxy.cut_before_request if what == "request" else proxy.cut_before_answer)(word)
        batch = batch_of(WAITING, {1: None, 2: b"second", 3: b"three"})
        batch.put(HOSTS, key_in(HOSTS, 1), b"x")
        batch.known.update({mark(1): True, mark(2): True})
        execs = proxy.requests.count("EXEC")
        values, *_ = await asyncio.gather(
            tables.get(HOSTS, [key_in(HOSTS, 1)]), tables.write(batch), other.write(hosts({7: b"y"}))
        )
        assert values == [b"x"]
        # The first try as far as it came, the fences, the second try.
        assert proxy.requests.count("EXEC") - execs in (2, 3)
        assert await tables.scan(WAITING, b"", 9) == [(key_in(WAITING, 2), b"second"), (key_in(WAITING, 3), b"three")]
        assert await tables.known([mark(number) for number in (1, 2, 3)]) == [True, True, False]
        assert await host(other, 7) == b"y"


async def test_what_arrives_late_on_a_lost_connection_changes_nothing(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with machine(proxy.address) as one:
        (tables,) = one.tables
        await tables.write(hosts({1: b"first"}))
        held = proxy.hold_request("EXEC")
        monkeypatch.setattr(connection_module, "ANSWER_SECONDS", 0.2)
        written = tables.write(hosts({1: b"second"}))
        await until(lambda: held.is_under_way)
        await written  # by another connection
        monkeypatch.undo()
        await tables.write(hosts({1: b"third"}))
        await asyncio.to_thread(held.release)
        assert await host(tables, 1) == b"third"
        await tables.write(hosts({2: b"x"}))


async def test_who_lost_the_connection_and_then_the_partition_is_refused(server: RedisServer, proxy: Proxy) -> None:
    async with machine(proxy.address, partitions=2) as one:
        first, second = one.tables
        proxy.cut_before_request("EXEC")
        written = first.write(hosts({1: b"x"})), second.write(hosts({1: b"x"}))
        take_fence(server, 0)
        with pytest.raises(NotOwner):
            await written[0]
        await written[1]
        assert server.client().exists(f"{one.connection.address.tag(0)}h") == 0


async def test_a_server_that_answers_late_is_not_lost(proxy: Proxy) -> None:
    async with machine(proxy.address) as one:
        proxy.answer_delay_seconds = 0.01
        await asyncio.gather(*(one.tables[0].write(hosts({number: b"x"})) for number in range(5)))
        assert await host(one.tables[0], 4) == b"x"


async def test_no_acknowledged_write_is_lost_to_a_killed_server() -> None:
    with RedisServer(*DURABLE) as server:
        async with machine(server.address, partitions=2) as one:
            acknowledged = [0, 0]

            async def write_on(partition: int) -> None:
                for number in range(1, 600):
                    batch = hosts({number: b"%d" % number}, changes=number)
                    batch.known[mark(number)] = True
                    await one.tables[partition].write(batch)
                    acknowledged[partition] = number

            writing = asyncio.gather(write_on(0), write_on(1))
            for reached in (100, 300):
                await until(partial(lambda reached: min(acknowledged) > reached, reached))
                await asyncio.to_thread(server.kill)
                before = list(acknowledged)
                await until(lambda: bool(one.connection.trouble))
                assert one.connection.trouble == "does not answer"
                await asyncio.to_thread(server.start)
                for tables, last in zip(one.tables, before, strict=True):
                    assert await host(tables, last) == b"%d" % last
            await writing
            assert not one.connection.trouble
            for tables in one.tables:
                assert all(await tables.known([mark(number) for number in range(1, 600)]))
                values = await tables.get(HOSTS, [key_in(HOSTS, number) for number in range(1, 600)])
                assert values == [b"%d" % number for number in range(1, 600)]


# ---- lost data


async def test_vanished_data_are_incomplete(server: RedisServer) -> None:
    async with machine(server.address, partitions=2) as one:
        await one.tables[0].write(hosts({1: b"x"}))
        server.client().flushall()
        for tables in one.tables:
            where = f"^INCOMPLETE: the data of this crawl are gone from 127.0.0.1:{server.port}"
            with pytest.raises(BackendLost, match=where):
                await tables.write(hosts({2: b"x"}))
        assert server.client().dbsize() == 0


async def test_a_server_that_comes_back_empty_is_incomplete(server: RedisServer) -> None:
    async with machine(server.address) as one:
        await one.tables[0].write(hosts({1: b"x"}))
        server.kill()
        written = one.tables[0].write(hosts({2: b"x"}))
        server.start()
        with pytest.raises(BackendLost, match=r"^INCOMPLETE: .* are gone"):
            await written


class MovingPlace:
    """As Sentinel tells: another server, once somebody has asked three times."""

    def __init__(self, *ports: int) -> None:
        self._servers = [Server("127.0.0.1", port) for port in ports]
        self._looks = 0

    def discover(self) -> None:
        self._looks += 1

    def of(self, tag: str) -> Server:
        return self._servers[0 if self._looks < 3 else -1]

    def servers(self) -> list[Server]:
        return self._servers


async def test_an_empty_server_that_was_replaced_is_not_the_one_to_ask(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "redis+sentinel://127.0.0.1:1/main"
    with RedisServer() as replacement:
        one = Machine(address, b"mine", 0)
        monkeypatch.setattr(one.connection, "_places", MovingPlace(server.port, replacement.port))
        tables = await one.take_over(0)
        await tables.write(hosts({1: b"x"}, changes=1))
        for key in server.client().scan_iter("*"):
            replacement.client().restore(key, 0, server.client().dump(key))
        server.client().flushall()
        await tables.write(hosts({2: b"x"}, changes=2))
        assert await tables.get(HOSTS, [key_in(HOSTS, number) for number in (1, 2)]) == [b"x", b"x"]
        assert server.client().dbsize() == 0
        await one.close()


async def test_an_empty_server_that_nobody_replaces_is_incomplete(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_module, "FAIL_OVER_SECONDS", 0.2)
    one = Machine("redis+sentinel://127.0.0.1:1/main", b"mine", 0)
    monkeypatch.setattr(one.connection, "_places", MovingPlace(server.port))
    tables = await one.take_over(0)
    server.client().flushall()
    written = asyncio.ensure_future(tables.write(hosts({2: b"x"})))
    await until(lambda: "has another taken over" in one.connection.trouble)
    with pytest.raises(BackendLost, match="INCOMPLETE"):
        await written
    await one.close()


async def test_a_server_that_went_back_in_time_is_incomplete(server: RedisServer, proxy: Proxy) -> None:
    async with machine(proxy.address, partitions=2) as one:
        first, second = one.tables
        await first.write(hosts({1: b"x"}, changes=5))
        await second.write(hosts({1: b"x"}, changes=5))
        server.client().hset(f"{one.connection.address.tag(0)}m", "state", encode(State(changes=3)))
        proxy.cut_all()
        pending = first.write(hosts({2: b"x"}, changes=6)), second.write(hosts({2: b"x"}, changes=6))
        with pytest.raises(BackendLost, match=r"^INCOMPLETE: partition 0 went back in time by 2 changes"):
            await pending[0]
        await pending[1]
        assert server.client().hget(f"{one.connection.address.tag(0)}h", key_in(HOSTS, 2)) is None


async def test_what_a_partition_had_when_it_was_taken_up_must_not_go_back_either(
    server: RedisServer, proxy: Proxy
) -> None:
    async with machine(server.address) as one:
        await one.tables[0].write(hosts({1: b"x"}, changes=5))
    async with machine(proxy.address) as two:
        server.client().hdel(f"{two.connection.address.tag(0)}m", "state")
        proxy.cut_all()
        with pytest.raises(BackendLost, match="back in time by 5 changes"):
            await two.tables[0].write(hosts({2: b"x"}, changes=6))


# ---- waiting


async def test_a_full_server_is_waited_for(server: RedisServer) -> None:
    async with machine(server.address, partitions=2) as one:
        first, second = one.tables
        server.client().config_set("maxmemory", "1")
        written = asyncio.ensure_future(first.write(hosts({1: b"x"}))), asyncio.ensure_future(second.write(knowing(1)))
        await until(lambda: one.connection.trouble == "out of memory")
        assert not written[0].done()
        server.client().config_set("maxmemory", "0")
        await asyncio.gather(*written)
        assert one.connection.trouble == ""
        assert await host(first, 1) == b"x"


async def test_nobody_waits_once_the_operator_stops(server: RedisServer) -> None:
    async with machine(server.address) as one:
        server.client().config_set("maxmemory", "1")
        written = one.tables[0].write(hosts({1: b"x"}))
        await until(lambda: bool(one.connection.trouble))
        one.connection.give_up()
        async with asyncio.timeout(1.0):
            with pytest.raises(BackendLost, match="out of memory, and the crawl was stopped"):
                await written
            with pytest.raises(BackendLost, match="out of memory"):
                await one.tables[0].write(hosts({1: b"x"}))


async def test_a_black_hole_is_not_waited_for_once_the_operator_stops(proxy: Proxy) -> None:
    async with machine(proxy.address) as one:
        await one.tables[0].write(hosts({1: b"x"}))
        proxy.is_black_hole = True
        written = one.tables[0].write(hosts({2: b"x"}))
        await asyncio.sleep(0)
        one.connection.give_up()
        async with asyncio.timeout(2 * connection_module.LAST_ANSWER_SECONDS):
            with pytest.raises(BackendLost, match="does not answer, and the crawl was stopped"):
                await written


async def test_a_server_that_answers_is_still_asked_when_the_operator_stops(server: RedisServer) -> None:
    async with machine(server.address) as one:
        one.connection.give_up()
        await one.tables[0].write(hosts({1: b"x"}))
        assert await host(one.tables[0], 1) == b"x"


async def test_an_outage_ends_at_last(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "MAX_OUTAGE_SECONDS", 0.1)
    async with machine(server.address) as one:
        server.kill()
        with pytest.raises(BackendLost, match="does not answer, for 0 s; the same command goes on"):
            await one.tables[0].write(hosts({1: b"x"}))
        with pytest.raises(BackendLost, match="does not answer"):
            await one.tables[0].write(hosts({1: b"x"}))


async def test_whoever_waits_when_the_channel_is_closed_is_told(proxy: Proxy) -> None:
    async with machine(proxy.address) as one:
        held = proxy.hold_request("EXEC")
        written = one.tables[0].write(hosts({1: b"x"}))
        await until(lambda: held.is_under_way)
        await one.channels[0].close()
        with pytest.raises(BackendLost, match="closed"):
            await written


async def test_a_write_counts_once_its_replica_has_it(server: RedisServer) -> None:
    with RedisServer("--replicaof", "127.0.0.1", str(server.port), "--repl-diskless-sync-delay", "0") as replica:
        wait_until(lambda: server.client().info()["connected_slaves"] == 1)
        async with machine(server.address, replicas=1) as one:
            (tables,) = one.tables
            await tables.write(hosts({1: b"x"}))
            os.kill(replica.pid, signal.SIGSTOP)
            try:
                written = asyncio.ensure_future(tables.write(hosts({2: b"x"})))
                command = asyncio.ensure_future(one.connection.command("t", "SET", "t", "1"))
                fleeting = one.connection.command("t", "SET", "u", "1", durable=False)
                await until(lambda: "1 replicas should have every write, 0 confirmed" in one.connection.trouble)
                assert await fleeting == b"OK"
                assert not written.done()
                assert not command.done()
            finally:
                os.kill(replica.pid, signal.SIGCONT)
            await written
            assert await command == b"OK"
            assert replica.client().hget(f"{one.connection.address.tag(0)}h", key_in(HOSTS, 2)) == b"x"


# ---- fail-over


async def write_through(one: Machine, fail_over: Callable[[], None]) -> None:
    """Write before, while and after something happens to the servers; all of it must be there."""
    for number in range(1, 50):
        await asyncio.gather(*(tables.write(hosts({number: b"x"}, changes=number)) for tables in one.tables))
    happening = asyncio.ensure_future(asyncio.to_thread(fail_over))
    number = 50
    while not happening.done() or number < 100:
        await asyncio.gather(*(tables.write(hosts({number: b"x"}, changes=number)) for tables in one.tables))
        number += 1
    await happening
    keys = [key_in(HOSTS, each) for each in range(1, number)]
    for tables in one.tables:
        assert await tables.get(HOSTS, keys) == [b"x"] * len(keys)


async def test_a_fail_over_of_sentinel_is_lived_through() -> None:
    with WatchedPair() as pair:

        def fail_over() -> None:
            pair.primary.kill()
            wait_until(pair.has_failed_over)

        async with machine(pair.address, partitions=2, replicas=1) as one:
            for number in range(1, 20):
                await asyncio.gather(*(tables.write(hosts({number: b"x"}, changes=number)) for tables in one.tables))
            one.connection.replicas = 0  # there is none left afterwards
            await write_through(one, fail_over)


async def test_fail_overs_and_moving_slots_of_a_cluster_are_lived_through() -> None:
    with RedisCluster() as cluster:
        async with machine(cluster.address, partitions=8) as one:
            await write_through(one, lambda: move_slot(cluster, one.connection.address.tag(0)))
            await write_through(one, lambda: fail_over_of(cluster))


def move_slot(cluster: RedisCluster, tag: str) -> None:
    """Bring a slot with all its keys to another server, as `redis-cli --cluster reshard` does."""
    slot = key_slot(tag.encode())
    place = slot * 3 // 16384
    source, target = cluster.servers[place], cluster.servers[(place + 1) % 3]
    names = [each.client().execute_command("CLUSTER", "MYID").decode() for each in (source, target)]
    target.client().execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
    source.client().execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
    while keys := source.client().execute_command("CLUSTER", "GETKEYSINSLOT", slot, 2):
        source.client().execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)
    for server in (target, source):
        server.client().execute_command("CLUSTER", "SETSLOT", slot, "NODE", names[1])


def fail_over_of(cluster: RedisCluster) -> None:
    """One after the other: those that lead elect."""
    for replica in cluster.servers[3:]:
        wait_until(partial(_has_taken_over, replica), seconds=60)


def _has_taken_over(replica: RedisServer) -> bool:
    if replica.client().info()["role"] == "slave":
        # The election may come to nothing when the machine is busy.
        replica.client().execute_command("CLUSTER", "FAILOVER")
        with suppress(AssertionError):
            wait_until(lambda: bool(replica.client().info()["role"] == "master"), seconds=6)
    return bool(replica.client().info()["role"] == "master")


# ---- known URLs


def fingerprints(number: int, seed: int = 5) -> list[bytes]:
    """Some of them as numbers of few digits, whose sign is easily taken for one."""
    draw = random.Random(seed)
    few_digits = (seed * 7**place * sign for place in range(10) for sign in (1, -1))
    few = [each.to_bytes(8, signed=True) for each in few_digits]
    return few + [draw.randbytes(8) for _ in range(number - len(few))]


def known_batch(some: list[bytes], *, is_known: bool = True) -> Batch:
    batch = Batch()
    batch.known.update(dict.fromkeys(some, is_known))
    return batch


def buckets_of(client: Any, tag: str) -> list[bytes]:
    return list(client.scan_iter(f"{tag}s*", count=10_000))


@pytest.mark.parametrize("at_once", [500, 5_000, 50_000])
async def test_known_urls_take_ten_bytes_each(server: RedisServer, at_once: int) -> None:
    known, others = fingerprints(50_000), fingerprints(5_000, seed=6)
    async with machine(server.address) as one:
        (tables,) = one.tables
        for start in range(0, len(known), at_once):
            await tables.write(known_batch(known[start : start + at_once]))
        assert all(await tables.known(known))
        assert not any(await tables.known(others))
    tag, client = one.connection.address.tag(0), server.client()
    keys = buckets_of(client, tag)
    assert 250 - SPLITS_AT_ONCE < len(keys) <= 250
    assert {client.object("ENCODING", key) for key in keys} == {b"intset"}
    assert sum(client.memory_usage(key) for key in keys) / len(known) <= 10.5
    async with machine(server.address, fence=b"the next owner's") as two:
        assert all(await two.tables[0].known(known))
        assert two.tables[0]._known_urls == len(known)
    reader = RedisReader(one.connection.address, 0)
    assert reader.count_known() == len(known)
    assert reader.known([*known[:500], *others[:500]]) == [True] * 500 + [False] * 500
    reader.close()


async def test_urls_that_come_and_go_while_buckets_are_split_are_known_or_not(server: RedisServer) -> None:
    draw, truth = random.Random(8), dict[bytes, bool]()
    many = fingerprints(30_000)
    async with machine(server.address) as one:
        (tables,) = one.tables
        while len(truth) < 29_000:
            some = dict.fromkeys(draw.sample(many, 400), True) | dict.fromkeys(draw.sample(many, 40), False)
            batch = Batch()
            batch.known.update(some)
            truth |= some
            written = tables.write(batch)
            asked = draw.sample(many, 50)
            assert await tables.known(asked) == [truth.get(each, False) for each in asked]
            if draw.random() < 0.5:
                await written
        assert await tables.known(many) == [truth.get(each, False) for each in many]
        assert tables._buckets.count > 128


async def test_a_question_that_goes_after_a_split_asks_the_new_buckets(server: RedisServer) -> None:
    known = fingerprints(15_000)
    async with machine(server.address) as one:
        (tables,) = one.tables
        await tables.write(known_batch(known[:14_000]))
        await until(lambda: one.channels[0]._running is None)
        asked = asyncio.ensure_future(tables.known(known[:14_000]))
        await asyncio.sleep(0)
        # Later than the question, but it goes before it.
        written = tables.write(known_batch(known[14_000:]))
        assert tables._buckets.count > 64
        assert all(await asked)
        await written


async def test_a_split_that_was_cut_off_is_made_again(proxy: Proxy) -> None:
    known = fingerprints(15_000)
    async with machine(proxy.address) as one:
        (tables,) = one.tables
        proxy.cut_before_answer("EXEC", nth=15)
        for start in range(0, len(known), 1000):
            await tables.write(known_batch(known[start : start + 1000]))
        assert tables._buckets.count > 64
        assert all(await tables.known(known))


async def test_who_lost_the_partition_splits_nothing(server: RedisServer) -> None:
    async with machine(server.address) as one:
        (tables,) = one.tables
        await tables.write(known_batch(fingerprints(12_800)))
        written = tables.write(known_batch(fingerprints(5_000, seed=6)))
        take_fence(server, 0)
        with pytest.raises(NotOwner):
            await written
    assert server.client().hget(f"{one.connection.address.tag(0)}m", "buckets") is None
    assert len(buckets_of(server.client(), one.connection.address.tag(0))) == 64


# ---- readers


async def test_a_reader_whose_buckets_were_split_meanwhile_looks_again(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = fingerprints(20_000)
    async with machine(server.address) as one:
        await one.tables[0].write(known_batch(known))
    reader = RedisReader(one.connection.address, 0)
    monkeypatch.setattr(reader, "_buckets", Buckets)
    assert all(reader.known(known))
    assert reader.count_known() == len(known)
    reader.close()


async def test_a_reader_sees_what_was_written(server: RedisServer) -> None:
    async with machine(server.address) as one:
        (tables,) = one.tables
        rows = {number: b"%d" % number for number in range(1200)}
        await asyncio.gather(tables.write(batch_of(WAITING, dict(rows))), tables.write(hosts(dict(rows))))
        await tables.write(knowing(1, 2))
    reader = RedisReader(one.connection.address, 0)
    assert list(reader.rows(WAITING)) == [(key_in(WAITING, number), value) for number, value in rows.items()]
    assert dict(reader.rows(HOSTS)) == {key_in(HOSTS, number): value for number, value in rows.items()}
    assert reader.get(WAITING, [key_in(WAITING, 5), b"nothing"]) == [b"5", None]
    assert reader.get(HOSTS, [b"nothing", key_in(HOSTS, 5)]) == [None, b"5"]
    assert reader.get(HOSTS, []) == []
    assert reader.known([mark(1), mark(3)]) == [True, False]
    server.kill()
    with pytest.raises(BackendLost, match="cannot be read"):
        reader.count_known()
    reader.close()
