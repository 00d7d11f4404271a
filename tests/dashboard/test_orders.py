"""What people order by the forms: given as the command line gives it, obeyed by the real crawl, shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

from lycosa.cli.main import main
from lycosa.crawl.orders import pending
from lycosa.orders import AddSeeds, Order, Pardon, PauseCrawl, ResumeCrawl, SetPolicy

from ..cli.world import World, crawled
from .test_pages import check_only_text
from .visitor import Answer, Tags, Visitor, served

HOST = "/host?name=a.test"
POLICY = {"type": "policy", "host": "a.test"}


def send(visitor: Visitor, **fields: str) -> Answer:
    return visitor.ask("/order", method="POST", body=urlencode(fields))


@pytest.fixture(autouse=True)
def _no_orders_stay(world: World) -> Iterator[None]:
    yield
    for path in world.folder.orders.glob("*.json"):
        path.unlink()


def orders_of(world: World) -> list[Order]:
    return [each.order for each in pending(world.folder)]


@pytest.mark.parametrize(
    ("fields", "order", "place"),
    [
        ({"type": "pause", "reason": " a storm "}, PauseCrawl("a storm"), "/"),
        ({"type": "pause", "reason": ""}, PauseCrawl(), "/"),
        ({"type": "resume"}, ResumeCrawl(), "/"),
        ({"type": "seeds", "urls": "http://x.test/\r\n\r\n y.test"}, AddSeeds(["http://x.test/", "y.test"]), "/"),
        ({"type": "pardon", "host": "a.test"}, Pardon("a.test"), HOST),
        ({**POLICY, "is_blocked": "true"}, SetPolicy("a.test", is_blocked=True), HOST),
        ({**POLICY, "is_blocked": "false"}, SetPolicy("a.test", is_blocked=False), HOST),
        (
            {**POLICY, "delay_seconds": "2.5", "pages_per_day": "", "priority": "-2"},
            SetPolicy("a.test", delay_seconds=2.5, priority=-2),
            HOST,
        ),
    ],
)
def test_a_form_gives_an_order(
    world: World, visitor: Visitor, fields: dict[str, str], order: Order, place: str
) -> None:
    answer = send(visitor, **fields)
    assert (answer.status, answer.headers["location"]) == (303, place)
    assert orders_of(world) == [order]
    assert pending(world.folder)[0].by == "dashboard"
    assert "waits to be obeyed" in visitor.page(place)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"type": "destroy"},
        POLICY,
        {**POLICY, "priority": "99"},
        {**POLICY, "delay_seconds": "soon"},
        {**POLICY, "delay_seconds": "-1"},
        {**POLICY, "delay_seconds": "nan"},
        {"type": "policy", "host": "A.test/x", "is_blocked": "true"},
        {"type": "seeds", "urls": "ftp://x.test/"},
        {"type": "seeds", "urls": "  "},
    ],
)
def test_what_cannot_be_ordered_is_said_and_changes_nothing(
    world: World, visitor: Visitor, fields: dict[str, str]
) -> None:
    answer = send(visitor, **fields)
    assert answer.status == 400
    check_only_text(answer.body)
    assert orders_of(world) == []


def test_no_other_page_and_no_link_gives_orders(world: World, visitor: Visitor) -> None:
    cookie = {"Cookie": f"lycosa-{visitor.port}={visitor.token}", "Origin": "http://evil.test"}
    answer = visitor.ask("/order", method="POST", body="type=pause", has_token=False, **cookie)
    assert answer.status == 403
    assert visitor.ask("/order?type=pause").status == 405
    assert visitor.ask("/order", method="POST", body="x=" + "y" * 2_100_000).status == 400
    assert visitor.ask("/order", method="POST", body="&".join(f"f{n}=1" for n in range(100))).status == 400
    assert orders_of(world) == []


def test_a_crawl_in_memory_takes_no_orders_and_offers_none(tmp_path: Path) -> None:
    with crawled(tmp_path / "crawl", "--frontier", "memory") as world, served(world.folder.path) as visitor:
        answer = send(visitor, type="pause")
        assert answer.status == 400
        assert "kept in memory" in answer.body
        assert not [found for _, found in Tags(visitor.page("/")).found if found.get("action") == "/order"]


def test_what_was_ordered_is_obeyed_and_shown(tmp_path: Path) -> None:
    with crawled(tmp_path / "crawl") as world:
        with served(world.folder.path) as visitor:
            send(visitor, type="policy", host="a.test", is_blocked="true", pages_per_day="50")
        pace = ["--min-delay", "0", "--delay-factor", "0", "--workers", "1", "--quiet"]
        assert main(["crawl", *world.place, *world.network, *pace]) in (0, 3)
        with served(world.folder.path) as visitor:
            host, overview = visitor.page("/host", name="a.test"), visitor.page("/")
    assert orders_of(world) == []
    assert "blocked: nothing is asked for; at most 50 pages a day" in Tags(host).text
    assert "Unblock this host" in host
    for page in (host, overview):
        assert "a.test: block, 50 pages a day" in page
        assert "is_blocked = True" in page
