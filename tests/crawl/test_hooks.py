"""Hooks: what they are given, what their answers do, and that one that fails ends one visit."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa import Crawler, FailedVisit, PageView, Request
from lycosa.errors import SettingsError
from lycosa.frontier.entries import entry_of, target_of
from lycosa.frontier.rules import rank_of
from lycosa.hooks import load_hooks
from lycosa.model import RequestParts, Target
from lycosa.simweb import HandWeb
from lycosa.simweb.http import make_reply
from lycosa.simweb.server import ServedExchange

from .conftest import HandCrawl, hand_settings

# ---- what they are given, and what they answer


async def test_on_page_sees_the_page_and_gives_records(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", '<title>A</title><p class=x>one<p class=x>two</p><a href="b">b</a>')
    web.page("http://a.test/b", "<title>B</title>")
    seen: list[tuple[Any, ...]] = []

    def on_page(page: PageView) -> Iterator[dict[str, Any]]:
        seen.append((page.url, page.status, page.title, page.headers["content-type"], page.links, page.tag, page.depth))
        for each in page.css(".x"):
            yield {"text": each.text, "base": page.url_of("c"), "length": page.xpath("string-length(//title)")}

    await crawl(seed, on_page=on_page)
    other = web.url("a.test", "/b")
    html = "text/html; charset=utf-8"
    assert seen == [(seed, 200, "A", html, [other], "", 0), (other, 200, "B", html, [], "", 1)]
    wanted = [{"text": text, "base": web.url("a.test", "/c"), "length": 1.0} for text in ("one", "two")]
    assert crawl.pages[seed].items == wanted
    assert crawl.pages[other].items == []


async def test_on_links_chooses_and_adds(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", '<a href="/1">1</a><a href="/2">2</a>')
    for number in range(4):
        web.page(f"http://a.test/{number}", f"<p>{number}")
    elsewhere = web.page("http://b.test/", "<p>b")

    def on_links(page: PageView, links: list[str]) -> list[str]:
        if page.depth:
            return links
        return [*(link for link in links if not link.endswith("2")), page.url_of("/3"), elsewhere, "mailto:x@y"]

    outcomes = await crawl(seed, on_links=on_links, scope="host")
    # What a hook adds must belong to the crawl as any link must.
    assert set(outcomes) == {seed, web.url("a.test", "/1"), web.url("a.test", "/3")}


async def test_on_request_changes_what_is_asked_or_refuses(web: HandWeb, crawl: HandCrawl) -> None:
    asked: list[tuple[str, str]] = []

    async def behave(exchange: ServedExchange) -> None:
        asked.append((exchange.ask.target, exchange.ask.headers.get("x-mine", "")))
        exchange.reply(make_reply(200, b'<a href="/no">x</a><a href="/yes">y</a>', {"Content-Type": "text/html"}))

    web.behave_host("a.test", behave)

    def on_request(request: Request) -> Request | None:
        return None if request.url.endswith("/no") else Request(request.url, headers={"X-Mine": "7"}, tag=request.tag)

    outcomes = await crawl(web.url("a.test"), on_request=on_request, traps=False)
    assert outcomes[web.url("a.test", "/no")] == "refused"
    assert ("/", "7") in asked
    assert ("/yes", "7") in asked
    assert "/no" not in {target for target, _ in asked}
    assert crawl.row(web.url("a.test", "/no"))["reason"] == "hook-refused"


async def test_on_failure_hears_of_visits_without_a_page(web: HandWeb, crawl: HandCrawl) -> None:
    heard: list[FailedVisit] = []
    web.robots("a.test", "User-agent: *\nDisallow: /no")
    seed = web.page("http://a.test/", '<a href="/gone">x</a><a href="/no">y</a>')
    await crawl(seed, on_failure=heard.append)
    told = {each.request.url: (each.outcome, each.reason, each.status) for each in heard}
    assert told == {
        web.url("a.test", "/gone"): ("failed", "status", 404),
        web.url("a.test", "/no"): ("refused", "robots", 0),
    }


@pytest.mark.parametrize(
    ("answer", "detail"),
    [
        ({"x": 1}, ""),
        ([{"x": 1}], ""),
        (["text"], "on_page: an item is a record with names, not str"),
        ([{"x": object()}], "on_page: an item has no JSON"),
        ([Request("ftp://a.test/")], "on_page: 'ftp://a.test/' cannot be fetched"),
        (3, "on_page: TypeError: 'int' object is not iterable"),
    ],
)
async def test_an_answer_that_cannot_be_kept_ends_its_visit(
    web: HandWeb, crawl: HandCrawl, answer: Any, detail: str
) -> None:
    seed = web.page("http://a.test/", "<p>x")
    outcomes = await crawl(seed, on_page=lambda page: answer)
    assert outcomes == {seed: "crashed" if detail else "stored"}
    assert crawl.row(seed)["detail"].startswith(detail)


async def test_a_hook_that_raises_ends_one_visit_and_is_counted(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", '<a href="/1">1</a><a href="/2">2</a>')
    for number in (1, 2):
        web.page(f"http://a.test/{number}", f"<p>{number}")

    def on_page(page: PageView) -> None:
        if page.url.endswith("1"):
            raise KeyError("colour")

    outcomes = await crawl(seed, on_page=on_page)
    assert outcomes == {seed: "stored", web.url("a.test", "/1"): "crashed", web.url("a.test", "/2"): "stored"}
    row = crawl.row(web.url("a.test", "/1"))
    assert (row["reason"], row["detail"]) == ("hook", "on_page: KeyError: 'colour'")
    assert crawl.counts.crashed == 1


def on_failure_leaves(failed: FailedVisit) -> None:
    raise SystemExit(failed.request.url)


@pytest.mark.parametrize(
    "raised",
    [SystemExit(3), GeneratorExit(), asyncio.CancelledError(), RecursionError("deep"), MemoryError(), OSError(28, "x")],
)
@pytest.mark.parametrize("name", ["on_page", "on_links", "on_request"])
async def test_whatever_a_hook_raises_ends_one_visit(
    web: HandWeb, crawl: HandCrawl, name: str, raised: BaseException
) -> None:
    seed = web.page("http://a.test/", '<a href="/1">1</a><a href="/2">2</a>')
    for number in (1, 2):
        web.page(f"http://a.test/{number}", f"<p>{number}")

    def hook(given: Any, links: list[str] | None = None) -> Any:
        if given.url.endswith("1"):
            raise raised
        return {"on_links": links, "on_request": given}.get(name)

    outcomes = await crawl(seed, **{name: hook})
    assert outcomes == {seed: "stored", web.url("a.test", "/1"): "crashed", web.url("a.test", "/2"): "stored"}
    assert crawl.row(web.url("a.test", "/1"))["reason"] == "hook"


async def test_a_hook_that_hears_of_failures_may_fail(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", '<a href="/gone">x</a>')
    outcomes = await crawl(seed, on_failure=on_failure_leaves)
    assert outcomes == {seed: "stored", web.url("a.test", "/gone"): "crashed"}


@pytest.mark.parametrize("answer", [None, 3, "http://a.test/1", [None], [b"x"], [["x"]], itertools.repeat("/x")])
async def test_an_answer_that_is_no_list_of_links_ends_its_visit(web: HandWeb, crawl: HandCrawl, answer: Any) -> None:
    seed = web.page("http://a.test/", "<p>x")
    assert await crawl(seed, on_links=lambda page, links: answer) == {seed: "crashed"}
    assert crawl.row(seed)["reason"] == "hook"
    assert crawl.row(seed)["detail"].startswith("on_links: ")


async def _asynchronous(page: PageView) -> None:
    pass


async def _asynchronous_items(page: PageView) -> AsyncIterator[dict[str, int]]:
    yield {}


@pytest.mark.parametrize("hook", [_asynchronous, _asynchronous_items])
def test_a_coroutine_is_no_hook(hook: Any) -> None:
    with pytest.raises(SettingsError, match="on_page is a coroutine"):
        Crawler("http://a.test/", on_page=hook)


# ---- requests


class Answering:
    """A host that answers everything, and remembers what it was asked."""

    def __init__(self, web: HandWeb, host: str) -> None:
        self.asks: list[tuple[str, str, bytes, str]] = []
        self.keys: list[str] = []  # that came with posts
        self._web = web
        web.behave_host(host, self._behave)

    async def _behave(self, exchange: ServedExchange) -> None:
        ask = exchange.ask
        if ask.method != "GET":
            self.keys.append(ask.headers.get("x-key", ""))
        self.asks.append((ask.method, ask.target, ask.body, ask.headers.get("content-type", "")))
        body = f"<p>{ask.method} {ask.target} {ask.body.decode()}".encode()
        exchange.reply(make_reply(200, body, {"Content-Type": "text/html"}))

    @property
    def posts(self) -> list[tuple[str, str, bytes, str]]:
        return [each for each in self.asks if each[0] != "GET"]


async def test_a_request_is_sent_as_it_was_made_and_its_tag_comes_back(web: HandWeb, crawl: HandCrawl) -> None:
    host = Answering(web, "a.test")

    def on_page(page: PageView) -> Iterator[Request]:
        if not page.depth:
            for number in range(3):
                yield Request(page.url_of("/api"), "POST", f"n={number}", tag=f"number {number}")
            yield Request(page.url_of("/api"), "POST", "n=1", tag="the same again")
            yield Request(page.url_of("/json"), "PUT", b"{}", {"Content-Type": "application/json"})
            yield Request(page.url_of("/plain"), tag="a tag alone")

    tags: dict[str, str] = {}
    crawler = Crawler(web.url("a.test"), folder=crawl.folder, on_page=on_page, **hand_settings(web))
    async for page in crawler:
        tags[page.body.decode()] = page.tag
    form = "application/x-www-form-urlencoded"
    assert sorted(host.posts) == [
        *(("POST", "/api", f"n={number}".encode(), form) for number in range(3)),
        ("PUT", "/json", b"{}", "application/json"),
    ]
    assert tags["<p>POST /api n=1"] == "number 1"
    assert tags["<p>GET /plain "] == "a tag alone"
    records = b"".join(gzip.decompress(path.read_bytes()) for path in crawl.folder.glob("warc/*.gz"))
    assert b"POST /api HTTP/1.1\r\n" in records
    assert b"Content-Length: 3\r\n\r\nn=1" in records
    # A handle that has posted asks for pages as before.
    assert {method for method, *_ in host.asks if method != "GET"} == {"POST", "PUT"}


async def test_requests_wait_for_robots_and_pauses_as_all_do(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nDisallow: /no")
    host = Answering(web, "a.test")

    def on_page(page: PageView) -> list[Request]:
        return (
            [] if page.depth else [Request(page.url_of("/no"), "POST", "x"), Request(page.url_of("/yes"), "POST", "x")]
        )

    outcomes = await crawl(web.url("a.test"), on_page=on_page)
    assert outcomes[web.url("a.test", "/no")] == "refused"
    assert [target for _, target, *_ in host.posts] == ["/yes"]


@pytest.mark.parametrize(("status", "asked"), [(302, [("GET", b"")]), (307, [("POST", b"x=1")])])
async def test_after_a_redirect_a_request_is_what_the_redirect_says(
    web: HandWeb, crawl: HandCrawl, status: int, asked: list[tuple[str, bytes]]
) -> None:
    web.redirect("http://a.test/from", "/to", status=status)
    web.redirect("http://a.test/away", web.url("b.test", "/to"), status=status)
    here, there = Answering(web, "a.test"), Answering(web, "b.test")

    def on_page(page: PageView) -> list[Request]:
        if page.depth:
            return []
        headers = {"X-Key": "mine"}
        return [Request(page.url_of(path), "POST", "x=1", headers) for path in ("/from", "/away")]

    await crawl(web.url("a.test"), on_page=on_page)
    assert [(method, body) for method, target, body, _ in here.asks if target == "/to"] == asked
    # What was said to one host is never said to another.
    assert all((method, body) == ("GET", b"") for method, _, body, _ in there.asks)


async def test_requests_may_be_added_before_and_while_a_crawl_runs(web: HandWeb, crawl: HandCrawl) -> None:
    host = Answering(web, "a.test")
    crawler = Crawler(web.url("a.test"), folder=crawl.folder, **hand_settings(web))
    assert await crawler.add(Request(web.url("a.test", "/early"), "POST", "e", tag="early")) == 1
    with pytest.raises(ValueError, match="cannot be fetched"):
        await Crawler(web.url("a.test"), **hand_settings(web)).add("gopher://x/")
    tags = []
    async for page in crawler:
        tags.append(page.tag)
        if page.tag == "early":
            assert (
                await crawler.add(Request(web.url("b.test"), tag="scope is not asked"), web.url("a.test", "/late")) == 2
            )
            assert await crawler.add(web.url("a.test", "/late")) == 0
        if page.url.endswith("/late"):
            # Nothing else is left: the crawl waited for whoever looked at its pages.
            assert await crawler.add(Request(web.url("a.test", "/last"), "POST", "l")) == 1
    assert sorted(tags) == ["", "", "", "early"]
    assert [target for _, target, *_ in host.posts] == ["/early", "/last"]


# Asks for more while its crawl runs, hears that it is durable, and is killed.
ADDS = """
import asyncio, os, signal
import lycosa

