"""Rules for single sites: what may be said, which are in force where, and that every decision goes by them."""

from __future__ import annotations

import asyncio
import gzip
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lycosa.errors import SettingsError
from lycosa.settings import as_toml, from_values
from lycosa.simweb import HandWeb
from lycosa.simweb.http import make_reply
from lycosa.simweb.server import ServedExchange
from lycosa.site_rules import Field, SiteRules, SiteTable, in_words, is_like, warnings_of

from .conftest import HandCrawl

# ---- what may be said

ALL: dict[str, Any] = {
    "example.com": {
        "delay_seconds": 0,
        "connections": 2,
        "robots": "ignore",
        "headers": {"X-Token": "env:TOKEN", "Accept-Language": "de"},
        "cookies": {"id": "a1"},
        "proxy": "http://u:p@127.0.0.1:3128",
        "scope": "any",
        "include": ["/a/"],
        "exclude": [],
        "links": ["nav a"],
        "drop": ["sid"],
        "priority": 9,
        "content": "main",
        "each": "div.quote",
        "fields": {"text": "span", "tags": {"css": "a", "list": True}, "in": {"each": "li", "fields": {"x": "b"}}},
    },
    "https://example.com/blog/*": {"priority": 2},
}


def test_rules_survive_being_written_and_read() -> None:
    settings = from_values({"site": ALL})
    assert settings.site["example.com"].fields is not None
    assert from_values(tomllib.loads(as_toml(settings))) == settings


