"""Where the tables of a frontier are kept between two runs of it; others may look into them, and write."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace
from redis import Redis

from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.frontier.embedded import EmbeddedFrontier, rocks_frontier
from lycosa.frontier.memory import MemoryReader, MemoryTables
from lycosa.frontier.redis.address import parse_address
from lycosa.frontier.redis.frontier import RedisFrontier
from lycosa.frontier.redis.tables import LETTERS
from lycosa.frontier.redis.view import open_redis_view
from lycosa.frontier.rocks.database import Database
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.tables import KEY_BYTES, Batch
from lycosa.frontier.view import CrawlView, open_rocks_view

from . import stage
from .redis_servers import RedisServer

_numbers = count(1)


class Place(Protocol):
    """Where the tables of a frontier are. Rows are read and written while nobody has it open."""

    def open(self, rules: FrontierRules, clock: stage.FakeClock) -> stage.EmbeddedFrontier: ...

    def view(self) -> CrawlView: ...

    def rows(self, table: str) -> dict[bytes, bytes]: ...

    def put(self, table: str, key: bytes, value: bytes | None) -> None:
        """None: the row is gone."""


class InMemory:
    """A new scheduler over the same tables stands for a new run."""

    def __init__(self) -> None:
        self._tables = MemoryTables()
        self._groups = MemoryContentGroups()

    def open(self, rules: FrontierRules, clock: stage.FakeClock) -> EmbeddedFrontier:
        tables, groups = self._tables, self._groups
        rows = MemoryReader(tables).rows
        return EmbeddedFrontier(
            tables, rows, lambda signature: groups.group_of([signature])[0], b"k" * 16, rules, clock
        )

    def view(self) -> CrawlView:
        return CrawlView([MemoryReader(self._tables)], lambda _: 0)

    def rows(self, table: str) -> dict[bytes, bytes]:
        return dict(sorted(self._tables.rows[table].items()))

    def put(self, table: str, key: bytes, value: bytes | None) -> None:
        batch = Batch()
        batch.put(table, key, value)
        self._tables.write(batch)


class InRocksDB:
    """In a folder; `choices` are of the URL-seen test."""

    def __init__(self, folder: Path, **choices: object) -> None:
        self._folder = folder
        self._choices = choices

    def open(self, rules: FrontierRules, clock: stage.FakeClock) -> EmbeddedFrontier:
        return rocks_frontier(self._folder, replace(rules, **self._choices), clock)

    def view(self) -> CrawlView:
        return open_rocks_view(self._folder)

    def rows(self, table: str) -> dict[bytes, bytes]:
        with closing(Database(self._folder)) as database:
            return dict(database.rows(table))

    def put(self, table: str, key: bytes, value: bytes | None) -> None:
        with closing(Database(self._folder)) as database:
            if value is None:
                del database.families[table][key]
            else:
                database.put(table, key, value)


class InRedis:
    """All in one partition."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._address = f"{server.address}?crawl=spoilt{next(_numbers)}&partitions=1"

    def open(self, rules: FrontierRules, clock: stage.FakeClock) -> RedisFrontier:
        return RedisFrontier(self._address, rules, fake_clock=clock)

    def view(self) -> CrawlView:
        return open_redis_view(self._address)

    def rows(self, table: str) -> dict[bytes, bytes]:
        with Redis(port=self._server.port) as client:
            if width := KEY_BYTES.get(table):
                return {row[:width]: row[width:] for row in client.zrange(self._key(table), 0, -1)}
            return dict(sorted(client.hgetall(self._key(table)).items()))

    def put(self, table: str, key: bytes, value: bytes | None) -> None:
        with Redis(port=self._server.port) as client:
            if table in KEY_BYTES:
                client.zremrangebylex(self._key(table), b"[" + key, b"[" + key + b"\xff" * 99)
                if value is not None:
                    client.zadd(self._key(table), {key + value: 0})
            elif value is None:
                client.hdel(self._key(table), key)
            else:
                client.hset(self._key(table), key, value)

    def _key(self, table: str) -> str:
        return f"{parse_address(self._address).tag(0)}{LETTERS[table]}"
