"""What the start of a command costs: CPU of all its processes, as a multiple of Python's own start, and wall time.

python bench/start.py [--rounds 15] [--other DIR]

`--help`, `status` of a small crawl that is finished, and a new crawl up to its first request. Medians. `--other` is the
`src` folder of another version, built in place, that is measured in turns with this one.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from threading import Thread
from typing import NamedTuple

from lycosa.bench.supervise import descendants

OWN = Path(__file__).parents[1] / "src"
PAGE = b"<!doctype html><title>A page</title><p>A page to start with.</p>"
ANSWER_SECONDS = 60.0


class Cost(NamedTuple):
    """What was used until the command ended, or until its first request arrived."""

    cpu: float
    wall: float


def environment(source: Path) -> dict[str, str]:
    """Where compiled modules are kept, as they are once installed; and nothing that the developer's tools add."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
    return kept | {"PYTHONPATH": str(source)}


def run(command: list[str], source: Path) -> Cost:
    began = time.monotonic()
    process = subprocess.Popen(
        command, env=environment(source), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - began)


def lycosa(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "import sys; from lycosa.cli.main import main; sys.exit(main())", *arguments]


def crawl_command(port: int, folder: Path) -> list[str]:
    options = ("--open-network", "127.0.0.0/8", "--min-delay", "0", "--quiet", "--folder", str(folder))
    return lycosa("crawl", f"http://127.0.0.1:{port}/", *options)


@contextmanager
def small_web() -> Iterator[int]:
    """One page, at the port that is given; no robots.txt."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=_serve, args=(server,), daemon=True).start()
        yield server.getsockname()[1]


def _serve(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection:
                is_page = connection.recv(65536).startswith(b"GET / ")
                status, body = (b"200 OK", PAGE) if is_page else (b"404 Not Found", b"")
                head = b"HTTP/1.1 %b\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
                connection.sendall(head % (status, len(body)) + body)


def until_first_request(source: Path) -> tuple[Cost, list[float]]:
    """A new crawl, ended as soon as its first request is here; and the CPU of each of its processes."""
    with TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(ANSWER_SECONDS)
        began = time.monotonic()
        process = subprocess.Popen(
            crawl_command(server.getsockname()[1], Path(folder) / "crawl"),
            env=environment(source),
            stdin=subprocess.DEVNULL,
        )
        try:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                wall = time.monotonic() - began
                processes = [process.pid, *sorted(descendants(process.pid))]
                seconds = [cpu_seconds(pid) for pid in processes]
        finally:
            end(process)
    return Cost(sum(seconds), wall), seconds


def end(process: subprocess.Popen[bytes]) -> None:
    """Without the first of them the others leave by themselves."""
    watched = []
    for pid in descendants(process.pid):
        with suppress(ProcessLookupError):
            watched.append(os.pidfd_open(pid))
    process.send_signal(signal.SIGKILL)
    process.wait()
    for fd in watched:
        select.select([fd], [], [])  # readable once its process has ended
        os.close(fd)


def cpu_seconds(pid: int) -> float:
    """The CPU clock of another process, as clock_getcpuclockid(3) names it."""
    return time.clock_gettime(~pid << 3 | 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--other", type=Path, metavar="DIR")
    options = parser.parse_args()
    sources = {"this": OWN} | ({"other": options.other} if options.other else {})
    with TemporaryDirectory() as space, small_web() as port:
        folder = Path(space) / "crawl"
        run(crawl_command(port, folder), OWN)
        commands: dict[str, Callable[[Path], Cost]] = {
            "python -c pass": lambda source: run([sys.executable, "-c", "pass"], source),
            "lycosa --help": lambda source: run(lycosa("--help"), source),
            "lycosa status": lambda source: run(lycosa("status", "--folder", str(folder)), source),
        }
        costs: dict[tuple[str, str], list[Cost]] = {}
        shares: dict[str, list[list[float]]] = {}
        for _ in range(options.rounds):
            for name, source in sources.items():
                for label, command in commands.items():
                    costs.setdefault((label, name), []).append(command(source))
                cost, seconds = until_first_request(source)
                costs.setdefault(("first request", name), []).append(cost)
                shares.setdefault(name, []).append(seconds)
    show(costs)
    for name, each in shares.items():
        middle = [f"{median(column) * 1000:.0f}" for column in zip(*each, strict=True)]
        print(f"first request, {name}: CPU ms of command, forkserver, workers: {', '.join(middle)}")


def show(costs: dict[tuple[str, str], list[Cost]]) -> None:
    print(f"{'':28} {'CPU ms':>8} {'x python':>9} {'wall ms':>8} {'least wall':>10}")
    for (label, name), measured in costs.items():
        cpu, wall = median(cost.cpu for cost in measured), median(cost.wall for cost in measured)
        python = median(cost.cpu for cost in costs["python -c pass", name])
        least = min(cost.wall for cost in measured)
        print(f"{label + ', ' + name:28} {cpu * 1000:8.0f} {cpu / python:9.1f} {wall * 1000:8.0f} {least * 1000:10.0f}")


if __name__ == "__main__":
    main()
