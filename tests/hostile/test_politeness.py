"""Politeness seen from the server's side: pauses, back-off, wishes and refusals, with hosts that make it hard."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from lycosa.simweb import HandWeb, ServedExchange, make_reply
from lycosa.simweb.hostile import BEHAVIOURS
from lycosa.simweb.hostile.refusals import ban_after
from lycosa.simweb.hostile.traps import html

from .conftest import SHORT, HandCrawl

DELAY = 0.05


def put_site(web: HandWeb, host: str, pages: int = 6) -> str:
    """A host with robots.txt, sitemap, redirects and pages, all of which are requests."""
    web.robots(host, "Sitemap: /sitemap.xml")
    entries = "".join(f"<url><loc>{web.url(host, f'/{number}')}</loc></url>" for number in range(pages))
    web.page(f"http://{host}/sitemap.xml", f"<urlset>{entries}</urlset>")
    for number in range(pages):
        web.redirect(f"http://{host}/r{number}", f"/{number}")
        web.page(f"http://{host}/{number}", html(f"{host}{number}", [f"/r{number}"]))
    return web.page(f"http://{host}/", html(host, ["/r0", "/1"]))


def smallest_gap(web: HandWeb, *hosts: str) -> float:
    at = [request.arrived_at for request in web.requests if request.host in hosts]
    return min(second - first for first, second in pairwise(at))


@pytest.mark.row("P1", "P4", "G6")
async def test_every_kind_of_request_keeps_the_pause_of_its_host(
    web: HandWeb, crawl: HandCrawl, record_property: Any
) -> None:
    hosts = [f"h{number}.test" for number in range(4)]
    await crawl(*(put_site(web, host) for host in hosts), **SHORT, min_delay_seconds=DELAY)
    gaps = [smallest_gap(web, host) for host in hosts]
    assert min(gaps) >= DELAY
    paths = {request.path for request in web.requests}
    assert {"/robots.txt", "/sitemap.xml", "/r0", "/0"} <= paths
    for row in ("P1", "P4"):
        record_property(row, f"{len(web.requests)} requests, smallest gap {min(gaps):.3f} s of {DELAY} s")


@pytest.mark.row("P1")
async def test_a_slow_host_is_left_alone_ten_times_as_long(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("slow.test", "")
    for number in range(3):
        web.page(f"http://slow.test/{number}", html(str(number), [f"/{number + 1}"]), delay_seconds=0.05)
    await crawl(web.url("slow.test", "/0"), **SHORT, delay_factor=10.0)
    own = [request.arrived_at for request in web.requests if request.path != "/robots.txt"]
    # From the arrival of one to the next: the answer, which takes 0.05 s, and ten times as much.
    assert all(second - first >= 0.5 for first, second in pairwise(own))


def smallest_gap_sent(crawl: HandCrawl) -> float:
    """From one request to the next, as they were sent: of two ways to a server one may be shorter."""
    at = sorted(row["fetched_at"] for row in crawl.rows())
    return float(min((second - first).total_seconds() for first, second in pairwise(at)))


@pytest.mark.row("P2", "T7")
async def test_hosts_behind_one_address_share_its_pace(web: HandWeb, crawl: HandCrawl, record_property: Any) -> None:
    hosts = [f"h{number}.test" for number in range(6)]
    seeds = [put_site(web, host, 1) for host in hosts]
    for host in hosts:
        web.resolve(host, "127.1.0.77")
    await crawl(*seeds, **SHORT, min_delay_seconds=0.1)
    gap = smallest_gap_sent(crawl)
    record_property("P2", f"smallest gap per address {gap:.4f} s of 0.1 s")
    assert gap >= 0.1


@pytest.mark.row("P2")
async def test_hosts_of_one_domain_share_its_pace(web: HandWeb, crawl: HandCrawl, record_property: Any) -> None:
    hosts = [f"h{number}.sisters.test" for number in range(6)]
    await crawl(*(put_site(web, host, 1) for host in hosts), **SHORT, min_delay_seconds=0.1)
    gap = smallest_gap_sent(crawl)
    record_property("P2", f"smallest gap per registered domain {gap:.4f} s of 0.1 s")
    assert gap >= 0.1


@pytest.mark.full
@pytest.mark.row("P2", "T7")
async def test_a_farm_of_names_on_one_address_has_one_request_a_second(
    web: HandWeb, crawl: HandCrawl, record_property: Any
) -> None:
    hosts = [f"h{number}.farm.test" for number in range(12)]
    seeds = [put_site(web, host, 1) for host in hosts]
    for host in hosts:
        web.resolve(host, "127.1.0.78")
    await crawl(*seeds, **SHORT, min_delay_seconds=1.0, max_pages=12)
    gap = smallest_gap_sent(crawl)
    record_property("T7", f"farm: smallest gap {gap:.3f} s with the usual settings")
    assert gap >= 0.9


@pytest.mark.row("P3")
async def test_a_host_that_asks_for_a_day_is_asked_for_its_robots_only(web: HandWeb, crawl: HandCrawl) -> None:
    web.behave("http://day.test/robots.txt", BEHAVIOURS["robots-day-of-delay"].behave)
    day = web.page("http://day.test/", html("day"))
    other = put_site(web, "h.test")

    async def stop(exchange: ServedExchange) -> None:
        exchange.reply(make_reply(200, b"last", {"Content-Type": "text/html"}))

    web.behave("http://h.test/5", stop)
    # Sixteen requests to the other host, and the pages are counted, not the time.
    outcomes = await crawl(day, other, **SHORT, max_pages=7)
    assert day not in outcomes
    assert [request.path for request in web.requests if request.host == "day.test"] == ["/robots.txt"]


@pytest.mark.row("P5", "G7")
@pytest.mark.parametrize("name", ["retry-in-seconds", "retry-at-date", "retry-nonsense", "too-many-requests"])
async def test_a_host_that_asks_for_time_is_not_asked_again_even_after_a_restart(
    web: HandWeb, crawl: HandCrawl, name: str, record_property: Any
) -> None:
    web.robots("busy.test", "")
    web.behave_host("busy.test", BEHAVIOURS[name].behave)
    seeds = [web.url("busy.test", f"/{number}") for number in range(5)]
    # Where the wish cannot be read, five refusals in a row open the circuit.
    options = {**SHORT, "circuit_seconds": 1800.0, "max_wait_seconds": 1.0}
    await crawl(*seeds, **options)
    asked = len([request for request in web.requests if request.path != "/robots.txt"])
    assert 1 <= asked <= 5
    await crawl(*seeds, **options)
    again = len([request for request in web.requests if request.path != "/robots.txt"])
    record_property("P5", f"{name}: {asked} requests, {again - asked} after a restart")
    assert again == asked
    assert asked == 1 or not name.startswith(("retry-in", "retry-at"))


@pytest.mark.row("P6")
async def test_five_failures_in_a_row_open_the_circuit_and_the_urls_are_kept(
    web: HandWeb, crawl: HandCrawl, record_property: Any
) -> None:
    web.robots("ill.test", "")
    web.behave_host("ill.test", BEHAVIOURS["always-500"].behave)
    seeds = [web.url("ill.test", f"/{number}") for number in range(20)]
    await crawl(*seeds, **{**SHORT, "circuit_seconds": 1800.0, "max_wait_seconds": 1.0})
    asked = [request.path for request in web.requests if request.path != "/robots.txt"]
    record_property("P6", f"{len(asked)} requests, then a rest; {crawl.counts.queued} URLs kept")
    assert len(asked) == 5
    assert crawl.counts.queued == 15


@pytest.mark.row("P5", "P6")
@pytest.mark.parametrize(
    "name", ["always-403", "too-many-requests", "captcha", "captcha-with-200", "challenge", "reset"]
)
async def test_a_host_that_bans_us_is_left_in_peace_and_its_urls_are_kept(
    web: HandWeb, crawl: HandCrawl, name: str, record_property: Any
) -> None:
    web.robots("ban.test", "")
    web.behave_host("ban.test", ban_after(10, BEHAVIOURS[name].behave))
    options = {**SHORT, "circuit_seconds": 1800.0, "max_wait_seconds": 1.0, "retry_after_seconds": (60.0, 60.0)}
    await crawl(web.url("ban.test"), **options)
    counts = crawl.counts
    # The first two refusals by 403 might have been two forbidden pages; resets are asked for once more by libcurl.
    refused = len([request for request in web.requests if request.path != "/robots.txt"]) - 10
    record_property("P6", f"{name}: {refused} requests after a ban, {counts.queued + counts.delayed} URLs kept")
    assert counts.pages == 10
    assert counts.failed == (2 if name == "always-403" else 0)
    assert counts.delayed == 5
    assert refused <= 10
    assert counts.known == counts.pages + counts.failed + counts.queued + counts.delayed


@pytest.mark.row("P6")
async def test_an_ordinary_page_with_a_captcha_in_it_is_no_ban(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.behave("http://a.test/", BEHAVIOURS["captcha-in-a-form"].behave)
    assert await crawl(seed, **SHORT) == {seed: "stored"}


@pytest.mark.row("P7")
async def test_one_user_agent_with_a_contact_for_every_request(
    web: HandWeb, crawl: HandCrawl, record_property: Any
) -> None:
    await crawl(put_site(web, "h.test"), **SHORT)
    agents = {request.user_agent for request in web.requests}
    assert len(agents) == 1
    assert next(iter(agents)).startswith("lycosa/")
    assert "(+http" in next(iter(agents))
    record_property("P7", f"{len(web.requests)} requests as {agents.pop()}")


@pytest.mark.row("P8")
@pytest.mark.parametrize("name", ["noindex", "header-noindex"])
async def test_a_page_that_asks_for_neither_is_neither_indexed_nor_followed(
    web: HandWeb, crawl: HandCrawl, name: str
) -> None:
    seed = web.behave("http://a.test/", BEHAVIOURS[name].behave)
    await crawl(seed, **SHORT)
    assert "/honeypot" not in {request.path for request in web.requests}
    assert crawl.row(seed)["noindex"]
    assert crawl.row(seed)["text"] == ""


# ---- robots.txt files of every kind


@pytest.mark.row("R")
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("robots-as-html", {"/", "/private"}),
        ("robots-with-bom", {"/"}),
        ("robots-cr-only", {"/"}),
        ("robots-utf-16", {"/"}),
        ("robots-huge", {"/"}),
        ("robots-star-flood", {"/", "/private"}),
        ("robots-403", {"/", "/private"}),
        ("robots-500", set()),
        ("robots-429", set()),
        ("robots-loop", {"/", "/private"}),
        ("unknown-coding", set()),
        ("reset", set()),
        ("http-09", set()),
        ("header-flood", set()),
        ("nuls", {"/", "/private"}),
        ("one-line", {"/", "/private"}),
    ],
)
async def test_what_a_robots_txt_means(
    web: HandWeb, crawl: HandCrawl, name: str, asked: set[str], record_property: Any
) -> None:
    web.behave("http://a.test/robots.txt", BEHAVIOURS[name].behave)
    web.page("http://a.test/private", html("private"))
    seed = web.page("http://a.test/", html("home", ["/private"]))
    await crawl(seed, **{**SHORT, "first_byte_seconds": 20.0, "max_wait_seconds": 1.0})
    assert {request.path for request in web.requests} - {"/robots.txt"} == asked
    assert web.requests[0].path == "/robots.txt"
    record_property("R", "16 kinds of robots.txt, each as RFC 9309 says")
