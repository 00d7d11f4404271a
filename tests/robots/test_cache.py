"""What a robots.txt that could not be read means: how long it is tried, and what is said of the pages behind it."""

from __future__ import annotations

import pytest

from lycosa.crawl.dispatcher import LocalDispatcher
from lycosa.errors import AddressRefused, NoSuchName, Unreachable, VisitError
from lycosa.model import NO_REASON, Failure, Kind, Lease, Note, Reason, Refusal, Response, RobotsNews, Target
from lycosa.outcome import Refused
from lycosa.robots.cache import REDIRECT_WAIT_SECONDS, RobotsCache
from lycosa.robots.verdict import FIRST_RETRY_SECONDS, NAME_RETRY_SECONDS
from lycosa.settings import Settings

ORIGIN = "http://a.test"
TRIES = len(Settings().retry_after_seconds)
NO_NAME = NoSuchName(Failure.DNS, "Domain name not found", sent=False)
REFUSED = Unreachable(Failure.CONNECT, "Failed to connect to a.test:80 after 0 ms: Connection refused", sent=False)


class Records(LocalDispatcher):
    """A frontier's memory of robots records, and nothing else of it."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}

    async def robots(self, origin: str) -> bytes:
        return self.records.get(origin, b"")


class Origin:
    """What becomes of one origin, try after try."""

    def __init__(self, tries: int = TRIES) -> None:
        self._records = Records()
        self._book = RobotsCache(self._records, "lycosa", 86_400.0, tries)
        self.now = 1000.0

    async def fails(self, error: VisitError, *, address: str = "", redirects: int = 0) -> RobotsNews:
        host = "b.test" if redirects else "a.test"
        url = f"http://{host}/robots.txt"
        target = Target(url, host, b"", kind=Kind.ROBOTS, origin=ORIGIN, redirects=redirects)
        lease = Lease(1, target, 0.0, address=address)
        return self._noted(self._book.unanswered(lease, error, await self._book.previous(ORIGIN), self.now))

    async def answers(self, status: int, body: bytes = b"") -> RobotsNews:
        response = Response(f"{ORIGIN}/robots.txt", status, [], body, body, b"", b"", "192.0.2.1", "http/1.1", 0.0, 0.1)
        news, _ = self._book.answered(ORIGIN, response, await self._book.previous(ORIGIN), self.now)
        return self._noted(news)

    def _noted(self, news: RobotsNews) -> RobotsNews:
        self._records.records[ORIGIN] = news.record
        self.now = news.expires_at
        return news

    async def refusal(self) -> Refused | None:
        """Why a page of this origin may not be fetched now."""
        return await self._book.refusal(Lease(2, Target(f"{ORIGIN}/x", "a.test", b"x"), 0.0))


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (NO_NAME, "name"),
        (REFUSED, "connect: Connection refused"),
        (Unreachable(Failure.TLS, "verify result: self-signed certificate (18)"), "tls: self-signed certificate"),
        (Unreachable(Failure.TIMEOUT, "Connection timed out after 10001 milliseconds"), "timeout"),
        (Unreachable(Failure.DNS, "DNS server returned general failure"), "dns: DNS server returned general failure"),
        (Unreachable(Failure.RESET), "reset"),
        (Unreachable(Failure.PROTOCOL, "odd \x1b[31m \ud800 \u202e"), "protocol: odd ?[31m ? ?"),
    ],
)
async def test_the_news_tells_why_it_could_not_be_read(error: VisitError, trouble: str) -> None:
    news = await Origin().fails(error)
    assert (str(news.trouble), news.is_pending) == (trouble, True)


async def test_what_a_library_says_may_be_long_and_its_trouble_is_not() -> None:
    assert len((await Origin().fails(Unreachable(Failure.RESET, "x" * 10_000))).trouble.detail) <= 100


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_status_that_is_trouble_is_named(status: int) -> None:
    news = await Origin().answers(status)
    assert (news.trouble, news.is_pending) == (Reason(Failure.STATUS, str(status)), True)


@pytest.mark.parametrize("status", [200, 404])
async def test_an_answer_leaves_no_trouble(status: int) -> None:
    origin = Origin()
    await origin.fails(REFUSED)
    news = await origin.answers(status)
    assert (news.trouble, news.is_pending) == (NO_REASON, False)
    assert await origin.refusal() is None


async def test_after_the_last_try_the_refusal_says_why() -> None:
    origin = Origin()
    pending = [(await origin.fails(REFUSED)).is_pending for _ in range(TRIES + 1)]
    assert pending == [True] * TRIES + [False]
    assert await origin.refusal() == Refused(Refusal.ROBOTS_UNREACHABLE, "connect: Connection refused")


async def test_a_name_that_never_led_anywhere_is_given_up_within_a_run() -> None:
    origin, began_at = Origin(), 1000.0
    for _ in NAME_RETRY_SECONDS:
        assert (await origin.fails(NO_NAME)).is_pending
    assert origin.now - began_at == sum(NAME_RETRY_SECONDS)
    assert not (await origin.fails(NO_NAME)).is_pending
    assert await origin.refusal() == Refused(Refusal.NAME)


async def test_whoever_wants_no_retries_has_none_of_a_name() -> None:
    origin = Origin(tries=0)
    assert not (await origin.fails(NO_NAME)).is_pending
    assert await origin.refusal() == Refused(Refusal.NAME)


async def test_a_host_that_was_found_before_has_the_time_that_any_has() -> None:
    origin = Origin()
    await origin.answers(404)
    for number in range(TRIES):
        before = origin.now
        assert (await origin.fails(NO_NAME, address="192.0.2.1")).is_pending
        assert origin.now - before == FIRST_RETRY_SECONDS * 2**number
    assert not (await origin.fails(NO_NAME, address="192.0.2.1")).is_pending
    assert await origin.refusal() == Refused(Refusal.NAME)


async def test_servers_that_do_not_answer_say_nothing_of_a_name() -> None:
    origin, before = Origin(), 1000.0
    await origin.fails(Unreachable(Failure.DNS, "Timeout while contacting DNS servers", sent=False))
    assert origin.now - before == FIRST_RETRY_SECONDS


async def test_a_redirect_to_a_name_that_is_not_there_blames_that_name() -> None:
    origin, before = Origin(tries=1), 1000.0
    news = await origin.fails(NO_NAME, redirects=1)
    assert (news.trouble, origin.now - before) == (Reason(Failure.DNS, "b.test"), FIRST_RETRY_SECONDS)
    await origin.fails(NO_NAME, redirects=1)
    assert await origin.refusal() == Refused(Refusal.ROBOTS_UNREACHABLE, "dns: b.test")


async def test_while_an_answer_is_awaited_from_elsewhere_that_is_said() -> None:
    news = RobotsCache.redirected(ORIGIN, "b.test", 5.0)
    assert (news.trouble, news.is_pending) == (Reason(Note.ROBOTS_REDIRECTED, "b.test"), True)
    assert news.expires_at == 5.0 + REDIRECT_WAIT_SECONDS


async def test_a_closed_address_is_no_trouble_that_may_pass() -> None:
    origin = Origin()
    news = await origin.fails(AddressRefused(Failure.ADDRESS, "10.0.0.1", sent=False))
    assert (news.trouble, news.is_pending) == (NO_REASON, False)
    assert await origin.refusal() == Refused(Refusal.ADDRESS)


async def test_rules_that_forbid_are_no_trouble() -> None:
    origin = Origin()
    assert (await origin.answers(200, b"User-agent: *\nDisallow: /x")).trouble == NO_REASON
    assert await origin.refusal() == Refused(Refusal.ROBOTS)
