"""Requisites: what a browser loads to show a page is fetched, once, from anywhere, and hurts no page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from lycosa.inspect.opened import opened_crawl
from lycosa.inspect.why import explain
from lycosa.simweb import HandWeb
from lycosa.simweb.server import ServedExchange

from . import evidence
from .conftest import HandCrawl

CSS, SCRIPT, PNG, FONT = "text/css", "text/javascript", "image/png", "font/woff2"


def put(web: HandWeb, url: str, media: str, body: str | bytes = b"") -> str:
    return web.page(url, body or f"{media} at {url}".encode(), headers={"Content-Type": media})


def furnish(web: HandWeb) -> set[str]:
    """A site of three pages, whose parts lie on three hosts; the URLs of all that its pages show."""
    cdn, img = web.url("cdn.test").removeprefix("http:"), web.url("img.test").removeprefix("http:")
    web.page("http://cdn.test/page", "<p>of somebody else</p>")
    web.robots("cdn.test", "User-agent: *\nDisallow: /closed/")
    shown = {
        put(web, "http://a.test/style/main.css?v=3", CSS, MAIN.replace("//cdn.test/", cdn)),
        put(web, "http://a.test/style/more.css", CSS, '@import "main.css?v=3"; .x { background: url(deep.png) }'),
        put(web, "http://a.test/style/deep.png", PNG),
        put(web, "http://a.test/font/x.woff2", FONT),
        put(web, "http://cdn.test/bg.png", PNG),
        put(web, "http://cdn.test/print.css", CSS, f"p {{ list-style: url('{img}dot.png') }}"),
        put(web, "http://img.test/dot.png", PNG),
        put(web, "http://a.test/app.js", SCRIPT, "import './never.js'"),
        put(web, "http://a.test/icon.ico", "image/x-icon"),
        *(put(web, f"http://a.test/img/{name}.png", PNG) for name in ("one", "one-2x", "wide", "in-style")),
        put(web, "http://img.test/three.png", PNG),
        put(web, "http://a.test/sheet.png", PNG),
    }
    web.redirect("http://a.test/img/old.png", "/img/new.png")
    shown |= {web.url("a.test", "/img/old.png"), put(web, "http://a.test/img/new.png", PNG)}
    web.page(
        "http://a.test/",
        f"""<link rel=stylesheet href="/style/main.css?v=3"><link rel="shortcut icon" href=/icon.ico>
        <link rel=alternate hreflang=de href=/de><script src="/app.js"></script>
        <style>.y {{ background: url(/sheet.png) }}</style>
        <img src="img/one.png" srcset="img/one-2x.png 2x,{img}three.png 3x"><img src=/img/old.png>
        <picture><source srcset="/img/wide.png"><img src="{cdn}closed/x.png"></picture>
        <p style="background: url('/img/in-style.png')">text of a</p>
        <a href=/two>two</a> <a href="{cdn}page">page</a>""",
    )
    web.page("http://a.test/de", "<link rel=stylesheet href='/style/main.css?v=3'><p>Text von a")
    web.page("http://a.test/two", "<script src=/app.js></script><p>text of two")
    return shown


MAIN = """@charset "utf-8"; @namespace svg url(http://www.w3.org/2000/svg);
/* url(commented.png) */ @import url(more.css) screen; @import "//cdn.test/print.css" print;
@font-face { font-family: x; src: url( "../font/x.woff2" ) format("woff2") }
body { background: URL(//cdn.test/bg.png); content: "url(string.png)"; mask: url(#local) url(data:image/png;base64,AA) }
"""


@pytest.fixture
def home(web: HandWeb) -> str:
    return web.url("a.test", "/")


async def test_an_archive_holds_all_that_its_pages_show(web: HandWeb, crawl: HandCrawl, home: str) -> None:
    shown = furnish(web)
    outcomes = await crawl(home, scope="host", requisites=True)
    assert {url for url, outcome in outcomes.items() if outcome == "stored"} == {
        home,
        web.url("a.test", "/de"),
        web.url("a.test", "/two"),
    }
    requested = Counter(url for url in web.requested_urls if not url.endswith("/robots.txt"))
    assert {url for url in requested if "probe" not in url} == shown | {
        home,
        web.url("a.test", "/de"),
        web.url("a.test", "/two"),
    }
    assert max(requested.values()) == 1, "each once"
    records = evidence.warc_responses(crawl.folder)
    assert shown <= set(records)
    assert evidence.invalid_warcs(crawl.folder) == []
    assert outcomes[web.url("cdn.test", "/closed/x.png")] == "refused", "robots.txt counts there, too"
    assert {row["reason"] for row in crawl.rows() if row["url"] in shown} == {"requisite", "moved"}
    counts = crawl.counts
    assert (counts.pages, counts.requisites, counts.requisites_queued) == (3, len(shown) - 1, 0)


async def test_without_the_setting_nothing_of_it_is_asked_for(web: HandWeb, crawl: HandCrawl, home: str) -> None:
    shown = furnish(web)
    await crawl(home, scope="host")
    assert shown.isdisjoint(web.requested_urls)
    assert {request.host for request in web.requests} == {"a.test"}


async def test_a_rule_of_a_site_decides_for_its_pages(web: HandWeb, crawl: HandCrawl) -> None:
    for host in ("a.test", "b.test"):
        put(web, f"http://{host}/x.css", CSS)
        web.page(f"http://{host}/", f"<link rel=stylesheet href=/x.css><p>{host}")
    await crawl(web.url("a.test"), web.url("b.test"), site={"b.test": {"requisites": True}})
    assert (crawl.requests("/x.css"), crawl.requests("/x.css", "b.test")) == (0, 1)


async def test_pages_that_count_are_whole_when_the_limit_is_reached(web: HandWeb, crawl: HandCrawl, home: str) -> None:
    shown = furnish(web)
    of_home = {url for url in shown if not url.endswith("never.js")}
    await crawl(home, scope="host", requisites=True, max_pages=1)
    assert of_home <= set(web.requested_urls)
    assert crawl.counts.pages == 1
    assert crawl.requests("/two") == 0
    # The same command with room for more goes on, and what was fetched is not asked for again.
    await crawl(home, scope="host", requisites=True, max_pages=3)
    assert crawl.counts.pages == 3
    assert max(Counter(url for url in web.requested_urls if not url.endswith("/robots.txt")).values()) == 1


async def test_the_same_bytes_are_kept_once(web: HandWeb, crawl: HandCrawl) -> None:
    body = b"body { margin: 0 } " * 60
    urls = [put(web, f"http://{host}/{name}.css", CSS, body) for host in ("a.test", "b.test") for name in ("x", "y")]
    seed = web.page("http://a.test/", "".join(f"<link rel=stylesheet href='{url}'>" for url in urls))
    await crawl(seed, requisites=True)
    kinds = {record_url: kind for record_url, kind in records_of(crawl.folder) if record_url in urls}
    assert set(kinds) == set(urls)
    assert Counter(kinds.values()) == {"response": 1, "revisit": 3}


async def test_an_image_that_a_page_shows_and_links_to_is_asked_for_once(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", "<a href=/big.jpg><img src=/small.jpg srcset='/big.jpg 2x'></a> <a href=/x>x</a>")
    web.page("http://a.test/x", "<p>x")
    for name in ("big", "small"):
        put(web, f"http://a.test/{name}.jpg", "image/jpeg")
    outcomes = await crawl(seed, requisites=True)
    assert (crawl.requests("/big.jpg"), crawl.requests("/small.jpg")) == (1, 1)
    assert outcomes[web.url("a.test", "/x")] == "stored"
    assert crawl.counts.pages == 2


async def test_a_page_that_another_shows_as_an_image_is_a_page(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", "<img src=/article><script src=/article></script><a href=/list>list</a>")
    web.page("http://a.test/list", "<a href=/article>article</a>")
    article = web.page("http://a.test/article", "<title>All of it</title><p>A good page.")
    await crawl(seed, requisites=True)
    assert crawl.pages[article].title == "All of it"


async def test_files_that_are_not_there_do_not_close_a_host(web: HandWeb, crawl: HandCrawl) -> None:
    broken = "".join(f"<img src=/img/{number}.png>" for number in range(12))
    links = "".join(f"<a href=/{number}>x</a>" for number in range(5))
    seed = web.page("http://a.test/", broken + links)
    for number in range(12):
        web.page(f"http://a.test/img/{number}.png", "no", status=500 if number % 2 else 403)
    for number in range(5):
        web.page(f"http://a.test/{number}", f"<p>page number {number}")
    await crawl(seed, requisites=True)
    assert crawl.counts.pages == 6


async def test_stylesheets_that_import_ever_new_ones_end(web: HandWeb, crawl: HandCrawl) -> None:
    asked: list[str] = []

    async def behave(exchange: ServedExchange) -> None:
        from lycosa.simweb.http import make_reply

        asked.append(exchange.ask.target)
        further = f"@import 'x{len(asked)}.css';".encode()
        exchange.reply(make_reply(200, further, {"Content-Type": CSS}))

    web.behave_host("css.test", behave)
    seed = web.page("http://a.test/", f"<link rel=stylesheet href='{web.url('css.test', '/x.css')}'><p>x")
    await crawl(seed, requisites=True)
    assert len([target for target in asked if target.endswith(".css")]) == 6


async def test_a_domain_of_endless_hosts_is_asked_a_hundred_times(web: HandWeb, crawl: HandCrawl) -> None:
    images = []
    for number in range(130):
        images.append(put(web, f"http://h{number}.farm.test/x.png", PNG))
    seed = web.page("http://a.test/", "".join(f"<img src='{url}'>" for url in images))
    await crawl(seed, requisites=True)
    assert len({request.host for request in web.requests}) == 101


async def test_what_the_operator_excludes_is_left_alone_anywhere(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", f"<img src='{web.url('ads.test', '/x.png')}'><img src=/y.png><p>x")
    put(web, "http://ads.test/x.png", PNG)
    put(web, "http://a.test/y.png", PNG)
    await crawl(seed, requisites=True, scope="host", exclude=["//ads[.]"], include=["/none$"])
    assert {request.host for request in web.requests} == {"a.test"}
    assert crawl.requests("/y.png") == 1, "what is included is said of pages"


async def test_what_a_page_shows_leads_to_no_closed_address(web: HandWeb, crawl: HandCrawl) -> None:
    web.resolve("inner.test", "10.0.0.1")
    inner = web.url("inner.test", "/x.png")
    seed = web.page("http://a.test/", f"<img src='{inner}'><img src='file:///etc/passwd'><img src='ftp://a.test/x'>")
    outcomes = await crawl(seed, requisites=True)
    assert outcomes == {seed: "stored", inner: "refused"}
    assert crawl.row(inner)["reason"] == "address"


async def test_a_crawl_that_gets_the_setting_later_completes_its_pages(
    web: HandWeb, crawl: HandCrawl, home: str
) -> None:
    shown = furnish(web)
    await crawl(home, scope="host", frontier="rocks")
    await crawl(home, scope="host", frontier="rocks", requisites=True)
    assert shown <= set(evidence.warc_responses(crawl.folder))
    assert crawl.counts.pages == 3
    requested = Counter(url for url in web.requested_urls if not url.endswith("/robots.txt"))
    assert max(requested.values()) == 1


async def test_why_tells_what_it_was_fetched_for(web: HandWeb, crawl: HandCrawl, home: str) -> None:
    furnish(web)
    await crawl(home, scope="host", frontier="rocks", requisites=True)
    with opened_crawl(crawl.folder, None) as opened:
        answer = explain(opened, web.url("cdn.test", "/bg.png"), 0.0)
        page = explain(opened, web.url("cdn.test", "/page"), 0.0)
    assert answer.state == "read"
    assert "needs it to be shown" in answer.sentence
    assert dict(answer.facts)["found on"] == web.url("a.test", "/style/main.css?v=3")
    assert page.state == "out of scope", "the host is not open to the crawl"


def records_of(folder: Path) -> list[tuple[str, str]]:
    found = []
    for path in sorted((folder / "warc").glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type in ("response", "revisit"):
                    found.append((record.rec_headers.get_header("WARC-Target-URI"), record.rec_type))
    return found
