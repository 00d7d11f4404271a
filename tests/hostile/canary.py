"""A canary: it listens where no crawl may go, on every address of this machine, and counts who comes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from types import TracebackType
from typing import Self


class Canary:
    """`async with Canary() as canary: ...`: `connections` must stay 0."""

    def __init__(self) -> None:
        self.connections: list[str] = []
        self.port = 0
        self._servers: list[asyncio.Server] = []

    async def __aenter__(self) -> Self:
        first = await asyncio.start_server(self._meet, "0.0.0.0", 0)
        self.port = first.sockets[0].getsockname()[1]
        self._servers.append(first)
        # Without IPv6 nothing can come that way.
        with contextlib.suppress(OSError):
            sixth = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
            sixth.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            sixth.bind(("::", self.port))
            self._servers.append(await asyncio.start_server(self._meet, sock=sixth))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()

    def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        self.connections.append(str(writer.get_extra_info("sockname")))
        writer.close()
