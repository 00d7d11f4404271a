"""When to come back to a page: what we believe of its changes, what a visit would be worth, and at which price we go.

Pure: beliefs and moments go in, numbers come out. It knows neither clocks nor queues nor where a belief is kept. All
durations are in seconds, rates in changes per second, values in weight times seconds: what a visit adds to the time for
which our copy is the page as it is.

A page changes by chance, at a rate that nobody knows. The belief of it is a Gamma distribution: a visit makes it
narrower. It explores by itself: a page that may be slow is worth a visit some day, however fast it looked once.
"""

from __future__ import annotations

from math import exp, expm1, inf, log, log1p, sqrt
from typing import NamedTuple

# Of a new page: how far the rates of a host's pages lie apart. Far: most hardly change, some change all the time.
SHAPE = 0.4
# At each visit a belief goes so far back to the prior: pages change their ways.
FORGOTTEN = 0.05
# A belief is kept within these: beyond them nothing would be decided otherwise, and powers overflow.
LEAST_SHAPE, MOST_SHAPE = 0.02, 1e4
LEAST_SCALE, MOST_SCALE = 1e-3, 1e12
# The price moves so that the last visits of a fifth of the pages count most; one visit moves it by this at most.
PRICE_MEMORY, MOST_PRICES = 5.0, 4.0
# At the price of a host that is asked as often as it may be, the visits of the host itself count.
HOST_MEMORY = 0.02
# Visits by which estimates of freshness are corrected: the last thousand.
FORESIGHT_MEMORY = 0.999
# What is known elsewhere counts as much as so many pages of a host.
POOL_WEIGHT = 5.0
# Terms of a series that stand for a difference of two numbers that are almost equal.
_SMALL = 1e-3
_NEARLY = 1e-6
_MAX_STEPS = 60
_HALVES = 14


class Belief(NamedTuple):
    """What is believed of a page's rate: Gamma with shape `a`, and `b` in seconds."""

    a: float
    b: float

    @property
    def rate(self) -> float:
        """Expected changes per second."""
        return self.a / self.b


def prior_of(rate: float, shape: float = SHAPE) -> Belief:
    """What is believed of a page of which nothing is known but the mean rate of its like."""
    return _bounded(shape, shape / rate if rate > 0.0 else MOST_SCALE)


def learnt(
    belief: Belief, elapsed: float, changed: bool, prior: Belief, *, modified_age: float | None = None
) -> Belief:
    """What is believed after a visit, `elapsed` seconds after the one before.

    `modified_age` is how long ago the last change was, where that is known and trusted.
    """
    a, b = belief
    if not changed:
        b += elapsed
    elif modified_age is not None and 0.0 <= modified_age < elapsed:
        a, b = a + 1.0, b + modified_age
    else:
        a, b = _after_change(a, b, elapsed)
    kept = 1.0 - FORGOTTEN
    return _bounded(kept * a + FORGOTTEN * prior.a, kept * b + FORGOTTEN * prior.b)


def _after_change(a: float, b: float, elapsed: float) -> tuple[float, float]:
    """The Gamma with the mean and the variance of a rate that brought one change at least."""
    x = log1p(elapsed / b)
    if a * x < 1e-9:  # the change came at once
        return a + 1.0, b
    none = expm1(-a * x)
    mean = a / b * (expm1(-(a + 1.0) * x) / none)
    variance = a * (a + 1.0) / (b * b) * (expm1(-(a + 2.0) * x) / none) - mean * mean
    return mean * mean / variance, mean / variance


def _bounded(a: float, b: float) -> Belief:
    return Belief(min(max(a, LEAST_SHAPE), MOST_SHAPE), min(max(b, LEAST_SCALE), MOST_SCALE))


# ---- what is expected of a page


def freshness(belief: Belief, elapsed: float, odds: float = 1.0) -> float:
    """The chance that the page has not changed since a visit so long ago.

    `odds`: how much higher the odds of a change are by what its site says of it; 1 if that says nothing.
    """
    same = exp(-belief.a * log1p(elapsed / belief.b))
    return same if odds == 1.0 else same / (same + odds * (1.0 - same))


def age(belief: Belief, elapsed: float, odds: float = 1.0) -> float:
    """For how long, as expected, our copy has not been the page as it is; 0 where it still is."""
    if odds != 1.0:
        changed = -expm1(-belief.a * log1p(elapsed / belief.b))
        return age(belief, elapsed) * odds / (1.0 + (odds - 1.0) * changed)
    a, b = belief
    u = elapsed / b
    if (a + 1.0) * u < _SMALL:
        return b * a * u * u * (0.5 - (a + 1.0) * u / 6.0 * (1.0 - (a + 2.0) * u / 4.0))
    return max(0.0, elapsed - b * _fresh_time(a, log1p(u)))


def value(belief: Belief, weight: float, elapsed: float, odds: float = 1.0) -> float:
    """What a visit is worth so long after the last: it only grows with time, and not beyond what a page can bring.

    With `odds` (see `freshness`) it lies between what it would be worth anyway, what it would be if the page were known
    to have changed (the time from change to change that is expected of a page that did), and nothing.
    """
    a, b = belief
    u = elapsed / b
    plain = weight * b * _worth(a, u)
    if odds == 1.0:
        return plain
    x = log1p(u)
    changed = -expm1(-a * x)
    whole = 1.0 + (odds - 1.0) * changed
    if odds < 1.0:
        return plain * odds / whole
    return (plain + (odds - 1.0) * weight * b * _fresh_time(a, x)) / whole


