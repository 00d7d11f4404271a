from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lycosa.site.repetition import MAX_PENALTY, Repetition, penalised


def after(visits: int, every: int = 1, start: Repetition = Repetition()) -> Repetition:  # noqa: B008 - a frozen value
    counters = start
    for visit in range(visits):
        counters = counters.after(is_repeat=every > 0 and visit % every == 0)
    return counters


def test_nothing_is_held_against_a_new_host() -> None:
    assert Repetition().penalty == 0
    assert after(3).penalty == 0


def test_a_host_that_only_repeats_loses_more_and_more() -> None:
    penalties = [after(visits).penalty for visits in range(200)]
    assert penalties == sorted(penalties)
    assert penalties[-1] == MAX_PENALTY


def test_a_host_that_repeats_now_and_then_loses_nothing() -> None:
    assert after(500, every=4).penalty == 0


def test_a_host_that_has_something_new_recovers() -> None:
    trap = after(1000)
    assert after(400, every=0, start=trap).penalty == 0


def test_the_template_speaks_for_itself_once_it_is_known() -> None:
    trap, fine = after(100), after(100, every=0)
    assert penalised(5, trap, fine) == 5
    assert penalised(8, fine, trap) == 8 - trap.penalty
    assert penalised(5, trap, Repetition(2, 2)) == 5 - trap.penalty
    assert penalised(2, trap, trap) == 1


@given(st.lists(st.booleans(), max_size=600))
def test_counters_stay_small_and_in_order(visits: list[bool]) -> None:
    counters = Repetition()
    for is_repeat in visits:
        counters = counters.after(is_repeat=is_repeat)
        assert 0 <= counters.repeats <= counters.visits < 200
        assert 0 <= counters.penalty <= MAX_PENALTY
