"""The supervisor: every process counts, and none outlives a run."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from lycosa.bench.run import supervised
from lycosa.bench.supervise import ResourceUsage, WorkOrder, descendants, memory_bytes

_BURN = "import time\nwhile time.process_time() < {seconds}: pass"
_START = "import subprocess, sys\nsubprocess.{how}([sys.executable, '-c', {code!r}])"


def run(folder: Path, code: str, max_seconds: float = 30.0) -> ResourceUsage:
    return supervised(
        WorkOrder(
            command=[sys.executable, "-c", code],
            folder=str(folder),
            environment=dict(os.environ),
            output=str(folder / "output"),
            errors=str(folder / "errors"),
            max_seconds=max_seconds,
        )
    )


def test_cpu_time_of_a_child_and_of_its_child_is_counted(tmp_path: Path) -> None:
    grandchild = _BURN.format(seconds=0.6)
    child = _START.format(how="run", code=grandchild)
    usage = run(tmp_path, _START.format(how="run", code=child))
    assert usage.exit_code == 0
    assert usage.cpu_seconds >= 0.6
    assert usage.processes >= 3


def test_cpu_time_of_a_process_left_behind_is_counted(tmp_path: Path) -> None:
    usage = run(tmp_path, _START.format(how="Popen", code=_BURN.format(seconds=0.6)))
    assert usage.exit_code == 0
    assert usage.cpu_seconds >= 0.6


def test_each_generation_has_its_own_share(tmp_path: Path) -> None:
    grandchild = _BURN.format(seconds=0.6)
    child = _BURN.format(seconds=0.3) + "\n" + _START.format(how="run", code=grandchild)
    usage = run(tmp_path, _START.format(how="run", code=child) + "\n" + _BURN.format(seconds=0.9))
    command, started, further = usage.generations
    assert (command.processes, started.processes, further.processes) == (1, 1, 1)
    assert command.cpu_seconds >= 0.8
    assert further.cpu_seconds >= 0.5
    assert sum(each.cpu_seconds for each in usage.generations) == pytest.approx(usage.cpu_seconds)
    assert min(each.peak_bytes for each in usage.generations) > 1_000_000


def test_memory_is_that_of_all_processes_together(tmp_path: Path) -> None:
    hold = "import time; held = b'x' * 60_000_000; time.sleep(1.5)"
    both = f"import subprocess, sys\nother = subprocess.Popen([sys.executable, '-c', {hold!r}])\n{hold}\nother.wait()"
    usage = run(tmp_path, both)
    assert 120_000_000 <= usage.peak_bytes <= 250_000_000


def test_the_time_limit_ends_everything_that_was_started(tmp_path: Path) -> None:
    # Deaf to the polite signal, and in a session of its own.
    deaf = (
        "import os, signal, time\nos.setsid()\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "open('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    )
    started_at = time.monotonic()
    usage = run(tmp_path, _START.format(how="run", code=deaf), max_seconds=1.5)
    assert usage.is_cut
    assert time.monotonic() - started_at < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_command_that_fails_is_told_by_its_exit_code(tmp_path: Path) -> None:
    assert run(tmp_path, "raise SystemExit(7)").exit_code == 7


def test_descendants_are_found_and_a_dead_process_has_no_memory() -> None:
    assert os.getpid() in descendants(os.getppid())
    assert memory_bytes(os.getpid()) > 1_000_000
    assert memory_bytes(2**30) == 0
