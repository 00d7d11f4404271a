from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.policy.freshness import Belief, age, freshness, value, wait
from lycosa.policy.listing import (
    LEAST_LIST_SECONDS,
    MOST_ODDS,
    Trust,
    is_signal,
    list_interval,
    paces,
    weights,
)

DAY = 86_400.0
SHAPES, SCALES = st.floats(0.05, 20), st.floats(0.1 * DAY, 1000 * DAY)
BELIEFS = st.builds(Belief, SHAPES, SCALES)
ODDS = st.floats(1 / MOST_ODDS, MOST_ODDS)
TIMES = st.floats(0.01 * DAY, 1000 * DAY)


# ---- what is said beside what is said of others


def test_a_list_only_sets_its_own_urls_in_order() -> None:
    assert paces(["hourly"] * 3) == [1.0] * 3
    assert weights([0.9] * 3, 0.5) == [1.0] * 3
    often, seldom, silent = paces(["hourly", "yearly", None])
    assert often > 1 > seldom
    assert silent == 1.0
    much, little = weights([1.0, 0.1], 0.5)
    assert 1 < much <= 1.5
    assert 0.5 <= little < 1


def test_a_list_without_a_word_says_nothing() -> None:
    assert paces([None, None]) == [1.0, 1.0]
    assert weights([None, None], 0.5) == [1.0, 1.0]
    assert paces([]) == weights([], 0.5) == []


# ---- signals


def test_what_is_said_anew_is_a_signal_and_what_a_visit_has_seen_is_none() -> None:
    visited = 1_700_000_000.0
    assert is_signal(visited + 5, visited - 100, visited)
    assert not is_signal(visited + 5, visited + 5, visited), "that was said before"
    assert not is_signal(visited - 5, visited - 100, visited), "the visit came later"
    assert not is_signal(0, visited, visited)


def test_a_date_may_be_any_moment_of_its_day() -> None:
    day = 19_700 * DAY
    assert is_signal(day, day - DAY, day + 3600)
    assert not is_signal(day, day, day + 3600)
    assert not is_signal(day, day - DAY, day + 2 * DAY)


def trust_after(visits: list[tuple[bool, bool]]) -> Trust:
    trust = Trust()
    for is_told, changed in visits:
        trust = trust.visited(is_told=is_told, changed=changed)
    return trust


def test_a_host_that_is_right_is_believed_and_one_that_is_not_is_not() -> None:
    honest = trust_after([(True, True), (False, False)] * 50)
    liar = trust_after([(True, True), (True, False), (True, False)] * 50)
    silent = trust_after([(False, True), (False, False)] * 50)
    assert honest.odds(is_told=True) > 15
    assert honest.odds(is_told=False) < 1 / 15
    # Who says it of every page at every time says nothing.
    assert liar.odds(is_told=True) == pytest.approx(1, abs=0.1)
    assert silent.odds(is_told=False) == pytest.approx(1, abs=0.1)


def test_a_host_that_changes_its_ways_is_believed_by_the_new_ones() -> None:
    trust = trust_after([(True, True), (False, False)] * 200 + [(True, False)] * 100 + [(False, True)] * 100)
    assert trust.odds(is_told=True) < 1


# ---- what that is worth


@given(BELIEFS, TIMES, ODDS)
def test_a_signal_makes_a_change_likelier_and_silence_less_likely(belief: Belief, elapsed: float, odds: float) -> None:
    plain, told = freshness(belief, elapsed), freshness(belief, elapsed, odds)
    assert 0 <= told <= 1
    assert (told <= plain * 1.000_001) if odds > 1 else (told >= plain * 0.999_999)
    assert age(belief, elapsed, odds) <= elapsed * 1.000_001


@given(BELIEFS, TIMES, ODDS)
def test_a_visit_is_worth_more_after_a_signal_and_more_the_longer_ago_the_last_one_was(
    belief: Belief, elapsed: float, odds: float
) -> None:
    plain, told = value(belief, 2.0, elapsed), value(belief, 2.0, elapsed, odds)
    assert (told >= plain * 0.999_999) if odds > 1 else (told <= plain * 1.000_001)
    assert value(belief, 2.0, 1.1 * elapsed, odds) >= told * 0.999_999


def test_a_page_that_certainly_changed_is_worth_the_time_until_its_next_change() -> None:
    # Of an almost known rate.
    belief = Belief(2000.0, 2000.0 * 10 * DAY)
    assert value(belief, 1.0, DAY, 1e9) == pytest.approx(10 * DAY, rel=0.01)


@given(BELIEFS, st.floats(0.001, 10), ODDS)
def test_a_page_waits_until_its_visit_is_worth_the_price(belief: Belief, days: float, odds: float) -> None:
    longest = 500 * DAY
    waited = wait(belief, 1.0, days * DAY, longest, odds)
    assert 0 < waited <= longest
    if waited < longest:
        assert value(belief, 1.0, waited + longest / 8000, odds) >= days * DAY * 0.999
        assert value(belief, 1.0, max(waited - longest / 8000, 0.0), odds) <= days * DAY * 1.001


# ---- the lists themselves


def test_a_list_takes_a_twentieth_of_the_visits_of_what_it_lists() -> None:
    share = 100 * DAY
    assert list_interval(200, share) == 10 * DAY
    assert list_interval(1, share) == share
    assert list_interval(0, share) == share
    assert list_interval(20_000, share) == pytest.approx(8640)
    assert list_interval(10**9, share) == LEAST_LIST_SECONDS
    assert list_interval(50_000, share, shortest=2 * DAY) == 2 * DAY
    assert list_interval(3, inf) == inf
