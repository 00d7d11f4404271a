"""`lycosa crawl` as an operator runs it: real processes, watched from outside."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import lycosa

# Nothing here takes this long; what does hangs.
HANG_SECONDS = 120.0


class Web(Protocol):
    """What a crawl needs to know of a simulated web."""

    @property
    def dns_address(self) -> str: ...


@dataclass(frozen=True)
class Ended:
    """A crawl that ended: its exit code, its summary, and what it said."""

    exit_code: int
    summary: dict[str, Any]
    said: str


class Running:
    """A crawl under way. Used as a context it leaves no process behind."""

    def __init__(self, arguments: Sequence[str], said_in: Path) -> None:
        home = str(Path(lycosa.__file__).parents[1])
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
        said_in.parent.mkdir(parents=True, exist_ok=True)
        self._out = said_in.parent / f"{said_in.name}.out"
        self._err = said_in.parent / f"{said_in.name}.err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lycosa.cli.main", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, "PYTHONPATH": path},
            )

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        workers = self.workers()
        self.process.kill()
        self.process.wait()
        for pid in workers:
            wait_until_gone(pid)

    def workers(self) -> list[int]:
        """The worker processes, in the order of their start; one that is being started counts already."""
        return [worker for forkserver in children_of(self.process.pid) for worker in children_of(forkserver)]

    def processes(self) -> list[int]:
        """The parent, and all that came from it."""
        nurseries = children_of(self.process.pid)
        return [self.process.pid, *nurseries, *self.workers()]

    def signal(self, number: signal.Signals) -> None:
        """Send the parent a signal."""
        self.process.send_signal(number)

    def kill_all(self) -> None:
        """kill -9 of the parent and its workers; returns when all are gone. The parent stands still meanwhile, so
        that it can start no further worker.
        """
        self.process.send_signal(signal.SIGSTOP)
        workers = self.workers()
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        self.kill_parent(workers)

    def kill_parent(self, workers: Sequence[int] | None = None) -> None:
        """kill -9 of the parent; returns when its workers have left, which they must do by themselves."""
        workers = self.workers() if workers is None else workers
        self.process.kill()
        self.process.wait()
        for pid in workers:
            wait_until_gone(pid)

    def wait_until_said(self, text: str) -> None:
        """Return when the crawl has said this on its way."""
        follow = [
            "timeout",
            f"{HANG_SECONDS:g}",
            "tail",
            "--follow",
            "--lines=+1",
            f"--pid={self.process.pid}",
            str(self._err),
        ]
        with subprocess.Popen(follow, stdout=subprocess.PIPE, text=True) as tail:
            assert tail.stdout
            heard = any(text in line for line in tail.stdout)
            tail.terminate()
        assert heard, f"the crawl ended or hangs without a word of {text!r}: {self._err.read_text()[-2000:]}"

    def end(self, hang_seconds: float = HANG_SECONDS) -> Ended:
        """Wait for the end."""
        try:
            code = self.process.wait(hang_seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the crawl hangs; it said: {self._err.read_text()[-2000:]}") from None
        out = self._out.read_text()
        said = self._err.read_text()
        return Ended(code, json.loads(out) if out.strip() else {}, said)


def children_of(pid: int) -> list[int]:
    """The processes that a process has started, in the order of their start."""
    try:
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except (FileNotFoundError, ProcessLookupError):
        return []


def start(web: Web, folder: Path | str, *arguments: str, said_in: Path | None = None, **settings: Any) -> Running:
    """Start or go on with a crawl of a simulated web. Settings that are None keep their defaults."""
    return Running([*arguments_of(web, folder, **settings), "--json", *arguments], said_in or Path(folder))


def arguments_of(web: Web, folder: Path | str, **settings: Any) -> list[str]:
    """How a crawl of a simulated web is called."""
    chosen: dict[str, Any] = {
        "scope": "any",
        "workers": 2,
        "min_delay_seconds": 0.0,
        "delay_factor": 0.0,
        "retry_after_seconds": [],
        "max_wait_seconds": 2.0,
        "open_networks": ["127.0.0.0/8"],
        "dns_servers": [web.dns_address],
        **settings,
    }
    sets = [f"--set={name}={as_toml_value(value)}" for name, value in chosen.items() if value is not None]
    return ["crawl", "--folder", str(folder), *sets]


def as_toml_value(value: Any) -> str:
    """JSON is TOML, but for tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {as_toml_value(each)}" for name, each in value.items()) + "}"
    return json.dumps(value)


def crawl(web: Web, folder: Path, *arguments: str, **settings: Any) -> Ended:
    """Run a crawl of a simulated web to its end."""
    with start(web, folder, *arguments, **settings) as running:
        return running.end()


def wait_until_gone(pid: int, seconds: float = HANG_SECONDS) -> None:
    """Return when a process that is not our child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        assert poll.poll(seconds * 1000), f"process {pid} is still there after {seconds:g} s"
    finally:
        os.close(descriptor)
