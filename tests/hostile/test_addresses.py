"""One gate for every request: no way of writing an address, on no path, leads to a network that is not open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import Any

import pytest

from lycosa.errors import AddressRefused, VisitError
from lycosa.fetch.curl import CurlFetcher
from lycosa.fetch.dns import Resolver
from lycosa.fetch.gate import AddressGate
from lycosa.model import Response
from lycosa.settings import Settings
from lycosa.simweb import HandWeb, make_reply
from lycosa.simweb.dns import DnsServer
from lycosa.simweb.hostile.traps import html
from lycosa.simweb.server import ServedExchange
from lycosa.url.canonical import ParsedUrl, parse_seed

from .canary import Canary
from .conftest import SHORT, HandCrawl

# The hosts of a web made by hand; nothing else is open.
OPEN = "127.1.0.0/16"

FORMS = [
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x7F.0x0.0x0.0x1", "0177.0.0.1",
    "017700000001", "0177.0x0.1", "127.0.0.1.", "127.000.000.001", "127.255.255.254", "127.0.0.53", "0", "0x0", "00",
    "0.0.0.0", "0.1.2.3", "localhost", "localhost.", "LOCALHOST", "sub.localhost", "[::1]", "[::]",
    "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]",
    "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]",
    "[2002:7f00:1::1]", "[2001:0:7f00:1::]", "[2001:0:4136:e378:8000:63bf:80ff:fffe]", "[fe80::1]", "[fc00::1]",
    "[fd00:ec2::254]", "[ff02::1]", "[fec0::1]", "[100::1]", "[2001:db8::1]", "10.0.0.1", "172.16.0.1", "192.168.0.1",
    "169.254.169.254", "0xA9FEA9FE", "2852039166", "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1",
    "224.0.0.1", "255.255.255.255", "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021", "\u2460\u2461\u2466.0.0.1",
    "%31%32%37.0.0.1", "127.0.0.1%00", "user:secret@127.0.0.1", "good.test@127.0.0.1", "127.0.0.1\\@good.test",
    "inner.test", "both.test", "metadata.test", "zero.test",
]  # fmt: skip

Put = Callable[[HandWeb, list[str]], list[str]]


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    async with Canary() as canary:
        yield canary


def _seed(web: HandWeb, urls: list[str]) -> list[str]:
    return [url for url in urls if isinstance(parse_seed(url), ParsedUrl)]


def _link(web: HandWeb, urls: list[str]) -> list[str]:
    frames = "".join(f'<iframe src="{url}frame"></iframe><area href="{url}area">' for url in urls)
    return [web.page("http://a.test/", html("links", urls, more=frames))]


def _redirect(web: HandWeb, urls: list[str]) -> list[str]:
    for number, url in enumerate(urls):
        web.redirect(f"http://a.test/{number}", _header(url), status=(301, 302, 303, 307, 308)[number % 5])
    return [web.page("http://a.test/", html("redirects", [f"/{number}" for number in range(len(urls))]))]


def _robots(web: HandWeb, urls: list[str]) -> list[str]:
    # A name in the open network whose other page lies inside: robots.txt is the first request to that origin.
    return [web.page("http://a.test/", html("robots", [f"{url}robots.txt" for url in urls]))]


def _robots_redirect(web: HandWeb, urls: list[str]) -> list[str]:
    for number, url in enumerate(urls):
        web.redirect(f"http://h{number}.test/robots.txt", _header(f"{url}robots.txt"))
        web.page(f"http://h{number}.test/", html(str(number)))
    return [web.url(f"h{number}.test") for number in range(len(urls))]


def _sitemap(web: HandWeb, urls: list[str]) -> list[str]:
    for number, url in enumerate(urls):
        web.robots(f"h{number}.test", f"Sitemap: {url}sitemap.xml\n".encode("utf-8", "replace"))
        web.page(f"http://h{number}.test/", html(str(number)))
    return [web.url(f"h{number}.test") for number in range(len(urls))]


def _listed(web: HandWeb, urls: list[str], tag: str, root: str) -> list[str]:
    entries = "".join(f"<{tag}><loc>{url.replace('&', '&amp;')}x.xml</loc></{tag}>" for url in urls)
    web.robots("a.test", "Sitemap: /sitemap.xml")
    web.page("http://a.test/sitemap.xml", f"<{root}>{entries}</{root}>", headers={"Content-Type": "text/xml"})
    return [web.page("http://a.test/", html("sitemap"))]


def _nested_sitemap(web: HandWeb, urls: list[str]) -> list[str]:
    return _listed(web, urls, "sitemap", "sitemapindex")


def _sitemap_page(web: HandWeb, urls: list[str]) -> list[str]:
    return _listed(web, urls, "url", "urlset")


def _canonical(web: HandWeb, urls: list[str]) -> list[str]:
    for number, url in enumerate(urls):
        web.page(f"http://a.test/{number}", f'<title>{number}</title><link rel="canonical" href="{url}">')
    return [web.page("http://a.test/", html("canonical", [f"/{number}" for number in range(len(urls))]))]


def _refresh(web: HandWeb, urls: list[str]) -> list[str]:
    for number, url in enumerate(urls):
        web.page(f"http://a.test/{number}", f'<meta http-equiv="refresh" content="0;url={url}"><title>{number}</title>')
    return [web.page("http://a.test/", html("refresh", [f"/{number}" for number in range(len(urls))]))]


def _base(web: HandWeb, urls: list[str]) -> list[str]:
    for number, url in enumerate(urls):
        web.page(f"http://a.test/{number}", f'<base href="{url}"><title>{number}</title><a href="x">x</a>')
    return [web.page("http://a.test/", html("base", [f"/{number}" for number in range(len(urls))]))]


def _header(url: str) -> str:
    """As a server sends it: the bytes of UTF-8."""
    return url.encode("utf-8").decode("latin-1")


PLACES: dict[str, Put] = {
    "seed": _seed,
    "link": _link,
    "redirect": _redirect,
    "robots": _robots,
    "robots redirect": _robots_redirect,
    "sitemap": _sitemap,
    "nested sitemap": _nested_sitemap,
    "page in a sitemap": _sitemap_page,
    "canonical": _canonical,
    "refresh": _refresh,
    "base": _base,
}


@pytest.mark.row("S1")
@pytest.mark.parametrize("place", PLACES)
async def test_no_form_of_address_reaches_a_closed_network(
    web: HandWeb, crawl: HandCrawl, canary: Canary, place: str, record_property: Any
) -> None:
    web.resolve("inner.test", "127.0.0.1")
    web.resolve("both.test", "169.254.169.254", "127.0.0.1")
    web.resolve("metadata.test", "169.254.169.254")
    web.resolve("zero.test", "0.0.0.0")
    urls = [f"http://{form}:{canary.port}/" for form in FORMS]
    outcomes = await crawl(*PLACES[place](web, urls), **SHORT, open_networks=[OPEN])
    assert canary.connections == []
    reached = {url for url, outcome in outcomes.items() if outcome in ("stored", "duplicate", "moved", "read")}
    assert all(f":{canary.port}/" not in url for url in reached)
    record_property("S1", f"{len(FORMS)} forms x {len(PLACES)} places: 0 connections")


@pytest.mark.parametrize("place", [place for place in PLACES if place not in ("nested sitemap", "page in a sitemap")])
async def test_the_canary_sees_a_crawl_that_is_let_through(
    web: HandWeb, crawl: HandCrawl, canary: Canary, place: str
) -> None:
    """Without this the silence of the canary would prove nothing. A sitemap speaks for its own host only."""
    await crawl(*PLACES[place](web, [f"http://127.0.0.1:{canary.port}/"]), **SHORT)
    assert canary.connections


class Rebinding:
    """A name server that says now the open address, now the closed one, now both."""

    def __init__(self) -> None:
        self.asked = count()
        self.said: list[tuple[str, ...]] = []

    def __call__(self, name: str) -> tuple[str, ...]:
        answers = (("127.1.0.9",), ("127.0.0.1",), ("127.0.0.1", "127.1.0.9"), ("169.254.169.254",))
        self.said.append(answers[next(self.asked) % len(answers)])
        return self.said[-1]


@pytest.mark.row("S1")
async def test_a_thousand_rebindings_lead_nowhere(web: HandWeb, canary: Canary, record_property: Any) -> None:
    """The open address answers on the port of the web; at the same port the canary cannot listen, so it has its own."""
    rebinding = Rebinding()
    dns = DnsServer(rebinding, ttl_seconds=0)
    settings = Settings(open_networks=[OPEN], dns_servers=[f"127.0.0.1:{await dns.start(0)}"])
    clock = count(0, 3600)  # past every TTL at each look
    fetcher = CurlFetcher(settings, Resolver(settings.dns_servers, lambda: float(next(clock))), AddressGate([OPEN]))

    async def greet(exchange: ServedExchange) -> None:
        exchange.reply(make_reply(200, b"hello"))

    web.behave_host("rebound.test", greet)
    outcomes: dict[str, int] = {}
    for number in range(1_000):
        # Every second request is for the canary's own port: open address or not, there it must not come.
        port = web.port if number % 8 < 4 else canary.port
        outcome = await _fetched(fetcher, f"http://rebound.test:{port}/{number}")
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    await fetcher.close()
    dns.close()
    assert len(rebinding.said) == 1_000
    assert outcomes["refused"] == 500
    assert not [address for address in canary.connections if "127.1.0.9" not in address]
    record_property("S1", "1,000 rebindings: 0 connections to a closed address")


async def _fetched(fetcher: CurlFetcher, url: str) -> str:
    try:
        response: Response = await fetcher.fetch(url)
    except AddressRefused:
        return "refused"
    except VisitError as error:
        return error.reason.value
    assert response.address == "127.1.0.9"
    return "fetched"


@pytest.mark.row("S1")
async def test_the_second_look_of_the_gate_stops_what_the_first_let_through(
    web: HandWeb, canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(open_networks=[OPEN])
    fetcher = CurlFetcher(settings, Resolver([web.dns_address]), AddressGate([OPEN]))
    monkeypatch.setattr(fetcher, "_permitted", lambda addresses, first: list(addresses))
    with pytest.raises(AddressRefused):
        await fetcher.fetch(f"http://127.0.0.1:{canary.port}/")
    await fetcher.close()
    assert canary.connections == []


@pytest.mark.row("S1")
async def test_concurrent_visits_do_not_lend_each_other_their_addresses(web: HandWeb, canary: Canary) -> None:
    """A connection kept alive for an open address is not used for a name that leads to a closed one."""
    web.page("http://a.test/", "hello")
    web.resolve("inner.test", "127.0.0.1")
    settings = Settings(open_networks=[OPEN], dns_servers=[web.dns_address])
    fetcher = CurlFetcher(settings, Resolver(settings.dns_servers), AddressGate([OPEN]))
    urls = [web.url("a.test"), f"http://inner.test:{canary.port}/", web.url("inner.test")] * 20
    outcomes = await asyncio.gather(*(fetcher.fetch(url) for url in urls), return_exceptions=True)
    await fetcher.close()
    assert [isinstance(outcome, Response) for outcome in outcomes] == [True, False, False] * 20
    assert canary.connections == []
