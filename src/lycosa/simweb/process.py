"""A simulated web in a process of its own, for benchmarks and for tests that kill what crawls it.

`SimWebProcess` is the parent's side, `run_child` the child's. They speak one JSON argument, one JSON line on
standard output when the web is ready, and the end of standard input when it is to stop.
"""

from __future__ import annotations

import asyncio
import gc
import os
import select
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec
import uvloop

from .layout import Layout
from .log import LoggedRequest, read_log
from .plan import WebPlan
from .server import allow_many_connections
from .truth import Truth, truth_of
from .web import Listening, SimWeb

_READY_SECONDS = 120.0
_STOP_SECONDS = 10.0


class Order(msgspec.Struct, frozen=True):
    """What the child is to serve, and where."""

    plan: WebPlan
    port: int = 0
    dns_port: int = 0
    log_file: str | None = None


class Ready(msgspec.Struct, frozen=True):
    """What the child says when it serves."""

    port: int
    dns_address: str
    seeds: tuple[str, ...]


class SimWebProcess:
    """A planned web in another process: `with SimWebProcess(plan, log_file=path) as web: ...`."""

    def __init__(self, plan: WebPlan, *, log_file: Path | None = None, port: int = 0, dns_port: int = 0) -> None:
        self.plan = plan
        self._log_file = log_file
        self._order = Order(plan, port, dns_port, str(log_file) if log_file else None)
        self._child: subprocess.Popen[bytes] | None = None
        self._ready: Ready | None = None

    def __enter__(self) -> Self:
        # The child must find this very package, installed or not.
        home = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
        self._child = subprocess.Popen(
            [sys.executable, "-m", "lycosa.simweb", msgspec.json.encode(self._order).decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        try:
            self._ready = msgspec.json.decode(self._first_line(self._child), type=Ready)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is None:
            return
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_STOP_SECONDS)
        self._child.kill()
        self._child.wait()
        self._child.stdout.close()

    @property
    def pid(self) -> int:
        """The child's process."""
        assert self._child is not None, "the web has not been started"
        return self._child.pid

    @property
    def port(self) -> int:
        """The port of every host."""
        return self._started().port

    @property
    def dns_address(self) -> str:
        """Where the names of this web resolve, as `address:port`."""
        return self._started().dns_address

    @property
    def seeds(self) -> tuple[str, ...]:
        """The URLs from which every host can be reached."""
        return self._started().seeds

    @property
    def requests(self) -> list[LoggedRequest]:
        """Every request that ended so far, from the log file, in the order of arrival."""
        assert self._log_file is not None, "requests are read from the log file, and there is none"
        return sorted(read_log(self._log_file), key=lambda request: request.arrived_at)

    def truth(self) -> Truth:
        """All pages, and what should be found of them."""
        return truth_of(Layout(self.plan), self.port, self.seeds)

    def _started(self) -> Ready:
        assert self._ready is not None, "the web has not been started"
        return self._ready

    @staticmethod
    def _first_line(child: subprocess.Popen[bytes]) -> bytes:
        assert child.stdout is not None
        # Not `select`, which knows no descriptor beyond 1,023.
        ready = select.poll()
        ready.register(child.stdout, select.POLLIN)
        if not ready.poll(_READY_SECONDS * 1000):
            raise TimeoutError(f"the simulated web was not ready within {_READY_SECONDS:g} s")
        line = child.stdout.readline()
        if not line:
            raise RuntimeError(f"the simulated web ended with exit code {child.wait()} before it was ready")
        return line


def run_child(order: Order) -> None:
    """Serve until standard input ends or the parent is gone."""
    allow_many_connections()
    uvloop.run(_serve(order))


async def _serve(order: Order) -> None:
    listening = Listening(
        port=order.port,
        dns_port=order.dns_port,
        log_file=Path(order.log_file) if order.log_file else None,
        is_log_kept=False,
    )
    async with SimWeb(order.plan, listening) as web:
        # What is rendered by now stays for good: the collector need not walk it again.
        gc.freeze()
        ready = Ready(web.port, web.dns_address, web.seeds)
        sys.stdout.buffer.write(msgspec.json.encode(ready) + b"\n")
        sys.stdout.buffer.flush()
        await _parent_is_done()


async def _parent_is_done() -> None:
    """Wait for the end of standard input; a parent that died without closing it is noticed within a second."""
    loop, parent = asyncio.get_running_loop(), os.getppid()
    is_over = asyncio.Event()

    def read() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            is_over.set()

    loop.add_reader(sys.stdin.fileno(), read)
    while not is_over.is_set() and os.getppid() == parent:
        with suppress(TimeoutError):
            await asyncio.wait_for(is_over.wait(), 1.0)
    loop.remove_reader(sys.stdin.fileno())
