"""A collection is kept fresh through the whole stack, as well as the schedule alone promises."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from time import process_time
from typing import NamedTuple

import pytest

from lycosa.clock import steady_clock
from lycosa.crawl.session import Session
from lycosa.frontier.embedded import memory_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.view import open_rocks_view
from lycosa.inspect.freshness import CollectionFreshness, collection_freshness
from lycosa.observe import progress
from lycosa.observe.report_figures import gather
from lycosa.observe.report_page import render
from lycosa.observe.tally import Tally
from lycosa.policy.listing import Trust
from lycosa.wiring.crawl import ProcessParts

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


class Kept(NamedTuple):
    """How a collection was kept through the whole stack, and how it is by the schedule alone."""

    measured: float
    predicted: float
    visits: int
    cpu_seconds: float
    believed: CollectionFreshness
    report: str


async def month_of(
    space: Path, pages: int, per_day: float, days: float, step: float, *, deaths: int
) -> tuple[Kept, MovingWeb]:
    """A crawl of a moving web that dies now and then; the first third of the time does not count."""
    rates, since, clock = rates_of(pages), days / 3, SimulatedClock()
    async with MovingWeb(clock, rates, days * DAY) as web:
        month = Month(web, space, per_day)
        await month.open()
        await month.plant(["/"])
        began = process_time()
        for _ in range(deaths):
            await month.go_on(days / deaths * DAY, step)
            await month.die()
        cpu_seconds = process_time() - began
        await month.frontier.close()
        view = open_rocks_view(month.folder.frontier)
        believed = collection_freshness(view, clock.now)
        view.close()
        assert believed
        predicted = await predicted_share(rates, per_day, days, since, step)
        report = render(gather(month.folder, clock.now))
        return Kept(month.mean_share(since * DAY), predicted, web.visits, cpu_seconds, believed, report), web


async def test_a_collection_stays_as_fresh_as_predicted_however_often_the_crawl_dies(space: Path) -> None:
    kept, web = await month_of(space, pages=40, per_day=40.0, days=9.0, step=HOUR, deaths=3)
    # Of forty pages one is two and a half points.
    assert abs(kept.measured - kept.predicted) < 0.06
    assert kept.visits >= 0.98 * 40 * 9
    assert kept.believed.pages == 40 + 1
    assert abs(kept.believed.fresh - web.fresh_share()) < 0.2
    assert kept.believed.age_seconds < 3 * web.mean_age() + DAY
    assert "Freshness" in kept.report


@pytest.mark.full
async def test_a_month_of_two_thousand_pages_is_as_fresh_as_predicted(space: Path) -> None:
    kept, web = await month_of(space, pages=2_000, per_day=400.0, days=30.0, step=HOUR / 4, deaths=2)
    assert abs(kept.measured - kept.predicted) < 0.03
    assert abs(kept.believed.fresh - web.fresh_share()) < 0.04
    assert abs(kept.believed.age_seconds - web.mean_age()) < 0.2 * web.mean_age()
    assert kept.visits >= 0.99 * 400 * 30


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


@pytest.mark.parametrize("how", ["tells_changes", "has_feed"])
async def test_what_a_site_says_of_its_changes_keeps_a_collection_fresher(space: Path, how: str) -> None:
    pages, days, per_day = 40, 30.0, 8.0
    shares = []
    for tells in (False, True):
        async with MovingWeb(SimulatedClock(), [0.1 / DAY] * pages, days * DAY, **{how: tells}) as web:  # type: ignore[arg-type]
            month = await kept_fresh(space / str(tells), web, per_day, days)
            shares.append(month.mean_share(10 * DAY))
            assert web.visits >= 0.95 * per_day * days
    silent, told = shares
    assert told > silent + 0.05


async def test_a_site_that_always_says_that_all_has_changed_is_not_believed(space: Path) -> None:
    pages, days, per_day = 40, 40.0, 8.0
    shares = []
    for lies in (False, True):
        async with MovingWeb(SimulatedClock(), [0.1 / DAY] * pages, days * DAY, lies=lies) as web:
            month = await kept_fresh(space / str(lies), web, per_day, days)
            shares.append(month.mean_share(10 * DAY))
    silent, told = shares
    assert told > silent - 0.1
    view = open_rocks_view(month.folder.frontier)
    record = view.host("a.test")
    assert record
    assert Trust(*record.trust).odds(is_told=True) < 1.5
    view.close()


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


async def test_progress_tells_how_fresh_a_collection_is(
    space: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with MovingWeb(SimulatedClock(), [1.0 / DAY] * 5, 3 * DAY) as web:
        month = await kept_fresh(space, web, 20.0, 2.0)
    monkeypatch.setattr(progress, "FRESHNESS_SECONDS", 0.01)
    monkeypatch.setitem(progress._SECONDS_BETWEEN, "json", 0.01)
    session = Session(ProcessParts(), month.folder, lambda folder: month.settings)
    told = ""
    async with progress.Progress(session, Tally(steady_clock()), "json"), asyncio.timeout(60):
        while '"freshness"' not in told:
            await asyncio.sleep(0.01)
            told += capsys.readouterr().err
    line = next(json.loads(line) for line in told.splitlines() if '"freshness"' in line)
    assert line["freshness"]["pages"] == 6
    assert 0 < line["freshness"]["fresh"] <= 1
