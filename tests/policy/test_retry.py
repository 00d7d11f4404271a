"""Whether and when a failed target is tried again."""

import pytest

from lycosa.policy.retry import may_pass, retry_at

PAUSES = (300.0, 3600.0, 86_400.0)


@pytest.mark.parametrize(("attempt", "due"), [(0, 1300.0), (1, 4600.0), (2, 87_400.0), (3, None), (9, None)])
def test_each_try_waits_longer_until_all_are_used_up(attempt: int, due: float | None) -> None:
    assert retry_at(PAUSES, attempt, 1000.0) == due


def test_without_pauses_nothing_is_tried_again() -> None:
    assert retry_at((), 0, 1000.0) is None


@pytest.mark.parametrize("status", [0, 408, 425, 429, 500, 502, 503, 504])
def test_trouble_that_may_be_over_later(status: int) -> None:
    assert may_pass(status)


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 410, 451])
def test_an_answer_that_will_be_the_same_tomorrow(status: int) -> None:
    assert not may_pass(status)
