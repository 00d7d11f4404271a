"""Many bodies at once: together they stay small, and each still arrives whole."""

from __future__ import annotations

import asyncio

import pytest

from lycosa.fetch.body_budget import FREE_BYTES, BodyBudget

from .conftest import MakeFetcher
from .rawweb import RawWeb, page

MIB = 1024 * 1024


class Body:
    """A body whose bytes come whenever it is told to go on."""

    def __init__(self, flight: BodyBudget) -> None:
        self._flight = flight
        self.body_bytes = 0

    def go_on(self) -> None:
        if self._flight.may_grow(self, FREE_BYTES):
            self.body_bytes += FREE_BYTES


def test_bodies_together_stay_below_the_limit_but_for_one() -> None:
    flight = BodyBudget(10 * FREE_BYTES)
    bodies = [Body(flight) for _ in range(8)]
    for _ in range(20):
        for body in bodies:
            if body not in flight.waiting:
                body.go_on()
    first = max(bodies, key=lambda body: body.body_bytes)
    assert sum(body.body_bytes for body in bodies if body is not first) <= 10 * FREE_BYTES
    assert len(flight.waiting) == 7
    flight.end(first)
    assert len(flight.waiting) < 7


def test_what_waits_for_the_disk_counts_too() -> None:
    flight = BodyBudget(10 * FREE_BYTES)
    first, second = Body(flight), Body(flight)
    flight.hold(10 * FREE_BYTES)
    for body in (first, second, first, second):
        body.go_on()
    assert (first.body_bytes, second.body_bytes) == (2 * FREE_BYTES, FREE_BYTES)
    flight.hold(-10 * FREE_BYTES)
    assert second.body_bytes == 2 * FREE_BYTES


@pytest.mark.parametrize("max_body_bytes", [2 * MIB, MIB // 2])
async def test_bodies_that_wait_for_each_other_arrive_whole(
    web: RawWeb, make_fetcher: MakeFetcher, max_body_bytes: int
) -> None:
    body = b"x" * MIB
    for number in range(12):
        web.answers[f"/{number}"] = page(body)
    fetcher = make_fetcher(body_budget_bytes=MIB // 4, max_body_bytes=max_body_bytes)
    answers = await asyncio.gather(*(fetcher.fetch(web.url(f"/{number}")) for number in range(12)))
    assert [answer.body for answer in answers] == [body[:max_body_bytes]] * 12
    assert {answer.truncated for answer in answers} == {"" if max_body_bytes >= MIB else "length"}


async def test_bodies_are_not_decoded_while_others_hold_too_much(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    fetcher = make_fetcher(body_budget_bytes=MIB)
    web.answers["/"] = page(b"hello")
    fetcher.hold(MIB + 1)
    fetch = asyncio.create_task(fetcher.fetch(web.url("/")))
    await web.arrived.wait()
    await web.all_closed.wait()
    assert not fetch.done()
    fetcher.hold(-MIB)
    assert (await fetch).body == b"hello"


async def test_a_body_counts_until_its_task_is_over(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    fetcher = make_fetcher(body_budget_bytes=MIB)
    web.answers = {"/long": page(b"x" * 2 * MIB), "/short": page(b"hello")}
    may_end = asyncio.Event()

    async def visit() -> None:
        await fetcher.fetch(web.url("/long"))
        await may_end.wait()

    visits = [asyncio.create_task(visit())]
    while len(web.requests) < 1 or web.open_connections:
        await asyncio.sleep(0)
    other = asyncio.create_task(fetcher.fetch(web.url("/short")))
    while len(web.requests) < 2 or web.open_connections:
        await asyncio.sleep(0)
    assert not other.done()
    may_end.set()
    assert (await other).body == b"hello"
    await asyncio.gather(*visits)


async def test_whoever_fetches_again_waits_for_nobody(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    fetcher = make_fetcher(body_budget_bytes=MIB)
    web.answers["/"] = page(b"x" * 2 * MIB)
    assert [len((await fetcher.fetch(web.url("/"))).body) for _ in range(5)] == [2 * MIB] * 5
