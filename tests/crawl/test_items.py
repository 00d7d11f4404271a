"""Records: what rules of a site make of a page, where they are kept, and that a crash loses none."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
import turbohtml

from lycosa.cli.main import main
from lycosa.page.fields import number_in, records_of
from lycosa.settings import from_values
from lycosa.simweb import HandWeb, WebPlan
from lycosa.store.folder import CrawlFolder
from lycosa.store.parts import check_parts
from lycosa.store.read import connect

from .command import start
from .conftest import HandCrawl
from .witness import WitnessedWeb

PAGE = """
<h1>Books</h1><base href="/shop/">
<article class=book id=b1><h2>One</h2><a href="one.html">more</a><p class=price>£1,051.70</p><b>in stock</b>
  <ul><li>red<li>green</ul><time datetime="2024-03-01">1 March</time></article>
<article class=book id=b2><h2> Two
  lines </h2><p class=price>3,50 €</p><p class=stock>-4 of 1.000</p></article>
"""
EACH: dict[str, Any] = {
    "each": "article",
    "fields": {
        "title": "h2",
        "id": {"xpath": "./@id"},
        "link": {"css": "a", "type": "url"},
        "href": {"css": "a", "attr": "href"},
        "price": {"css": ".price", "type": "float"},
        "stock": {"css": ".stock", "type": "int"},
        "is_there": {"css": "b", "type": "bool"},
        "colours": {"css": "li", "list": True},
        "on": {"css": "time", "type": "date"},
        "markup": {"css": "b", "html": True},
    },
}


def records(html: str, rules: dict[str, Any]) -> list[dict[str, Any]]:
    chosen = from_values({"site": {"a.test": rules}}).site["a.test"]
    return records_of(turbohtml.parse(html), "http://a.test/shop/", chosen)


def test_each_element_gives_a_record_with_typed_fields() -> None:
    one, two = records(PAGE, EACH)
    assert one == {
        "title": "One", "id": "b1", "link": "http://a.test/shop/one.html", "href": "one.html", "price": 1051.7,
        "stock": None, "is_there": True, "colours": ["red", "green"], "on": "2024-03-01", "markup": "<b>in stock</b>",
    }  # fmt: skip
    assert (two["title"], two["price"], two["stock"], two["is_there"]) == ("Two lines", 3.5, -4, False)
    assert (two["link"], two["colours"], two["on"]) == (None, [], None)


def test_what_is_not_of_its_type_is_null() -> None:
    html = (
        '<a href="x y?b=ü#c">l</a><a href="http://[bad">m</a><a href="mailto:me@a.test">n</a><a href="javascript:0">o'
        "</a><time datetime=2024-02-30>x</time><time>12 March 2024</time><i>some</i><i>7</i>"
    )
    fields = {
        "urls": {"css": "a", "type": "url", "list": True},
        "hrefs": {"xpath": "//a/@href", "type": "url", "list": True},
        "dates": {"css": "time", "type": "date", "list": True},
        "first": {"css": "i", "type": "int"},
        "all": {"css": "i", "type": "float", "list": True},
        "count": {"xpath": "count(//i)", "type": "int"},
    }
    (record,) = records(html, {"fields": fields})
    assert record["urls"] == record["hrefs"] == ["http://a.test/shop/x%20y?b=%C3%BC#c", "mailto:me@a.test"]
    assert record["dates"] == ["2024-03-12"]
    assert (record["first"], record["all"], record["count"]) == (None, [7.0], 2)


def test_a_page_may_be_one_record_with_records_within() -> None:
    rules = {
        "fields": {"head": "h1", "books": {"each": "article", "fields": {"title": "h2"}}, "n": {"xpath": "count(//li)"}}
    }
    assert records(PAGE, rules) == [{"head": "Books", "books": [{"title": "One"}, {"title": "Two lines"}], "n": "2.0"}]


def test_a_page_that_says_nothing_of_it_gives_no_record() -> None:
    assert records("<p>nothing", EACH) == []
    assert records("<article>nothing</article>", EACH) == []
    assert records("<p>nothing", {"fields": {"x": "h7", "y": {"css": "li", "list": True}}}) == []


def test_a_page_cannot_make_records_without_end() -> None:
    html = "<div>" * 400 + "x" * 100_000
    rules = {"fields": {"all": {"css": "div", "list": True}}}
    assert sum(map(len, records(html, rules)[0]["all"])) <= 4_100_000
    assert len(records("<p>a" * 20_000, {"each": "p", "fields": {"x": {"xpath": "."}}})) < 10_001


@pytest.mark.parametrize(
    ("text", "number"),
    [("£51.77", 51.77), ("1,234", 1234), ("1.234,50 EUR", 1234.5), ("1 234", 1234), ("−3", -3), ("3.141", 3.141),
     ("12,5", 12.5), ("1.234.567", 1234567), ("no", None), ("In stock (19 available)", 19)],
)  # fmt: skip
def test_numbers_as_people_write_them(text: str, number: float | None) -> None:
    assert number_in(text) == number


# ---- where they are kept


def shop(web: HandWeb) -> str:
    web.page("http://shop.test/2", PAGE.replace("One", "Three"))
    return web.page("http://shop.test/", PAGE + '<a href="/2">next</a>')


async def test_records_are_in_the_table_and_leave_it(
    web: HandWeb, crawl: HandCrawl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await crawl(shop(web), site={"shop.test": EACH})
    assert [item["title"] for page in crawl.pages.values() for item in page.items] == [
        "One",
        "Two lines",
        "Three",
        "Two lines",
    ]
    folder = ["--folder", str(crawl.folder)]
    assert (
        main(["query", "SELECT item->>'title' AS title FROM items ORDER BY fetched_at, number", "--json", *folder]) == 0
    )
    told = capsys.readouterr().out.split()
    assert "".join(told).count("Three") == 1
    out = tmp_path / "items.jsonl"
    assert main(["export", "--what", "items", "--format", "jsonl", "--out", str(out), *folder]) == 0
    lines = [msgspec.json.decode(line) for line in out.read_bytes().splitlines()]
    assert len(lines) == 4
    assert lines[0]["item"]["price"] == 1051.7
    assert lines[0]["url"] == web.url("shop.test")
    # Who looks only at files finds the same.
    assert main(["audit", *folder]) in (0, 3)


async def test_records_whose_table_is_gone_are_noticed_and_those_of_lost_links_are_kept(
    web: HandWeb, crawl: HandCrawl
) -> None:
    await crawl(shop(web), site={"shop.test": EACH})
    folder = CrawlFolder(crawl.folder)
    (links,) = folder.links.glob("*.parquet")
    links.unlink()
    assert check_parts(folder) == []
    await crawl(site={"shop.test": EACH})
    with connect(folder) as tables:
        assert len(tables.execute("SELECT item FROM items").fetchall()) == 4
    for part in folder.items.glob("*.parquet"):
        part.write_bytes(b"damaged")
    assert [damaged.is_gone for damaged in check_parts(folder)] == [False]


async def test_what_a_page_asks_not_to_be_found_gives_no_records(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://shop.test/", PAGE + '<meta name=robots content="noindex">')
    await crawl(seed, site={"shop.test": EACH})
    assert crawl.pages[seed].items == []


def test_a_crawl_that_is_killed_loses_no_record_and_has_none_twice(space: Path, tmp_path: Path) -> None:
    plan = WebPlan.named("clean", is_prerendered=True, hosts=1, pages_per_host=120, min_page_bytes=1000)
    with WitnessedWeb(plan, tmp_path) as web:
        hosts = {str(urlsplit(seed).hostname) for seed in web.seeds}
        settings: dict[str, Any] = {
            "min_delay_seconds": 0, "delay_factor": 0, "ip_delay_seconds": 0, "domain_delay_seconds": 0, "workers": 1,
            "parquet_rows": 30, "traps": False, "site": {host: {"fields": {"title": "title"}} for host in hosts},
        }  # fmt: skip
        with start(web, space / "c", *web.seeds, **settings) as running:
            web.wait_for_requests(50)
            (worker,) = running.workers()
            os.kill(worker, signal.SIGKILL)
            web.wait_for_requests(80)
            running.process.kill()
            running.process.wait()
        with start(web, space / "c", *web.seeds, **settings) as running:
            ended = running.end()
        assert ended.exit_code == 0, ended.said
    with connect(CrawlFolder(space / "c")) as tables:
        query = "SELECT count(*), count(DISTINCT url) FROM items"
        (found,) = tables.execute(query).fetchall()
        (pages,) = tables.execute(
            "SELECT count(*), count(DISTINCT url) FROM pages WHERE outcome IN ('stored', 'duplicate')"
        ).fetchall()
    assert found == pages
    assert pages[0] >= 100