def wait(belief: Belief, weight: float, price: float, longest: float, odds: float = 1.0) -> float:
    """How long after a visit the next one is worth the price, within a millionth; `longest`, if it is not by then.

    With `odds` within a ten thousandth of `longest`.
    """
    if value(belief, weight, longest, odds) <= price:
        return longest
    if odds != 1.0:
        return _wait_by_halves(belief, weight, price, longest, odds)
    a, b = belief
    return min(b * _time_of_worth(a, price / (weight * b)), longest)


def _wait_by_halves(belief: Belief, weight: float, price: float, longest: float, odds: float) -> float:
    low, high = 0.0, longest
    for _ in range(_HALVES):
        middle = (low + high) / 2.0
        if value(belief, weight, middle, odds) < price:
            low = middle
        else:
            high = middle
    return high


def _fresh_time(a: float, x: float) -> float:
    """For how much of the time up to e^x - 1 a copy is fresh, both in units of the belief's scale."""
    d = (a - 1.0) * x
    return -expm1(-d) / d * x if abs(d) > 1e-12 else x


def _worth(a: float, u: float) -> float:
    """The value of a visit with weight and scale 1: the time won by it at the margin."""
    if (a + 1.0) * u < _SMALL:
        return a * u * u * (0.5 - (a + 1.0) * u / 3.0 * (1.0 - 0.375 * (a + 2.0) * u))
    x = log1p(u)
    return _fresh_time(a, x) - u * exp(-a * x)


def _time_of_worth(a: float, worth: float) -> float:
    """The inverse of `_worth`, which must reach it.

    Newton's method on logarithms. There the function is concave, being the integral of a log-concave one, and it lies
    below where it begins, a u²/2: each step comes nearer from below.
    """
    u = sqrt(2.0 * worth / a)
    for _ in range(_MAX_STEPS):
        here = _worth(a, u)
        missing = log(worth / here) if here > 0.0 else 0.0
        if missing < _NEARLY:
            break
        slope = a * u * u * exp(-(a + 1.0) * log1p(u)) / here
        u *= exp(min(missing / slope, 50.0)) if slope > 1e-12 else inf
    return u


# ---- the price


class Price(NamedTuple):
    """The price of a visit: what the last ones were worth. Pages wait until their visit is worth it.

    No visit is lost to a price that is too high or too low: whoever has room takes the next page early, at less than
    the price, which then falls; while more are due than there is room for, they wait and are worth more, and it rises.
    """

    now: float = 0.0
    visits: float = 0.0

    def visited(self, value: float, pages: int) -> Price:
        """The price after one more visit, where `pages` share the budget."""
        share = max(min(PRICE_MEMORY / max(pages, 1), 1.0), 1.0 / (self.visits + 1.0))
        return self._moved(value, share)

    def visited_in_host(self, value: float) -> Price:
        """The price of one host whose pauses, not the budget, keep us from more; after one more visit of it."""
        return self._moved(value, max(HOST_MEMORY, 1.0 / (self.visits + 1.0)))

    def _moved(self, value: float, share: float) -> Price:
        most = MOST_PRICES * self.now if self.visits else value
        return Price(self.now + share * (min(value, most) - self.now), self.visits + 1.0)


class Foresight(NamedTuple):
    """Of the last visits: how many there were, how many pages were as we had them, and how many were held to be."""

    visits: float = 0.0
    fresh: float = 0.0
    foreseen: float = 0.0

    def visited(self, foreseen: float, *, changed: bool) -> Foresight:
        """After one more visit, before which the page was held to be fresh with this chance."""
        visits, fresh, before = (FORESIGHT_MEMORY * each for each in self)
        return Foresight(visits + 1.0, fresh + (not changed), before + foreseen)

    def corrected(self, chance: float) -> float:
        """A chance that a page is fresh, corrected by how those at visits came out.

        Beliefs are too hopeful of pages that change all the time: all that few visits show is that they did each time.
        """
        # As if a few visits had been as foreseen.
        fresh, foreseen = self.fresh + 5.0, self.foreseen + 5.0
        changed, changed_foreseen = self.visits - self.fresh + 5.0, self.visits - self.foreseen + 5.0
        good, bad = chance * fresh / foreseen, (1.0 - chance) * changed / changed_foreseen
        return good / (good + bad)


class RatePool(NamedTuple):
    """The mean rate of the pages of a host, as believed; of all pages, where a host has few."""

    rates: float = 0.0  # added up
    pages: float = 0.0

    def learnt(self, before: Belief | None, after: Belief) -> RatePool:
        """One of its pages was visited; for the first time if nothing was believed of it before."""
        if before is None:
            return RatePool(self.rates + after.rate, self.pages + 1.0)
        return RatePool(max(0.0, self.rates + after.rate - before.rate), self.pages)

    def mean(self, elsewhere: float) -> float:
        """Changes per second; `elsewhere` is what it would be by the pages of other hosts."""
        return (self.rates + POOL_WEIGHT * elsewhere) / (self.pages + POOL_WEIGHT)
