"""A fetch sends one request, whatever becomes of it: libcurl's own ways to ask again are shut."""

from __future__ import annotations

import asyncio
import socket
import struct
from pathlib import Path

import pytest

from lycosa.errors import Unreachable
from lycosa.fetch.curl import CurlFetcher
from lycosa.model import Failure

from .conftest import MakeFetcher
from .http2 import HELLO, Answer, Http2Web, go_away, hang_up, hello, reset
from .rawweb import RawWeb, page
from .test_tls import server_context


class Keeping:
    """Answers the first request of every connection and hangs up on the second."""

    def __init__(self, *, with_reset: bool) -> None:
        self.with_reset = with_reset
        self.requests = 0
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        writer.write(page(b"hello"))
        await writer.drain()
        await reader.readuntil(b"\r\n\r\n")
        self.requests += 1
        if self.with_reset:
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()


@pytest.mark.parametrize("with_reset", [False, True])
async def test_a_kept_connection_that_dies_under_a_request_ends_the_fetch(
    fetcher: CurlFetcher, with_reset: bool
) -> None:
    keeping = Keeping(with_reset=with_reset)
    server = await asyncio.start_server(keeping.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    assert (await fetcher.fetch(url)).body == b"hello"
    with pytest.raises(Unreachable) as failure:
        await fetcher.fetch(url)
    assert (failure.value.reason, failure.value.sent) == (Failure.RESET, True)
    assert (keeping.requests, keeping.connections) == (2, 1)
    # The next fetch has a connection of its own, and the handle is as good as new.
    assert (await fetcher.fetch(url)).body == b"hello"
    assert (keeping.requests, keeping.connections) == (3, 2)
    server.close()


ENDS: dict[str, Answer] = {
    "refused stream": reset("REFUSED_STREAM"),
    "going away": go_away,
    "hanging up": hang_up,
    "HTTP/1.1 required": reset("HTTP_1_1_REQUIRED"),
    "internal error": reset("INTERNAL_ERROR"),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("pages_before", [0, 1])
async def test_a_stream_that_is_not_answered_ends_the_fetch(
    certificate: Path, make_fetcher: MakeFetcher, end: str, pages_before: int
) -> None:
    web = Http2Web(*[hello] * pages_before, *[ENDS[end]] * 6)
    url = await web.start(server_context(certificate, "h2", "http/1.1"))
    fetcher = make_fetcher(ca_file=str(certificate))
    for _ in range(pages_before):
        assert (await fetcher.fetch(url)).body == HELLO
    with pytest.raises(Unreachable) as failure:
        await fetcher.fetch(url)
    assert (failure.value.reason, failure.value.sent) == (Failure.RESET, True)
    assert (len(web.requests), web.connections) == (pages_before + 1, 1)
    web.answers.clear()
    assert (await fetcher.fetch(url)).body == HELLO
    web.close()


async def test_a_kept_connection_that_died_before_the_request_is_replaced(web: RawWeb, fetcher: CurlFetcher) -> None:
    async def close_unasked(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"hello"))

    web.answers["/"] = close_unasked
    for _ in range(3):
        assert (await fetcher.fetch(web.url("/"))).body == b"hello"
        await web.all_closed.wait()
    assert len(web.requests) == 3


async def test_a_kept_connection_whose_tls_was_closed_is_replaced(certificate: Path, make_fetcher: MakeFetcher) -> None:
    web = RawWeb()
    await web.start(server_context(certificate, "http/1.1"))
    web.answers["/"] = page(b"hello")
    fetcher = make_fetcher(ca_file=str(certificate))
    for _ in range(5):
        assert (await fetcher.fetch(web.url("/", scheme="https"))).body == b"hello"
        await web.all_closed.wait()
    assert len(web.requests) == 5
    web.close()


async def test_connections_of_http2_are_reused(certificate: Path, make_fetcher: MakeFetcher) -> None:
    web = Http2Web()
    url = await web.start(server_context(certificate, "h2"))
    fetcher = make_fetcher(ca_file=str(certificate))
    for _ in range(20):
        assert (await fetcher.fetch(url)).body == HELLO
    assert web.connections == 1
    web.close()
