"""Policies that visit pages at intervals: of others, and of one who knows the rates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from lycosa.bench.freshness.optimum import best_rates
from lycosa.bench.freshness.queues import HostQueues
from lycosa.bench.freshness.web import DAY, ChangingWeb, Floats


class RevisitPolicy(Protocol):
    """Which page is visited next, whenever the budget has a visit to spend."""

    def take(self, now: float) -> int | None:
        """The page to visit now; None if no host may be asked."""

    def visited(self, page: int, now: float, *, changed: bool) -> None:
        """It was visited; whether it had changed since the visit before."""


class _AtIntervals:
    """The page that is due, or will be, first. Intervals may follow from what the visits find."""

    def __init__(self, web: ChangingWeb, intervals: Floats, after: Callable[[float, bool], float] | None) -> None:
        self._after = after
        self._web_hosts: list[int] = web.hosts.tolist()
        self._queues = HostQueues(web)
        self._set(intervals)
        # At random moments of their interval, so that they are spread evenly.
        begins = np.random.default_rng(1).random(web.pages) * np.minimum(intervals, 1e12)
        by_host: dict[int, list[tuple[float, int]]] = {}
        for page, (begin, interval) in enumerate(zip(begins.tolist(), self._intervals, strict=True)):
            if interval < np.inf:
                by_host.setdefault(self._web_hosts[page], []).append((begin, page))
        for host, pages in by_host.items():
            self._queues.fill(host, pages)

    def _set(self, intervals: Floats) -> None:
        self._intervals: list[float] = intervals.tolist()

    def take(self, now: float) -> int | None:
        found = self._queues.next_host(now)
        return self._queues.pop(found[1]) if found else None

    def visited(self, page: int, now: float, *, changed: bool) -> None:
        if self._after:
            self._intervals[page] = self._after(self._intervals[page], changed)
        host = self._web_hosts[page]
        if self._intervals[page] < np.inf:
            self._queues.put(host, now + self._intervals[page], page)
        self._queues.visited(host, now)


class _Known(_AtIntervals):
    """Knows the rates, also when they drift: pages that come in then have their turn with the rest."""

    def __init__(self, web: ChangingWeb, rates_of: Callable[[ChangingWeb, int], Floats]) -> None:
        self._web, self._rates_of, self._window = web, rates_of, 0
        super().__init__(web, _intervals(rates_of(web, 0)), None)

    def take(self, now: float) -> int | None:
        window = min(int(now / self._web.window_seconds), self._web.windows - 1)
        if window != self._window and (self._web.rates[window] != self._web.rates[self._window]).any():
            before = np.array(self._intervals)
            self._set(_intervals(self._rates_of(self._web, window)))
            came = np.flatnonzero(np.isinf(before) & np.isfinite(self._intervals))
            for page in came.tolist():
                self._queues.put(self._web_hosts[page], now, page)
                self._queues.stand(self._web_hosts[page])
        self._window = window
        return super().take(now)


def _intervals(rates: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.where(rates > 0, 1.0 / rates, np.inf)


def uniform(web: ChangingWeb) -> RevisitPolicy:
    """Each page equally often."""
    return _AtIntervals(web, np.full(web.pages, web.equal_share), None)


def proportional(web: ChangingWeb) -> RevisitPolicy:
    """As often as a page changes, which is known."""
    return _Known(web, lambda web, window: web.visits_per_second * web.rates[window] / web.rates[window].sum())


def optimum(web: ChangingWeb) -> RevisitPolicy:
    """The best rates, at even intervals."""
    return _Known(web, best_rates)


def nutch(web: ChangingWeb) -> RevisitPolicy:
    """AdaptiveFetchSchedule with the rates it comes with: 20 % sooner after a change, else 40 % later."""
    return _AtIntervals(
        web,
        np.full(web.pages, web.equal_share),
        lambda interval, changed: min(max(interval * (0.8 if changed else 1.4), 60.0), 365 * DAY),
    )


def stormcrawler(web: ChangingWeb) -> RevisitPolicy:
    """AdaptiveScheduler with the rates it comes with: half the interval after a change, else half as much again."""
    return _AtIntervals(
        web,
        np.full(web.pages, web.equal_share),
        lambda interval, changed: min(max(interval * (0.5 if changed else 1.5), 3600.0), 365 * DAY),
    )