@pytest.mark.parametrize(
    ("place", "rules", "said"),
    [
        ("exa mple", {}, "names no site"),
        ("*.example.com", {}, "names no site"),
        ("a.test", {"delay": 1}, "there is no rule 'delay'"),
        ("a.test", {"delay_seconds": -1}, "delay_seconds: expected"),
        ("a.test", {"robots": "no"}, "robots: invalid enum value"),
        ("a.test/x", {"delay_seconds": 1}, "delay_seconds is decided for whole hosts: name a.test alone"),
        ("https://a.test", {"robots": "ignore"}, "robots is decided for whole hosts"),
        ("a.test", {"connections": 2}, "set delay_seconds to 0 there"),
        ("a.test", {"headers": {"Host": "b.test"}}, "Host is set by the crawler itself"),
        ("a.test", {"headers": {"content-length": "3"}}, "content-length is set by the crawler itself"),
        ("a.test", {"headers": {"Cookie": "a=b"}}, "there is a table for cookies"),
        ("a.test", {"headers": {"X": "a\r\nY: b"}}, "one line of printable ASCII"),
        ("a.test", {"headers": {"X:": "a"}}, "no name of a header field"),
        ("a.test", {"cookies": {"a": "b; c"}}, "no cookie"),
        ("a.test", {"proxy": "ftp://b:1"}, "expected http://HOST:PORT"),
        ("a.test", {"content": "##"}, "'##' is no CSS selector"),
        ("a.test", {"links": ["a["]}, "'a\\[' is no CSS selector"),
        ("a.test", {"links": ["//a["]}, "'//a\\[' is no XPath expression"),
        ("a.test", {"each": "p"}, "each gives records only with fields"),
        ("a.test", {"fields": {"x": ""}}, "x: a field has one of css, xpath and each"),
        ("a.test", {"fields": {"x": {"css": "a", "xpath": "//a"}}}, "x: a field has one of css, xpath and each"),
        ("a.test", {"fields": {"x": {"xpath": "//a["}}}, "no XPath expression"),
        ("a.test", {"fields": {"x": {"each": "li"}}}, "x: each and fields belong together"),
        ("a.test", {"fields": {"x": {"css": "a", "kind": "int"}}}, "unknown field kind"),
    ],
)
def test_what_cannot_be_followed_is_refused(place: str, rules: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        from_values({"site": {place: rules}})


def test_one_place_may_not_be_named_twice() -> None:
    with pytest.raises(SettingsError, match="the same place"):
        from_values({"site": {"a.test": {}, "A.TEST/*": {}}})


# ---- which are in force

TABLE = SiteTable(
    {
        "test": SiteRules(priority=1),
        "a.test": SiteRules(priority=2, delay_seconds=3.0, robots="ignore", headers={"X": "1"}),
        "www.a.test": SiteRules(priority=4),
        "a.test/blog/*": SiteRules(priority=6),
        "https://a.test": SiteRules(links=["a"]),
        "http://a.test:8080": SiteRules(links=["b"]),
        "bücher.test": SiteRules(priority=8),
    }
)


@pytest.mark.parametrize(
    ("url", "priority"),
    [
        ("http://b.test/", 1),
        ("http://a.test/", 2),
        ("http://a.test/blog", 2),
        ("http://a.test/blog/1", 6),
        ("http://sub.a.test/blog/1?x=y", 6),
        ("http://www.a.test/blog/1", 4),
        ("http://xa.test/", 1),
        ("http://test.org/", None),
        ("http://xn--bcher-kva.test/", 8),
        ("http://[::1]/", None),
    ],
)
def test_the_most_specific_place_decides(url: str, priority: int | None) -> None:
    assert TABLE.of(url).priority == priority


def test_each_matter_is_decided_by_itself() -> None:
    assert TABLE.of("http://www.a.test/").delay_seconds == 3.0
    assert TABLE.of("https://a.test/").links == ["a"]
    assert TABLE.of("http://a.test/").links is None
    assert TABLE.of("http://a.test:8080/").links == ["b"]


def test_what_may_be_said_of_named_hosts_alone_does_not_hold_below_them() -> None:
    named, below = TABLE.of("http://a.test/"), TABLE.of("http://www.a.test/")
    assert (named.robots, named.headers) == ("ignore", {"X": "1"})
    assert (below.robots, below.headers) == (None, None)


@pytest.mark.parametrize(
    ("text", "pattern", "fits"),
    [
        ("/a", "/a", True),
        ("/ab", "/a", False),
        ("/ab", "/a*", True),
        ("/a/x/b", "/a/*/b", True),
        ("/a/b", "/a/*/b", False),
        ("/aa", "/a*a", True),
        ("/a", "/a*a", False),
        ("/" + "a" * 50_000, "/" + "*a" * 1000 + "b", False),
    ],
)
def test_a_pattern_is_a_text_with_gaps(text: str, pattern: str, *, fits: bool) -> None:
    assert is_like(text, pattern) is fits


def test_rules_in_words_tell_no_secret() -> None:
    rules = SiteRules(
        headers={"X-Key": "hush"},
        cookies={"id": "hush"},
        proxy="http://me:hush@1.2.3.4:80",
        fields={"a": Field(css="b")},
    )
    told = in_words(rules)
    assert told == ["headers: X-Key", "cookies: id", "proxy: http://1.2.3.4:80", "fields: a"]


@pytest.mark.parametrize(
    ("place", "seeds", "is_told"),
    [
        ("a.test", {"www.a.test"}, True),
        ("www.a.test", {"a.test"}, True),
        ("a.test", {"a.test", "www.a.test"}, False),
        ("a.test", {"b.test", "forum.a.test"}, False),
    ],
)
def test_a_rule_for_a_host_that_is_hardly_meant_is_told(place: str, seeds: set[str], *, is_told: bool) -> None:
    rules = {place: SiteRules(headers={"X-Key": "hush"}, cookies={"a": "b"}, priority=3)}
    told = warnings_of(rules, seeds)
    assert bool(told) is is_told
    assert all(f'site."{place}": cookies, headers will be for {place} alone' in line for line in told)
    assert warnings_of({place: SiteRules(priority=3)}, seeds) == []


# ---- decisions


def heads(web: HandWeb, host: str) -> list[dict[str, str]]:
    """Let a host answer everything, and note the header fields of each request."""
    seen: list[dict[str, str]] = []

    async def behave(exchange: ServedExchange) -> None:
        seen.append(dict(exchange.ask.headers))
        exchange.reply(make_reply(200, b"<p>fine", {"Content-Type": "text/html"}))

    web.behave_host(host, behave)
    return seen


async def test_a_site_has_its_own_pause(web: HandWeb, crawl: HandCrawl) -> None:
    for host in ("slow.test", "quick.test"):
        web.page(f"http://{host}/", "".join(f'<a href="/{number}">x</a>' for number in range(3)))
        for number in range(3):
            web.page(f"http://{host}/{number}", f"<p>{host} {number}")
    seeds = [web.url(host) for host in ("slow.test", "quick.test")]
    await crawl(*seeds, site={"slow.test": {"delay_seconds": 0.15}})
    arrived = [request.arrived_at for request in web.requests if request.host == "slow.test"]
    assert len(arrived) == 5
    assert all(after - before >= 0.15 for before, after in pairwise(arrived))
    # The other was through before the slow one had its third turn.
    others = [request.arrived_at for request in web.requests if request.host == "quick.test"]
    assert max(others) < arrived[3]


async def test_a_shorter_pause_of_one_site_also_counts_for_its_address(web: HandWeb, crawl: HandCrawl) -> None:
    links = "".join(f'<a href="/{number}">x</a>' for number in range(20))
    for number in range(20):
        web.page(f"http://mine.test/{number}", f"<p>{number}")
    seed = web.page("http://mine.test/", links)
    outcomes = await crawl(
        seed, min_delay_seconds=30.0, ip_delay_seconds=30.0, domain_delay_seconds=30.0,
        traps=False, site={"mine.test": {"delay_seconds": 0.0}},
    )  # fmt: skip
    assert list(outcomes.values()) == ["stored"] * 21


async def test_scope_and_patterns_of_a_site(web: HandWeb, crawl: HandCrawl) -> None:
    for url in (
        "http://a.test/x",
        "http://a.test/y",
        "http://friend.test/x",
        "http://friend.test/no",
        "http://other.test/",
    ):
        web.page(url, f"<p>{url}")
    seed = web.page(
        "http://a.test/",
        f'<a href="/x">x</a><a href="/y">y</a><a href="{web.url("friend.test", "/x")}">f</a>'
        f'<a href="{web.url("friend.test", "/no")}">n</a><a href="{web.url("other.test")}">o</a>',
    )
    rules = {"friend.test": {"scope": "any", "exclude": ["/no"]}, "a.test": {"include": ["/x"]}}
    outcomes = await crawl(seed, scope="host", site=rules)
    assert set(outcomes) == {seed, web.url("a.test", "/x"), web.url("friend.test", "/x")}


async def test_what_a_site_lets_in_later_is_taken_in(web: HandWeb, crawl: HandCrawl) -> None:
    web.page("http://friend.test/x", "<p>friend")
    seed = web.page("http://a.test/", f'<a href="{web.url("friend.test", "/x")}">f</a>')
    assert set(await crawl(seed, scope="host")) == {seed}
    later = await crawl(seed, scope="host", site={"friend.test": {"scope": "any"}})
    assert set(later) == {seed, web.url("friend.test", "/x")}


async def test_variables_that_are_dropped_make_no_other_page(web: HandWeb, crawl: HandCrawl) -> None:
    names = ["/p?id=1&sid=a", "/p?id=1&sid=b", "/p?sid=c&id=2"]
    for name in names:
        web.page(f"http://a.test{name}", f"<p>{name}")
        web.page(f"http://b.test{name}", f"<p>b {name}")
    links = "".join(f'<a href="{name.replace("&", "&amp;")}">x</a>' for name in names)
    seeds = [web.page(f"http://{host}/", f"<p>{host}" + links) for host in ("a.test", "b.test")]
    outcomes = await crawl(*seeds, traps=False, site={"a.test": {"drop": ["sid"]}})
    asked = [request.path for request in web.requests if request.host == "a.test" and "?" in request.path]
    # Fetched is what a link says.
    assert len(asked) == 2
    assert set(asked) < set(names)
    assert sum("b.test" in url and "?" in url for url in outcomes) == 3


async def test_links_that_are_not_chosen_are_not_followed(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page(
        "http://a.test/", '<nav><a href="/in">in</a></nav><a href="/out">out</a><a class=more href="/more">m</a>'
    )
    for path in ("/in", "/out", "/more"):
        web.page(f"http://a.test{path}", f"<p>{path}")
    outcomes = await crawl(seed, site={"a.test": {"links": ["nav", "a.more"]}})
    assert set(outcomes) == {seed, web.url("a.test", "/in"), web.url("a.test", "/more")}


async def test_what_css_says_xpath_can_say_too(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page(
        "http://a.test/",
        '<nav><a href="/in">in</a></nav><a href="/out">out</a><div class=x><p>What it is about.</p></div><p>Or not.'
        "<i data-n=1>one</i><i data-n=2>two</i>",
    )
    web.page("http://a.test/in", "<p>in")
    rules = {
        "links": ["//nav"],
        "content": "//div[@class='x']",
        "each": "//i",
        "fields": {"name": "./text()", "number": {"xpath": "./@data-n", "type": "int"}},
    }
    assert set(await crawl(seed, site={"a.test": rules})) == {seed, web.url("a.test", "/in")}
    assert crawl.pages[seed].content == "What it is about."
    assert crawl.pages[seed].items == [{"name": "one", "number": 1}, {"name": "two", "number": 2}]


async def test_what_matters_more_comes_first(web: HandWeb, crawl: HandCrawl) -> None:
    paths = [f"/{number}" for number in range(6)] + ["/news/1", "/news/2"]
    for path in paths:
        web.page(f"http://a.test{path}", f"<p>{path}")
    seed = web.page("http://a.test/", "".join(f'<a href="{path}">x</a>' for path in paths))
    await crawl(seed, site={"a.test/news/*": {"priority": 10}})
    asked = [request.path for request in web.requests]
    assert asked[2:4] == ["/news/1", "/news/2"]


async def test_the_operator_of_a_site_may_overrule_its_robots(
    web: HandWeb, crawl: HandCrawl, caplog: pytest.LogCaptureFixture
) -> None:
    for host in ("mine.test", "www.mine.test"):
        web.robots(host, "User-agent: *\nDisallow: /no\nCrawl-delay: 0.1")
        web.page(f"http://{host}/no", f"<p>{host}")
        web.page(f"http://{host}/", '<a href="/no">x</a>')
    seeds = [web.url("mine.test"), web.url("www.mine.test")]
    outcomes = await crawl(*seeds, site={"mine.test": {"robots": "ignore"}})
    assert outcomes[web.url("mine.test", "/no")] == "stored"
    # It is for the host that is named, and the site's pause still holds.
    assert outcomes[web.url("www.mine.test", "/no")] == "refused"
    arrived = [request.arrived_at for request in web.requests if request.host == "mine.test"]
    assert all(after - before >= 0.1 for before, after in pairwise(arrived))
    assert "robots.txt of mine.test is read and NOT obeyed" in caplog.text


async def test_robots_that_cannot_be_read_keep_nobody_from_his_own_site(web: HandWeb, crawl: HandCrawl) -> None:
    seeds = []
    for host in ("mine.test", "other.test"):
        web.robots(host, "broken", status=500)
        seeds.append(web.page(f"http://{host}/", f"<p>{host}"))
    outcomes = await crawl(*seeds, site={"mine.test": {"robots": "ignore"}})
    assert outcomes[seeds[0]] == "stored"
    assert outcomes[seeds[1]] == "refused"


async def test_headers_and_cookies_go_to_their_own_host_and_stand_in_no_file(
    web: HandWeb, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "s3cret-of-mine")
    mine, other = heads(web, "mine.test"), heads(web, "other.test")
    below = heads(web, "www.mine.test")
    web.redirect("http://mine.test/away", web.url("other.test", "/there"))
    seeds = [web.url("mine.test", "/away"), web.url("mine.test"), web.url("www.mine.test")]
    rules = {
        "mine.test": {
            "headers": {"Authorization": "env:MY_TOKEN", "Accept-Language": "de"},
            "cookies": {"id": "env:MY_TOKEN", "a": "b"},
        }
    }
    await crawl(*seeds, site=rules)
    assert {(each["authorization"], each["cookie"], each["accept-language"]) for each in mine} == {
        ("s3cret-of-mine", "id=s3cret-of-mine; a=b", "de")
    }
    assert other
    assert not any({"authorization", "cookie"} & set(each) for each in other + below)
    files = [path for path in crawl.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if "s3cret-of-mine" in plain_text(path)]
    (kept,) = crawl.folder.glob("lycosa.toml")
    assert "env:MY_TOKEN" in kept.read_text()
    records = "".join(map(plain_text, crawl.folder.glob("warc/*")))
    assert "Authorization: withheld" in records
    assert "Accept-Language: de" in records


def plain_text(path: Path) -> str:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("latin-1")


async def test_who_adds_a_seed_is_told_of_sites_and_no_secret(
    web: HandWeb, crawl: HandCrawl, caplog: pytest.LogCaptureFixture
) -> None:
    rules = {"a.test": {"headers": {"X-Key": "hush"}}}
    await crawl(web.page("http://a.test/", "<p>a"), site=rules)
    await crawl(web.page("http://b.test/", "<p>b"), site=rules)
    assert "joins the crawl" in caplog.text
    assert "site a.test" in caplog.text
    assert "hush" not in caplog.text
    (kept,) = crawl.folder.glob("lycosa.toml")
    assert kept.stat().st_mode & 0o077 == 0


async def test_a_secret_that_is_not_there_is_told_before_anything_is_asked(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", "<p>x")
    with pytest.raises(SettingsError, match=r'site."a.test": env:NO_SUCH_NAME: there is no NO_SUCH_NAME'):
        await crawl(seed, site={"a.test": {"headers": {"X": "env:NO_SUCH_NAME"}}})
    assert not web.requests


# ---- proxies


class Tunnels:
    """A proxy that opens tunnels: to which places, as it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.heads: list[str] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, place, _ = head.split(" ", 2)
        self.heads.append(head)
        self.asked.append(f"{method} {place}")
        host, _, port = place.rpartition(":")
        there, out = await asyncio.open_connection(host, int(port))
        writer.write(b"HTTP/1.1 200 Connection established\r\nProxy-Agent: none\r\n\r\n")
        await asyncio.gather(self._carry(reader, out), self._carry(there, writer))

    @staticmethod
    async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def tunnels() -> AsyncIterator[Tunnels]:
    made = Tunnels()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()


async def test_a_proxy_is_told_an_address_that_has_passed_the_gate(web: HandWeb, crawl: HandCrawl) -> None:
    seeds = [web.page("http://far.test/", "<p>far"), web.page("http://near.test/", "<p>near")]
    async with tunnels() as proxy:
        outcomes = await crawl(*seeds, site={"far.test": {"proxy": f"http://me:hush@127.0.0.1:{proxy.port}"}})
    assert outcomes == dict.fromkeys(seeds, "stored")
    (address,) = web.addresses("far.test")
    assert set(proxy.asked) == {f"CONNECT {address}:{web.port}"}
    assert crawl.pages[seeds[0]].headers[0] != ("proxy-agent", "none")
    assert all("far.test" not in head.split("\r\n")[0] and "Proxy-Authorization" in head for head in proxy.heads)


async def test_a_proxy_leads_nowhere_that_is_closed(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://inner.test/", "<p>closed")
    web.resolve("inner.test", "10.0.0.7")
    async with tunnels() as proxy:
        outcomes = await crawl(seed, site={"inner.test": {"proxy": f"http://127.0.0.1:{proxy.port}"}})
    assert outcomes == {seed: "refused"}
    assert proxy.asked == []


async def test_a_proxy_at_a_closed_address_must_be_opened_by_name(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", "<p>x")
    with pytest.raises(SettingsError, match="its address is not public"):
        await crawl(seed, site={"a.test": {"proxy": "http://10.1.2.3:3128"}})
    assert not web.requests