async def main():
    crawler = lycosa.Crawler({seed!r}, folder={folder!r}, **{settings!r})
    async for page in crawler:
        requests = [lycosa.Request({api!r}, method, f"n={{n}}", {{"X-Key": "mine"}}, tag=f"{{method}} {{n}}")
                    for method in ("POST", "PUT") for n in range(5)]
        assert await crawler.add(*requests) == 10
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_requests_that_were_added_outlive_kill_9(web: HandWeb, crawl: HandCrawl) -> None:
    host = Answering(web, "a.test")
    settings = {**hand_settings(web), "min_delay_seconds": 0.01}
    seed, api = web.url("a.test"), web.url("a.test", "/api")
    code = ADDS.format(seed=seed, api=api, folder=str(crawl.folder), settings=settings)
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    assert await child.wait() == -signal.SIGKILL
    asked_before = len(host.posts)
    tags = {page.tag async for page in Crawler([], folder=crawl.folder) if page.tag}
    wanted = {(method, f"n={n}".encode()) for method in ("POST", "PUT") for n in range(5)}
    assert {(method, body) for method, _, body, _ in host.posts} == wanted
    assert len(host.posts) - asked_before >= len(tags) >= 10 - asked_before
    assert tags <= {f"{method} {n}" for method in ("POST", "PUT") for n in range(5)}
    assert all(key == "mine" for key in host.keys)


