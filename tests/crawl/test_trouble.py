"""Our own failures: a page that breaks our code ends its own visit only, a lost backend ends the crawl and says so."""

from __future__ import annotations

from typing import Any

import pytest

from lycosa.errors import BackendLost
from lycosa.model import Page
from lycosa.page.parser import PageParser
from lycosa.simweb import HandWeb
from lycosa.store.folder_store import FolderStore

from .conftest import HandCrawl
from .test_visits import page


@pytest.mark.parametrize("complaint", ["plain", "half a pair \ud800", "x" * 100_000])
async def test_a_page_that_breaks_our_code_ends_its_own_visit_only(
    web: HandWeb, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch, complaint: str
) -> None:
    parse = PageParser.parse

    def fragile(self: PageParser, body: bytes, *rest: Any, **named: Any) -> Page:
        if b"poison" in body:
            raise RuntimeError(complaint)
        return parse(self, body, *rest, **named)

    monkeypatch.setattr(PageParser, "parse", fragile)
    seed = web.page("http://a.test/", page("/p", "/x"))
    poison = web.page("http://a.test/p", page(title="poison"))
    x = web.page("http://a.test/x", page(title="x"))
    outcomes = await crawl(seed)
    assert outcomes[x] == "stored"
    assert outcomes[poison] == "crashed"
    assert crawl.counts.crashed == 1
    assert crawl.row(poison)["reason"] == "crashed"
    assert crawl.row(poison)["detail"].startswith("RuntimeError: ")
    assert len(crawl.row(poison)["detail"]) <= 500


async def test_a_store_that_cannot_write_ends_the_crawl_and_loses_nothing(
    web: HandWeb, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = web.page("http://a.test/", page("/x"))
    x = web.page("http://a.test/x", page(title="x"))

    async def full(self: FolderStore) -> None:
        raise BackendLost("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(FolderStore, "sync", full)
        with pytest.raises(BackendLost, match="the disk is full"):
            await crawl(seed)
    assert await crawl(seed) == {seed: "stored", x: "stored"}
