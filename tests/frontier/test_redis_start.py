"""Start and stop of real commands whose Redis is not there, is somebody else's, was emptied, or stands still."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb import WebPlan

from ..crawl import evidence
from ..crawl.command import Ended, Running, crawl, start
from ..crawl.witness import WitnessedWeb
from .proxy import Proxy
from .redis_servers import RedisServer, wait_until

PLAN = WebPlan.named("clean", hosts=8, pages_per_host=12, crawl_delay_share=0.0, is_prerendered=True)
SETTINGS: dict[str, Any] = {"workers": 1, "connections": 8, "min_delay_seconds": 0.1}
# For what is wrong with an address, of the command's own work: a second, but a test machine may be busy.
SAY_SECONDS = 30.0
# For what is under way when a crawl is stopped, and for its report.
STOP_SECONDS = 60.0


@pytest.fixture
def web(space: Path) -> Iterator[WitnessedWeb]:
    with WitnessedWeb(PLAN, space) as web:
        yield web


# ---- what is wrong from the start


def timed(web: WitnessedWeb, folder: Path, frontier: str) -> tuple[Ended, float]:
    began_at = time.monotonic()
    ended = crawl(web, folder, *web.seeds, frontier=frontier, **SETTINGS)
    return ended, time.monotonic() - began_at


def assert_said_soon(web: WitnessedWeb, space: Path, frontier: str, exit_code: int, sentence: str) -> None:
    _, without_work = timed(web, space / "none", "nonsense")
    ended, seconds = timed(web, space / "crawl", frontier)
    assert (ended.exit_code, ended.summary) == (exit_code, {}), ended.said
    assert sentence in ended.said
    assert "Traceback" not in ended.said
    assert seconds - without_work < SAY_SECONDS
    assert web.requests == []


def test_a_closed_port_is_said_soon(web: WitnessedWeb, space: Path) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = f"redis://127.0.0.1:{held.getsockname()[1]}/0"
        assert_said_soon(web, space, address, 1, "refuses connections: is the server running")


@pytest.mark.parametrize(
    ("login", "sentence"),
    [
        ("", "asks for a password"),
        # All refusals are told apart in test_redis_connection; here one must reach the operator.
        pytest.param(":wrong@", "does not accept this user and password", marks=pytest.mark.full),
        pytest.param("nobody:secret@", "does not accept this user and password", marks=pytest.mark.full),
    ],
)
def test_a_password_that_is_missing_or_wrong_is_said_soon(
    web: WitnessedWeb, space: Path, login: str, sentence: str
) -> None:
    with locked_server() as port:
        assert_said_soon(web, space, f"redis://{login}127.0.0.1:{port}/0", 2, sentence)


@contextmanager
def locked_server() -> Iterator[int]:
    """A server that wants a password, which is not told here."""
    server = RedisServer("--requirepass", "secret")
    server.answers = lambda: is_listening(server.port)  # type: ignore[method-assign]
    with server:
        yield server.port


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_server_that_says_nothing_is_not_waited_for_long(web: WitnessedWeb, space: Path) -> None:
    with RedisServer() as server, stopped(server):
        _, without_work = timed(web, space / "none", "nonsense")
        ended, seconds = timed(web, space / "crawl", server.address)
    assert ended.exit_code == 1
    assert "no answer within 5 s" in ended.said
    assert seconds - without_work < 2 * SAY_SECONDS


# ---- an emptied Redis


def test_a_redis_that_was_emptied_between_two_commands_is_said_and_nothing_begins_anew(
    web: WitnessedWeb, space: Path
) -> None:
    folder = space / "crawl"
    with RedisServer() as server:
        assert crawl(web, folder, *web.seeds, frontier=server.address, **SETTINGS).exit_code == 0
        asked = len(web.requests)
        server.client().flushall()
        ended = crawl(web, folder, *web.seeds, frontier=server.address, **SETTINGS)
        assert ended.exit_code == 1, ended.said
        assert "INCOMPLETE: the data of this crawl are gone" in ended.said
        assert server.client().keys("*") == []
        assert len(web.requests) == asked
        # Which somebody else's crawl under that name does not mend.
        other = crawl(web, space / "other", *web.seeds, frontier=server.address, **SETTINGS)
        assert other.exit_code == 0
        assert crawl(web, folder, *web.seeds, frontier=server.address, **SETTINGS).exit_code == 1
        # Under another name it begins anew.
        anew = crawl(web, folder, *web.seeds, frontier=f"{server.address}?crawl=anew", **SETTINGS)
        assert anew.exit_code == 0, anew.said


# ---- a Redis that stands still while the operator wants to stop


@contextmanager
def stopped(server: RedisServer) -> Iterator[None]:
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


def stop(running: Running, number: signal.Signals) -> Ended:
    signalled_at = time.monotonic()
    running.signal(number)
    ended = running.end()
    assert time.monotonic() - signalled_at < STOP_SECONDS, ended.said
    return ended


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.full)])
def test_a_signal_at_the_start_ends_a_crawl_though_redis_stands_still(
    web: WitnessedWeb, space: Path, number: signal.Signals
) -> None:
    with RedisServer() as server, Proxy(server.port) as proxy, stopped(server):
        with start(web, space / "crawl", *web.seeds, frontier=proxy.address, **SETTINGS) as running:
            wait_until(lambda: bool(proxy.requests))
            ended = stop(running, number)
        assert (ended.exit_code, ended.summary["ending"]) == (3, "stopped"), ended.said
    assert web.requests == []


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.full)])
def test_a_signal_in_the_middle_ends_a_crawl_though_redis_stands_still(
    web: WitnessedWeb, space: Path, number: signal.Signals
) -> None:
    folder = space / "crawl"
    with RedisServer() as server, Proxy(server.port) as proxy:
        with start(web, folder, *web.seeds, frontier=proxy.address, **SETTINGS) as running:
            web.wait_for_requests(3 * PLAN.hosts)
            with stopped(server):
                asked = len(proxy.requests)
                wait_until(lambda: len(proxy.requests) > asked)
                ended = stop(running, number)
        assert (ended.exit_code, ended.summary["ending"]) == (3, "stopped"), ended.said
        assert "Traceback" not in ended.said
        again = crawl(web, folder, *web.seeds, frontier=proxy.address, **SETTINGS)
        assert (again.exit_code, again.summary["ending"]) == (0, "finished"), again.said
    kept = {row["url"] for row in evidence.pages(folder) if row["outcome"] in evidence.KEPT}
    truth = web.truth()
    assert {url for url in truth.reachable if truth.pages[url].status == 200} <= kept
