"""A web server for tests that speaks HTTP/2 and ends requests in the ways that HTTP/2 knows."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from importlib import import_module
from typing import Any

HELLO = b"hello over h2"

# What is done with a request: the connection of h2, and the number of the stream.
Answer = Callable[[Any, int], None]


def hello(http: Any, stream: int) -> None:
    """Answer with a small page."""
    http.send_headers(stream, [(":status", "200"), ("Content-Type", "text/html")])
    http.send_data(stream, HELLO, end_stream=True)


def reset(code: str) -> Answer:
    """End the stream with an error code of RFC 9113, by its name there."""
    number = getattr(import_module("h2.errors").ErrorCodes, code)
    return lambda http, stream: http.reset_stream(stream, error_code=number)


def go_away(http: Any, stream: int) -> None:
    """Say that neither this stream nor any later one was looked at."""
    http.close_connection(last_stream_id=max(0, stream - 2))


def hang_up(_http: Any, _stream: int) -> None:
    """Close the connection without a word."""
    raise ConnectionAbortedError


class Http2Web:
    """`answers` are given to the first requests in turn, whatever the connection; those after them get a page."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[str] = []
        self.connections = 0
        self._server: asyncio.Server | None = None

    async def start(self, context: ssl.SSLContext) -> str:
        """Begin to serve, and say under which URL."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, ssl=context)
        return f"https://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"

    def close(self) -> None:
        if self._server is not None:
            self._server.close()


class _Connection(asyncio.Protocol):
    def __init__(self, web: Http2Web) -> None:
        self.web = web

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.web.connections += 1
        self.transport = transport
        config: Any = import_module("h2.config").H2Configuration(client_side=False)
        self.http: Any = import_module("h2.connection").H2Connection(config)
        self.http.initiate_connection()
        transport.write(self.http.data_to_send())

    def data_received(self, data: bytes) -> None:
        try:
            for event in self.http.receive_data(data):
                if type(event).__name__ == "RequestReceived":
                    self.web.requests.append(dict(event.headers)[b":path"].decode())
                    answer = self.web.answers.pop(0) if self.web.answers else hello
                    answer(self.http, event.stream_id)
        except ConnectionAbortedError:
            self.transport.abort()
            return
        self.transport.write(self.http.data_to_send())
