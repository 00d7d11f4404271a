"""A crawl that goes on with wider settings takes in what it left out; one that gets another seed says where it goes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from lycosa.crawl.widening import REACH, Reach, Widening
from lycosa.model import History, OutcomeKind
from lycosa.settings import Settings
from lycosa.simweb import HandWeb
from lycosa.store.folder import CrawlFolder
from lycosa.url.canonical import parse_seeds

from .conftest import HandCrawl
from .test_visits import page, sitemap

HOME = "http://a.site.test/"


def furnish(web: HandWeb) -> str:
    """A chain of pages, with a way out of the host, the domain and the patterns on its first one."""
    web.page("http://a.site.test/1", page("/2"))
    web.page("http://a.site.test/2", page("/3"))
    web.page("http://a.site.test/3", page())
    web.page("http://b.site.test/", page("/deep"))
    web.page("http://b.site.test/deep", page())
    web.page("http://c.other.test/", page())
    return web.page(HOME, page("/1", web.url("b.site.test", "/"), web.url("c.other.test", "/")))


def paths(found: dict[str, str], web: HandWeb) -> set[str]:
    """The URLs that gave pages, without scheme and port."""
    kept = [url for url, outcome in found.items() if outcome in ("stored", "duplicate")]
    return {url.removeprefix("http://").replace(f":{web.port}", "") for url in kept}


HOST = {"a.site.test/", "a.site.test/1", "a.site.test/2", "a.site.test/3"}
DOMAIN = HOST | {"b.site.test/", "b.site.test/deep"}
ALL = DOMAIN | {"c.other.test/"}
WIDER: list[Any] = [
    pytest.param({"scope": "host"}, HOST, {"scope": "domain"}, DOMAIN, id="host to domain"),
    pytest.param({"scope": "host"}, HOST, {"scope": "any"}, ALL, id="host to any"),
    pytest.param({"max_depth": 1}, HOST - {"a.site.test/2", "a.site.test/3"}, {"max_depth": 3}, HOST, id="depth"),
    pytest.param({"include": ["/1$"]}, {"a.site.test/", "a.site.test/1"}, {"include": []}, HOST, id="include"),
    pytest.param({"exclude": ["/2$"]}, HOST - {"a.site.test/2", "a.site.test/3"}, {"exclude": []}, HOST, id="exclude"),
]


@pytest.mark.parametrize(("before", "first", "after", "then"), WIDER)
async def test_wider_settings_take_in_what_was_left_out(
    web: HandWeb,
    crawl: HandCrawl,
    caplog: pytest.LogCaptureFixture,
    before: dict[str, Any],
    first: set[str],
    after: dict[str, Any],
    then: set[str],
) -> None:
    seed = furnish(web)
    narrow = {"scope": "host", **before}
    assert paths(await crawl(seed, **narrow), web) == first
    asked = len(web.requests)
    caplog.clear()
    assert paths(await crawl(**{**narrow, **after}), web) == then
    assert "left out before are taken in" in caplog.text
    # What was there already is not asked for again.
    again = [request for request in web.requests[asked:] if request.path != "/robots.txt"]
    assert len(again) == len(then) - len(first)
    caplog.clear()
    await crawl(**{**narrow, **after})
    assert "taken in" not in caplog.text


async def test_what_a_page_asks_not_to_be_followed_stays_out(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page(HOME, "<meta name=robots content=nofollow>" + page(web.url("b.site.test", "/")))
    web.page("http://b.site.test/", page())
    await crawl(seed, scope="host")
    assert paths(await crawl(scope="any"), web) == {"a.site.test/"}


async def test_a_redirect_and_a_sitemap_are_asked_again(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.site.test", "Sitemap: /s.xml")
    web.page("http://a.site.test/s.xml", sitemap(web.url("a.site.test", "/listed")))
    web.page("http://a.site.test/listed", page())
    web.redirect("http://a.site.test/away", web.url("c.other.test", "/"))
    web.page("http://c.other.test/", page())
    seed = web.page(HOME, page("/away"))
    assert paths(await crawl(seed, scope="host", exclude=["listed"]), web) == {"a.site.test/"}
    found = await crawl(scope="any", exclude=[])
    assert paths(found, web) == {"a.site.test/", "a.site.test/listed", "c.other.test/"}


async def test_what_was_in_a_closed_network_is_asked_for_once_that_is_open(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.site.test", "User-agent: *\nDisallow: /2")
    seed = furnish(web)
    narrow: dict[str, Any] = {"scope": "host", "open_networks": []}
    assert await crawl(seed, **narrow) == {seed: "refused"}
    found = await crawl(**{**narrow, "open_networks": ["127.0.0.0/8"]})
    assert paths(found, web) == {"a.site.test/", "a.site.test/1"}
    # By the rules that could not be read before.
    assert [request.path for request in web.requests] == ["/robots.txt", "/", "/1"]


def test_what_was_left_as_a_trap_is_asked_for_where_there_are_to_be_none(tmp_path: Path) -> None:
    seeds = parse_seeds(["http://a/"])
    old, new = Reach.of(Settings(), seeds), Reach.of(Settings(traps=False), seeds)
    refusals = [
        History("http://a/x", OutcomeKind.REFUSED, 0.0, reason=code) for code in ("robots", "address", "mirror")
    ]
    for widening, lifted in (
        (Widening(CrawlFolder(tmp_path), old, new), ["mirror"]),
        (Widening(CrawlFolder(tmp_path), new, old), []),
    ):
        assert [past.reason for past in refusals if widening.is_asked_again(past)] == lifted


async def test_a_crawl_stopped_before_it_had_taken_in_all_does_so_next_time(
    web: HandWeb, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = furnish(web)
    await crawl(seed, scope="host")

    def dies(*_: object) -> None:
        raise OSError("gone")

    with monkeypatch.context() as patch:
        patch.setattr("lycosa.crawl.session.note_reach", dies)
        with pytest.raises(Exception, match="gone"):
            await crawl(scope="domain")
    assert paths(await crawl(scope="domain"), web) == DOMAIN
    assert b'"domain"' in (crawl.folder / "frontier" / REACH).read_bytes()


async def test_another_seed_is_told_which_crawl_it_joins(
    web: HandWeb, crawl: HandCrawl, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    seed = furnish(web)
    await crawl(seed, scope="host", max_depth=3)
    assert "joins the crawl" not in caplog.text
    other = web.url("c.other.test", "/")
    found = await crawl(other, scope="host", max_depth=7)
    assert f"{other} joins the crawl in {crawl.folder}, begun 20" in caplog.text
    assert f"from {seed}, by its settings (" in caplog.text
    assert "max_pages 0, scope host" in caplog.text
    assert "changed now: max_depth 7 instead of 3" in caplog.text
    assert "4 pages so far" in caplog.text
    assert "c.other.test/" in paths(found, web)
    caplog.clear()
    await crawl(other, scope="host", max_depth=7)
    assert "joins the crawl" not in caplog.text


def test_a_seed_more_changes_nothing_where_everything_is_followed(tmp_path: Path) -> None:
    one, two = (parse_seeds(urls) for urls in (["http://a/"], ["http://a/", "http://b/"]))
    assert Reach.of(Settings(scope="any"), one).changes_to(Reach.of(Settings(scope="any"), two)) == ""
    assert Reach.of(Settings(), one).changes_to(Reach.of(Settings(), two)) == "2 seeds instead of 1"
