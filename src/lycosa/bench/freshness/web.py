"""Made-up webs that change: pages with weights and true rates of change, on hosts that may be asked so often.

Rates are log-normal, around a middle that each host has of its own; weights are Pareto, as PageRank is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
DAY = 86_400.0
_BIG_HOSTS = 8
_PAGES_PER_HOST = 50
_WINDOW_DAYS = 10
_LEAST_PAGES = 100


class Scenario(NamedTuple):
    """What a web is like, and what may be spent on it."""

    name: str
    days_per_visit: float = 10.0  # of each page, if all were visited equally often
    days: int = 240
    usual_days: float = 25.0  # between two changes of a page in the middle
    host_spread: float = 1.0  # of the logarithm of rates
    page_spread: float = 1.8
    tail: float | None = 1.1  # of the weights; None: all are equal
    is_capped: bool = False  # the big hosts may be asked half as often as an equal share would
    drifting: float = 0.0  # the share of pages that take another rate every 30 days


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("base"),
        Scenario("tight budget", days_per_visit=40.0),
        Scenario("flat weights", tail=None),
        Scenario("big hosts capped", is_capped=True),
        Scenario("all fast", usual_days=1.0),
        Scenario("drifting rates", drifting=0.15),
    )
}


@dataclass(frozen=True)
class ChangingWeb:
    """Times in seconds from the first budgeted visit on; rates per second, one row for each window of ten days."""

    scenario: Scenario
    weights: Floats  # their mean is 1
    rates: Floats  # by window and page
    passed: Floats  # changes expected by the begin of each window
    hosts: NDArray[np.int64]
    gaps: Floats  # from visit to visit of a host, at least
    first: Floats  # when each page was fetched first: in the equal share before the beginning

    @property
    def pages(self) -> int:
        return len(self.weights)

    @property
    def equal_share(self) -> float:
        return self.scenario.days_per_visit * DAY

    @property
    def seconds(self) -> float:
        return self.scenario.days * DAY

    @property
    def windows(self) -> int:
        return len(self.rates)

    @property
    def window_seconds(self) -> float:
        return self.seconds / self.windows

    @property
    def visits_per_second(self) -> float:
        return self.pages / self.equal_share


def changing_web(scenario: Scenario, pages: int, seed: int) -> ChangingWeb:
    """The same for the same seed."""
    assert pages >= _LEAST_PAGES
    chance = np.random.default_rng(seed)
    count = max(pages // _PAGES_PER_HOST, 2 * _BIG_HOSTS)
    popularity = np.arange(1, count + 1) ** -0.9
    hosts = chance.choice(count, pages, p=popularity / popularity.sum())
    middles = np.exp(chance.normal(0, scenario.host_spread, count)) / (scenario.usual_days * DAY)
    windows = max(scenario.days // _WINDOW_DAYS, 1)
    rates = np.empty((windows, pages))
    rates[0] = middles[hosts] * np.exp(chance.normal(0, scenario.page_spread, pages))
    for window in range(1, windows):
        others = middles[hosts] * np.exp(chance.normal(0, scenario.page_spread, pages))
        drifts = (chance.random(pages) < scenario.drifting) & (window % 3 == 0)
        rates[window] = np.where(drifts, others, rates[window - 1])
    weights = np.ones(pages) if scenario.tail is None else chance.pareto(scenario.tail, pages) + 1
    passed = np.zeros((windows, pages))
    passed[1:] = np.cumsum(rates[:-1], axis=0) * (scenario.days * DAY / windows)
    gaps = np.zeros(count)
    if scenario.is_capped:
        sizes = np.bincount(hosts, minlength=count)
        big = np.argsort(-sizes)[:_BIG_HOSTS]
        gaps[big] = 2.0 * scenario.days_per_visit * DAY / sizes[big]
    first = -chance.random(pages) * scenario.days_per_visit * DAY
    return ChangingWeb(scenario, weights / weights.mean(), rates, passed, hosts, gaps, first)
