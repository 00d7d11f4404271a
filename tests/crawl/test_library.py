"""`lycosa.Crawler`: a crawl in the caller's own process, at the caller's pace."""

from __future__ import annotations

import asyncio
import errno
import importlib.util
import os
import subprocess
import sys
import threading
import tomllib
from contextlib import aclosing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from lycosa import CrawledPage, Crawler, MissedPage, library
from lycosa.crawl import mending, session, shortage
from lycosa.errors import FolderInUse, SettingsError
from lycosa.model import OutcomeKind, Visit
from lycosa.settings import Settings
from lycosa.simweb import HandWeb, SimWeb, WebPlan
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.store.recover import Recovery, recover
from tests.page.documents import pdf

from . import evidence
from .conftest import hand_settings
from .test_visits import page, sitemap

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "crawl_as_library.py"


def many_pages(web: HandWeb, hosts: int, pages: int) -> list[str]:
    """Hosts whose sitemaps name all their pages; their home pages."""
    seeds = []
    for host in range(hosts):
        urls = [web.page(f"http://h{host}.test/{number}", page(title=f"{host}/{number}")) for number in range(pages)]
        web.robots(f"h{host}.test", "Sitemap: /s.xml")
        web.page(f"http://h{host}.test/s.xml", sitemap(*urls))
        seeds.append(web.page(f"http://h{host}.test/", page(title=f"home {host}")))
    return seeds


def crawler_of(web: HandWeb, seeds: str | list[str], **settings: Any) -> Crawler:
    return Crawler(seeds, **{**hand_settings(web), **settings})


async def test_pages_come_with_all_that_is_known_of_them(web: HandWeb) -> None:
    seed = web.page("http://a.test/", page("/x", title="Home"), headers={"X-Own": "yes"})
    x = web.page("http://a.test/x", "<html lang=de><title>X</title><p>Guten Tag")
    found = {page.url: page async for page in crawler_of(web, [seed])}
    assert set(found) == {seed, x}
    home, other = found[seed], found[x]
    assert (home.status, home.title, home.links, home.depth) == (200, "Home", [x], 0)
    assert ("x-own", "yes") in home.headers
    assert home.body.startswith(b"<!doctype html>")
    assert (other.depth, other.referrer, other.language) == (1, seed, "de")
    assert "Guten Tag" in other.text


async def test_a_folder_keeps_its_settings_but_for_the_keywords(web: HandWeb, space: Path) -> None:
    folder = space / "crawl"
    web.page("http://a.test/", page("/x"))
    web.page("http://a.test/x", page("/y"))
    web.page("http://a.test/y", page())
    kept = {**hand_settings(web), "max_depth": 0, "workers": 5, "purpose": "archive"}
    await Crawler(web.url("a.test", "/"), folder=folder, **kept).run()
    # Nothing of the network is named again.
    counts = await Crawler([], folder=folder, max_depth=1, revisit=True).run()
    assert counts.pages == 3
    values = tomllib.loads((folder / "lycosa.toml").read_text())
    assert (values["max_depth"], values["workers"], values["purpose"]) == (1, 5, "archive")
    assert values["dns_servers"] == [web.dns_address]
    with pytest.raises(SettingsError, match="max_delay_seconds"):
        Crawler([], folder=folder, min_delay_seconds=100.0)


