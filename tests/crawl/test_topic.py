"""Crawls with a topic: what is about it comes first, through pages that are not; and everything is found in the end."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lycosa import Crawler
from lycosa.errors import SettingsError
from lycosa.inspect.opened import opened_crawl
from lycosa.inspect.why import explain
from lycosa.simweb import HandWeb, WebPlan
from lycosa.simweb.layout import Layout
from lycosa.simweb.words import topic_words
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect

from . import evidence
from .command import crawl as command_crawl
from .command import start
from .conftest import HandCrawl, hand_settings
from .witness import WitnessedWeb

FALCONS = "<p>" + "The falcon builds its nest on a cliff, and falcons hunt from there. " * 8
WATER = "<p>" + "Water flows down to the sea, and nobody asks why it does so. " * 8


def put(web: HandWeb, path: str, title: str, text: str, *links: tuple[str, str]) -> str:
    linked = "".join(f'<p><a href="{to}">{anchor}</a></p>' for to, anchor in links)
    body = f"<html lang=en><title>{title}</title><body><h1>{title}</h1>{text}{linked}"
    return web.page(f"http://a.test{path}", body)


def a_web(web: HandWeb, off: int = 12) -> str:
    """Falcons behind two pages about nothing; beside them, and linked to before them, pages about water."""
    rivers = [(f"/water/{number}", f"River {number}") for number in range(off)]
    for number in range(off):
        put(web, f"/water/{number}", f"River {number}", WATER + f" River {number}.")
    put(web, "/water", "Rivers", WATER, *rivers)
    put(web, "/about", "About us", WATER, ("/staff", "Staff"))
    put(web, "/staff", "Our staff", WATER + " Staff.", ("/birds/1", "Falcon nests"))
    put(web, "/birds/1", "Falcons", FALCONS, ("/birds/2", "more"), ("/water/11", "Where falcons drink"))
    put(web, "/birds/2", "Nests of falcons", FALCONS + " Two.", ("/birds/3", "next"))
    put(web, "/birds/3", "Young falcons", FALCONS + " Three: a nest.")
    return put(web, "/", "Home", WATER + " Home.", ("/about", "About"), ("/water", "Rivers"))


def order_of(crawl: HandCrawl) -> list[str]:
    """The paths of pages in the order in which they were fetched."""
    rows = [row for row in crawl.rows() if not row["url"].endswith("/robots.txt")]
    return [row["url"].partition(".test")[2].partition("/")[2] for row in rows if row["outcome"] == "stored"]


async def test_pages_on_topic_come_first_through_some_that_are_not_and_none_is_lost(
    web: HandWeb, crawl: HandCrawl
) -> None:
    seed = a_web(web)
    await crawl(seed, order="topic", topic="falcon nests", traps=False)
    order = order_of(crawl)
    birds, water = [f"birds/{n}" for n in (1, 2, 3)], [f"water/{n}" for n in range(12)]
    assert sorted(order) == sorted(["", "about", "staff", "water", *birds, *water])
    found = order.index("birds/1")
    # The second waited among its like until the page about falcons named it.
    assert order[found : found + 4] == ["birds/1", "water/11", "birds/2", "birds/3"]
    assert order.index("water/9") > found + 3
    assert (crawl.counts.on_topic, round(crawl.counts.harvest, 3)) == (3, round(3 / 19, 3))
    assert crawl.counts.moved_up == crawl.counts.passed_over == 1


async def test_tables_say_how_relevant_pages_are_and_what_was_promised_and_why_tells_of_what(
    web: HandWeb, crawl: HandCrawl
) -> None:
    seed = a_web(web)
    await crawl(seed, order="topic", topic="falcon nests")
    with connect(CrawlFolder(crawl.folder)) as tables:
        found = tables.execute("SELECT url, relevance, promise FROM pages").fetchall()
    rows = {url: (relevance, promise) for url, relevance, promise in found}
    first = web.url("a.test", "/birds/1")
    assert rows[first][0] > 0.5 > rows[web.url("a.test", "/staff")][0]
    assert rows[first][1] > 0.8
    with opened_crawl(crawl.folder, None) as opened:
        facts = dict(explain(opened, first, 2e9).facts)
        of_seed = dict(explain(opened, seed, 2e9).facts)
    assert "on topic" in facts["relevance"]
    assert "falcon" in facts["relevance"]
    assert facts["promise"].startswith(f"{rows[first][1]:.2f}")
    assert facts["by its text"] == "1.00: “Falcon nests”"
    assert "not on topic" in of_seed["relevance"]
    assert of_seed["promise"].startswith("none")


async def test_a_crawl_goes_on_with_its_topic_and_its_page_limit(web: HandWeb, crawl: HandCrawl) -> None:
    seed = a_web(web)
    await crawl(seed, order="topic", topic="falcon nests", max_pages=4)
    before = order_of(crawl)
    assert len(before) == 4
    await crawl(seed, max_pages=0)
    after = order_of(crawl)
    assert after[:4] == before
    assert len(after) == len(set(after)) == 19
    assert crawl.counts.on_topic == 3
    kept = tomllib.loads(CrawlFolder(crawl.folder).settings.read_text(encoding="utf-8"))
    assert (kept["order"], set(kept["topic_terms"])) == ("topic", {"falcon", "nests"})


async def test_the_terms_follow_the_topic_unless_they_are_set(web: HandWeb, crawl: HandCrawl) -> None:
    seed = put(web, "/", "Home", WATER)

    async def terms_after(**settings: Any) -> dict[str, float]:
        await crawl(seed, **settings)
        kept = tomllib.loads(CrawlFolder(crawl.folder).settings.read_text(encoding="utf-8"))
        return dict(kept["topic_terms"])

    assert set(await terms_after(order="topic", topic="falcon nests")) == {"falcon", "nests"}
    assert set(await terms_after(topic="rivers")) == {"rivers"}
    assert await terms_after(topic_terms={"lake": 0.5}) == {"lake": 0.5}
    assert await terms_after() == {"lake": 0.5}


async def test_a_topic_of_one_page_ends(web: HandWeb, crawl: HandCrawl) -> None:
    seed = put(web, "/", "Falcons", FALCONS)
    assert await crawl(seed, order="topic", topic="falcons") == {seed: "stored"}
    assert crawl.counts.harvest == 1.0


async def test_a_topic_may_be_given_by_examples_at_a_url_and_in_a_file(
    web: HandWeb, crawl: HandCrawl, tmp_path: Path
) -> None:
    seed = a_web(web)
    example = tmp_path / "example.html"
    example.write_text(f"<title>Falcons and their nests</title><body><h1>Falcons</h1>{FALCONS}", encoding="utf-8")
    there = web.page("http://b.test/like", f"<title>Nests</title><body>{FALCONS}")
    web.robots("b.test", "User-agent: *\nDisallow: /secret")
    await crawl(seed, order="topic", like=[str(example), there], traps=False)
    order = order_of(crawl)
    found = order.index("birds/1")
    assert set(order[found : found + 4]) == {"birds/1", "water/11", "birds/2", "birds/3"}
    assert crawl.counts.on_topic >= 3
    assert [request.path for request in web.requests if request.host == "b.test"] == ["/robots.txt", "/like"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "order: topic needs to know the topic"),
        ({"topic": "…!"}, "there is no word"),
        ({"like": ["nowhere/example.html"]}, "like: nowhere/example.html cannot be read"),
    ],
)
async def test_a_topic_that_cannot_be_is_refused_before_anything_is_asked(
    web: HandWeb, settings: dict[str, Any], said: str
) -> None:
    seed = put(web, "/", "Home", WATER)
    with pytest.raises(SettingsError, match=said):
        await Crawler(seed, **{**hand_settings(web), "order": "topic", **settings}).run()
    assert web.requests == []


async def test_an_example_that_robots_txt_closes_is_not_asked_for(web: HandWeb) -> None:
    seed, example = put(web, "/", "Home", WATER), web.page("http://b.test/secret", FALCONS)
    web.robots("b.test", "User-agent: *\nDisallow: /secret")
    with pytest.raises(SettingsError, match=r"robots\.txt"):
        await Crawler(seed, **{**hand_settings(web), "order": "topic", "like": [example]}).run()
    assert [request.path for request in web.requests] == ["/robots.txt"]


@pytest.mark.parametrize(
    ("topic", "anchor", "text"),
    [
        ("正则表达式", "关于正则表达式", "正则表达式可以匹配文本。" * 20),
        ("正規表現", "正規表現の使い方", "正規表現は文字列を探す。" * 20),
        ("Vögel", "Die Vögel", "Die Vögel fliegen nach Süden, und ein Vogel bleibt. " * 9),
    ],
)
async def test_topics_in_other_languages_lead_the_crawl(
    web: HandWeb, crawl: HandCrawl, topic: str, anchor: str, text: str
) -> None:
    links = [(f"/{number}", f"River {number}") for number in range(6)]
    for number in range(6):
        put(web, f"/{number}", f"River {number}", WATER + f" {number}")
    put(web, "/good", anchor, f"<p>{text}")
    await crawl(put(web, "/", "Home", WATER, *links, ("/good", anchor)), order="topic", topic=topic)
    assert order_of(crawl)[:2] == ["", "good"]
    assert crawl.counts.on_topic == 1


async def test_hostile_pages_and_links_end_like_any_other(web: HandWeb, crawl: HandCrawl) -> None:
    odd = ["falcon" * 5000, "\udcff\x00 falcon", "ｆａｌｃｏｎ", "̈" * 2000, "鷹" * 3000, "<b>", "%ff%00"]
    body = "".join(f'<a href="/{number}?x={"%FF" * number}">{text}</a>' for number, text in enumerate(odd))
    for number in range(len(odd)):
        bytes_of_all_kinds = bytes(range(256)) * 40
        headers = {"Content-Type": "text/html"}
        web.page(f"http://a.test/{number}?x={'%FF' * number}", bytes_of_all_kinds, headers=headers)
    seed = web.page("http://a.test/", body.encode("utf-8", "surrogatepass"))
    outcomes = await crawl(seed, order="topic", topic="falcon 鷹", traps=False)
    assert len(outcomes) == 1 + len(odd)
    assert not [(row["url"][-20:], row["reason"]) for row in crawl.rows() if row["outcome"] == "failed"]


PLAN = WebPlan.named(
    "topics", hosts=8, pages_per_host=12, topics=4, min_page_bytes=3_000, max_page_bytes=5_000, is_prerendered=True
)


@pytest.mark.process
def test_a_kill_of_everything_loses_nothing_and_the_topic_still_leads(space: Path) -> None:
    layout = Layout(PLAN)
    words, folder = " ".join(topic_words(layout.draws, 1)[:4]), space / "crawl"
    with WitnessedWeb(PLAN, space) as web:
        arguments = ["--topic", words, *web.seeds]
        with start(web, folder, *arguments) as running:
            web.wait_for_requests(25)
            running.kill_all()
        ended = command_crawl(web, folder, *arguments)
        truth = web.truth()
    assert ended.exit_code == 0, ended.said
    rows = [row for row in evidence.pages(folder) if row["outcome"] in ("stored", "duplicate")]
    assert Counter(row["url"] for row in rows) == dict.fromkeys(truth.storable, 1)
    about = {layout.host(host).name: host for host in range(PLAN.hosts)}
    rows.sort(key=lambda row: row["fetched_at"])

    def is_about(row: dict[str, Any]) -> bool:
        parts = urlsplit(row["url"])
        tail = parts.path + (f"?{parts.query}" if parts.query else "")
        ref = layout.page_at(about[parts.hostname or ""], tail)
        return ref is not None and layout.topic(ref) == 1

    on_topic = [is_about(row) for row in rows]
    third = len(rows) // 3
    assert sum(on_topic[:third]) > sum(on_topic) / 2
    relevant = [row for row in rows if row["relevance"] >= 0.5]
    assert relevant
    assert all(map(is_about, relevant))
    assert ended.summary["on_topic"] == len(relevant)
    assert ended.summary["harvest"] == pytest.approx(len(relevant) / len(rows))
