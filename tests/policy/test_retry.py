"""Whether and when a failed target is tried again."""

import pytest

from lycosa.policy.retry import MAX_RETRY_AFTER_SECONDS, may_pass, retry_after_seconds


@pytest.mark.parametrize("status", [0, 408, 425, 429, 500, 502, 503, 504])
def test_trouble_that_may_be_over_later(status: int) -> None:
    assert may_pass(status)


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 410, 451])
def test_an_answer_that_will_be_the_same_tomorrow(status: int) -> None:
    assert not may_pass(status)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 12.5 ", 12.5),
        ("3.", 3.0),
        ("9" * 400, MAX_RETRY_AFTER_SECONDS),
        ("Thu, 01 Jan 1970 00:20:00 GMT", 200.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        *((text, 0.0) for text in ("", "soon", "-5", "1e9", "²", ".5.", "12,5")),
    ],
)
def test_how_long_a_server_asks_us_to_wait(value: str, seconds: float) -> None:
    assert retry_after_seconds(value, now=1000.0) == seconds
