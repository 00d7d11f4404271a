"""One host without pauses, as its server sees it: one request at a time, or as many as its owner allows."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lycosa.errors import SettingsError
from lycosa.settings import from_values
from lycosa.simweb import HandWeb, LoggedRequest, WebPlan

from . import evidence
from .command import crawl as crawl_by_command
from .command import start
from .conftest import HandCrawl
from .judge import judge
from .witness import WitnessedWeb

PAGES = 60
# Without probes: every request is one for a page.
NO_PAUSE: dict[str, Any] = {"min_delay_seconds": 0.0, "delay_factor": 0.0, "traps": False}
SIZE: dict[str, Any] = {"hosts": 1, "pages_per_host": 400, "min_page_bytes": 2_000, "max_links": 20}


def site(web: HandWeb, **pages: Any) -> str:
    """A page with links to all others."""
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(PAGES))
    for number in range(PAGES):
        web.page(f"http://a.test/{number}", f"<title>{number}</title><p>{number} is a number of its own", **pages)
    return web.page("http://a.test/", links)


def most_at_once(requests: Sequence[LoggedRequest]) -> int:
    moments = [(request.arrived_at, 1) for request in requests]
    moments += [(request.finished_at, -1) for request in requests if request.finished_at]
    at_once = most = 0
    for _, change in sorted(moments):
        at_once += change
        most = max(most, at_once)
    return most


async def test_a_host_without_pauses_has_one_request_at_a_time(web: HandWeb, crawl: HandCrawl) -> None:
    outcomes = await crawl(site(web), **NO_PAUSE)
    assert len(outcomes) == PAGES + 1
    assert set(outcomes.values()) == {"stored"}
    assert len(web.requests) == PAGES + 2
    assert most_at_once(web.requests) == 1


async def test_a_host_of_ones_own_has_as_many_as_its_owner_says(web: HandWeb, crawl: HandCrawl) -> None:
    seed = site(web, delay_seconds=0.02)
    web.page("http://b.test/", "<p>not mine", delay_seconds=0.02)
    outcomes = await crawl(seed, **NO_PAUSE, site={"a.test": {"connections": 3}})
    assert set(outcomes.values()) == {"stored"}
    assert len(web.requests) == PAGES + 2
    assert most_at_once(web.requests) == 3


async def test_a_crawl_delay_wins(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nCrawl-delay: 0.1")
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(8))
    for number in range(8):
        web.page(f"http://a.test/{number}", f"<p>{number}")
    await crawl(web.page("http://a.test/", links), site={"a.test": {"connections": 4}})
    requests = web.requests
    assert len(requests) == 10
    for before, after in pairwise(requests):
        assert before.finished_at
        assert after.arrived_at - before.finished_at >= 0.1


@pytest.mark.parametrize("connections", [1, 3])
async def test_who_says_too_many_requests_is_asked_no_more_before_its_time(
    web: HandWeb, crawl: HandCrawl, connections: int
) -> None:
    seed = site(web)
    web.page("http://a.test/20", "slowly", status=429, headers={"Retry-After": "1"})
    await crawl(seed, **NO_PAUSE, site={"a.test": {"connections": connections}}, max_backoff_seconds=1.0)
    (refused,) = [request for request in web.requests if request.path == "/20"]
    assert refused.finished_at
    later = [request.arrived_at - refused.finished_at for request in web.requests]
    # Of several at once, some may have been on their way.
    assert sum(0.0 < seconds < 1.0 for seconds in later) < connections
    assert len(web.requests) == PAGES + 2


async def test_pages_that_are_gone_do_not_end_a_run(web: HandWeb, crawl: HandCrawl) -> None:
    seed = site(web)
    for number in range(0, PAGES, 3):
        web.page(f"http://a.test/{number}", "gone", status=404)
    outcomes = await crawl(seed, **NO_PAUSE)
    assert list(outcomes.values()).count("failed") == PAGES // 3
    assert len(web.requests) == PAGES + 2
    assert most_at_once(web.requests) == 1


async def test_what_robots_forbids_is_refused_in_few_turns(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nDisallow: /no")
    seed = web.page("http://a.test/", "".join(f'<a href="/no/{number}">x</a>' for number in range(900)))
    outcomes = await crawl(seed, min_delay_seconds=0.2)
    assert list(outcomes.values()).count("refused") == 900
    assert crawl.counts.refused == 900
    assert len(web.requests) == 2


def test_several_at_once_need_a_host_without_pauses() -> None:
    with pytest.raises(SettingsError, match="set delay_seconds to 0 there"):
        from_values({"site": {"a.test": {"connections": 4}}})


@pytest.mark.parametrize("connections", [1, 4])
def test_a_worker_that_is_killed_within_a_run_loses_nothing(space: Path, tmp_path: Path, connections: int) -> None:
    with WitnessedWeb(WebPlan.named("clean", is_prerendered=True, **SIZE), tmp_path) as web:
        host = str(urlsplit(web.seeds[0]).hostname)
        settings = NO_PAUSE | {"workers": 1, "site": {host: {"connections": connections}}}
        with start(web, space / "c", *web.seeds, **settings) as running:
            for requests in (60, 160):
                web.wait_for_requests(requests)
                (worker,) = running.workers()
                os.kill(worker, signal.SIGKILL)
            ended = running.end()
        assert ended.exit_code == 0, ended.said
        verdict = judge(web.truth(), web.requests, space / "c", delay_seconds=0.0)
        faults = verdict.faults()
        if connections > 1:
            faults.pop("overlapping", None)
            assert most_at_once(web.requests) <= 2 * connections
        assert faults == {}


def test_a_crawl_that_is_stopped_within_a_run_keeps_what_it_asked_for(space: Path, tmp_path: Path) -> None:
    with WitnessedWeb(WebPlan.named("clean", is_prerendered=True, **SIZE), tmp_path) as web:
        with start(web, space / "c", *web.seeds, **NO_PAUSE) as running:
            web.wait_for_requests(60)
            running.signal(signal.SIGTERM)
            ended = running.end()
        assert ended.exit_code == 3
        rows = [row for row in evidence.pages(space / "c") if row["status"]]
        assert len(rows) == len(web.requests) < 400
        ended = crawl_by_command(web, space / "c", *web.seeds, **NO_PAUSE)
        assert ended.exit_code == 0, ended.said
        verdict = judge(web.truth(), web.requests, space / "c", delay_seconds=0.0)
        assert (verdict.faults(), verdict.extra_requests, verdict.extra_rows) == ({}, 0, 0)
