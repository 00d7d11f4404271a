"""The tables of one partition for readers: plain commands that change nothing, whoever owns it meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from lycosa.errors import BackendLost
from lycosa.frontier.redis.address import Address
from lycosa.frontier.redis.known import Buckets, number_of, read_buckets
from lycosa.frontier.redis.places import places_of
from lycosa.frontier.redis.tables import BUCKETS, LETTERS, ordered_row, rows_behind, value_of
from lycosa.frontier.redis.wire import Command, ask_once
from lycosa.frontier.tables import KEY_BYTES, META, Row
from lycosa.frontier.view import ServerFigures

CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 30.0
_ROWS_AT_ONCE = 500


class RedisReader:
    """Implements `Reader`. A row that changes its place while all are read may come twice, as Redis has it."""

    def __init__(self, address: Address, partition: int | None) -> None:
        """`partition`: None for what belongs to the crawl as a whole."""
        self._address = address
        self._tag = address.tag(partition)
        places = places_of(address)
        with self._translated():
            places.discover()
            self.server = places.of(self._tag)
        self._client: Any = Redis(
            *self.server,
            db=address.db,
            username=address.username,
            password=address.password,
            ssl=address.is_encrypted,
            # What answers look like depends on it, and which one is usual on the library's version.
            protocol=2,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 1),
        )

    def reach(self) -> None:
        """Raise `BackendLost` soon if nobody answers: what is read later may take its time."""
        with self._translated():
            ask_once(self.server, self._address, [("PING",)], CONNECT_SECONDS)

    def get(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        with self._translated():
            if table in KEY_BYTES:
                found = self._together([ordered_row(self._key(table), key) for key in keys])
                return [value_of(key, rows) for key, rows in zip(keys, found, strict=True)]
            return list(self._client.hmget(self._key(table), keys))

    def rows(self, table: str) -> Iterator[Row]:
        return self._ordered_rows(table) if table in KEY_BYTES else self._map_rows(table)

    def known(self, fingerprints: Sequence[bytes]) -> list[bool]:
        numbers = [number_of(fingerprint) for fingerprint in fingerprints]
        questions: Mapping[int, list[int]] = {}

        def ask(buckets: Buckets) -> list[Command]:
            nonlocal questions
            questions = buckets.by_bucket(numbers)
            return [("SMISMEMBER", f"{self._tag}s{bucket}", *some) for bucket, some in questions.items()]

        answers = self._ask_buckets(ask)
        asked = [number for some in questions.values() for number in some]
        found = dict(zip(asked, (answer for some in answers for answer in some), strict=True))
        return [bool(found[number]) for number in numbers]

    def count_known(self) -> int:
        sizes = self._ask_buckets(lambda buckets: [("SCARD", f"{self._tag}s{n}") for n in range(buckets.count)])
        return sum(sizes)

    def server_figures(self) -> ServerFigures:
        """How the server is doing that has these tables."""
        with self._translated():
            told = self._client.info()
        return ServerFigures(
            address=f"{self.server[0]}:{self.server[1]}",
            used_bytes=int(told.get("used_memory", 0)),
            max_bytes=int(told.get("maxmemory", 0)),
            commands_per_second=float(told.get("instantaneous_ops_per_sec", 0)),
            cpu_seconds=float(told.get("used_cpu_sys", 0)) + float(told.get("used_cpu_user", 0)),
            clients=int(told.get("connected_clients", 0)),
        )

    def close(self) -> None:
        self._client.close()

    def ask(self, *commands: Sequence[Any]) -> list[Any]:
        """The answers to plain commands in one moment; the first word behind a command's name is a key of the tag."""
        with self._translated():
            return self._together(
                [(name, *(f"{self._tag}{word}" for word in key), *rest) for name, key, rest in map(_parted, commands)]
            )

    def send(self, stream: str, message: bytes) -> None:
        """Put a message into a stream of the tag: the one thing that is written here."""
        with self._translated():
            self._client.xadd(f"{self._tag}{stream}", {"": message})

    # ---- looking

    def _key(self, table: str) -> bytes:
        return f"{self._tag}{LETTERS[table]}".encode()

    def _map_rows(self, table: str) -> Iterator[Row]:
        cursor: int | None = None
        while cursor != 0:
            with self._translated():
                cursor, rows = self._client.hscan(self._key(table), cursor or 0, count=_ROWS_AT_ONCE)
            yield from rows.items()

    def _ordered_rows(self, table: str) -> Iterator[Row]:
        width, after = KEY_BYTES[table], b""
        while True:
            with self._translated():
                (members,) = self._together([rows_behind(self._key(table), after, width, _ROWS_AT_ONCE)])
            yield from ((member[:width], member[width:]) for member in members)
            if len(members) < _ROWS_AT_ONCE:
                return
            after = members[-1][:width]

    def _buckets(self) -> Buckets:
        return read_buckets(self._client.hget(self._key(META), BUCKETS))

    def _ask_buckets(self, ask: Callable[[Buckets], list[Command]]) -> list[Any]:
        """Answers that hold for the buckets asked by: the owner may split one between two questions."""
        with self._translated():
            before = self._buckets()
            while True:
                *answers, raw = self._together([*ask(before), ("HGET", self._key(META), BUCKETS)])
                if before == (after := read_buckets(raw)):
                    return answers
                before = after

    def _together(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=True)
        for words in commands:
            pipeline.execute_command(*words)
        return list(pipeline.execute())

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (RedisError, OSError) as error:
            raise BackendLost(f"{self._address} cannot be read: {error}") from error


def _parted(words: Sequence[Any]) -> tuple[Any, Sequence[Any], Sequence[Any]]:
    return words[0], words[1:2], words[2:]
