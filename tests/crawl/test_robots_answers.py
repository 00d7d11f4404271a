"""What a crawl does after each kind of answer for a robots.txt, in the order it happens on the wire."""

from __future__ import annotations

import gzip
from itertools import pairwise

import pytest

from lycosa.robots.parse import MAX_ROBOTS_BYTES
from lycosa.simweb import HandWeb, ServedExchange

from .conftest import HandCrawl
from .test_visits import page, paths


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
async def test_a_client_error_means_that_all_is_allowed(web: HandWeb, crawl: HandCrawl, status: int) -> None:
    web.robots("a.test", "User-agent: *\nDisallow: /", status=status)
    seed = web.page("http://a.test/", page())
    assert await crawl(seed) == {seed: "stored"}


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_server_error_means_that_nothing_is_allowed(web: HandWeb, crawl: HandCrawl, status: int) -> None:
    web.robots("a.test", "", status=status)
    seed = web.page("http://a.test/", page())
    assert await crawl(seed) == {seed: "refused"}
    assert paths(web) == []
    assert (crawl.row(seed)["reason"], crawl.row(seed)["detail"]) == ("robots-unreachable", f"status: {status}")


async def test_while_tries_are_left_the_pages_of_a_host_without_robots_wait(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "", status=503)
    seed = web.page("http://a.test/", page())
    assert await crawl(seed, retry_after_seconds=(1.0,), max_wait_seconds=1.0) == {}
    assert crawl.counts.queued == 1
    assert [request.path for request in web.requests] == ["/robots.txt"]


async def test_silence_means_that_nothing_is_allowed(web: HandWeb, crawl: HandCrawl) -> None:
    async def hang_up(exchange: ServedExchange) -> None:
        exchange.abort()

    seed = web.page("http://a.test/", page())
    robots = web.behave("http://a.test/robots.txt", hang_up)
    assert await crawl(seed) == {seed: "refused"}
    assert paths(web) == []
    assert crawl.row(robots)["reason"] == "reset", "the tables tell why"


async def test_an_answer_that_never_comes_means_that_nothing_is_allowed(web: HandWeb, crawl: HandCrawl) -> None:
    async def say_nothing(exchange: ServedExchange) -> None:
        del exchange

    seed = web.page("http://a.test/", page())
    web.behave("http://a.test/robots.txt", say_nothing)
    assert await crawl(seed, first_byte_seconds=0.2, fetch_seconds=0.5) == {seed: "refused"}
    assert paths(web) == []


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_half_a_rule_at_the_limit_of_what_is_read_is_none(
    web: HandWeb, crawl: HandCrawl, *, is_allowed: bool
) -> None:
    start, cut = ("", "\nDisallow: /") if is_allowed else ("Disallow: /", "\nAllow: /")
    head = f"User-agent: *\n{start}\n#"
    padding = "x" * (MAX_ROBOTS_BYTES - len(head) - len(cut))
    web.robots("a.test", f"{head}{padding}{cut}secret/page\n")
    seed = web.page("http://a.test/", page())
    assert await crawl(seed) == {seed: "stored" if is_allowed else "refused"}


_RULES = b"User-agent: *\nAllow: /\n" + b"# nothing to see here\n" * 200 + b"Disallow: /\n"


