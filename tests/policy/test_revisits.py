from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lycosa.policy.freshness import Belief, value, wait
from lycosa.policy.revisits import equal_share_of, is_due, longest_wait, rest

DAY = 86_400.0
BELIEFS = st.builds(Belief, st.floats(0.02, 1e4), st.floats(-3, 12).map(lambda power: 10.0**power))
MANY = st.floats(-9, 14).map(lambda power: 10.0**power)


@given(BELIEFS, MANY, MANY, MANY, st.one_of(st.just(0.0), MANY))
def test_no_page_rests_longer_than_an_equal_share(
    belief: Belief, weight: float, price: float, share: float, elapsed: float
) -> None:
    assert 0 <= rest(belief, weight, price, share, elapsed) <= share


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0.1, 100).map(lambda days: days * DAY))
def test_who_looks_whenever_a_rest_is_over_visits_when_it_is_worth_it(a: float, weight: float, share: float) -> None:
    belief, price = Belief(a, 20 * DAY), 2 * DAY
    due = wait(belief, weight, price, longest_wait(share))
    elapsed, looks = rest(belief, weight, price, share), 1
    while not is_due(value(belief, weight, elapsed), price, elapsed, share):
        pause = rest(belief, weight, price, share, elapsed)
        assert pause > 0
        elapsed, looks = elapsed + pause, looks + 1
    assert elapsed <= due * (1 + 1e-9)
    assert looks <= 4 + due / share


def test_a_page_that_rests_by_an_old_price_is_seen_soon_after_the_price_falls() -> None:
    belief, share = Belief(2.0, 30 * DAY), 10 * DAY
    high = 1000 * value(belief, 1.0, 30 * DAY)
    assert wait(belief, 1.0, high, longest_wait(share)) == longest_wait(share)
    assert rest(belief, 1.0, high, share) == share


def test_it_is_looked_at_once_before_it_is_due() -> None:
    belief, share, price = Belief(1.0, 30 * DAY), 1000 * DAY, DAY
    due = wait(belief, 1.0, price, longest_wait(share))
    first = rest(belief, 1.0, price, share)
    assert 0.5 * due < first < due
    assert first + rest(belief, 1.0, price, share, first) == due


@given(BELIEFS, MANY, MANY, st.floats(1, 1e7), st.integers(0, 10**6))
def test_no_page_is_looked_at_sooner_than_it_may_be_visited(
    belief: Belief, weight: float, price: float, shortest: float, pages: int
) -> None:
    share = equal_share_of(pages, 1.0, shortest)
    assert rest(belief, weight, price, share, shortest=shortest) >= shortest
    assert not is_due(2 * price, price, 0.99 * shortest, share, shortest)
    assert is_due(2 * price, price, shortest, share, shortest)