def test_a_request_is_durable_as_any_target() -> None:
    parts = RequestParts("POST", b"\x00x", (("A", "b"),), "tag")
    target = Target("http://a.test/x", "a.test", b"12345678", request=parts)
    assert target_of(entry_of(target), "a.test", rank_of(target)) == target
    plain = Target("http://a.test/x", "a.test", b"12345678")
    assert len(entry_of(plain)) < 40


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"method": "get"}, "method: 'get' is none of GET"),
        ({"body": "x"}, "a GET request has no body"),
        ({"method": "POST", "body": "x" * 2_000_000}, "body: longer"),
        ({"headers": {"Host": "b"}}, "Host is set by the crawler"),
        ({"headers": {"X": "a\r\nb: c"}}, "one line"),
        ({"tag": "x" * 2000}, "tag: longer"),
    ],
)
def test_requests_that_cannot_be_made_are_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Request("http://a.test/", **arguments)


# ---- from a file


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no such Python file"),
        ("def on_page(", "SyntaxError"),
        ("x = 1", "it defines none of on_page"),
        ("on_page = 3", "on_page is no function"),
    ],
)
async def test_a_file_without_hooks_is_refused_before_anything_is_asked(
    web: HandWeb, crawl: HandCrawl, tmp_path: Path, text: str | None, said: str
) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    seed = web.page("http://a.test/", "<p>x")
    with pytest.raises(SettingsError, match=said):
        await crawl(seed, hooks=str(path))
    assert web.requests == []


async def test_hooks_of_a_file_take_part(web: HandWeb, crawl: HandCrawl, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("from lycosa import Request\n\ndef on_page(page):\n    return {'title': page.title}\n")
    assert load_hooks(str(path)).on_page is not None
    seed = web.page("http://a.test/", "<title>T</title>")
    await crawl(seed, hooks=str(path))
    assert crawl.pages[seed].items == [{"title": "T"}]
