"""The frontier's tables in Redis, of one partition whose owner this machine is. Few commands, with many fields each.

All keys stand under the partition's hash tag:
  h hosts · q queue · y history · t robots · w sites · c contents · o orders · x poisoned · m meta     hashes
  a waiting · p parked · d delayed · v revisits
                                        sorted sets of key + value, all with score 0: Redis orders those by their bytes
  s<bucket>                             sets of known URLs (see `known.py`)
  f                                     the fence: who owns the partition (see `channel.py`)
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, Self

from lycosa.frontier.redis.channel import Channel, NotOwner
from lycosa.frontier.redis.connection import script_text
from lycosa.frontier.redis.known import Buckets, number_of, pack_buckets, read_buckets
from lycosa.frontier.redis.rounds import ChannelPartition
from lycosa.frontier.redis.wire import Command
from lycosa.frontier.tables import (
    CONTENTS,
    DELAYED,
    HISTORY,
    HOSTS,
    KEY_BYTES,
    META,
    ORDERS,
    PARKED,
    POISONED,
    QUEUE,
    REVISITS,
    ROBOTS,
    SITES,
    WAITING,
    Batch,
    Done,
    Row,
)

__all__ = ["Channel", "NotOwner", "RedisTables"]

LETTERS = {
    HOSTS: "h",
    QUEUE: "q",
    HISTORY: "y",
    ROBOTS: "t",
    SITES: "w",
    CONTENTS: "c",
    POISONED: "x",
    META: "m",
    WAITING: "a",
    PARKED: "p",
    DELAYED: "d",
    REVISITS: "v",
    ORDERS: "o",
}
STATE, BUCKETS = b"state", b"buckets"
# At least, once that many are due: a script has its price before it does anything.
SPLITS_AT_ONCE = 8


class RedisTables:
    """Implements `Tables`. Raises `NotOwner` once another machine owns the partition."""

    def __init__(
        self,
        channel: Channel,
        member: ChannelPartition,
        *,
        keeps_history: bool,
        contents_tag: str,
    ) -> None:
        """Not ready before `open`."""
        self._channel = channel
        self._member = member
        self._keeps_history = keeps_history
        self._tag = member.tag.encode()
        self._keys = {table: f"{member.tag}{letter}".encode() for table, letter in LETTERS.items()}
        if contents_tag:
            self._keys[CONTENTS] = f"{contents_tag}{LETTERS[CONTENTS]}".encode()
        self._buckets = Buckets()
        self._known_urls = 0

    @classmethod
    async def open(
        cls,
        channel: Channel,
        partition: int,
        fence: bytes,
        *,
        keeps_history: bool = True,
        contents_tag: str = "",
    ) -> Self:
        """Take up a partition whose fence was set to this value; raises `NotOwner` if it no longer is.

        `contents_tag`: where contents are kept, if not here; on the same server.
        """
        member = ChannelPartition(partition, channel.connection.address.tag(partition), fence)
        tables = cls(channel, member, keeps_history=keeps_history, contents_tag=contents_tag)
        channel.join(member)
        try:
            await tables._take_up()
        except BaseException:
            channel.leave(member)
            raise
        return tables

    async def _take_up(self) -> None:
        # Writes nothing, but only the owner gets through.
        await self._channel.write(self._member, ())
        ((state, buckets),) = await self.read([("HMGET", self._keys[META], STATE, BUCKETS)])
        self._member.state = state or b""
        self._buckets = read_buckets(buckets)
        sizes = await self.read([("SCARD", self._bucket_key(bucket)) for bucket in range(self._buckets.count)])
        self._known_urls = sum(sizes)

    # ---- reading

    async def get(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        if table in KEY_BYTES:
            rows = await self.read([ordered_row(self._keys[table], key) for key in keys])
            return [value_of(key, found) for key, found in zip(keys, rows, strict=True)]
        (values,) = await self.read([("HMGET", self._keys[table], *keys)])
        found_values: list[bytes | None] = values
        return found_values

    async def scan(self, table: str, after: bytes, limit: int) -> list[Row]:
        width = KEY_BYTES[table]
        (members,) = await self.read([rows_behind(self._keys[table], after, width, limit)])
        return [(member[:width], member[width:]) for member in members]

    async def known(self, fingerprints: Sequence[bytes]) -> list[bool]:
        numbers = [number_of(fingerprint) for fingerprint in fingerprints]
        asked: list[list[int]] = []

        def ask() -> list[Command]:
            questions = self._buckets.by_bucket(numbers)
            asked.extend(questions.values())
            return [_question(self._bucket_key(bucket), some) for bucket, some in questions.items()]

        answers = await self._channel.read(self._member, ask)
        found: dict[int, int] = {}
        for some, answer in zip(asked, answers, strict=True):
            found.update(zip(some, answer if isinstance(answer, list) else [answer], strict=True))
        return [bool(found[number]) for number in numbers]

    async def read(self, commands: Sequence[Command]) -> list[Any]:
        """The answers to commands that change nothing, as of after all writes before them."""
        return await self._channel.read(self._member, lambda: commands)

    # ---- writing

    def write(self, batch: Batch) -> Awaitable[None]:
        rows, known = self._row_commands(batch.tables), self._known_commands(batch.known)
        commands = [*rows, *known, *self._split_commands()]
        if not commands:
            return Done()
        return self._channel.write(self._member, commands, batch.tables.get(META, {}).get(STATE))

    def _row_commands(self, tables: Mapping[str, Mapping[bytes, bytes | None]]) -> Iterable[Command]:
        for table, rows in tables.items():
            if table == HISTORY and not self._keeps_history:
                continue
            make = _ordered_commands if table in KEY_BYTES else _map_commands
            yield from make(self._keys[table], rows)

    def _known_commands(self, known: Mapping[bytes, bool]) -> Iterable[Command]:
        for word, is_known in ((b"SADD", True), (b"SREM", False)):
            numbers = [number_of(fingerprint) for fingerprint, says in known.items() if says is is_known]
            self._known_urls += len(numbers) if is_known else -len(numbers)
            for bucket, some in self._buckets.by_bucket(numbers).items():
                yield (word, self._bucket_key(bucket), *some)

    def _split_commands(self) -> Iterable[Command]:
        """From here on everybody writes by the new buckets, and asks by them: questions are made when they are sent."""
        if self._buckets.missing(self._known_urls) < SPLITS_AT_ONCE:
            return
        while (missing := self._buckets.missing(self._known_urls)) > 0:
            due = self._buckets.due(missing)
            # Not by its digest: a server that does not know the script would carry out all the rest.
            yield ("EVAL", script_text("split"), 1, self._tag, self._buckets.level, due[0], due[-1])
            self._buckets = self._buckets.grown(len(due))
        yield ("HSET", self._keys[META], BUCKETS, pack_buckets(self._buckets))

    def _bucket_key(self, bucket: int) -> bytes:
        return b"%bs%d" % (self._tag, bucket)

    async def durable(self) -> None:
        """What was acknowledged is as safe as the server makes it."""

    async def close(self) -> None:
        try:
            if not self._member.lost:
                await self._channel.write(self._member, ())
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Write no more: somebody else does."""
        self._channel.leave(self._member)


