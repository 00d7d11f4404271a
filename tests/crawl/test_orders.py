"""Orders on their way to a crawl, and what a crawl makes of them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from lycosa.crawl.orders import give, obey_pending, pending
from lycosa.errors import SettingsError
from lycosa.frontier.embedded import rocks_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.view import open_rocks_view
from lycosa.library import Crawler
from lycosa.orders import AddSeeds, Order, Pardon, PauseCrawl, ResumeCrawl, SetPolicy, order_of
from lycosa.simweb import HandWeb
from lycosa.store.folder import CrawlFolder

from .conftest import hand_settings
from .test_visits import page


def test_an_order_waits_in_its_folder_until_it_is_obeyed(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    first = give(SetPolicy("a.test", delay_seconds=5.0), folder=folder, by="me")
    second = give(PauseCrawl("lunch"), folder=folder)
    assert pending(folder) == [first, second]

    async def obey() -> list[str]:
        frontier = rocks_frontier(folder.frontier, FrontierRules())
        results = await obey_pending(folder, frontier, lambda seeds: [])
        # As if the crawl had died before the files were gone.
        (folder.orders / f"{first.id}.json").write_bytes(msgspec.json.encode(first))
        results += await obey_pending(folder, frontier, lambda seeds: [])
        await frontier.close()
        return [result for _, result in results]

    results = asyncio.run(obey())
    assert results == ["delay_seconds = 5.0", "nothing new is begun", ""]
    assert pending(folder) == []
    view = open_rocks_view(folder.frontier)
    assert [(obeyed.given, obeyed.result) for obeyed in view.orders()] == [
        (first, "delay_seconds = 5.0"),
        (second, "nothing new is begun"),
    ]
    record = view.host("a.test")
    assert record
    assert record.policy
    assert record.policy.delay_seconds == 5.0
    assert view.paused() == "lunch"
    view.close()


@pytest.mark.parametrize(
    "order",
    [
        SetPolicy("a.test:80"),
        SetPolicy("A.test"),
        SetPolicy(""),
        SetPolicy("a.test", delay_seconds=-1.0),
        SetPolicy("a.test", pages_per_day=float("nan")),
        SetPolicy("a.test", priority=10),
        Pardon("a b"),
        AddSeeds([]),
        AddSeeds(["not a url \x00"]),
    ],
)
def test_an_order_that_means_nothing_is_refused_at_once(tmp_path: Path, order: Order) -> None:
    folder = CrawlFolder(tmp_path)
    with pytest.raises(SettingsError):
        give(order, folder=folder)
    assert pending(folder) == []


def test_nobody_can_order_a_crawl_that_is_kept_in_memory(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="in memory"):
        give(ResumeCrawl(), folder=CrawlFolder(tmp_path), frontier="memory")


def test_an_order_is_made_of_plain_values() -> None:
    assert order_of({"type": "policy", "host": "a.test", "is_blocked": True}) == SetPolicy("a.test", is_blocked=True)
    assert order_of({"type": "resume"}) == ResumeCrawl()


def test_a_file_that_is_no_order_keeps_nobody_from_the_others(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    given = give(ResumeCrawl(), folder=folder)
    (folder.orders / "0000.json").write_bytes(b"\xff{")
    assert pending(folder) == [given]


async def test_a_running_crawl_obeys(web: HandWeb, space: Path) -> None:
    """It is blocked out of a host while it runs, and told to go on."""
    other = web.page("http://b.test/1", page())
    seed = web.page("http://a.test/", page(other))
    added = web.page("http://a.test/added", page())
    folder = CrawlFolder(space / "c")
    folder.path.mkdir()
    give(SetPolicy("b.test", is_blocked=True), folder=folder)
    crawler = Crawler(seed, folder=folder.path, **{**hand_settings(web), "scope": "any", "continuous": True})
    seen = []
    async with crawler:
        async for one in crawler:
            seen.append(one.url)
            if one.url == seed:
                give(AddSeeds([added]), folder=folder)
            if one.url == added:
                give(SetPolicy("b.test", is_blocked=False), folder=folder)
            if len(seen) == 3:
                break
    assert seen == [seed, added, other]
