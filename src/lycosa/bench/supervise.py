"""Runs one command and counts what it costs, every process it starts included.

A process of its own (`python -m lycosa.bench.supervise`, the order on standard input), because it must be the one
that all of them fall to: whatever a crawler starts and leaves behind becomes a child of this process, is waited for
here, and its CPU time is in what the kernel says on that occasion. Knows nothing of crawlers. Standard library only.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_SAMPLE_SECONDS = 0.2
# From the polite signal to the deadly one, for the command and then for what it left running.
_STOP_SECONDS = 10.0
_LINGER_SECONDS = 3.0
_GENERATIONS = 3
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """What to run: the command, its folder and environment, its two outputs, and how long it may take."""

    command: list[str]
    folder: str
    environment: dict[str, str]
    output: str
    errors: str
    max_seconds: float


@dataclass(frozen=True, slots=True)
class Generation:
    """What the command cost, or those processes that it started, or those that these started (and all after them)."""

    processes: int
    cpu_seconds: float
    peak_bytes: int  # together
    largest_bytes: int  # the largest of them


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """What a command cost over all its processes."""

    exit_code: int
    is_cut: bool  # stopped by the time limit
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    processes: int
    generations: list[Generation]


@dataclass(slots=True)
class _Count:
    """What is known of the run so far."""

    main: int
    exit_code: int | None = None
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    # By process: its generation, and what it alone has used so far.
    generation_of: dict[int, int] = field(default_factory=dict)
    own_seconds: dict[int, float] = field(default_factory=dict)
    # By generation.
    peaks: list[int] = field(default_factory=lambda: [0] * _GENERATIONS)
    largest: list[int] = field(default_factory=lambda: [0] * _GENERATIONS)

    @property
    def is_over(self) -> bool:
        return self.exit_code is not None

    def generations(self) -> list[Generation]:
        """The command is waited for here, so its share is exact, and with it what is left for the others.

        What the generation between had used when it was last looked at is good enough: it only starts the others.
        """
        members = Counter(self.generation_of.values())
        seconds = [0.0] * _GENERATIONS
        for pid, own_seconds in self.own_seconds.items():
            seconds[self.generation_of[pid]] += own_seconds
        last = max(members, default=0)
        seconds[last] = max(0.0, self.cpu_seconds - sum(seconds[:last]))
        return [Generation(members[n], seconds[n], self.peaks[n], self.largest[n]) for n in range(last + 1)]


def supervise(order: WorkOrder) -> ResourceUsage:
    """Run the command to its end or its limit; nothing it started is left when this returns."""
    # Blocked, so that `sigtimedwait` below gets them: an end is noticed at once, and no handler can interrupt.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT))
    started_at = time.monotonic()
    count = _Count(_start(order))
    is_cut = not _wait(count, started_at + order.max_seconds)
    if is_cut:
        _send(count.main, signal.SIGTERM)
        _wait(count, time.monotonic() + _STOP_SECONDS)
    wall_seconds = time.monotonic() - started_at
    _end_the_rest(count)
    return ResourceUsage(
        exit_code=-signal.SIGKILL if count.exit_code is None else count.exit_code,
        is_cut=is_cut,
        wall_seconds=wall_seconds,
        cpu_seconds=count.cpu_seconds,
        peak_bytes=count.peak_bytes,
        processes=len(count.generation_of),
        generations=count.generations(),
    )


def _start(order: WorkOrder) -> int:
    os.chdir(order.folder)
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    return os.posix_spawnp(
        order.command[0],
        order.command,
        order.environment,
        file_actions=(
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, order.output, writing, 0o644),
            (os.POSIX_SPAWN_OPEN, 2, order.errors, writing, 0o644),
        ),
        setsid=True,
        setsigmask=(),
        # Python ignores these, and a program inherits what is ignored.
        setsigdef=(signal.SIGPIPE, signal.SIGXFSZ),
    )


def _wait(count: _Count, until: float) -> bool:
    """Reap and sample until the command has ended; false if the moment came first, or we were told to stop."""
    while True:
        _reap(count)
        if count.is_over:
            return True
        _sample(count)
        left = until - time.monotonic()
        if left <= 0:
            return False
        told = signal.sigtimedwait((signal.SIGCHLD, signal.SIGTERM, signal.SIGINT), min(left, _SAMPLE_SECONDS))
        if told is not None and told.si_signo != signal.SIGCHLD:
            return False


def _reap(count: _Count) -> bool:
    """Wait for all that ended; false when no child is left."""
    while True:
        try:
            # Looked at first: until it is waited for, the kernel still tells what it used itself.
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        if ended is None:
            return True
        count.generation_of.setdefault(ended.si_pid, int(ended.si_pid != count.main))
        count.own_seconds[ended.si_pid] = _own_seconds(ended.si_pid)
        pid, status, usage = os.wait4(ended.si_pid, 0)
        # The kernel counts in what the child itself had waited for.
        count.cpu_seconds += usage.ru_utime + usage.ru_stime
        if pid == count.main:
            count.exit_code = os.waitstatus_to_exitcode(status)


def _end_the_rest(count: _Count) -> None:
    """Give what still runs a moment to end by itself, then end it."""
    until = time.monotonic() + (_LINGER_SECONDS if count.is_over else 0.0)
    while _reap(count):
        if time.monotonic() >= until:
            for pid in descendants(os.getpid()):
                _send(pid, signal.SIGKILL)
        signal.sigtimedwait((signal.SIGCHLD,), 0.05)


def _send(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _sample(count: _Count) -> None:
    held = [0] * _GENERATIONS
    for pid, steps in descendants(os.getpid()).items():
        # As first seen: whoever outlives its parent becomes our own child.
        number = count.generation_of.setdefault(pid, min(max(steps - 1, int(pid != count.main)), _GENERATIONS - 1))
        count.own_seconds[pid] = max(count.own_seconds.get(pid, 0.0), _own_seconds(pid))
        size = memory_bytes(pid)
        held[number] += size
        count.largest[number] = max(count.largest[number], size)
    count.peaks = [max(before, now) for before, now in zip(count.peaks, held, strict=True)]
    count.peak_bytes = max(count.peak_bytes, sum(held))


def descendants(of: int) -> dict[int, int]:
    """All processes below this one, each with how many steps below it is."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and (parent := _parent(entry.name)) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found: dict[int, int] = {}
    waiting = [(of, 0)]
    while waiting:
        parent, steps = waiting.pop()
        below = [(pid, steps + 1) for pid in children.get(parent, [])]
        found.update(below)
        waiting += below
    return found


def _parent(pid: str) -> int | None:
    state = _state(int(pid))
    return int(state[1]) if state else None


def _own_seconds(pid: int) -> float:
    """The CPU time of a process without its children; 0 if it is gone."""
    state = _state(pid)
    return (int(state[11]) + int(state[12])) / _TICKS_PER_SECOND if state else 0.0


def _state(pid: int) -> list[str]:
    """What the kernel says of a process after its name, which may hold spaces and brackets; nothing if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def memory_bytes(pid: int) -> int:
    """The process's share of memory: pages that processes share count once in all (PSS); 0 if it is gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
        return 0
    except OSError:
        return 0


def _control(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


def main() -> None:
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    # Who started this is gone: end the command too.
    _control(_PR_SET_PDEATHSIG, signal.SIGTERM)
    usage = supervise(WorkOrder(**json.load(sys.stdin)))
    print(json.dumps(asdict(usage)))


if __name__ == "__main__":
    main()
