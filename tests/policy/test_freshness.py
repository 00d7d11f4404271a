from __future__ import annotations

from math import exp, inf, isfinite

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lycosa.policy.freshness import (
    FORGOTTEN,
    LEAST_SCALE,
    LEAST_SHAPE,
    MOST_SCALE,
    MOST_SHAPE,
    Belief,
    Foresight,
    Price,
    RatePool,
    age,
    freshness,
    learnt,
    prior_of,
    value,
    wait,
)

DAY = 86_400.0
SHAPES = st.floats(np.log(LEAST_SHAPE), np.log(MOST_SHAPE)).map(exp).map(lambda a: min(max(a, LEAST_SHAPE), MOST_SHAPE))
SCALES = st.floats(np.log(LEAST_SCALE), np.log(MOST_SCALE)).map(exp).map(lambda b: min(max(b, LEAST_SCALE), MOST_SCALE))
BELIEFS = st.builds(Belief, SHAPES, SCALES)
TIMES = st.one_of(st.just(0.0), st.floats(-12, 12).map(lambda power: 10.0**power))
ORDINARY = st.builds(Belief, st.floats(0.05, 30), st.floats(0.1 * DAY, 1000 * DAY))
WAITS = st.floats(0.01 * DAY, 1000 * DAY)


def integral(values: NDArray[np.float64], places: NDArray[np.float64]) -> float:
    return float(np.trapezoid(values, places))


def times_to(end: float) -> NDArray[np.float64]:
    return np.concatenate(([0.0], np.geomspace(end * 1e-9, end, 20_001)))


# ---- beliefs


@given(ORDINARY, WAITS)
def test_a_change_gives_the_mean_and_the_variance_of_the_exact_posterior(belief: Belief, elapsed: float) -> None:
    rates = np.geomspace(1e-9, 60.0, 20_001) * belief.rate * (1 + 30 / belief.a)
    # Over the logarithm of the rate, so that a density without bound at 0 is no trouble.
    density = np.exp(belief.a * np.log(rates) - belief.b * rates) * -np.expm1(-rates * elapsed)
    total = integral(density, np.log(rates))
    mean = integral(density * rates, np.log(rates)) / total
    variance = integral(density * (rates - mean) ** 2, np.log(rates)) / total
    after = learnt(belief, elapsed, True, prior=belief)
    kept = 1 - FORGOTTEN
    a, b = (after.a - FORGOTTEN * belief.a) / kept, (after.b - FORGOTTEN * belief.b) / kept
    assert a / b == pytest.approx(mean, rel=1e-3)
    assert a / b**2 == pytest.approx(variance, rel=1e-3)


@given(ORDINARY, WAITS)
def test_a_change_makes_a_page_faster_and_none_makes_it_slower(belief: Belief, elapsed: float) -> None:
    assert learnt(belief, elapsed, False, prior=belief).rate < belief.rate
    assert learnt(belief, elapsed, True, prior=belief).rate > belief.rate * 0.999_999


def test_the_moment_of_a_change_tells_more_than_that_there_was_one() -> None:
    belief = Belief(0.4, 10 * DAY)
    assert learnt(belief, 10 * DAY, True, belief, modified_age=60.0).rate > learnt(belief, 10 * DAY, True, belief).rate
    assert (
        learnt(belief, 10 * DAY, True, belief, modified_age=9 * DAY).rate < learnt(belief, 10 * DAY, True, belief).rate
    )
    # Of a page that is seen for the first time: it changed so long ago, and not since.
    assert learnt(belief, inf, True, belief, modified_age=DAY).rate > belief.rate
    assert learnt(belief, inf, True, belief, modified_age=100 * DAY).rate < belief.rate


def test_a_moment_before_the_last_visit_is_not_believed() -> None:
    belief = Belief(0.4, 10 * DAY)
    plain = learnt(belief, DAY, True, belief)
    assert learnt(belief, DAY, True, belief, modified_age=2 * DAY) == plain
    assert learnt(belief, DAY, True, belief, modified_age=-1.0) == plain


def test_a_page_that_changed_its_ways_is_believed_after_some_visits() -> None:
    prior = prior_of(1 / (30 * DAY))
    belief = prior
    for _ in range(200):
        belief = learnt(belief, DAY, True, prior)
    assert belief.rate > 0.5 / DAY
    for _ in range(60):
        belief = learnt(belief, DAY, False, prior)
    assert belief.rate < 0.1 / DAY


@given(BELIEFS, BELIEFS, st.one_of(TIMES, st.just(inf)), st.booleans(), st.one_of(st.none(), TIMES))
def test_no_visit_makes_a_belief_absurd(
    belief: Belief, prior: Belief, elapsed: float, changed: bool, modified_age: float | None
) -> None:
    after = learnt(belief, elapsed, changed, prior, modified_age=modified_age)
    assert LEAST_SHAPE <= after.a <= MOST_SHAPE
    assert LEAST_SCALE <= after.b <= MOST_SCALE


def test_a_prior_has_the_mean_it_was_given() -> None:
    assert prior_of(3 / DAY).rate == pytest.approx(3 / DAY)
    assert prior_of(0.0).rate < 1e-12


def test_a_host_speaks_for_its_pages_once_it_has_some() -> None:
    everywhere = 1 / (100 * DAY)
    pool = RatePool()
    assert pool.mean(everywhere) == pytest.approx(everywhere)
    for _ in range(50):
        belief = prior_of(pool.mean(everywhere))
        pool = pool.learnt(None, belief)
        for _ in range(5):
            before, belief = belief, learnt(belief, DAY, True, prior_of(pool.mean(everywhere)))
            pool = pool.learnt(before, belief)
    assert pool.pages == 50
    assert pool.mean(everywhere) > 20 * everywhere


