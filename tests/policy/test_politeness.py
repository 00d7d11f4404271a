"""How long a host is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.policy.politeness import (
    CIRCUIT_FAILURES,
    MAX_RETRY_AFTER_SECONDS,
    HostAnswer,
    Pace,
    Standing,
    backoff_seconds,
    delay_seconds,
    is_host_trouble,
)

PACE = Pace()
seconds = st.floats(0, 1e7)


@pytest.mark.parametrize(
    ("fetch", "crawl_delay", "pause"),
    [
        (0.0, 0.0, 1.0),
        (0.05, 0.0, 1.0),
        (0.5, 0.0, 5.0),
        (20.0, 0.0, 60.0),
        (0.5, 30.0, 30.0),
        (20.0, 30.0, 60.0),
        (0.0, 3600.0, 3600.0),
        (0.0, 1e9, 86_400.0),
    ],
)
def test_the_pause_is_ten_fetch_times_within_bounds_or_the_sites_wish(
    fetch: float, crawl_delay: float, pause: float
) -> None:
    assert delay_seconds(PACE, fetch, crawl_delay) == pause


@given(seconds, seconds)
def test_a_pause_is_never_shorter_than_the_minimum_or_a_reasonable_wish(fetch: float, crawl_delay: float) -> None:
    pause = delay_seconds(PACE, fetch, crawl_delay)
    assert pause >= PACE.min_delay_seconds
    assert pause >= min(crawl_delay, PACE.max_crawl_delay_seconds)


@pytest.mark.parametrize(
    ("failures", "retry_after", "pause"),
    [
        (0, 0.0, 3.0),
        (0, 100.0, 100.0),
        (1, 0.0, 6.0),
        (2, 0.0, 12.0),
        (2, 100.0, 100.0),
        (4, 0.0, 48.0),
        (5, 0.0, 1800.0),
        (12, 0.0, 3600.0),
        (1_000, 0.0, 3600.0),
        (1, 1e9, MAX_RETRY_AFTER_SECONDS),
    ],
)
def test_failures_double_the_pause_and_the_longest_reason_wins(failures: int, retry_after: float, pause: float) -> None:
    assert backoff_seconds(PACE, failures, 3.0, retry_after) == pause


@given(st.integers(0, 100), seconds, seconds)
def test_one_more_failure_never_shortens_the_pause(failures: int, delay: float, retry_after: float) -> None:
    pause = backoff_seconds(PACE, failures, delay, retry_after)
    assert backoff_seconds(PACE, failures + 1, delay, retry_after) >= pause >= delay


@given(st.integers(CIRCUIT_FAILURES, 100))
def test_an_open_circuit_rests(failures: int) -> None:
    assert backoff_seconds(PACE, failures, 0.0, 0.0) >= PACE.circuit_seconds


@pytest.mark.parametrize(
    ("status", "is_failure", "is_trouble"),
    [
        (0, True, True),
        (429, True, True),
        (500, True, True),
        (503, True, True),
        (404, True, False),
        (403, True, False),
        (200, False, False),
        (0, False, False),
        (503, False, False),
    ],
)
def test_the_host_is_in_trouble_when_it_does_not_answer_or_says_so(
    status: int, is_failure: bool, is_trouble: bool
) -> None:
    assert is_host_trouble(status, is_failure=is_failure) is is_trouble


answers = st.lists(st.tuples(st.sampled_from(HostAnswer), st.booleans()), max_size=30)


@given(answers)
def test_what_is_no_evidence_never_opens_a_circuit_nor_bans(answers: list[tuple[HostAnswer, bool]]) -> None:
    standing = Standing().after(HostAnswer.PAGE)
    for answer, is_evidence in answers:
        before, standing = standing, standing.after(answer, is_evidence=is_evidence)
        if not is_evidence:
            assert standing.failures < CIRCUIT_FAILURES or standing.failures == before.failures
            assert standing.slowdown <= before.slowdown
            assert standing.refusals <= before.refusals


@given(st.lists(st.sampled_from(HostAnswer), max_size=30))
def test_a_host_that_never_gave_a_page_needs_no_evidence(answers: list[HostAnswer]) -> None:
    one = other = Standing()
    for answer in answers:
        if answer is not HostAnswer.PAGE:
            one, other = one.after(answer, is_evidence=False), other.after(answer)
    assert one == other


def test_doubtful_trouble_slows_a_host_and_keeps_an_open_circuit_open() -> None:
    standing = Standing().after(HostAnswer.PAGE)
    for failures in (1, 2, 3, 4, 4, 4):
        standing = standing.after(HostAnswer.TROUBLE, is_evidence=False)
        assert standing.failures == failures == min(failures, CIRCUIT_FAILURES - 1)
    closed = standing.after(HostAnswer.TROUBLE)
    assert closed.failures == CIRCUIT_FAILURES
    assert closed.after(HostAnswer.TROUBLE, is_evidence=False) == closed
    assert closed.after(HostAnswer.BAN, is_evidence=False) == closed


def test_a_doubtful_refusal_shows_that_a_host_is_there_unless_it_has_banned_us() -> None:
    troubled = Standing(failures=CIRCUIT_FAILURES, refusals=0)
    assert troubled.after(HostAnswer.REFUSED, is_evidence=False) == Standing(0, 0)
    banned = Standing(failures=2, refusals=0, slowdown=4.0)
    assert banned.after(HostAnswer.REFUSED, is_evidence=False) == banned
