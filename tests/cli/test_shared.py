"""Looking at a crawl of many machines: by a machine's folder, or by the frontier that they share."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lycosa.cli.main import main
from lycosa.frontier.redis.agreement import agree
from lycosa.frontier.redis.frontier import RedisFrontier
from lycosa.frontier.rules import FrontierRules
from lycosa.settings import Settings
from lycosa.simweb import SimWebProcess, WebPlan

from ..crawl.command import crawl
from ..dashboard.visitor import served
from ..frontier.redis_servers import RedisServer, wait_until

PLAN = WebPlan.named("clean", hosts=3, pages_per_host=3, crawl_delay_share=0.0, changes_per_day=(0.0,))


class Shared:
    """A crawl of one machine on Redis that ended."""

    def __init__(self, folder: Path, address: str, seed: str) -> None:
        self.folder = folder
        self.address = address
        self.seed = seed


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder = tmp_path_factory.mktemp("shared") / "crawl"
    with RedisServer() as server, SimWebProcess(PLAN) as web:
        address = f"{server.address}?crawl=web"
        ended = crawl(web, folder, *web.seeds, frontier=address, workers=1)
        assert ended.exit_code == 0, ended.said
        yield Shared(folder, address, web.seeds[0])


def said(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    assert main([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_status_is_the_same_from_the_folder_and_from_the_frontier(
    shared: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    from_folder = said(capsys, "status", "--folder", str(shared.folder))
    from_frontier = said(capsys, "status", "--frontier", shared.address)
    assert from_folder["counts"] == from_frontier["counts"]
    assert from_folder["counts"]["pages"] > 3
    assert from_folder["state"] == from_frontier["state"] == "finished: everything known has been visited"
    # Whoever ended has left.
    assert (from_frontier["machines"], from_frontier["crew"]["machines"]) == ([], [])
    assert (from_frontier["troubled"], from_frontier["troubled_origins"]) == ([], 0)
    assert main(["status", "--frontier", shared.address]) == 0
    assert "finished" in capsys.readouterr().out


def test_the_dashboard_shows_it_from_the_frontier_alone(shared: Shared) -> None:
    with served(shared.folder, shared.address) as visitor:
        overview = visitor.page("/")
        assert "finished: everything known has been visited" in overview
        assert "URLs that are known" in overview
        assert "commands" in overview, "how its server is doing"
        host = urlsplit(shared.seed).hostname or ""
        assert "between requests" in visitor.page("/host", name=host)
        assert "It was visited" in visitor.page("/url", url=shared.seed)
        figures = visitor.page("/metrics")
        assert "lycosa_server_used_bytes{" in figures
        for path in ("/search.json?q=x", "/graph", "/kept?url=x&version=0"):
            assert "on" in visitor.ask(path).body
            assert visitor.ask(path).status in (400, 404), path
        # Orders go by the frontier, too.
        assert visitor.ask("/order", method="POST", body=f"type=policy&host={host}&is_blocked=true").status == 303


async def machine(address: str, name: str, workers: int, region: str = "") -> RedisFrontier:
    """One that is heard only when it is told to be."""
    rules = FrontierRules(workers=workers, region=region, silence_seconds=1.0)
    frontier = RedisFrontier(address, rules, name=name, fake_clock=time.time)
    await frontier.begin()
    return frontier


async def test_status_tells_who_takes_part_and_which_partitions_nobody_has(capsys: pytest.CaptureFixture[str]) -> None:
    def told() -> str:
        assert main(["status", "--frontier", address]) == 0
        return " ".join(capsys.readouterr().out.split())

    with RedisServer() as server:
        address = f"{server.address}?crawl=crew&partitions=8"
        await agree(Settings(frontier=address, silence_seconds=1.0), ["http://x.test/"], set())
        first, second = await machine(address, "alpha", 1), await machine(address, "beta", 3, region="eu")
        for _ in range(2):
            await first.tick()
            await second.tick()
        words = told()
        assert "state running" in words
        assert "machine alpha (1 worker): 2 partitions" in words
        assert "machine beta (3 workers, region eu): 6 partitions" in words
        assert "no owner" not in words
        await second.close()
        words = told()
        assert "beta" not in words
        assert "no owner 6 partitions, whose hosts nobody visits now" in words
        status = said(capsys, "status", "--frontier", address)
        assert status["machines"] == ["alpha (1 worker)"]
        (alpha,) = status["crew"]["machines"]
        assert (alpha["name"], alpha["is_silent"], alpha["partitions"]) == ("alpha", False, 2)
        assert status["crew"]["unowned_partitions"] == 6
        wait_until(lambda: "silent" in told())
        words = told()
        assert "machine alpha (1 worker): silent for" in words
        assert "has 2 partitions" in words
        assert "state running" not in words
        await first.close()


def test_why_knows_what_became_of_a_url(shared: Shared, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (["--folder", str(shared.folder)], ["--frontier", shared.address]):
        assert said(capsys, "why", shared.seed, *place)["state"] == "stored"
        assert said(capsys, "why", "http://elsewhere.example/", *place)["state"] == "undiscovered"


def test_query_reads_history_and_hosts(shared: Shared, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--folder", str(shared.folder)]
    assert said(capsys, "query", "SELECT count(*) AS n FROM history WHERE outcome = 'stored'", *folder)["n"] > 3
    hosts = said(
        capsys, "query", "SELECT count(*) AS n, sum(visits) AS visits, sum(pages) AS pages FROM hosts", *folder
    )
    assert hosts["n"] == 3
    assert hosts["visits"] >= hosts["pages"] > 3


def test_audit_finds_it_clean(shared: Shared, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "audit", "--folder", str(shared.folder), "--links")["is_clean"]


@pytest.mark.parametrize(
    ("address", "code", "sentence"),
    [
        ("redis://127.0.0.1:1", 1, "cannot be read"),
        ("rocks", 2, "redis://"),
        ("redis://127.0.0.1:port", 2, "port must be a number"),
        ("{address}-not", 2, "no such crawl"),
    ],
)
def test_a_frontier_that_is_not_there_is_said_in_a_sentence(
    shared: Shared, capsys: pytest.CaptureFixture[str], address: str, code: int, sentence: str
) -> None:
    assert main(["status", "--frontier", address.format(address=shared.address)]) == code
    assert sentence in capsys.readouterr().err
