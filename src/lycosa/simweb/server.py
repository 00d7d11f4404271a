"""A bare HTTP/1.1 server on loopback: keep-alive, pipelining, one answer after another.

Knows sockets and the order of answers. What to answer it asks a site: a reply at once, or a behaviour, a
coroutine that does to the connection what it likes (the place for tarpits, bombs and malformed answers).
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Protocol, TypeAlias, cast

from .http import MAX_HEAD_BYTES, Ask, Reply, Unreadable, make_reply, read_head
from .log import LoggedRequest, RequestLog

_BACKLOG = 4096


class ServedExchange:
    """One request in the hands of a behaviour, with the connection to do as it likes."""

    def __init__(self, ask: Ask, connection: _Connection) -> None:
        self.ask = ask
        self.status = 0
        self._connection = connection

    def send(self, data: bytes) -> None:
        """Send raw bytes; the status of the log is read from a status line."""
        if not self.status and data.startswith(b"HTTP/1.") and data[9:12].isdigit():
            self.status = int(data[9:12])
        self._connection.transport.write(data)

    def reply(self, reply: Reply) -> None:
        """Send a well-formed response."""
        self.send(reply.to_bytes(has_body=self.ask.method != "HEAD", is_last=self.ask.is_last))

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be sent."""
        await self._connection.is_writable.wait()

    def close(self) -> None:
        """End the connection after what was sent."""
        self._connection.transport.close()

    def abort(self) -> None:
        """Reset the connection."""
        self._connection.transport.abort()


Behaviour: TypeAlias = Callable[[ServedExchange], Awaitable[None]]


class ServedSite(Protocol):
    """Whatever decides the answers of a server."""

    def answer(self, ask: Ask) -> Reply | Behaviour:
        """The answer to a request; it must not wait."""


def loopback_socket(port: int) -> socket.socket:
    """A listening socket for every 127.x.y.z that nothing outside this machine can reach."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Where the kernel refuses this, the check of each connection's own address remains.
        with suppress(OSError, AttributeError):
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
        listener.bind(("0.0.0.0", port))  # noqa: S104 - restricted to the loopback device above
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def allow_many_connections() -> None:
    """Raise this process's limit of open descriptors as far as it may: shells often start with 1,024."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class SimServer:
    """Serves a site on a socket and notes every request in a log."""

    def __init__(self, site: ServedSite, log: RequestLog) -> None:
        self.site = site
        self.log = log
        self.connection_numbers = count(1)
        self.connections: set[_Connection] = set()
        self.behaviours: set[asyncio.Task[None]] = set()
        self.failures: list[Exception] = []
        self._listening: asyncio.Server | None = None

    async def start(self, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Accept connections from now on, over TLS if there is a context for it."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(lambda: _Connection(self), sock=listener, backlog=_BACKLOG, ssl=tls)

    async def close(self) -> None:
        """End all connections; raises what behaviours failed with, since a test would not see it otherwise."""
        if self._listening is not None:
            self._listening.close()
        for connection in tuple(self.connections):
            connection.transport.abort()
        for task in (running := tuple(self.behaviours)):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self.failures:
            raise ExceptionGroup("behaviours of the simulated web failed", self.failures)

    def forget(self, task: asyncio.Task[None]) -> None:
        """Let go of a behaviour that ended."""
        self.behaviours.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self.failures.append(error)


class _Connection(asyncio.Protocol):
    """One client. Answers strictly in order: while one is under way, later requests wait in the buffer."""

    transport: asyncio.Transport

    def __init__(self, server: SimServer) -> None:
        self.is_writable = asyncio.Event()
        self.is_writable.set()
        self._server = server
        self._number = next(server.connection_numbers)
        self._buffer = b""
        self._is_reading = True
        self._local_address = ""
        self._current: LoggedRequest | None = None
        self._exchange: ServedExchange | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is none of asyncio's classes, though it has all their methods.
        self.transport = cast(asyncio.Transport, transport)
        self._local_address = self.transport.get_extra_info("sockname")[0]
        if not self._local_address.startswith("127."):
            self.transport.abort()
            return
        self._server.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        if self._current is not None:
            status = self._exchange.status if self._exchange is not None else 0
            self._server.log.give_up(self._current, status)
            self._current = None

    def pause_writing(self) -> None:
        self.is_writable.clear()

    def resume_writing(self) -> None:
        self.is_writable.set()
        self._advance()

    def data_received(self, data: bytes) -> None:
        self._buffer = self._buffer + data if self._buffer else data
        self._advance()

    def _advance(self) -> None:
        """Answer the requests in the buffer until one of them, or the client's reading, takes time."""
        while self._current is None and self._buffer and self.is_writable.is_set():
            if self.transport.is_closing() or (ask := self._next_ask()) is None:
                break
            self._answer(ask)
        if (len(self._buffer) > 2 * MAX_HEAD_BYTES) == self._is_reading and not self.transport.is_closing():
            self._is_reading = not self._is_reading
            (self.transport.resume_reading if self._is_reading else self.transport.pause_reading)()

    def _next_ask(self) -> Ask | None:
        """Take one whole request off the buffer."""
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            head, end, rest = self._buffer.partition(b"\n\n")
        try:
            if len(head) > MAX_HEAD_BYTES:
                raise Unreadable("a head that does not end")
            if not end:
                return None
            ask = read_head(head.lstrip(), self._local_address)
        except Unreadable as error:
            self._refuse(str(error))
            return None
        if len(rest) < ask.body_bytes:
            return None
        self._buffer = rest[ask.body_bytes :]
        return replace(ask, body=rest[: ask.body_bytes]) if ask.body_bytes else ask

    def _refuse(self, reason: str) -> None:
        request = self._server.log.arrive("", reason[:100], self._number, "", "")
        self.transport.write(make_reply(400).to_bytes(is_last=True))
        self._server.log.finish(request, 400)
        self.transport.close()

    def _answer(self, ask: Ask) -> None:
        self._current = self._server.log.arrive(
            ask.name or self._local_address, ask.target, self._number, ask.method, ask.user_agent
        )
        answer = self._server.site.answer(ask)
        if not isinstance(answer, Reply):
            self._exchange = ServedExchange(ask, self)
            self._task = asyncio.get_running_loop().create_task(self._behave(answer, self._exchange))
            self._server.behaviours.add(self._task)
            self._task.add_done_callback(self._server.forget)
        elif answer.delay_seconds:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(answer.delay_seconds, self._send_late, ask, answer)
        else:
            self._send(ask, answer)

    def _send(self, ask: Ask, reply: Reply) -> None:
        assert self._current is not None, "an answer belongs to a request"
        self.transport.write(reply.to_bytes(has_body=ask.method != "HEAD", is_last=ask.is_last))
        self._server.log.finish(self._current, reply.status)
        self._current = None
        if ask.is_last:
            self.transport.close()

    def _send_late(self, ask: Ask, reply: Reply) -> None:
        self._timer = None
        self._send(ask, reply)
        self._advance()

    async def _behave(self, behaviour: Behaviour, exchange: ServedExchange) -> None:
        try:
            await behaviour(exchange)
        except Exception:
            self.transport.abort()
            raise
        if self._current is not None:
            self._server.log.finish(self._current, exchange.status)
        self._current = self._exchange = self._task = None
        if exchange.ask.is_last:
            self.transport.close()
        self._advance()
