"""Whoever reads a page for too long is ended, and nobody else: by one timer for all pages as by one for each."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys

import pytest

from lycosa.process import watchdog
from lycosa.process.watchdog import BIG_BODY_BYTES, KernelWatchdog, Slot

KINDS = [
    pytest.param(
        "compiled_timer(slot.fd, 0.2)",
        id="compiled",
        marks=pytest.mark.skipif(watchdog.compiled_timer is None, reason="the compiled part is not built"),
    ),
    pytest.param("TimerPerPage(slot, 0.2)", id="plain"),
]

PROLOGUE = """
import sys, time
from lycosa.process.watchdog import Slot, TimerPerPage, compiled_timer

def compute(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass

slot = Slot(int(sys.argv[1]))
reading = {kind}
"""


def run(slot: Slot, kind: str, story: str) -> subprocess.CompletedProcess[bytes]:
    code = PROLOGUE.format(kind=kind) + story
    return subprocess.run([sys.executable, "-c", code, str(slot.fd)], pass_fds=[slot.fd], timeout=60, check=False)


@pytest.fixture
def slot() -> Slot:
    return Slot()


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_that_takes_too_long_ends_the_process_and_is_known(slot: Slot, kind: str) -> None:
    ended = run(slot, kind, "reading.begin(1 << 40)\nwhile True: pass")
    assert ended.returncode == -signal.SIGPROF
    assert slot.read() == 1 << 40


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_that_holds_the_interpreter_is_ended_too(slot: Slot, kind: str) -> None:
    ended = run(slot, kind, "reading.begin(3)\nsum(range(1 << 60))")
    assert ended.returncode == -signal.SIGPROF
    assert slot.read() == 3


@pytest.mark.parametrize("kind", KINDS)
def test_pages_that_take_their_time_one_after_the_other_end_nobody(slot: Slot, kind: str) -> None:
    story = "for page in range(1, 21):\n    reading.begin(page)\n    compute(0.05)\n    reading.end()"
    assert run(slot, kind, story).returncode == 0
    assert slot.read() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_page_may_take_as_long_as_it_likes(slot: Slot, kind: str) -> None:
    assert run(slot, kind, "reading.begin(1)\nreading.end()\ncompute(0.8)").returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_limit_a_page_may_take_as_long_as_it_likes(slot: Slot, kind: str) -> None:
    assert run(slot, kind.replace("0.2", "0.0"), "reading.begin(1)\ncompute(0.8)").returncode == 0
    assert slot.read() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_is_forked_meanwhile_has_no_limit(slot: Slot, kind: str) -> None:
    story = """
import os
reading.begin(1)
if not (pid := os.fork()):
    compute(0.8)
    os._exit(0)
reading.end()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    assert run(slot, kind, story).returncode == 0


@pytest.mark.skipif(watchdog.compiled_timer is None, reason="the compiled part is not built")
def test_what_can_be_no_limit_and_no_slot_is_refused(slot: Slot) -> None:
    assert watchdog.compiled_timer is not None
    for seconds in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="no time"):
            watchdog.compiled_timer(slot.fd, seconds)
    for seconds in (1e300, float("inf")):
        watchdog.compiled_timer(slot.fd, seconds)
    with pytest.raises(OSError, match="descriptor"):
        watchdog.compiled_timer(-1, 1.0)
    reading = watchdog.compiled_timer(slot.fd, 60.0)
    with pytest.raises(OverflowError):
        reading.begin(1 << 70)
    with pytest.raises(TypeError):
        reading.begin("token")  # type: ignore[arg-type]
    del reading
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0


@pytest.mark.parametrize("is_compiled", [False, True])
def test_what_was_read_is_read_no_more(slot: Slot, monkeypatch: pytest.MonkeyPatch, is_compiled: bool) -> None:
    if not is_compiled:
        monkeypatch.setattr(watchdog, "compiled_timer", None)
    guard = KernelWatchdog(slot, 60.0, 1 << 30)
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with guard(17, BIG_BODY_BYTES):
        assert slot.read() == 17
        assert resource.getrlimit(resource.RLIMIT_DATA) != before
        assert signal.getitimer(signal.ITIMER_PROF)[0] > 0
    assert slot.read() == 0
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    slot.close()


def test_a_timer_for_each_page_ends_with_it(slot: Slot) -> None:
    reading = watchdog.TimerPerPage(slot, 60.0)
    reading.begin(1)
    reading.end()
    assert signal.getitimer(signal.ITIMER_PROF)[0] == 0
