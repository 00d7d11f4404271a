"""Fixtures and a small HTTP client for tests that need a web.

A root `conftest.py` takes the fixtures with `pytest_plugins = ["simweb.fixtures"]`.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from lycosa.simweb import HandWeb, SimWeb, WebPlan

_LIMIT_SECONDS = 10.0


@pytest.fixture
async def hand_web() -> AsyncIterator[HandWeb]:
    """An empty web to put pages into."""
    async with HandWeb() as web:
        yield web


@pytest.fixture
async def mixed_web() -> AsyncIterator[SimWeb]:
    """A small web with a bit of everything benign, and no slow host."""
    async with SimWeb(WebPlan.named("mixed", hosts=12, pages_per_host=30, slow_host_share=0.0)) as web:
        yield web


@dataclass(frozen=True)
class Heard:
    """A response as it came: headers in lower case, the body decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


async def ask(url: str, headers: Mapping[str, str] | None = None, *, method: str = "GET") -> Heard:
    """Fetch a URL of a simulated web over a connection of its own, whatever its name resolves to."""
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [f"{method} {target} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    assert parts.port is not None
    answer = await say(parts.port, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    return heard(answer)


async def say(port: int, data: bytes) -> bytes:
    """Send bytes, and return all that comes until the server closes the connection."""
    async with asyncio.timeout(_LIMIT_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        answer = await reader.read()
        writer.close()
        return answer


def heard(answer: bytes) -> Heard:
    """The response in the bytes of an answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("content-encoding") == "gzip" and body:
        body = gzip.decompress(body)
    return Heard(int(first.split()[1]), headers, body)
