"""A collection is kept fresh through the whole stack, as well as the schedule alone promises."""

from __future__ import annotations

from pathlib import Path
from random import Random

from lycosa.frontier.embedded import memory_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.view import open_rocks_view
from lycosa.inspect.freshness import collection_freshness

from ..frontier.contract_revisits import QUICK, ChangingWeb
from ..frontier.stage import FakeClock, Stage
from .month import BEGIN, DAY, Month, MovingWeb, SimulatedClock

HOUR = 3600.0


def rates_of(pages: int) -> list[float]:
    """From pages that never change to some that change all the time, as on the web."""
    random = Random(7)
    return [random.choice([0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 20.0]) / DAY for _ in range(pages)]


async def predicted_share(rates: list[float], pages_per_day: float, days: float, since: float, step: float) -> float:
    """The share of fresh pages by the schedule alone, without a web, a worker and a disk."""
    clock = FakeClock(BEGIN)
    rules = FrontierRules(pace=QUICK, is_continuous=True, pages_per_second=pages_per_day / DAY)
    stage = Stage(memory_frontier(rules, clock), clock)
    web = ChangingWeb(stage, {f"a/p{number}": rate for number, rate in enumerate(rates)}, seed=3)
    await stage.add(*web.rates)
    shares = []
    while clock.now < BEGIN + days * DAY:
        while leases := await stage.take():
            for lease in leases:
                await web.visit(lease)
        clock.now = max(clock.now + step, stage.frontier.next_at(0) or 0.0)
        if clock.now >= BEGIN + since * DAY:
            shares.append(web.fresh_share())
    return sum(shares) / len(shares)


async def test_a_collection_stays_as_fresh_as_predicted_however_often_the_crawl_dies(space: Path) -> None:
    rates, per_day, days, since, step = rates_of(40), 40.0, 9.0, 3.0, HOUR
    clock = SimulatedClock()
    async with MovingWeb(clock, rates, days * DAY) as web:
        month = Month(web, space, per_day)
        await month.open()
        await month.plant(["/"])
        for _ in range(3):
            await month.go_on(days / 3 * DAY, step)
            await month.die()
        measured = month.mean_share(since * DAY)
        predicted = await predicted_share(rates, per_day, days, since, step)
        # Of forty pages one is two and a half points.
        assert abs(measured - predicted) < 0.06
        assert web.visits >= 0.98 * per_day * days
        await month.frontier.close()
        view = open_rocks_view(month.folder.frontier)
        believed = collection_freshness(view, clock.now)
        assert believed
        assert believed.pages == len(rates) + 1
        assert abs(believed.fresh - web.fresh_share()) < 0.2
        view.close()


async def kept_fresh(space: Path, web: MovingWeb, pages_per_day: float, days: float, **settings: object) -> Month:
    """A crawl of a moving web that dies in the middle."""
    month = Month(web, space, pages_per_day, **settings)
    await month.open()
    await month.plant(["/"])
    for _ in range(2):
        await month.go_on(days / 2 * DAY, HOUR)
        await month.die()
    await month.frontier.close()
    return month


async def test_what_a_sitemap_says_of_changes_keeps_a_collection_fresher(space: Path) -> None:
    pages, days, per_day = 40, 30.0, 8.0
    shares = []
    for tells in (False, True):
        async with MovingWeb(SimulatedClock(), [0.1 / DAY] * pages, days * DAY, tells_changes=tells) as web:
            month = await kept_fresh(space / str(tells), web, per_day, days)
            shares.append(month.mean_share(10 * DAY))
            assert web.visits >= 0.95 * per_day * days
    silent, told = shares
    assert told > silent + 0.05


async def test_a_change_of_an_important_page_is_seen_sooner(space: Path) -> None:
    pages, days, per_day = 40, 40.0, 5.0
    priorities = [1.0 if number % 2 else 0.0 for number in range(pages)]
    async with MovingWeb(SimulatedClock(), [0.1 / DAY] * pages, days * DAY, priorities=priorities) as web:
        await kept_fresh(space, web, per_day, days)
        important, other = (
            [delay for number in range(pages) if priorities[number] == wanted for delay in web.seen_after[number]]
            for wanted in (1.0, 0.0)
        )
        assert len(important) > len(other)
        assert sum(important) / len(important) < 0.8 * sum(other) / len(other)
