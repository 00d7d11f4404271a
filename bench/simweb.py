"""How fast the simulated web answers: `python bench/simweb.py [--seconds S]`.

One server process on one core, one client process beside it: `wrk` where it is installed, otherwise a raw
client that repeats one request on each of its connections. Bounded: a few runs of `--seconds` each.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

from lycosa.simweb import SimWebProcess, WebPlan
from lycosa.simweb.server import allow_many_connections

ADDRESS_OF_HOST_0 = "127.1.0.1"


@dataclass(frozen=True)
class Rate:
    """The outcome of one run."""

    requests: int
    seconds: float
    server_cpu_seconds: float

    def __str__(self) -> str:
        per_second = self.requests / self.seconds
        cost = self.server_cpu_seconds / max(self.requests, 1) * 1e6
        return f"{per_second:>9,.0f} requests/s {cost:>8.1f} µs server CPU each"


def main() -> None:
    """Print a line for each size of page and number of connections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3, help="length of each run (default: 3)")
    args = parser.parse_args()
    allow_many_connections()
    drive = _drive_wrk if shutil.which("wrk") else _drive_raw
    print(f"client: {'wrk' if drive is _drive_wrk else 'raw'}, {args.seconds} s each")
    pages = WebPlan.named("bench", hosts=20)
    small = WebPlan.named("clean", hosts=1, pages_per_host=5)
    for name, plan, path in (("28 KB page", pages, "/"), ("small file", small, "/robots.txt")):
        with SimWebProcess(plan) as web:
            for connections in (64, 3000):
                url = f"http://{ADDRESS_OF_HOST_0}:{web.port}{path}"
                before = _cpu_seconds(web.pid)
                requests, seconds = drive(url, connections, args.seconds)
                rate = Rate(requests, seconds, _cpu_seconds(web.pid) - before)
                print(f"{name:<12}{connections:>6,} connections {rate}", flush=True)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _drive_wrk(url: str, connections: int, seconds: int) -> tuple[int, float]:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", url]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 60).stdout
    match = re.search(r"(\d+) requests in ([0-9.]+)s", said)
    assert match, said
    return int(match[1]), float(match[2])


def _drive_raw(url: str, connections: int, seconds: int) -> tuple[int, float]:
    return uvloop.run(_repeat(url, connections, seconds))


async def _repeat(url: str, connections: int, seconds: int) -> tuple[int, float]:
    parts = urlsplit(url)
    assert parts.hostname
    request = f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()
    loop, clients = asyncio.get_running_loop(), [_Client(request) for _ in range(connections)]
    for client in clients:
        await loop.create_connection(lambda client=client: client, parts.hostname, parts.port)
    began_at = time.monotonic()
    for client in clients:
        client.ask()
    await asyncio.sleep(seconds)
    return sum(client.answers for client in clients), time.monotonic() - began_at


class _Client(asyncio.Protocol):
    """Asks again as soon as an answer is whole; all its answers are equally long."""

    def __init__(self, request: bytes) -> None:
        self.answers = 0
        self._request = request
        self._length = 0
        self._got = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def ask(self) -> None:
        """Send the request once more."""
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._got += len(data)
        if not self._length and (match := re.search(rb"Content-Length: (\d+)", data)):
            self._length = data.index(b"\r\n\r\n") + 4 + int(match[1])
        if self._length and self._got >= self._length:
            self.answers += 1
            self._got = 0
            self.ask()


if __name__ == "__main__":
    main()