# ---- commands


def _map_commands(key: bytes, rows: Mapping[bytes, bytes | None]) -> Iterable[Command]:
    put: list[bytes] = []
    gone: list[bytes] = []
    for field, value in rows.items():
        if value is None:
            gone.append(field)
        else:
            put += (field, value)
    if put:
        yield (b"HSET", key, *put)
    if gone:
        yield (b"HDEL", key, *gone)


def _ordered_commands(key: bytes, rows: Mapping[bytes, bytes | None]) -> Iterable[Command]:
    put: list[bytes] = []
    for row_key, value in rows.items():
        # Also where a value is put: the one before would stay beside it.
        yield (b"ZREMRANGEBYLEX", key, b"[" + row_key, _before(_successor(row_key)))
        if value is not None:
            put += (b"0", row_key + value)
    if put:
        yield (b"ZADD", key, *put)


def _question(key: bytes, numbers: Sequence[int]) -> Command:
    # Mostly one, and its answer is no list.
    return (b"SMISMEMBER" if len(numbers) > 1 else b"SISMEMBER", key, *numbers)


def ordered_row(key: bytes, row_key: bytes) -> Command:
    """Asks for one row of an ordered table."""
    return (b"ZRANGE", key, b"[" + row_key, _before(_successor(row_key)), b"BYLEX", b"LIMIT", b"0", b"1")


def value_of(row_key: bytes, found: Sequence[bytes]) -> bytes | None:
    """What `ordered_row` found."""
    return found[0][len(row_key) :] if found else None


def rows_behind(key: bytes, after: bytes, width: int, limit: int) -> Command:
    """Asks for the first rows of an ordered table behind a key, whatever its value is."""
    # A key that is shorter than all others stands before those that begin with it.
    first = after if len(after) < width else _successor(after[:width])
    start = b"[" + first if first is not None else b"+"
    return (b"ZRANGE", key, start, b"+", b"BYLEX", b"LIMIT", b"0", b"%d" % limit)


def _successor(key: bytes) -> bytes | None:
    """The next key of the same length; None if there is none."""
    number = int.from_bytes(key) + 1
    return number.to_bytes(len(key)) if number < 1 << 8 * len(key) else None


def _before(key: bytes | None) -> bytes:
    return b"+" if key is None else b"(" + key
