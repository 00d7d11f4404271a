"""The protocol of Redis on one socket: many commands in one send, and their answers in their order.

Knows nothing of frontiers. An error that a server answers is a value among the answers; what raises is an `OSError`
(nobody there, cut off, too late), or a `ResponseError` where a server does not let us in.

Written by hand because a page is some twenty commands: redis-py takes 13 µs to send one and read its answer, this
takes 1.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Iterable, Sequence
from contextlib import contextmanager
from typing import Any, Self, cast

from redis.exceptions import ResponseError

from lycosa.frontier.redis.address import Address, Server

Word = bytes | str | int
# Its words; or packed already.
Command = Sequence[Word] | bytes
_READ_BYTES = 1 << 16
_LINE_END = b"\r\n"
_BULK, _ARRAY, _NUMBER, _STATUS, _ERROR = b"$*:+-"
# Most of what comes back: what was queued, and how many fields were new. Read one by one, it takes five times as long.
_ALIKE = re.compile(rb"(?::\d\r\n)+|(?:\+QUEUED\r\n)+")
_ALIKE_KINDS = (_NUMBER, _STATUS)
_DIGIT_BYTES, _QUEUED_BYTES = len(b":1\r\n"), len(b"+QUEUED\r\n")


def pack(words: Sequence[Word]) -> bytes:
    """A command as it is sent."""
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        raw = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%b\r\n" % (len(raw), raw))
    return b"".join(parts)


def pack_numbers(word: bytes, key: bytes, numbers: Sequence[int]) -> bytes:
    """A command about numbers under one key, mostly about one: packed in a third of the time."""
    first = b"%d" % numbers[0]
    head = (2 + len(numbers), len(word), word, len(key), key, len(first), first)
    packed = b"*%d\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % head
    for number in numbers[1:]:
        raw = b"%d" % number
        packed += b"$%d\r\n%b\r\n" % (len(raw), raw)
    return packed


def pack_all(commands: Iterable[Command]) -> bytes:
    """Commands as they are sent together."""
    return b"".join([command if isinstance(command, bytes) else pack(command) for command in commands])


def first_error(answers: Iterable[Any]) -> ResponseError | None:
    """What a server first complained of."""
    return next((answer for answer in answers if isinstance(answer, ResponseError)), None)


class Answers:
    """Reads answers from bytes as they arrive, in whatever pieces."""

    def __init__(self) -> None:
        self.whole: list[Any] = []
        self._rest = b""
        self._open: list[tuple[list[Any], int]] = []  # arrays that are not full yet, and how much goes into each

    def feed(self, raw: bytes) -> None:
        """Take in what has arrived."""
        buffer = self._rest + raw if self._rest else raw
        start = 0
        while (end := buffer.find(_LINE_END, start)) >= 0:
            kind = buffer[start]
            if kind in _ALIKE_KINDS and (alike := _ALIKE.match(buffer, start)):
                start = alike.end()
                self._take_all(_values(kind, alike[0]))
                continue
            value, after = buffer[start + 1 : end], end + 2
            if kind == _BULK:
                size = int(value)
                if size >= 0:
                    after += size + 2
                    if len(buffer) < after:
                        break
                self._take(buffer[end + 2 : after - 2] if size >= 0 else None)
            elif kind == _ARRAY and int(value) > 0:
                self._open.append(([], int(value)))
            elif kind == _ARRAY:
                self._take([] if int(value) == 0 else None)
            elif kind == _NUMBER:
                self._take(int(value))
            else:
                self._take(ResponseError(value.decode(errors="replace")) if kind == _ERROR else value)
            start = after
        self._rest = buffer[start:]

    def _take(self, value: Any) -> None:
        while self._open:
            items, size = self._open[-1]
            items.append(value)
            if len(items) < size:
                return
            self._open.pop()
            value = items
        self.whole.append(value)

    def _take_all(self, values: list[Any]) -> None:
        while self._open and values:
            items, size = self._open[-1]
            # The last one closes the array, and maybe those around it.
            missing = size - len(items) - 1
            items += values[:missing]
            values = values[missing:]
            if values:
                self._take(values.pop(0))
        self.whole += values


def _values(kind: int, lines: bytes) -> list[Any]:
    if kind == _NUMBER:
        return [digit - ord("0") for digit in lines[1::_DIGIT_BYTES]]
    return [b"QUEUED"] * (len(lines) // _QUEUED_BYTES)


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
        return await self.ask(pack_all(commands), len(commands))

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
        connected.sendall(pack_all([*greeting, *commands]))
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