async def test_what_a_crash_left_is_read_again_beside_the_crawl(
    web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, has_page = CrawlFolder(space / "c"), threading.Event()
    await crawler_of(web, web.page("http://a.test/", page()), folder=folder.path).run()
    left = FolderStore(folder, 0, Settings())
    left.put(Visit("http://left.test/", "left.test", 1.0, OutcomeKind.STORED), None, None)
    await left.sync()
    assert len(folder.journals()) == 1

    def patient(*arguments: Any, **named: Any) -> Recovery:
        assert has_page.wait(60), "the crawl waits for it"
        return recover(*arguments, **named)

    monkeypatch.setattr(mending, "recover", patient)
    async for _ in crawler_of(web, web.page("http://b.test/", page(title="b")), folder=folder.path):
        has_page.set()
    assert folder.journals() == []
    assert "http://left.test/" in {row["url"] for row in evidence.pages(folder.path)}


async def test_a_revisit_asks_again_for_what_failed(web: HandWeb, space: Path) -> None:
    seed = web.page("http://a.test/", page("/late"))
    late = web.page("http://a.test/late", "not yet", status=404)
    await crawler_of(web, seed, folder=space / "c").run()
    web.page("http://a.test/late", page(title="Here"))
    found = {page.url: page.title async for page in crawler_of(web, [], folder=space / "c", revisit=True)}
    assert found[late] == "Here"


async def test_run_crawls_to_the_end_and_counts(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=3, pages=4)
    crawler = crawler_of(web, seeds, folder=space / "crawl")
    counts = await crawler.run()
    assert counts == crawler.counts()
    assert (counts.pages, counts.queued, counts.leased) == (15, 0, 0)
    assert len(evidence.pages(space / "crawl")) == 15 + 3 + 3


@pytest.mark.parametrize("limit", [1, 2, 7, 14])
async def test_max_pages_is_exact(web: HandWeb, limit: int) -> None:
    seeds = many_pages(web, hosts=3, pages=4)
    assert len([page async for page in crawler_of(web, seeds, max_pages=limit)]) == limit


async def test_the_same_folder_goes_on_where_it_stopped(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=2, pages=5)
    first = [page.url async for page in crawler_of(web, seeds, folder=space / "c", max_pages=5)]
    rest = [page.url async for page in crawler_of(web, [], folder=space / "c", max_pages=0)]
    assert len(first) == 5
    assert len(first) + len(rest) == len({*first, *rest}) == 12
    assert [page async for page in crawler_of(web, seeds, folder=space / "c")] == []


async def test_leaving_the_loop_ends_the_crawl_and_frees_the_folder(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=4, pages=10)
    async with crawler_of(web, seeds, folder=space / "c", connections=2) as crawler:
        async for _ in crawler:
            break
    assert crawler.counts().leased == 0
    assert evidence.left_open(space / "c") == []
    seen = {row["url"] for row in evidence.pages(space / "c") if row["outcome"] == "stored"}
    rest = [page.url async for page in crawler_of(web, seeds, folder=space / "c")]
    assert not seen & set(rest)
    assert len(seen) + len(rest) == 44


async def test_a_loop_left_without_a_context_is_closed_by_its_generator(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=2, pages=5)
    async with aclosing(aiter(crawler_of(web, seeds, folder=space / "c"))) as pages:  # type: ignore[type-var]
        async for _ in pages:
            break
    assert len([page async for page in crawler_of(web, [], folder=space / "c")]) < 12


async def test_a_loop_left_by_break_frees_the_folder_for_the_next(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=4, pages=10)
    async for _ in crawler_of(web, seeds, folder=space / "c", connections=2):
        break
    # The same folder again, in the next line, without a context and without a word about the loop that was left.
    rest = [page.url async for page in crawler_of(web, seeds, folder=space / "c")]
    assert 0 < len(rest) < 44
    stored = [row["url"] for row in evidence.pages(space / "c") if row["outcome"] == "stored"]
    assert len(stored) == len(set(stored)) == 44


def test_a_program_that_ends_after_break_says_nothing(space: Path) -> None:
    """Nothing is destroyed while pending, nothing is left open, whatever warnings are asked for."""
    program = """
import asyncio, sys
import lycosa
from lycosa.simweb import SimWeb, WebPlan

async def main():
    async with SimWeb(WebPlan.named("clean", hosts=4, pages_per_host=5)) as web:
        settings = dict(open_networks=["127.0.0.0/8"], dns_servers=[web.dns_address], scope="any")
        async for page in lycosa.Crawler(list(web.seeds), folder=sys.argv[1], min_delay_seconds=0.0, **settings):
            print(page.status)
            break

asyncio.run(main())
"""
    command = [sys.executable, "-W", "always", "-c", program, str(space / "c")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    told = [line for line in ended.stderr.splitlines() if "fastwarc" not in line and "CompressingStream" not in line]
    assert (ended.returncode, ended.stdout, told) == (0, "200\n", [])
    assert evidence.left_open(space / "c") == []


async def test_a_string_is_one_seed(web: HandWeb) -> None:
    (seed,) = many_pages(web, hosts=1, pages=2)
    assert len([page async for page in crawler_of(web, seed)]) == 3


async def test_failures_reach_the_program(web: HandWeb) -> None:
    seed = web.page("http://a.test/", page("/gone", "/secret", "/old", title="Home"))
    new = web.page("http://a.test/new", page(title="New"))
    web.redirect("http://a.test/old", new)
    web.robots("a.test", "User-agent: *\nDisallow: /secret")
    visits = {visit.url: visit async for visit in crawler_of(web, [seed]).outcomes()}
    assert isinstance(visits[seed], CrawledPage)
    assert isinstance(visits[new], CrawledPage)
    missed = {url: visit for url, visit in visits.items() if isinstance(visit, MissedPage)}
    gone, secret, old = (missed[f"{seed}{name}"] for name in ("gone", "secret", "old"))
    assert (gone.outcome, gone.reason, gone.status, gone.referrer) == ("failed", "status", 404, seed)
    assert (secret.outcome, secret.reason, secret.status) == ("refused", "robots", 0)
    assert (old.outcome, old.detail) == ("moved", new)
    assert [visit.is_failure for visit in (gone, secret, old)] == [True, True, False]


async def test_a_finished_crawl_is_visited_again(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=1, pages=3)
    await crawler_of(web, seeds, folder=space / "c").run()
    again = [visit async for visit in crawler_of(web, [], folder=space / "c", revisit=True).outcomes()]
    assert len(again) == 4


async def test_a_crawl_in_a_program_waits_for_what_the_machine_lacks(
    web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk fails to sync for a while: nothing is lost, nothing comes twice."""
    monkeypatch.setattr(shortage, "FIRST_PAUSE_SECONDS", 0.01)
    seeds = many_pages(web, hosts=2, pages=10)
    real, failures = os.fdatasync, iter([True] * 3)

    def failing(fd: int) -> None:
        if next(failures, False):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(fd)

    urls = []
    async with crawler_of(web, seeds, folder=space / "c", durability="power") as crawler:
        async for crawled in crawler:
            urls.append(crawled.url)
            if len(urls) == 3:
                monkeypatch.setattr(os, "fdatasync", failing)
    assert next(failures, None) is None, "the disk has failed meanwhile"
    assert len(urls) == len(set(urls)) == 22
    assert crawler.counts().pages == 22


async def test_seeds_are_planted_in_portions(web: HandWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SEEDS_AT_ONCE", 2)
    seeds = [web.page(f"http://h{number}.test/", page(title=str(number))) for number in range(5)]
    assert len([page async for page in crawler_of(web, seeds)]) == 5


async def test_stop_lets_what_is_under_way_come_in(web: HandWeb) -> None:
    seeds = many_pages(web, hosts=2, pages=50)
    crawler = crawler_of(web, seeds, connections=1)
    count = 0
    async for _ in crawler:
        count += 1
        crawler.stop()
    assert 1 <= count < 102
    assert crawler.counts().leased == 0
    assert crawler.counts().queued > 0


async def test_an_error_of_the_caller_passes_and_ends_the_crawl(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=2, pages=5)

    async def fail() -> None:
        async with crawler_of(web, seeds, folder=space / "c") as crawler:
            async for _ in crawler:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert [page async for page in crawler_of(web, [], folder=space / "c")]


async def test_a_cancelled_crawl_closes_its_folder(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=2, pages=5)
    begun = asyncio.Event()

    async def consume() -> None:
        async with crawler_of(web, seeds, folder=space / "c") as crawler:
            async for _ in crawler:
                begun.set()
                await asyncio.Event().wait()

    task = asyncio.create_task(consume())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert evidence.left_open(space / "c") == []
    await crawler_of(web, [], folder=space / "c").run()


async def test_the_crawl_waits_for_a_slow_caller(web: HandWeb, space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "MAX_WAITING", 5)
    seeds = many_pages(web, hosts=4, pages=30)
    async with crawler_of(web, seeds, folder=space / "slow", connections=2) as slow:
        pages = aiter(slow)
        await anext(pages)
        # Another crawl of the same pages comes to its end meanwhile: time enough to run away.
        await crawler_of(web, seeds, folder=space / "quick").run()
        # One taken, five waiting, and what was under way when the fifth came.
        assert 6 <= slow.counts().pages <= 1 + 5 + 2
        assert len([page async for page in pages]) == 123
    assert slow.counts().pages == 124


async def test_two_crawlers_at_once_do_not_meet(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=2, pages=5)

    async def urls(name: str) -> list[str]:
        return [page.url async for page in crawler_of(web, seeds, folder=space / name)]

    one, other = await asyncio.gather(urls("one"), urls("other"))
    assert sorted(one) == sorted(other)
    assert len(one) == 12


async def test_a_folder_in_use_is_refused(web: HandWeb, space: Path) -> None:
    seeds = many_pages(web, hosts=1, pages=5)
    async with crawler_of(web, seeds, folder=space / "c") as crawler:
        async for _ in crawler:
            with pytest.raises(FolderInUse, match="another crawl"):
                await crawler_of(web, seeds, folder=space / "c").run()
            break


async def test_one_crawler_is_one_crawl_at_a_time(web: HandWeb) -> None:
    seeds = many_pages(web, hosts=1, pages=3)
    async with crawler_of(web, seeds) as crawler:
        async for _ in crawler:
            with pytest.raises(RuntimeError, match="already"):
                aiter(crawler)


async def test_without_a_folder_nothing_is_remembered(web: HandWeb) -> None:
    crawler = crawler_of(web, many_pages(web, hosts=1, pages=3))
    assert len([page async for page in crawler]) == len([page async for page in crawler]) == 4


def test_bad_settings_are_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="no seeds"):
        Crawler([])
    with pytest.raises(SettingsError, match="Did you mean 'max_pages'"):
        Crawler(["http://a.test/"], max_page=3)  # type: ignore[call-arg]
    with pytest.raises(SettingsError, match="seed 'ftp:"):
        Crawler(["ftp://a.test/"])


async def test_the_example_runs_on_a_simulated_web(capsys: pytest.CaptureFixture[str]) -> None:
    plan = WebPlan.named("clean", hosts=3, pages_per_host=5)
    async with SimWeb(plan) as web:
        settings = {
            "max_pages": 6,
            "min_delay_seconds": 0.0,
            "delay_factor": 0.0,
            "scope": "any",
            "open_networks": ["127.0.0.0/8"],
            "dns_servers": [web.dns_address],
        }
        pages = await example().crawl(list(web.seeds), **settings)
        assert len(pages) == 6
        assert set(pages) <= web.truth().storable
    assert len(capsys.readouterr().out.splitlines()) == 6


def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("crawl_as_library", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_documents_are_pages_with_text_and_links(web: HandWeb) -> None:
    behind = web.page("http://a.test/behind", page(title="behind"))
    body = pdf("The tide comes in", title="Tides", link=behind)
    tides = web.page("http://a.test/tides.pdf", body, headers={"Content-Type": "application/pdf"})
    seed = web.page("http://a.test/", page("/tides.pdf"))
    found = {page.url: page async for page in crawler_of(web, [seed])}
    assert set(found) == {seed, tides, behind}
    assert (found[tides].title, found[tides].text, found[tides].links) == ("Tides", "The tide comes in", [behind])
    assert found[behind].referrer == tides


async def test_selectors_find_their_way_on_a_page(web: HandWeb, space: Path) -> None:
    html = '<meta charset=gbk><base href="/shop/"><h1>中文</h1><a href="one">1</a>'
    seed = web.page("http://a.test/", html.encode("gbk"), headers={"Content-Type": "text/html"})
    data = web.page("http://a.test/data", '{"name": "é"}', headers={"Content-Type": "application/json"})
    pages = {page.url: page async for page in Crawler([seed, data], folder=space / "c", **hand_settings(web))}
    page = pages[seed]
    assert [each.text for each in page.css("h1")] == ["中文"]
    assert [page.url_of(href) for href in page.xpath("//a/@href")] == [web.url("a.test", "/shop/one")]
    assert pages[data].json() == {"name": "é"}
