"""Whether and when a failed target is tried again."""

import pytest

from lycosa.policy.retry import may_pass


@pytest.mark.parametrize("status", [0, 408, 425, 429, 500, 502, 503, 504])
def test_trouble_that_may_be_over_later(status: int) -> None:
    assert may_pass(status)


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 410, 451])
def test_an_answer_that_will_be_the_same_tomorrow(status: int) -> None:
    assert not may_pass(status)