# ---- what is expected


@given(ORDINARY, WAITS)
def test_value_and_age_are_what_integrating_gives(belief: Belief, elapsed: float) -> None:
    times = times_to(elapsed)
    fresh = (1 + times / belief.b) ** -belief.a
    assert freshness(belief, elapsed) == pytest.approx(fresh[-1], rel=1e-9)
    assert age(belief, elapsed) == pytest.approx(integral(1 - fresh, times), rel=1e-5)
    # What a visit adds: the fresh time up to now, less what there would be if it were no fresher than now.
    assert value(belief, 2.0, elapsed) == pytest.approx(2 * integral(fresh - fresh[-1], times), rel=1e-5)


@given(st.floats(0.3 / DAY, 30 / DAY), st.floats(0.1 * DAY, 10 * DAY))
def test_a_rate_that_is_certain_gives_what_is_known_of_certain_rates(rate: float, elapsed: float) -> None:
    belief = Belief(MOST_SHAPE, MOST_SHAPE / rate)
    z = rate * elapsed
    assert value(belief, 1.0, elapsed) == pytest.approx((1 - exp(-z) * (1 + z)) / rate, rel=5e-3)


@given(BELIEFS, TIMES, TIMES)
def test_more_time_makes_a_page_older_less_fresh_and_more_worth_a_visit(
    belief: Belief, one: float, other: float
) -> None:
    earlier, later = sorted((one, other))
    assert 0 <= freshness(belief, later) <= freshness(belief, earlier) <= 1
    slack = 1 + 1e-9
    assert 0 <= age(belief, earlier) <= age(belief, later) * slack
    assert age(belief, later) <= later
    assert 0 <= value(belief, 1.0, earlier) <= value(belief, 1.0, later) * slack
    assert value(belief, 1.0, later) <= later * slack


@given(BELIEFS, st.floats(1e-6, 1e6), st.floats(-12, 12).map(lambda power: 10.0**power), TIMES)
@example(Belief(LEAST_SHAPE, LEAST_SCALE), 1e6, 1e-12, 1e12)
@example(Belief(MOST_SHAPE, LEAST_SCALE), 1.0, 1e-7, 1e12)
@example(Belief(1.0, DAY), 1.0, DAY, 1e12)
@example(Belief(3.0, DAY), 1.0, 0.5 * DAY * (1 - 1e-12), 1e12)
def test_a_wait_ends_when_the_visit_is_worth_its_price(
    belief: Belief, weight: float, price: float, longest: float
) -> None:
    seconds = wait(belief, weight, price, longest)
    assert 0 <= seconds <= longest
    worth = value(belief, weight, seconds)
    if seconds < longest:
        assert worth == pytest.approx(price, rel=1e-5)
    else:
        assert worth <= price * (1 + 1e-5)


@given(BELIEFS, TIMES, TIMES)
def test_who_is_worth_nothing_waits_longest_and_who_costs_nothing_does_not_wait(
    belief: Belief, price: float, longest: float
) -> None:
    assert wait(belief, 0.0, price, longest) == longest
    if value(belief, 1.0, longest) > 0:
        assert wait(belief, 1.0, 0.0, longest) == 0


def test_more_weight_is_a_shorter_wait_and_pages_that_change_too_fast_are_not_chased() -> None:
    def seconds(rate: float, weight: float) -> float:
        return wait(Belief(50.0, 50.0 / rate), weight, DAY, 1000 * DAY)

    assert seconds(0.2 / DAY, 2.0) < seconds(0.2 / DAY, 1.0) < 1000 * DAY
    assert seconds(0.2 / DAY, 1.0) < seconds(0.01 / DAY, 1.0)
    assert seconds(10 / DAY, 1.0) == 1000 * DAY


# ---- the price


def test_the_price_follows_what_visits_are_worth() -> None:
    price = Price()
    for _ in range(2000):
        price = price.visited(10.0, 100)
    assert price.now == pytest.approx(10)
    for _ in range(100):
        price = price.visited(1.0, 100)
    assert 1 < price.now < 1.1


def test_one_visit_of_great_worth_hardly_moves_the_price() -> None:
    price = Price()
    for _ in range(1000):
        price = price.visited(1.0, 1000)
    assert price.visited(1e9, 1000).now < 1.02
    assert isfinite(price.visited(1e300, 1).now)


def test_the_first_visits_set_the_price_by_their_mean() -> None:
    price = Price()
    for worth in (1.0, 2.0, 3.0):
        price = price.visited(worth, 1_000_000)
    assert price.now == pytest.approx(2)
    assert Price(*tuple(price)) == price


# ---- foresight


def test_estimates_are_corrected_by_how_those_at_visits_came_out() -> None:
    foresight = Foresight()
    assert foresight.corrected(0.7) == pytest.approx(0.7)
    for number in range(1000):
        # Held to be fresh at 60 %, and 30 % were.
        foresight = foresight.visited(0.6, changed=number % 10 >= 3)
    assert foresight.corrected(0.6) == pytest.approx(0.3, abs=0.01)
    assert foresight.corrected(0.0) == 0
    assert foresight.corrected(1.0) == 1
    assert foresight.corrected(0.9) > foresight.corrected(0.5)


def test_what_came_out_as_foreseen_is_not_corrected() -> None:
    foresight = Foresight()
    for number in range(1000):
        foresight = foresight.visited(0.6, changed=number % 5 >= 3)
    assert foresight.corrected(0.25) == pytest.approx(0.25, abs=0.01)
