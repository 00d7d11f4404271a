"""The protocol of Redis on one socket: many commands in one send, and their answers in their order.

Knows nothing of frontiers. An error that a server answers is a value among the answers; what raises is an `OSError`
(nobody there, cut off, too late), or a `ResponseError` where a server does not let us in.

Beneath redis-py because a page is some twenty commands: it takes 13 µs to send one and read its answer. Packing and
reading them is hiredis' work.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Self, cast

import hiredis
from redis.exceptions import ResponseError

from lycosa.frontier.redis.address import Address, Server

Command = Sequence[bytes | str | int]
_READ_BYTES = 1 << 16


def pack(commands: Iterable[Command]) -> bytes:
    """Commands as they are sent together."""
    # Its types say that a command has one word.
    return b"".join([hiredis.pack_command(tuple(command)) for command in commands])  # type: ignore[arg-type]


def first_error(answers: Iterable[Any]) -> ResponseError | None:
    """What a server first complained of."""
    return next((answer for answer in answers if isinstance(answer, ResponseError)), None)


class Answers:
    """Reads answers from bytes as they arrive, in whatever pieces."""

    def __init__(self) -> None:
        self.whole: list[Any] = []
        self._reader = hiredis.Reader(protocolError=ConnectionResetError, replyError=ResponseError)

    def feed(self, raw: bytes) -> None:
        """Take in what has arrived."""
        self._reader.feed(raw)
        while (answer := self._reader.gets()) is not False:
            self.whole.append(answer)


class Wire(asyncio.Protocol):
    """One connection to one server. One asks at a time; whoever stops waiting for answers has closed it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.is_open = False
        self._transport: asyncio.Transport | None = None
        self._answers = Answers()
        self._wanted = 0
        self._arrived: asyncio.Future[list[Any]] | None = None

    @classmethod
    async def open(cls, server: Server, address: Address) -> Self:
        """Connect and log in."""
        wire = cls(server)
        context = ssl.create_default_context() if address.is_encrypted else None
        await asyncio.get_running_loop().create_connection(lambda: wire, server.host, server.port, ssl=context)
        try:
            if error := first_error(await wire.ask_all(_greeting(address))):
                raise error
        except BaseException:
            wire.close()
            raise
        return wire

    async def ask_all(self, commands: Sequence[Command]) -> list[Any]:
        """The answers to these commands."""
        return await self.ask(pack(commands), len(commands))

    async def ask(self, packed: bytes, count: int) -> list[Any]:
        """The answers to so many commands that are packed already."""
        if not count:
            return []
        if not self.is_open or not self._transport:
            raise ConnectionResetError(f"{self.server} has closed the connection")
        assert not self._arrived, "answers would be mixed up"
        self._wanted = count
        self._arrived = asyncio.get_running_loop().create_future()
        self._transport.write(packed)
        try:
            return await self._arrived
        finally:
            if self._wanted:
                self.close()
            self._arrived = None

    def close(self) -> None:
        """Let go, at once."""
        self.is_open = False
        if self._transport:
            self._transport.abort()

    # ---- what the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # though those of uvloop are not of this class
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        self._answers.feed(data)
        if self._arrived and len(self._answers.whole) >= self._wanted and not self._arrived.done():
            answers, self._answers.whole = self._answers.whole, []
            self._wanted = 0
            self._arrived.set_result(answers)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._arrived and not self._arrived.done():
            # A server that is full says so before it hangs up.
            said = first_error(self._answers.whole)
            self._arrived.set_exception(said or exc or ConnectionResetError(f"{self.server} closed the connection"))


def ask_once(server: Server, address: Address, commands: Sequence[Command], seconds: float) -> list[Any]:
    """Connect, log in, ask and let go, outside of any event loop: blocks."""
    greeting, answers = _greeting(address), Answers()
    wanted = len(greeting) + len(commands)
    with _connected(server, address, seconds) as connected:
        connected.sendall(pack([*greeting, *commands]))
        while len(answers.whole) < wanted:
            if not (raw := connected.recv(_READ_BYTES)):
                raise first_error(answers.whole) or ConnectionResetError(f"{server} closed the connection")
            answers.feed(raw)
    if error := first_error(answers.whole[: len(greeting)]):
        raise error
    return answers.whole[len(greeting) :]


@contextmanager
def _connected(server: Server, address: Address, seconds: float) -> Any:
    with socket.create_connection(server, seconds) as plain:
        if not address.is_encrypted:
            yield plain
            return
        with ssl.create_default_context().wrap_socket(plain, server_hostname=server.host) as encrypted:
            yield encrypted


def _greeting(address: Address) -> list[Command]:
    greeting: list[Command] = []
    if address.username:
        greeting.append(("AUTH", address.username, address.password or ""))
    elif address.password:
        greeting.append(("AUTH", address.password))
    if address.db:
        greeting.append(("SELECT", address.db))
    return greeting
