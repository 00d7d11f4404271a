"""The tables on Redis keep the contract of `Tables`: on one server, and on a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lycosa.frontier.redis.address import parse_address
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.tables import Channel, RedisTables
from lycosa.frontier.tables import Tables

from .redis_servers import PROGRAMS, RedisCluster, RedisServer
from .store_contract import OpenTables, StoreContract


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: Path(program).name)
def server_address(request: pytest.FixtureRequest) -> Iterator[str]:
    with RedisServer(program=request.param) as server:
        yield server.address


@pytest.fixture(scope="module")
def cluster_address() -> Iterator[str]:
    with RedisCluster() as cluster:
        yield cluster.address


class RedisContract(StoreContract):
    @pytest.fixture
    async def open_tables(self, address: str) -> AsyncIterator[OpenTables]:
        connection = Connection(parse_address(address))
        tag = connection.address.tag(0)
        for server in await connection.servers():
            await connection.ask_server(server, [("FLUSHALL",)])
        await connection.command(tag, "SET", f"{tag}f", b"fence")
        channel = Channel(connection, tag)

        async def opened() -> Tables:
            return await RedisTables.open(channel, 0, b"fence")

        yield opened
        await channel.close()
        await connection.close()


class TestOneServer(RedisContract):
    @pytest.fixture
    def address(self, server_address: str) -> str:
        return server_address


class TestCluster(RedisContract):
    @pytest.fixture
    def address(self, cluster_address: str) -> str:
        return cluster_address
