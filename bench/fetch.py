"""CPU time per page of the fetcher, on loopback, beside aiohttp where it is installed.

    python bench/fetch.py [--pages 20000] [--concurrent 100] [--hosts 100] [--page-bytes 28000]

A bare server answers in a process of its own. The figures are CPU time of this process per page, so they hold on
a busy machine; the ratio compares both clients within one run.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import cast

import uvloop

from lycosa.fetch.curl import CurlFetcher
from lycosa.fetch.dns import Resolver
from lycosa.fetch.gate import AddressGate
from lycosa.settings import Settings

Fetch = Callable[[str], Awaitable[int]]


class PageServer(asyncio.Protocol):
    """Answers every request head with the same bytes."""

    answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.transport.write(self.answer * data.count(b"\r\n\r\n"))


def serve(page_bytes: int, port: Connection) -> None:
    async def run() -> None:
        head = (
            b"HTTP/1.1 200 OK\r\nServer: bench\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n"
            b'Content-Type: text/html; charset=utf-8\r\nETag: "abc"\r\nCache-Control: max-age=60\r\n'
            b"Vary: Accept-Encoding\r\nContent-Length: %d\r\n\r\n" % page_bytes
        )
        PageServer.answer = head + b"x" * page_bytes
        server = await asyncio.get_running_loop().create_server(PageServer, "0.0.0.0", 0, backlog=4096)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(run())


async def load(fetch: Fetch, urls: list[str], concurrent: int) -> tuple[float, float]:
    """Fetch all URLs, each client its own share; CPU seconds and wall seconds."""

    async def client(share: list[str]) -> None:
        for url in share:
            await fetch(url)

    cpu, wall = time.process_time(), time.perf_counter()
    async with asyncio.TaskGroup() as group:
        for n in range(concurrent):
            group.create_task(client(urls[n::concurrent]))
    return time.process_time() - cpu, time.perf_counter() - wall


async def run_curl(urls: list[str], options: argparse.Namespace) -> tuple[float, float]:
    settings = Settings(connections=max(options.concurrent, options.hosts))
    fetcher = CurlFetcher(settings, Resolver([]), AddressGate(["127.0.0.0/8"]))

    async def fetch(url: str) -> int:
        return len((await fetcher.fetch(url)).body)

    await load(fetch, urls[: options.hosts * 2], options.concurrent)
    figures = await load(fetch, urls, options.concurrent)
    await fetcher.close()
    return figures


async def run_aiohttp(urls: list[str], options: argparse.Namespace) -> tuple[float, float]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def fetch(url: str) -> int:
            async with session.get(url) as response:
                return len(await response.read())

        await load(fetch, urls[: options.hosts * 2], options.concurrent)
        return await load(fetch, urls, options.concurrent)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--concurrent", type=int, default=100)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--page-bytes", type=int, default=28_000)
    options = parser.parse_args()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(options.page_bytes, theirs), daemon=True)
    server.start()
    try:
        report(ours.recv(), options)
    finally:
        server.terminate()
        server.join()


def report(port: int, options: argparse.Namespace) -> None:
    hosts = [f"127.0.{n // 250}.{n % 250 + 1}" for n in range(options.hosts)]
    urls = [f"http://{hosts[n % len(hosts)]}:{port}/page/{n}" for n in range(options.pages)]
    figures = {}
    for name, run in {"lycosa": run_curl, "aiohttp": run_aiohttp}.items():
        try:
            cpu, wall = uvloop.run(run(urls, options))
        except ImportError:
            print(f"{name:8} not installed")
            continue
        figures[name] = cpu / len(urls) * 1e6
        print(f"{name:8} {figures[name]:7.1f} µs CPU per page  {len(urls) / wall:8.0f} pages/s")
    if "aiohttp" in figures:
        print(f"aiohttp / lycosa: {figures['aiohttp'] / figures['lycosa']:.2f}")


if __name__ == "__main__":
    main()
