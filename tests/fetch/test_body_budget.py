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
