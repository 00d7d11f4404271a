"""When pages are visited again: the scheduler's choices, which are the same over every store."""

from __future__ import annotations

from collections import Counter

from lycosa.frontier.embedded import memory_frontier
from lycosa.frontier.rules import FrontierRules

from .contract_revisits import QUICK, ChangingWeb
from .stage import DAY, FakeClock, Stage


def continuous(clock: FakeClock | None = None, **chosen: object) -> Stage:
    """A crawl without an end, in memory, without pauses."""
    rules = {"pace": QUICK, "is_continuous": True, "min_revisit_seconds": 60.0} | chosen
    clock = clock or FakeClock()
    return Stage(memory_frontier(FrontierRules(**rules), clock), clock)  # type: ignore[arg-type]


async def test_pages_are_visited_as_they_change_and_those_that_change_too_fast_are_not_chased() -> None:
    stage = continuous(pages_per_second=24 / DAY)
    rates = {f"slow/{n}": 0.001 / DAY for n in range(30)}
    rates |= {f"some/{n}": 0.2 / DAY for n in range(30)}
    rates |= {f"fast/{n}": 1000.0 / DAY for n in range(30)}
    web = ChangingWeb(stage, rates)
    await stage.add(*rates)
    await web.go_on(30 * DAY)
    web.visits.clear()
    await web.go_on(60 * DAY)
    visits = Counter[str]()
    for url, times in web.visits.items():
        visits[url.partition("/")[0]] += times
    assert visits["some"] > 3 * visits["slow"]
    # Five thousand times as many changes; all that visits tell is that there was one each time.
    assert visits["fast"] < 1.25 * visits["some"]


async def test_new_pages_come_before_known_ones_that_are_not_due() -> None:
    stage = continuous(pages_per_second=100 / DAY)
    old, new = [f"a/old{n}" for n in range(20)], [f"b/new{n}" for n in range(100)]
    web = ChangingWeb(stage, dict.fromkeys([*old, *new], 0.01 / DAY))
    await stage.add(*old)
    await web.go_on(3 * DAY)
    await stage.add(*new)
    await web.go_on(1.5 * DAY)
    assert sum(web.visits[url] > 0 for url in new) >= 95


async def test_pages_of_a_place_with_an_interval_of_its_own_are_visited_by_that() -> None:
    stage = continuous(pages_per_second=12 / DAY, intervals={"own.test": 4 * DAY, "own.test/news/*": DAY})
    web = ChangingWeb(stage, {"own.test/news/a": 0.001 / DAY, "own.test/a": 0.001 / DAY})
    await stage.add(*web.rates)
    await web.go_on(20 * DAY)
    assert 18 <= web.visits["own.test/news/a"] <= 22
    assert 4 <= web.visits["own.test/a"] <= 6


async def test_pages_of_a_host_with_an_interval_of_its_own_are_visited_by_that() -> None:
    stage = continuous(pages_per_second=12 / DAY, intervals={"own.test": 2 * DAY})
    web = ChangingWeb(stage, {"www.own.test/a": 0.001 / DAY, "other.test/a": 0.001 / DAY})
    await stage.add(*web.rates)
    await web.go_on(20 * DAY)
    assert 9 <= web.visits["www.own.test/a"] <= 11
    assert web.visits["other.test/a"] > 100, "the budget is for many more"


async def test_what_is_left_of_the_budget_goes_to_new_pages_first_however_seldom_it_is_spent() -> None:
    stage = continuous(pages_per_second=200 / DAY)
    web = ChangingWeb(stage, {f"h{number % 7}/{number}": 1.0 / DAY for number in range(600)})
    await stage.add(*web.rates)
    for _ in range(3 * 48):
        # So much of the budget has come in by then that known pages could have it.
        stage.clock.advance(1800.0)
        while leases := await stage.take():
            for lease in leases:
                await web.visit(lease)
    assert sum(times > 0 for times in web.visits.values()) >= 590
    assert web.visits.total() >= 590
