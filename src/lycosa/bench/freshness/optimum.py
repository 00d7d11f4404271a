"""How fresh a collection can be for whoever knows the rates: no schedule of as many visits does better on the average.

After Azar, Horvitz, Lubetzky, Peres and Shahaf, "Tractable near-optimal policies for crawling" (PNAS 2018): each page
is visited so often that one visit more of any page would bring the same. Where hosts limit that, each has a price of
its own.
"""

from __future__ import annotations

import numpy as np

from lycosa.bench.freshness.web import ChangingWeb, Floats

_STEPS = 42


def best_rates(web: ChangingWeb, window: int) -> Floats:
    """Visits per second of each page; of some none."""
    change = web.rates[window]
    caps = np.where(web.gaps > 0, 1.0 / np.maximum(web.gaps, 1e-9), np.inf)
    visits, is_full, left = np.zeros(web.pages), np.zeros(len(caps), np.bool_), web.visits_per_second
    while True:
        free = ~is_full[web.hosts]
        visits[free] = _shared_out(left, web.weights[free], change[free])
        used = np.bincount(web.hosts, visits, minlength=len(caps))
        full = np.flatnonzero((used > caps * 1.000001) & ~is_full)
        if not len(full):
            return visits
        for host in full:
            its = web.hosts == host
            visits[its] = _shared_out(caps[host], web.weights[its], change[its])
            left -= caps[host]
        is_full[full] = True


def freshness_of(web: ChangingWeb, visits: Floats, window: int) -> float:
    """Of the collection, by weight, if each page is visited at even intervals."""
    with np.errstate(divide="ignore", invalid="ignore"):
        changes = np.where(visits > 0, web.rates[window] / visits, np.inf)
        fresh = np.where(np.isinf(changes), 0.0, -np.expm1(-changes) / changes)
    return float((web.weights * fresh).sum() / web.weights.sum())


def best_course(web: ChangingWeb) -> list[float]:
    """How fresh it can be, window by window."""
    course: list[float] = []
    for window in range(web.windows):
        is_same = window > 0 and (web.rates[window] == web.rates[window - 1]).all()
        course.append(course[-1] if is_same else freshness_of(web, best_rates(web, window), window))
    return course


def _shared_out(budget: float, weights: Floats, change: Floats) -> Floats:
    """So many visits per second, at the one price that makes them as many."""
    low, high = 1e-6 * float((weights / change).min()), float((weights / change).max())
    for _ in range(_STEPS):
        price = np.sqrt(low * high)
        if _at_price(price, weights, change).sum() > budget:
            low = price
        else:
            high = price
    return _at_price(high, weights, change)


def _at_price(price: float, weights: Floats, change: Floats) -> Floats:
    """Visits per second, where one more of any page brings the price; none of those that never bring it."""
    visits = np.zeros(len(weights))
    worth = price * change / weights
    can = worth < 1
    low, high = np.full(int(can.sum()), 1e-12), np.full(int(can.sum()), 700.0)
    for _ in range(_STEPS):
        changes = np.sqrt(low * high)
        is_less = -np.expm1(-changes) - changes * np.exp(-changes) < worth[can]
        low, high = np.where(is_less, changes, low), np.where(is_less, high, changes)
    visits[can] = change[can] / low
    return visits
