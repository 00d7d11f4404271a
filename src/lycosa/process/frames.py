"""How messages travel between the supervisor and its workers: length-prefixed msgpack over a Unix socket.

Messages sent in the same turn of the event loop travel in one frame, and those that are in no hurry wait for them a
moment, so that thousands of visits cost few system calls. This file knows how messages travel, not what they mean.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, cast

import msgspec

from lycosa.errors import BackendLost
from lycosa.process.messages import Orders, Reply, Request

MAX_FRAME_BYTES = 256 * 1024 * 1024
# How long a message that is in no hurry waits for others: to wake the other side costs more than to answer it.
GATHER_SECONDS = 0.01


class CallFrame(msgspec.Struct, frozen=True, array_like=True):
    number: int
    request: Request


class ReplyFrame(msgspec.Struct, frozen=True, array_like=True):
    number: int
    reply: Reply


Serve = Callable[[Request], Awaitable[Reply]]
_encode = msgspec.msgpack.Encoder().encode


class _Frames(asyncio.Protocol):
    """Cuts the byte stream into frames and sends what one turn of the loop has gathered as one frame."""

    def __init__(self, decode: Callable[[bytes], list[Any]]) -> None:
        self._decode = decode
        self._buffer = bytearray()
        self._gathered: list[bytes] = []
        self._leaving: asyncio.Handle | None = None  # what is gathered, now or soon
        self._is_urgent = False
        self._transport: asyncio.Transport | None = None
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        start = 0
        while len(buffer) - start >= 4:
            end = start + 4 + int.from_bytes(buffer[start : start + 4])
            if end - start > MAX_FRAME_BYTES:
                self.close()
                return
            if len(buffer) < end:
                break
            frame = bytes(buffer[start + 4 : end])
            start = end
            for message in self._decode(frame):
                self.received(message)
        if start:
            del buffer[:start]

    def received(self, message: Any) -> None:
        raise NotImplementedError

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def send(self, message: Any, *, is_urgent: bool = True) -> None:
        # Encoded here, not when the frame goes out: what cannot be encoded fails its sender and nobody else.
        self._gathered.append(_encode(message))
        if self._is_urgent or (self._leaving and not is_urgent):
            return
        if self._leaving:
            self._leaving.cancel()
        loop = asyncio.get_running_loop()
        self._leaving = loop.call_soon(self._flush) if is_urgent else loop.call_later(GATHER_SECONDS, self._flush)
        self._is_urgent = is_urgent

    def _flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        self._leaving, self._is_urgent = None, False
        if self._transport and not self._transport.is_closing():
            # A msgpack array of 32-bit length, so that the parts need not be encoded once more as a whole.
            frame = b"".join((b"\xdd", len(gathered).to_bytes(4), *gathered))
            self._transport.write(len(frame).to_bytes(4) + frame)

    def close(self) -> None:
        if self._transport:
            self._transport.close()


class CallClient(_Frames):
    """The worker's end: calls and their answers. A lost supervisor fails every open call with `BackendLost`."""

    def __init__(self) -> None:
        super().__init__(msgspec.msgpack.Decoder(list[ReplyFrame]).decode)
        self._numbers = count(1)
        self._open: dict[int, asyncio.Future[Reply]] = {}
        self.orders: asyncio.Future[Orders] = asyncio.get_running_loop().create_future()

    def received(self, message: ReplyFrame) -> None:
        if isinstance(message.reply, Orders):
            self.orders.set_result(message.reply)
        elif (waiter := self._open.pop(message.number, None)) and not waiter.done():
            waiter.set_result(message.reply)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for waiter in self._open.values():
            if not waiter.done():
                waiter.set_exception(BackendLost("the supervisor is gone"))
        self._open.clear()

    async def call(self, request: Request, *, is_urgent: bool = True) -> Reply:
        """What the supervisor says to this. What is not urgent may wait a moment for more that is asked."""
        if self.closed.done():
            raise BackendLost("the supervisor is gone")
        number = next(self._numbers)
        self.send(CallFrame(number, request), is_urgent=is_urgent)
        waiter: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._open[number] = waiter
        return await waiter


class CallServer(_Frames):
    """The supervisor's end: answers calls as they become ready; `failed` is for those that cannot be."""

    def __init__(self, serve: Serve) -> None:
        super().__init__(msgspec.msgpack.Decoder(list[CallFrame]).decode)
        self._serve = serve
        self._tasks: set[asyncio.Task[None]] = set()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def received(self, message: CallFrame) -> None:
        task = asyncio.create_task(self._answer(message))
        self._tasks.add(task)
        task.add_done_callback(self._answered)

    async def _answer(self, call: CallFrame) -> None:
        self.send(ReplyFrame(call.number, await self._serve(call.request)))

    def _answered(self, task: asyncio.Task[None]) -> None:
        """A call that failed ends the conversation: without its answer the other side would wait for ever."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            if not self.failed.done():
                self.failed.set_exception(error)
                # Of several workers that fail for the same reason only the first is asked why.
                self.failed.exception()
            self.close()

    async def ended(self) -> None:
        """Return when the other side is gone and no call of it is being served any more."""
        await self.closed
        if self._tasks:
            await asyncio.wait(self._tasks)

    def order(self, orders: Orders) -> None:
        """The first message."""
        self.send(ReplyFrame(0, orders))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for task in self._tasks:
            task.cancel()


async def connect(end: socket.socket, protocol: CallClient | CallServer) -> None:
    """Speak over one end of a socket pair."""
    end.setblocking(False)
    await asyncio.get_running_loop().create_unix_connection(lambda: protocol, sock=end)
