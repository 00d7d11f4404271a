"""What machines tell each other through the store: streams, read in order, kept until they were acted upon.

A partition's inbox is read by whoever owns it; a machine's own by itself. A message may be acted upon twice, if its
reader dies before it says that it was: all of them bear that.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from lycosa.frontier.poison import UNREADABLE
from lycosa.frontier.redis.connection import Connection
from lycosa.frontier.redis.together import ask_together
from lycosa.frontier.redis.wire import Command
from lycosa.model import Lease, RobotsNews, Settlement, Target
from lycosa.orders import Given

logger = logging.getLogger(__name__)

READ_TOGETHER = 64
# Links of one message.
MAX_LINKS = 2_000
# What a machine did not fetch until then is of no use any more.
KEPT_SECONDS = 3600


class Found(msgspec.Struct, tag=True, array_like=True, omit_defaults=True):
    """To a partition: what visits of others found for its hosts."""

    targets: list[Target] = []
    news: list[RobotsNews] = []


class SettleLent(msgspec.Struct, tag=True, array_like=True):
    """To a partition: how visits ended that its owner had given to another machine."""

    machine: str  # nonce of whoever asks
    question: int
    settlements: list[Settlement]


class GiveLentBack(msgspec.Struct, tag=True, array_like=True, omit_defaults=True):
    """To a partition: leases under which nothing was sent. With an address that must wait: until when."""

    tokens: list[int]
    address: str = ""
    until: float = 0.0


class Readmit(msgspec.Struct, tag=True, array_like=True):
    """To a partition: its pages are to be visited once more."""

    partition: int


class Release(msgspec.Struct, tag=True, array_like=True):
    """To a partition: leases of a worker that died. What it sent under them is not known."""

    node: int
    tokens: list[int]


class LentSettled(msgspec.Struct, tag=True, array_like=True):
    """To a machine: the answer to `SettleLent`."""

    question: int
    late: list[int]


class Wish(msgspec.Struct, tag=True, array_like=True):
    """To a machine: how many leases a worker of another one would take."""

    machine: str
    node: int
    leases: int


class Handed(msgspec.Struct, tag=True, array_like=True):
    """To a machine: leases for one of its workers, given at a moment of the store's time."""

    node: int
    leases: list[Lease]
    given_at: float


class Ordered(msgspec.Struct, tag=True, array_like=True, omit_defaults=True):
    """To a partition: what an operator wants; of `AddSeeds` with its targets there."""

    given: Given
    targets: list[Target] = []


Message = Ordered | Found | SettleLent | GiveLentBack | Release | Readmit | LentSettled | Wish | Handed

encode_message = _encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Message).decode


def inbox_of(tag: str) -> str:
    """Of a partition."""
    return f"{tag}i"


def box_of(tag: str, nonce: str) -> str:
    """Of a machine, under the tag of the crawl."""
    return f"{tag}box:{nonce}"


async def post(connection: Connection, tag: str, key: str, message: Message, *, is_kept: bool = True) -> None:
    """Send a message; on return it is safe. Those that are not to be kept end with whoever should have read them."""
    commands: list[Command] = [("XADD", key, "*", "", _encode(message))]
    if not is_kept:
        commands.append(("EXPIRE", key, KEPT_SECONDS))
    await connection.commands(tag, commands, durable=is_kept)


class MailReader:
    """Reads one stream from its beginning on."""

    def __init__(self, connection: Connection, tag: str, key: str) -> None:
        self._connection = connection
        self._key = key
        self._last = "0-0"
        self.tag = tag
        self.has_read = False  # something, the last time

    def question(self) -> Command:
        """What came since the last time, as much as is read together."""
        return ("XRANGE", self._key, f"({self._last}", "+", "COUNT", READ_TOGETHER)

    def messages(self, rows: Sequence[Any]) -> list[Message]:
        """What the answer to the question says."""
        found: list[Message] = []
        for name, (_, raw) in rows:
            self._last = name.decode()
            try:
                found.append(_decode(raw))
            except UNREADABLE:
                logger.warning("%s: a message cannot be read; it is left out", self._key)
        self.has_read = bool(rows)
        return found

    async def done(self) -> None:
        """All that was read has been acted upon."""
        moment, _, number = self._last.partition("-")
        beyond = f"{moment}-{int(number) + 1}"
        await self._connection.command(self.tag, "XTRIM", self._key, "MINID", beyond, durable=False)


async def read_together(connection: Connection, readers: Iterable[MailReader]) -> list[list[Message]]:
    """What has come to each."""
    asked = list(readers)
    answers = await ask_together(connection, [(reader.tag, [reader.question()]) for reader in asked])
    return [reader.messages(rows) for reader, (rows,) in zip(asked, answers, strict=True)]
