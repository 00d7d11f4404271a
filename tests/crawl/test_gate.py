"""Whatever a page, a redirect, a sitemap or a robots.txt names: no connection to an address that is not open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from lycosa.simweb import HandWeb

from .conftest import HandCrawl
from .test_visits import page, sitemap

# The only network of this web that is open to the crawl: that of its host `a.test`.
OPEN = "127.1.0.0/24"


class Trap:
    """A listener on 127.0.0.1: it counts whoever connects."""

    def __init__(self) -> None:
        self.connections = 0
        self.port = 0

    def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        self.connections += 1
        writer.close()


@pytest.fixture
async def trap() -> AsyncIterator[Trap]:
    trap = Trap()
    server = await asyncio.start_server(trap, "127.0.0.1", 0)
    trap.port = server.sockets[0].getsockname()[1]
    yield trap
    server.close()


def inner_urls(port: int) -> list[str]:
    names = [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "localhost",
        "localhost.",
        "a.localhost",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "100.64.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "224.0.0.1",
        "inner.test",
        "rebound.test",
    ]
    return [f"http://{name}:{port}/" for name in names]


async def test_links_to_inner_addresses_reach_nobody(web: HandWeb, crawl: HandCrawl, trap: Trap) -> None:
    web.resolve("inner.test", "127.0.0.1")
    web.resolve("rebound.test", "169.254.169.254", "127.0.0.1")
    seed = web.page("http://a.test/", page(*inner_urls(trap.port)))
    outcomes = await crawl(seed, open_networks=[OPEN])
    assert outcomes.pop(seed) == "stored"
    assert outcomes
    assert set(outcomes.values()) == {"refused"}
    assert trap.connections == 0
    assert {request.host for request in web.requests} == {"a.test"}


async def test_redirects_sitemaps_and_refreshes_to_inner_addresses_reach_nobody(
    web: HandWeb, crawl: HandCrawl, trap: Trap
) -> None:
    inner = f"http://127.0.0.1:{trap.port}/"
    web.robots("a.test", f"Sitemap: {inner}sitemap.xml\nSitemap: /s.xml")
    web.page("http://a.test/s.xml", sitemap(inner + "from-sitemap"))
    head = f'<meta http-equiv="refresh" content="0; url={inner}refresh"><link rel="canonical" href="{inner}canonical">'
    seed = web.page("http://a.test/", page("/away", head=head))
    web.redirect("http://a.test/away", inner + "redirect")
    outcomes = await crawl(seed, open_networks=[OPEN])
    refused = {url for url, outcome in outcomes.items() if outcome == "refused"}
    assert {inner + "sitemap.xml", inner + "redirect", inner + "refresh", inner + "canonical"} <= refused
    assert trap.connections == 0


async def test_without_an_open_network_nobody_on_loopback_is_reached(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page())
    assert await crawl(seed, open_networks=[]) == {seed: "refused"}
    assert web.requests == []
    assert crawl.row(seed)["reason"] == "address"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://a.test/", "data:text/html,x", "gopher://a.test/"])
async def test_other_schemes_are_never_followed(web: HandWeb, crawl: HandCrawl, url: str) -> None:
    seed = web.page("http://a.test/", page(url))
    outcomes = await crawl(seed)
    assert outcomes.pop(seed) == "stored"
    assert set(outcomes.values()) <= {"refused"}, "told, where it names a place"
    assert set(web.requested_urls) == {web.url("a.test", "/robots.txt"), seed}