@pytest.mark.parametrize("damage", ["a bit", "half of it"])
async def test_rules_whose_coding_is_damaged_mean_that_nothing_is_allowed(
    web: HandWeb, crawl: HandCrawl, damage: str
) -> None:
    coded = bytearray(gzip.compress(_RULES))
    if damage == "half of it":
        del coded[len(coded) // 2 :]
    else:
        coded[-6] ^= 1
    headers = {"Content-Type": "text/plain", "Content-Encoding": "gzip"}
    web.page("http://a.test/robots.txt", bytes(coded), headers=headers)
    seed = web.page("http://a.test/", page())
    assert await crawl(seed) == {seed: "refused"}
    assert paths(web) == []
    assert (crawl.row(seed)["reason"], crawl.row(seed)["detail"]) == ("robots-unreachable", "content-coding")


async def test_rules_that_broke_off_mean_that_nothing_is_allowed(web: HandWeb, crawl: HandCrawl) -> None:
    async def break_off(exchange: ServedExchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\n" + _RULES[:1000])
        exchange.close()

    seed = web.page("http://a.test/", page())
    web.behave("http://a.test/robots.txt", break_off)
    assert await crawl(seed) == {seed: "refused"}
    assert paths(web) == []
    assert crawl.row(seed)["detail"] == "reset"


async def test_a_client_error_that_broke_off_is_one_still(web: HandWeb, crawl: HandCrawl) -> None:
    async def break_off(exchange: ServedExchange) -> None:
        exchange.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 5000\r\n\r\nnot here")
        exchange.close()

    seed = web.page("http://a.test/", page())
    web.behave("http://a.test/robots.txt", break_off)
    assert await crawl(seed) == {seed: "stored"}


async def test_a_redirect_within_the_host_is_followed_to_the_rules(web: HandWeb, crawl: HandCrawl) -> None:
    web.redirect("http://a.test/robots.txt", "/rules.txt")
    web.page("http://a.test/rules.txt", "User-agent: *\nDisallow: /x", headers={"Content-Type": "text/plain"})
    seed = web.page("http://a.test/", page("/x", "/y"))
    web.page("http://a.test/y", page(title="y"))
    outcomes = await crawl(seed)
    assert outcomes[web.url("a.test", "/x")] == "refused"
    assert paths(web) == ["/rules.txt", "/", "/y"]


async def test_rules_found_on_another_host_speak_for_the_first(web: HandWeb, crawl: HandCrawl) -> None:
    web.redirect("http://a.test/robots.txt", web.url("b.test", "/robots.txt"))
    web.robots("b.test", "User-agent: *\nDisallow: /x")
    seed = web.page("http://a.test/", page("/x", "/y"))
    web.page("http://a.test/y", page(title="y"))
    outcomes = await crawl(seed)
    assert outcomes[web.url("a.test", "/x")] == "refused"
    assert outcomes[web.url("a.test", "/y")] == "stored"
    assert paths(web) == ["/", "/y"]


async def test_rules_asked_for_on_behalf_of_another_host_do_not_stand_for_its_own(
    web: HandWeb, crawl: HandCrawl
) -> None:
    web.redirect("http://a.test/robots.txt", web.url("b.test", "/robots.txt"))
    web.robots("b.test", "User-agent: *\nDisallow: /x")
    seeds = [web.page("http://a.test/", page()), web.page("http://b.test/x", page(title="x"))]
    assert await crawl(*seeds) == {seeds[0]: "stored", seeds[1]: "refused"}


@pytest.mark.parametrize(("hops", "allowed"), [(5, False), (6, True), (9, True)])
async def test_five_redirects_are_followed_and_a_sixth_means_no_rules(
    web: HandWeb, crawl: HandCrawl, hops: int, *, allowed: bool
) -> None:
    web.redirect("http://a.test/robots.txt", "/r1")
    for hop in range(1, hops):
        web.redirect(f"http://a.test/r{hop}", f"/r{hop + 1}")
    web.page(f"http://a.test/r{hops}", "User-agent: *\nDisallow: /", headers={"Content-Type": "text/plain"})
    seed = web.page("http://a.test/", page())
    assert (await crawl(seed))[seed] == ("stored" if allowed else "refused")
    assert sum(path.startswith("/r") for path in paths(web)) == min(hops, 5)


async def test_a_redirect_to_itself_means_no_rules(web: HandWeb, crawl: HandCrawl) -> None:
    web.redirect("http://a.test/robots.txt", "/robots.txt")
    seed = web.page("http://a.test/", page())
    assert await crawl(seed) == {seed: "stored"}
    assert [request.path for request in web.requests] == ["/robots.txt", "/"]


async def test_two_hosts_whose_rules_are_at_the_other_come_to_an_end(web: HandWeb, crawl: HandCrawl) -> None:
    web.redirect("http://a.test/robots.txt", web.url("b.test", "/robots.txt"))
    web.redirect("http://b.test/robots.txt", web.url("a.test", "/robots.txt"))
    seeds = [web.page("http://a.test/", page()), web.page("http://b.test/", page(title="b"))]
    assert await crawl(*seeds) == dict.fromkeys(seeds, "stored")
    assert len(web.requests) <= 2 + 2 * 6


async def test_rules_behind_an_address_that_is_not_open_close_the_host(web: HandWeb, crawl: HandCrawl) -> None:
    web.redirect("http://a.test/robots.txt", f"http://169.254.169.254:{web.port}/latest/meta-data")
    seed = web.page("http://a.test/", page())
    assert (await crawl(seed))[seed] == "refused"
    assert [request.path for request in web.requests] == ["/robots.txt"]


async def test_rules_that_expire_are_read_again_and_never_keep_pages_from_being_read(
    web: HandWeb, crawl: HandCrawl
) -> None:
    links = [f"/{number}" for number in range(4)]
    seed = web.page("http://a.test/", page(*links))
    for path in links:
        web.page(f"http://a.test{path}", page(title=path))
    outcomes = await crawl(seed, robots_cache_seconds=0.0, min_delay_seconds=0.4)
    assert list(outcomes.values()) == ["stored"] * 5
    assert 1 < crawl.requests("/robots.txt") < 5


async def test_rules_are_kept_over_a_restart(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nDisallow: /x")
    seed = web.page("http://a.test/", page("/x", "/y"))
    web.page("http://a.test/y", page(title="y"))
    await crawl(seed, max_pages=1)
    web.robots("a.test", "")
    outcomes = await crawl(seed, max_pages=0)
    assert outcomes[web.url("a.test", "/x")] == "refused"
    assert crawl.requests("/robots.txt") == 1


async def test_a_crawl_delay_is_kept(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nCrawl-delay: 0.5")
    seed = web.page("http://a.test/", page("/x"))
    web.page("http://a.test/x", page(title="x"))
    await crawl(seed)
    moments = [request.arrived_at for request in web.requests]
    assert len(moments) == 3
    assert min(later - sooner for sooner, later in pairwise(moments)) >= 0.5


async def test_the_robot_obeys_the_group_that_names_it(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nDisallow: /\n\nUser-agent: lycosa\nDisallow: /x")
    seed = web.page("http://a.test/", page("/x"))
    outcomes = await crawl(seed)
    assert outcomes == {seed: "stored", web.url("a.test", "/x"): "refused"}
    assert {request.user_agent for request in web.requests} == {"lycosa/0.1 (+https://lycosa.invalid/bot)"}
