"""A web server for tests that sends exactly the bytes it is told to, right or wrong."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

Answer = bytes | Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RawWeb:
    """`answers[path]` is sent for that path; bytes close the connection unless `keeps_alive`."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.keeps_alive = False
        self.requests: list[bytes] = []
        self.connections = 0
        self.open_connections = 0
        self.all_closed = asyncio.Event()
        self.arrived = asyncio.Event()
        self.port = 0
        self._server: asyncio.Server | None = None

    async def start(self, context: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self._server = await asyncio.start_server(self._serve, host, 0, ssl=context, backlog=4096, limit=2**20)
        self.port = self._server.sockets[0].getsockname()[1]

    def url(self, path: str, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    @property
    def paths(self) -> list[str]:
        return [request.split()[1].decode() for request in self.requests]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        self.all_closed.clear()
        try:
            while await self._answer_one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()
            self.open_connections -= 1
            if not self.open_connections:
                self.all_closed.set()

    async def _answer_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.requests.append(await reader.readuntil(b"\r\n\r\n"))
        self.arrived.set()
        answer = self.answers[self.paths[-1]]
        if callable(answer):
            await answer(reader, writer)
            return False
        writer.write(answer)
        await writer.drain()
        return self.keeps_alive


async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    """Say nothing until the client goes away."""
    await reader.read()


def hang_after(start: bytes) -> Answer:
    """Send the start of an answer and then nothing more."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        await reader.read()

    return answer


def endless(start: bytes, piece: bytes, *, pause_seconds: float = 0.0) -> Answer:
    """Send the start of an answer and then the same piece until the client goes away."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while not reader.at_eof():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause_seconds)

    return answer


def page(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A well-formed answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body
