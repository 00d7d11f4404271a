"""Whole crawls from several commands on one Redis: every page once, no host asked too soon."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from statistics import fmean

import pytest

from lycosa.cli.main import main
from lycosa.frontier.redis.view import open_redis_view
from lycosa.policy.balance import coefficient_of_variation
from lycosa.simweb.names import SimNames
from lycosa.store.files import Maker, maker_of

from ..crawl import evidence
from .redis_servers import RedisServer
from .together import DELAY_SECONDS, crawl_together, plan


@pytest.mark.parametrize(
    ("hosts", "pages_per_host", "delay_seconds"),
    [
        pytest.param(40, 10, DELAY_SECONDS, id="quick"),
        pytest.param(500, 20, 1.0, id="500 hosts of 20 pages", marks=pytest.mark.full),
    ],
)
def test_four_workers_of_two_commands_crawl_every_page_once(
    space: Path, hosts: int, pages_per_host: int, delay_seconds: float
) -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as server:
        crawled = crawl_together(
            space, server.address, web_plan=plan(hosts, pages_per_host), min_delay_seconds=delay_seconds
        )
    crawled.assert_finished()
    crawled.assert_complete(delay_seconds=delay_seconds)
    assert all(evidence.pages(folder) for folder in crawled.folders), "both had something to do"
    assert crawled.report.figures["extra requests"] == 0
    assert sum(crawled.asked().values()) == len(crawled.truth.reachable)
    print(crawled.report.figures)


@pytest.mark.full
def test_two_commands_share_one_page_limit(space: Path) -> None:
    with RedisServer() as server:
        crawled = crawl_together(space, server.address, max_pages=41)
    crawled.assert_finished()
    kept = [row for folder in crawled.folders for row in evidence.pages(folder) if row["outcome"] in evidence.KEPT]
    assert len(kept) == 41
    assert {end.summary["pages"] for end in crawled.ends.values()} == {41}


def test_a_balanced_crawl_spreads_every_domain_over_all_workers(
    space: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And is as polite as any: every page once, no host asked too soon."""
    with RedisServer() as server:
        crawled = crawl_together(space, server.address, web_plan=plan(12, 25), assignment="balanced")
        assert main(["status", "--frontier", server.address, "--json"]) == 0
        balance = json.loads(capsys.readouterr().out)["balance"]
    crawled.assert_finished()
    crawled.assert_complete()
    assert evidence.overlapping(crawled.requests) == []
    assert sum(crawled.asked().values()) == len(crawled.truth.reachable)
    pages: dict[str, Counter[tuple[Path, Maker | None]]] = defaultdict(Counter)
    for folder in crawled.folders:
        for row in evidence.pages(folder):
            if row["warc_file"]:
                pages[row["host"]][folder, maker_of(Path(row["warc_file"]).name)] += 1
    workers = {worker for had in pages.values() for worker in had}
    assert len(workers) == 4
    variations = [coefficient_of_variation([had[worker] for worker in workers]) for had in pages.values()]
    assert fmean(variations) < 0.15, variations
    print(f"coefficient of variation over 4 workers: mean {fmean(variations):.3f}, most {max(variations):.3f}")
    assert balance["requests"] == sorted(balance["requests"])
    assert len(balance["requests"]) == 4
    assert sum(balance["requests"]) >= len(crawled.requests)
    assert balance["variation"] < 0.2


def test_hosts_are_visited_from_their_regions(space: Path) -> None:
    """Those that a rule names from there, the others from wherever it takes least time to connect."""
    web_plan = plan(12, 8)
    bound = {SimNames(web_plan).name_of(host): "eu" for host in range(4)}
    with RedisServer() as server:
        crawled = crawl_together(
            space,
            server.address,
            web_plan=web_plan,
            own={"one": {"region": "eu"}, "two": {"region": "us"}},
            region_rules=bound,
            region_by="connect time",
        )
        with closing(open_redis_view(server.address)) as view:
            nearest = {host.nearest for host in view.hosts()}
    crawled.assert_finished()
    crawled.assert_complete()
    assert sum(crawled.asked().values()) == len(crawled.truth.reachable)
    visited = [{row["host"] for row in evidence.pages(folder)} for folder in sorted(crawled.folders)]
    assert set(bound) <= visited[0]
    assert not set(bound) & visited[1]
    assert visited[1], "every region has asked once"
    assert nearest == {"eu", "us"}
