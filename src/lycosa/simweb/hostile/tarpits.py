"""Answers that take their time, or never end, or are far too much: each holds a connection as long as it is let.

Knows nothing of limits: how long a crawler stays is the crawler's affair.
"""

from __future__ import annotations

import asyncio

from ..server import ServedExchange
from .malformed import OK, PAGE, page
from .registry import hostile

DRIP_SECONDS = 0.05
FLOOD_LINKS = 1_000_000


@hostile("T10")
async def hang(exchange: ServedExchange) -> None:
    """The request is accepted, and nothing is ever said."""
    await _for_ever(exchange)


@hostile("T10")
async def hang_in_head(exchange: ServedExchange) -> None:
    """The head begins and never ends."""
    exchange.send(OK)
    await _for_ever(exchange)


@hostile("T10")
async def hang_in_body(exchange: ServedExchange) -> None:
    """Half of the body comes, and then nothing."""
    exchange.send(OK + b"Content-Length: 10000\r\n\r\n" + PAGE)
    await _for_ever(exchange)


@hostile("T10")
async def slow_head(exchange: ServedExchange) -> None:
    """The head comes a few bytes at a time, for ever."""
    exchange.send(OK)
    await _drip(exchange, b"X: y\r\n")


@hostile("T10")
async def slow_body(exchange: ServedExchange) -> None:
    """The body comes a byte at a time, for ever."""
    exchange.send(OK + b"\r\n" + PAGE)
    await _drip(exchange, b"x")


@hostile("T10")
async def endless_body(exchange: ServedExchange) -> None:
    """The body never ends, as fast as the client reads."""
    exchange.send(OK + b"\r\n")
    await _pour(exchange, b"<p>more and more</p>" * 3_000)


@hostile("T10")
async def endless_head(exchange: ServedExchange) -> None:
    """The head never ends, as fast as the client reads."""
    exchange.send(OK)
    await _pour(exchange, b"X-More: and more\r\n" * 3_000)


@hostile("T10")
async def endless_interim(exchange: ServedExchange) -> None:
    """Interim answers without an end."""
    await _pour(exchange, b"HTTP/1.1 102 Processing\r\n\r\n" * 2_000)


@hostile("T10")
async def endless_chunks(exchange: ServedExchange) -> None:
    """Chunks of one byte without an end."""
    exchange.send(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    await _pour(exchange, b"1\r\nx\r\n" * 5_000)


@hostile("T9")
async def link_flood(exchange: ServedExchange) -> None:
    """A page with a million links to itself, each different."""
    exchange.send(OK + b"\r\n<!doctype html><title>flood</title>")
    for first in range(0, FLOOD_LINKS, 1_000):
        exchange.send(b"".join(b"<a href=/l%d>x</a>" % number for number in range(first, first + 1_000)))
        await exchange.drain()
    exchange.close()


@hostile("T9")
async def foreign_link_flood(exchange: ServedExchange) -> None:
    """A page with ten thousand links to hosts of one foreign domain."""
    links = b"".join(b"<a href=http://h%d.victim.test/>x</a>" % number for number in range(10_000))
    exchange.send(page(b"<!doctype html>" + links))
    exchange.close()


async def _for_ever(exchange: ServedExchange) -> None:
    # The task of a behaviour is cancelled when its client leaves.
    await exchange.drain()
    await asyncio.Event().wait()


async def _drip(exchange: ServedExchange, piece: bytes) -> None:
    while True:
        exchange.send(piece)
        await asyncio.sleep(DRIP_SECONDS)


async def _pour(exchange: ServedExchange, piece: bytes) -> None:
    while True:
        exchange.send(piece)
        await exchange.drain()
        # Others are served in between, also while the client reads as fast as we write.
        await asyncio.sleep(0)
