"""One real crawl of every trap beside twenty good sites, measured against the gates; `-m full` with good sites so large
that the traps must not take more than a twentieth.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lycosa import Crawler
from lycosa.cli.main import main
from lycosa.simweb.hostile import TRAPS, HostileWeb, Trap
from lycosa.site.judge import PROBE_PATH

from ..crawl.command import Ended, crawl

GOOD_SITES, GOOD_PAGES = 20, 50
ENDLESS = ("calendar", "sessions", "loops", "permutations", "facets", "farm", "pagination", "maze")


@contextmanager
def served(web: HostileWeb) -> Iterator[HostileWeb]:
    """The web, on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(web.__aenter__(), loop).result(10)
        yield web
        asyncio.run_coroutine_threadsafe(web.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


class Crawled:
    """A crawl of good sites and all traps that ended by itself."""

    def __init__(self, folder: Path, web: HostileWeb) -> None:
        self.folder = folder
        self.web = web
        self.ended: Ended = crawl(
            web,
            folder,
            *web.seeds,
            durability="process",
            retry_after_seconds=[0.5, 0.5, 0.5],
            max_backoff_seconds=0.5,
            circuit_seconds=0.5,
            seen_capacity=200_000,
            report=False,
        )
        self.requests = list(web.requests)
        self.found = web.found()

    def asked_of(self, name: str) -> list[str]:
        """The pages of a trap that were asked for, each as often as it was; the probe of its host is one of them."""
        return [request.path for request in self.web.asked_of(TRAPS[name])]

    def hosts_of(self, name: str) -> set[str]:
        """The hosts of a trap of which anything was asked, their robots.txt included."""
        return {request.host for request in self.requests if TRAPS[name].has_host(request.host)}

    def found_of(self, trap: Trap) -> int:
        return len(self.web.wanted_urls(trap) & self.found)

    def waste_of(self, name: str) -> int:
        """What was asked for beyond once for every page that is worth finding."""
        asked = self.asked_of(name)
        return len(asked) - len(set(TRAPS[name].wanted) & set(asked))

    @property
    def share_of_endless(self) -> float:
        shares = self.web.shares()
        return sum(shares[name] for name in ENDLESS) / sum(shares.values())


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with served(HostileWeb(good_sites=GOOD_SITES, good_pages=GOOD_PAGES)) as web:
        yield Crawled(tmp_path_factory.mktemp("traps") / "crawl", web)


def test_a_crawl_of_all_traps_ends_by_itself(crawled: Crawled) -> None:
    assert crawled.ended.exit_code == 3, "much was left out, and that is said"
    assert crawled.ended.summary["ending"] == "finished"
    assert crawled.ended.summary["crashed"] == 0


@pytest.mark.row("T1")
def test_all_good_pages_are_found_beside_all_traps(crawled: Crawled, record_property: Any) -> None:
    good = len(crawled.web.good_urls & crawled.found)
    record_property("T1", f"{good} of {len(crawled.web.good_urls)} good pages beside {len(TRAPS)} traps")
    assert good >= 0.99 * len(crawled.web.good_urls)


@pytest.mark.row("T2")
def test_a_calendar_shows_all_its_events_and_few_months(crawled: Crawled, record_property: Any) -> None:
    months = crawled.waste_of("calendar")
    record_property("T2", f"{months} pages beside {crawled.found_of(TRAPS['calendar'])} of 48 events (gate 200)")
    assert crawled.found_of(TRAPS["calendar"]) == 48
    assert months <= 200


@pytest.mark.row("T3")
def test_pages_behind_session_ids_are_fetched_about_once(crawled: Crawled, record_property: Any) -> None:
    asked = crawled.asked_of("sessions")
    items = {path.partition("?")[0].rpartition("/")[2] for path in asked if "item-" in path}
    record_property("T3", f"{len(asked)} fetches for {len(items)} items (gate 1.3 each; 1.2 wanted)")
    assert len(items) == 60
    assert len(asked) <= 1.3 * 60


@pytest.mark.row("T4")
def test_loops_of_relative_links_end(crawled: Crawled, record_property: Any) -> None:
    record_property("T4", f"{len(crawled.asked_of('loops'))} pages (gate 155)")
    assert len(crawled.asked_of("loops")) <= 155


@pytest.mark.row("T5")
def test_one_page_under_many_queries_is_fetched_a_few_times(crawled: Crawled, record_property: Any) -> None:
    asked = crawled.asked_of("permutations")
    record_property("T5", f"{len(asked)} fetches for one page (gate 45)")
    assert len(asked) <= 45


@pytest.mark.row("T6")
def test_facets_show_all_products_and_few_searches(crawled: Crawled, record_property: Any) -> None:
    searches = crawled.waste_of("facets")
    record_property("T6", f"{searches} pages beside {crawled.found_of(TRAPS['facets'])} of 300 products (gate 500)")
    assert crawled.found_of(TRAPS["facets"]) == 300
    assert searches <= 500


@pytest.mark.row("T7")
def test_a_farm_has_few_of_its_hosts_asked(crawled: Crawled, record_property: Any) -> None:
    hosts = crawled.hosts_of("farm")
    record_property("T7", f"{len(hosts)} hosts asked for anything (gate 200)")
    assert len(hosts) <= 200


@pytest.mark.row("T8")
def test_soft_404_and_empty_lists_are_recognised(crawled: Crawled, record_property: Any) -> None:
    for name, wanted in (("soft-404", 30), ("pagination", 75)):
        waste, found = crawled.waste_of(name), crawled.found_of(TRAPS[name])
        record_property("T8", f"{name}: {waste} pages beside {found} of {wanted} (gate 200)")
        assert found == wanted
        assert waste <= 200


@pytest.mark.row("T8")
def test_mirrors_are_recognised(crawled: Crawled, record_property: Any) -> None:
    asked, hosts = crawled.asked_of("mirrors"), crawled.hosts_of("mirrors")
    record_property("T8", f"mirrors: {len(asked)} fetches for 200 pages on {len(hosts)} hosts (gate 300)")
    assert len(hosts) == 4
    assert {path for path in asked if path.startswith("/doc-")} >= set(TRAPS["mirrors"].wanted)
    assert len(asked) <= 300


@pytest.mark.row("T11")
def test_a_maze_ends_and_honeypots_are_left_alone(crawled: Crawled, record_property: Any) -> None:
    pages, honey = len(crawled.asked_of("maze")), crawled.asked_of("honeypots")
    stung = [path for path in honey if path.startswith(TRAPS["honeypots"].honeypot)]
    record_property("T11", f"{pages} pages of a maze (gate 320), {len(stung)} honeypot fetches (gate 0)")
    assert pages <= 320
    assert stung == []
    assert crawled.found_of(TRAPS["honeypots"]) == len(TRAPS["honeypots"].wanted)


# ---- every refusal is explained


def why(crawled: Crawled, url: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["why", url, "--folder", str(crawled.folder), "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


RULES = {
    "maze": "without an end",
    "facets": "brought nothing new|without an end",
    "sessions": "changes nothing on its site",
    "mirrors": "the same pages as another",
    "farm": "without an end|brought nothing new",
    "calendar": "brought nothing new|changes nothing|without an end",
}


@pytest.mark.parametrize("name", RULES)
def test_why_names_the_rule(crawled: Crawled, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    from ..crawl import evidence

    refused = [
        row["url"]
        for row in evidence.pages(crawled.folder)
        if row["outcome"] == "refused"
        and row["depth"]
        and TRAPS[name].has_host(urlsplit(row["url"]).hostname or "")
        and not row["url"].endswith("/robots.txt")
    ]
    assert refused
    answers = [why(crawled, url, capsys) for url in refused[:: len(refused) // 3 + 1]]
    assert {answer["state"] for answer in answers} == {"refused"}
    assert all(any(rule in answer["sentence"] for rule in RULES[name].split("|")) for answer in answers), answers
    assert all("rule" in answer["facts"] for answer in answers)


def test_why_knows_a_url_by_what_was_learnt_of_its_site(crawled: Crawled, capsys: pytest.CaptureFixture[str]) -> None:
    """Never met in this form, and yet it is clear what it is."""
    answer = why(crawled, crawled.web.url("sessions.test", "/shop/item-2?sid=0123456789abcdef"), capsys)
    assert answer["state"] in ("stored", "known")
    assert "sid" in answer["facts"]["changes nothing"]


# ---- the long run


@pytest.mark.full
@pytest.mark.row("T1")
def test_endless_sites_take_a_twentieth_of_the_fetches(
    tmp_path_factory: pytest.TempPathFactory, record_property: Any
) -> None:
    with served(HostileWeb(good_sites=20, good_pages=1_000)) as web:
        crawled = Crawled(tmp_path_factory.mktemp("traps") / "crawl", web)
        good, share = len(web.good_urls & crawled.found), crawled.share_of_endless
        record_property("T1", f"{share:.1%} of fetches on 8 endless sites, {good} of {len(web.good_urls)} good pages")
        assert good >= 0.99 * len(web.good_urls)
        assert share <= 0.05


@pytest.mark.row("T11")
async def test_a_maze_that_the_operator_named_ends_too(space: Path, record_property: Any) -> None:
    async with HostileWeb(good_sites=0, traps=("maze",)) as web:
        crawler = Crawler(
            web.seeds,
            folder=space / "crawl",
            min_delay_seconds=0.0,
            delay_factor=0.0,
            open_networks=["127.0.0.0/8"],
            dns_servers=[web.dns_address],
            durability="process",
            seen_capacity=10_000,
        )
        counts = await crawler.run()
        pages = [request for request in web.requests if PROBE_PATH not in request.path]
        record_property("T11", f"{counts.pages} pages of a maze that is a seed (gate 350)")
        assert len(pages) <= 350
        assert counts.queued == 0
