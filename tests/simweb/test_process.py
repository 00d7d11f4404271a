from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import lycosa
from lycosa.simweb import SimWebProcess, WebPlan
from lycosa.simweb.process import Order

from .fixtures import ask

_HOME = str(Path(lycosa.__file__).parents[1])


async def test_a_web_in_another_process_is_the_same_web(tmp_path: Path) -> None:
    plan = WebPlan.named("mixed", hosts=5, slow_host_share=0.0, seed=3)
    with SimWebProcess(plan, log_file=tmp_path / "log.jsonl") as web:
        truth = web.truth()
        for url in sorted(truth.pages):
            assert (await ask(url)).status == truth.pages[url].status
        assert [request.path for request in web.requests if request.status == 200]
        assert len(web.requests) == len(truth.pages)
        assert web.dns_address.startswith("127.0.0.1:")
        pid = web.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_port_in_use_is_an_error_and_not_a_hang() -> None:
    plan = WebPlan.named("clean", hosts=1, pages_per_host=1)
    with SimWebProcess(plan) as web, pytest.raises(RuntimeError, match="exit code 1"):
        SimWebProcess(plan, port=web.port).__enter__()


def test_a_web_ends_cleanly_when_its_input_ends() -> None:
    order = msgspec.json.encode(Order(WebPlan.named("clean", hosts=1, pages_per_host=1))).decode()
    child = subprocess.Popen(
        [sys.executable, "-m", "lycosa.simweb", order],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": _HOME},
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline().startswith(b"{")
        assert child.stdin is not None
        child.stdin.close()
        try:
            assert child.wait(30) == 0
        finally:
            child.kill()


_PARENT = """
from lycosa.simweb import SimWebProcess, WebPlan
with SimWebProcess(WebPlan.named("clean", hosts=1, pages_per_host=1)) as web:
    print(web.pid, flush=True)
    input()
"""


def test_a_web_ends_with_its_parent() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": _HOME},
    )
    with parent:
        assert parent.stdout is not None
        child = os.pidfd_open(int(parent.stdout.readline()))
        try:
            parent.send_signal(signal.SIGKILL)
            ended = select.poll()
            ended.register(child, select.POLLIN)
            assert ended.poll(30_000), "the web outlived its parent"
        finally:
            os.close(child)
