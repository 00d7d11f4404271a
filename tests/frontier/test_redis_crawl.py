"""Whole crawls from several commands on one Redis: every page once, no host asked too soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..crawl import evidence
from .redis_servers import RedisServer, needs_redis
from .together import DELAY_SECONDS, crawl_together, plan

pytestmark = needs_redis


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
