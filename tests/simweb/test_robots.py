from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from urllib.parse import urlsplit
from xml.etree import ElementTree

from lycosa.simweb import PageKind, SimWeb, WebPlan

from .fixtures import Heard, ask
from .reading import allows

_SPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


async def test_robots_txt_says_what_the_layout_decided() -> None:
    async with SimWeb(WebPlan(hosts=10, pages_per_host=80, slow_host_share=0, robots_missing_share=0.3)) as web:
        rules = {}
        for page in web.truth().pages.values():
            if page.host not in rules:
                rules[page.host] = await ask(f"http://{page.host}:{web.port}/robots.txt")
            assert page.is_allowed == _allows(rules[page.host], page.url), page.url
        assert {answer.status for answer in rules.values()} == {200, 404}


async def test_closed_pages_exist_and_are_linked() -> None:
    async with SimWeb(WebPlan.named("clean", hosts=10, pages_per_host=40)) as web:
        truth = web.truth()
        closed = {page.url for page in truth.pages.values() if page.kind == PageKind.DISALLOWED.value}
        linked = {url for page in truth.pages.values() for url in page.links}
        assert closed
        assert closed <= linked
        assert {(await ask(url)).status for url in closed} == {200}


async def test_some_hosts_ask_for_a_delay_and_name_a_sitemap() -> None:
    async with SimWeb(WebPlan(hosts=30, crawl_delay_share=0.5, slow_host_share=0)) as web:
        texts = [(await ask(_at(web, host, "/robots.txt"))).body for host in range(30)]
        assert 0 < sum(b"Crawl-delay: 2" in text for text in texts) < 30
        assert 0 < sum(b"Sitemap: http://" in text for text in texts) < 30


async def test_a_broken_robots_txt_closes_its_host() -> None:
    async with SimWeb(WebPlan(hosts=30, robots_broken_share=0.5, slow_host_share=0)) as web:
        truth = web.truth()
        closed = {page.host for page in truth.pages.values() if not page.is_allowed and page.url.endswith("/")}
        assert closed
        assert not any(urlsplit(url).hostname in closed for url in truth.reachable)
        answers = [await ask(f"http://{host}:{web.port}/robots.txt") for host in closed]
        assert {answer.status for answer in answers} == {503}
        assert all(answer.headers["retry-after"] for answer in answers)


async def test_sitemaps_name_the_true_pages() -> None:
    async with SimWeb(WebPlan(hosts=20, pages_per_host=40, slow_host_share=0)) as web:
        truth = web.truth()
        kinds = set()
        for host in range(20):
            name = web.layout.host(host).name
            expected = {page.url for page in truth.pages.values() if page.host == name and page.is_in_sitemap}
            answer = await ask(_at(web, host, "/sitemap.xml"))
            assert (answer.status == 200) == bool(expected)
            if expected:
                kinds.add(ElementTree.fromstring(answer.body).tag.removeprefix(_SPACE))
                assert {url async for url in _urls(answer)} == expected
        assert kinds == {"urlset", "sitemapindex"}


async def test_a_long_sitemap_is_split() -> None:
    plan = WebPlan.named("clean", hosts=1, pages_per_host=2500, sitemap_share=1.0)
    async with SimWeb(plan) as web:
        index = ElementTree.fromstring((await ask(_at(web, 0, "/sitemap.xml"))).body)
        assert len(index) == 3
        assert (await ask(_at(web, 0, "/sitemap-3.xml.gz"))).status == 404


async def _urls(answer: Heard) -> AsyncIterator[str]:
    """The pages of a sitemap, or of the files of an index."""
    for entry in ElementTree.fromstring(answer.body):
        location = entry.findtext(f"{_SPACE}loc")
        assert location
        if entry.tag == f"{_SPACE}sitemap":
            for part in ElementTree.fromstring(gzip.decompress((await ask(location)).body)):
                assert part.findtext(f"{_SPACE}lastmod")
                assert 0 < float(part.findtext(f"{_SPACE}priority") or 0) <= 1
                yield part.findtext(f"{_SPACE}loc") or ""
        else:
            yield location


def _at(web: SimWeb, host: int, path: str) -> str:
    return web.url(host).rstrip("/") + path


def _allows(robots: Heard, url: str) -> bool:
    return robots.status == 404 or allows(robots.body.decode(), url)
