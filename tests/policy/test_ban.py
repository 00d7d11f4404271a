"""Challenge pages are told from pages."""

from __future__ import annotations

import pytest

from lycosa.policy.ban import MAX_CHALLENGE_BYTES, challenge_in
from lycosa.policy.politeness import BAN_REFUSALS, MAX_SLOWDOWN, HostAnswer, Pace, Standing, slowed_seconds

HTML = [("content-type", "text/html")]
CAPTCHA = b"<title>Are you a robot?</title><form><div class='g-recaptcha'></div></form>"


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (403, [("cf-mitigated", "challenge")], b""),
        (200, [("cf-mitigated", "challenge")], b""),
        (503, HTML, b"<script>window._cf_chl_opt={}</script>"),
        (403, HTML, b"<iframe src='https://geo.captcha-delivery.com/captcha/'></iframe>"),
        (403, HTML, b"<div id=px-captcha></div>"),
        (405, HTML, b"<script src='https://x.awswaf.com/challenge.js'></script>"),
        (429, HTML, b"<div class=h-captcha></div>"),
        (403, HTML, CAPTCHA),
        (200, HTML, CAPTCHA),
        (200, HTML, b"<TITLE>Just a moment...</TITLE><script src=/cdn-cgi/challenge-platform/x></script>"),
    ],
)
def test_a_challenge_is_recognised(status: int, headers: list[tuple[str, str]], body: bytes) -> None:
    assert challenge_in(status, headers, body)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<title>Contact</title><form><div class='g-recaptcha'></div></form>"),
        (200, b"<title>What is a captcha?</title>" + b"<p>It is a picture." * 2000),
        (200, b"<title>Are you a robot?</title><p>A short story"),
        (200, b"<title>Captchas in history</title><p>The first captcha, with g-recaptcha after it"),
        (200, b"<title>A captcha to try</title><div class='g-recaptcha'></div><p>" + b"It works like this. " * 40),
        (200, b"<title>A captcha to try</title><div class='g-recaptcha'></div>" + b"<a href=/x>Another</a>" * 6),
        (200, b"<title>The challenge of our time</title>"),
        (403, b"<h1>Forbidden</h1>"),
        (404, CAPTCHA),
        (301, CAPTCHA),
        (403, b"x" * MAX_CHALLENGE_BYTES + CAPTCHA),
    ],
)
def test_a_page_is_none(status: int, body: bytes) -> None:
    assert challenge_in(status, HTML, body) == ""


def stand(*answers: HostAnswer, standing: Standing = Standing()) -> Standing:  # noqa: B008
    for answer in answers:
        standing = standing.after(answer)
    return standing


def test_refusals_count_once_a_host_has_given_a_page() -> None:
    refused = [HostAnswer.REFUSED] * BAN_REFUSALS
    assert stand(*refused) == Standing()
    assert stand(HostAnswer.PAGE, *refused[1:]) == Standing(0, BAN_REFUSALS - 1)
    assert stand(HostAnswer.PAGE, *refused) == Standing(1, BAN_REFUSALS, 2.0)
    assert stand(HostAnswer.PAGE, *refused[1:], HostAnswer.OTHER, *refused[1:]).failures == 0


def test_trouble_neither_breaks_nor_lengthens_a_row_of_refusals() -> None:
    standing = stand(HostAnswer.PAGE, HostAnswer.REFUSED, HostAnswer.REFUSED, HostAnswer.TROUBLE)
    assert standing == Standing(1, 2)
    assert standing.after(HostAnswer.REFUSED) == Standing(2, 3, 2.0)


def test_refusals_of_urls_that_say_nothing_of_the_host_neither_break_nor_lengthen_a_row() -> None:
    standing = stand(HostAnswer.PAGE, HostAnswer.REFUSED, HostAnswer.REFUSED)
    for _ in range(10):
        standing = standing.after(HostAnswer.REFUSED, is_evidence=False)
    assert standing == Standing(0, 2)
    assert standing.after(HostAnswer.REFUSED) == Standing(1, 3, 2.0)


def test_a_page_ends_a_ban_and_its_slowness_goes_page_by_page() -> None:
    standing = stand(HostAnswer.BAN, HostAnswer.BAN)
    assert (standing.failures, standing.slowdown) == (2, 4.0)
    standing = standing.after(HostAnswer.PAGE)
    assert standing.failures == 0
    assert 3.0 < standing.slowdown < 4.0
    assert stand(*[HostAnswer.PAGE] * 100, standing=standing).slowdown == 1.0
    assert stand(*[HostAnswer.BAN] * 100).slowdown == MAX_SLOWDOWN


def test_slowness_multiplies_the_pause_up_to_the_longest() -> None:
    pace = Pace()
    assert slowed_seconds(pace, 1.0, 1.0) == 1.0
    assert slowed_seconds(pace, 1.0, 4.0) == 4.0
    assert slowed_seconds(pace, 2.0, 64.0) == pace.max_delay_seconds
    assert slowed_seconds(pace, 300.0, 2.0) == 300.0
