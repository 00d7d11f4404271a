"""What a simulated web saw: every request with its moments, in memory and, if wanted, in a file.

Knows no HTTP. A line reaches the file in the round of the event loop in which its request ended, so the log
outlives whatever is killed beside it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec


class LoggedRequest(msgspec.Struct):
    """One request as the server saw it; `finished_at` stays empty where the client left before the end.

    `arrived_at` and `finished_at` are of the monotonic clock, which all processes of a machine share.
    A request is finished when its last byte has been given to the socket.
    """

    arrived_at: float
    arrived_wall_at: float
    host: str
    path: str
    connection: int
    method: str = "GET"
    user_agent: str = ""
    status: int = 0
    finished_at: float | None = None


class RequestLog:
    """Notes requests as they arrive and end."""

    def __init__(self, *, is_kept: bool = True) -> None:
        self.requests: list[LoggedRequest] = []
        self.count = 0
        self._is_kept = is_kept
        self._descriptor: int | None = None
        self._waiting: list[LoggedRequest] = []
        self._encode = msgspec.json.Encoder().encode

    def open(self, file: Path) -> None:
        """Append to a file from now on."""
        self._descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def arrive(self, host: str, path: str, connection: int, method: str, user_agent: str) -> LoggedRequest:
        """Note a request whose head is complete."""
        request = LoggedRequest(time.monotonic(), time.time(), host, path, connection, method, user_agent)
        self.count += 1
        if self._is_kept:
            self.requests.append(request)
        return request

    def finish(self, request: LoggedRequest, status: int) -> None:
        """Note that a request was answered in full."""
        request.status = status
        request.finished_at = time.monotonic()
        self._note(request)

    def give_up(self, request: LoggedRequest, status: int) -> None:
        """Note that a request ended without a whole answer."""
        request.status = status
        self._note(request)

    def close(self) -> None:
        """Write what waits and close the file."""
        self._write()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _note(self, request: LoggedRequest) -> None:
        if self._descriptor is None:
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write)
        self._waiting.append(request)

    def _write(self) -> None:
        if self._descriptor is not None and self._waiting:
            os.write(self._descriptor, b"".join(self._encode(each) + b"\n" for each in self._waiting))
        self._waiting.clear()


def read_log(file: Path) -> Iterator[LoggedRequest]:
    """The whole lines of a log file, which may still be growing."""
    decode = msgspec.json.Decoder(LoggedRequest).decode
    with file.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield decode(line)
