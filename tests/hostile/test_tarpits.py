"""Whoever holds a connection holds one connection: the visit ends, is recorded, and nobody else waits for it."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from lycosa.page.parser import PageParser
from lycosa.settings import Settings
from lycosa.simweb import Behaviour, HandWeb, ServedExchange
from lycosa.simweb.hostile import BEHAVIOURS
from lycosa.simweb.hostile.traps import html
from lycosa.site.judge import PROBE_PATH

from .conftest import SHORT, HandCrawl

TARPITS = [name for name, hostile in BEHAVIOURS.items() if hostile.part == "T10"]
OUTCOMES = {
    "hang": "timeout: no answer within",
    "hang-in-head": "timeout: nothing came for",
    "hang-in-body": "time",
    "slow-head": "timeout",
    "slow-body": "time",
    "endless-body": "length",
    "endless-head": "headers-too-large",
    "endless-interim": "headers-too-large",
    "endless-chunks": "length",
}
GOOD_HOSTS, GOOD_PAGES = 10, 12


def put_tarpits(web: HandWeb) -> list[str]:
    for name in TARPITS:
        web.robots(f"{name}.t.test", "")
        web.behave_host(f"{name}.t.test", BEHAVIOURS[name].behave)
    return [web.url(f"{name}.t.test") for name in TARPITS]


@pytest.mark.row("T10")
async def test_every_tarpit_ends_in_a_recorded_outcome(web: HandWeb, crawl: HandCrawl, record_property: Any) -> None:
    await crawl(*put_tarpits(web), **{**SHORT, "max_body_bytes": 200_000, "fetch_seconds": 6.0}, scope="host")
    for name in TARPITS:
        row = crawl.row(web.url(f"{name}.t.test"))
        ended = row["truncated"] or f"{row['reason']}: {row['detail']}"
        assert ended.startswith(OUTCOMES[name]), name
    assert crawl.counts.leased == crawl.counts.crashed == 0
    record_property("T10", f"{len(TARPITS)} tarpits, each ends in an outcome")


@pytest.mark.row("T10", "G11")
async def test_while_all_tarpits_hold_everything_else_is_fetched(
    web: HandWeb, crawl: HandCrawl, record_property: Any
) -> None:
    """They let go only when the last good page was asked for: nothing but the tarpits' own slots may be needed."""
    is_over = asyncio.Event()
    good_done = given_up = 0

    async def hold(exchange: ServedExchange) -> None:
        nonlocal given_up
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        try:
            await is_over.wait()
        finally:
            given_up += not is_over.is_set()
        exchange.close()

    def good(number: int) -> Behaviour:
        async def answer(exchange: ServedExchange) -> None:
            nonlocal good_done
            if exchange.ask.target.startswith(PROBE_PATH):
                return exchange.send(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            page = int(exchange.ask.target.strip("/") or "0")
            body = html(f"{number}/{page}", [f"/{page + 1}"] if page + 1 < GOOD_PAGES else []).encode()
            exchange.send(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
            )
            good_done += 1
            if good_done == GOOD_HOSTS * GOOD_PAGES:
                is_over.set()

        return answer

    seeds = []
    for number in range(GOOD_HOSTS * 2):
        web.robots(f"hold{number}.test", "")
        web.behave_host(f"hold{number}.test", hold)
        seeds.append(web.url(f"hold{number}.test"))
    for number in range(GOOD_HOSTS):
        web.robots(f"good{number}.test", "")
        web.behave_host(f"good{number}.test", good(number))
        seeds.append(web.url(f"good{number}.test"))
    await crawl(*seeds, scope="host", idle_seconds=300.0, fetch_seconds=300.0, first_byte_seconds=300.0)
    assert good_done == GOOD_HOSTS * GOOD_PAGES
    assert given_up == 0
    record_property("G11", f"{good_done} of {good_done} good pages while {GOOD_HOSTS * 2} tarpits held")


@pytest.mark.full
@pytest.mark.row("T10")
async def test_with_the_default_limits_a_slot_is_free_within_21_seconds(
    web: HandWeb, crawl: HandCrawl, record_property: Any
) -> None:
    held: dict[str, float] = {}

    def timed(name: str) -> Behaviour:
        async def behave(exchange: ServedExchange) -> None:
            started = time.monotonic()
            try:
                await BEHAVIOURS[name].behave(exchange)
            finally:
                held[name] = time.monotonic() - started

        return behave

    for name in TARPITS:
        web.robots(f"{name}.t.test", "")
        web.behave_host(f"{name}.t.test", timed(name))
    await crawl(*(web.url(f"{name}.t.test") for name in TARPITS), scope="host", circuit_seconds=0.0)
    assert set(held) == set(TARPITS)
    longest = max(held, key=held.__getitem__)
    record_property("T10", f"longest hold with default limits: {longest}, {held[longest]:.1f} s")
    # A second more than the limit of 20 s: limits are looked at once a second.
    assert held[longest] <= 22.0


@pytest.mark.row("T9")
async def test_of_a_flood_of_links_few_are_kept(web: HandWeb, crawl: HandCrawl, record_property: Any) -> None:
    web.behave("http://a.test/", BEHAVIOURS["link-flood"].behave)
    web.robots("a.test", "User-agent: *\nDisallow: /l")
    await crawl(web.url("a.test"), **SHORT)
    kept = crawl.counts.known - 1
    record_property("T9", f"{kept:,} of 1,000,000 links kept")
    assert 0 < kept <= 2_000


@pytest.mark.row("T9")
async def test_of_a_flood_to_one_foreign_domain_fewer_are_kept(web: HandWeb, crawl: HandCrawl) -> None:
    web.behave("http://a.test/", BEHAVIOURS["foreign-link-flood"].behave)
    await crawl(web.url("a.test"), **SHORT, open_networks=["127.1.0.0/24"])
    assert crawl.counts.known - 1 == 300


@pytest.mark.row("T9")
def test_a_flood_of_links_costs_less_than_a_second_of_cpu(record_property: Any) -> None:
    body = b"<!doctype html>" + b"".join(b"<a href=/l%d>x</a>" % number for number in range(250_000))
    parser = PageParser(Settings(), "lycosa")
    started = time.process_time()
    page = parser.parse(body[: Settings().max_body_bytes], "text/html; charset=utf-8")
    seconds = time.process_time() - started
    record_property("T9", f"{seconds:.2f} s CPU for {len(body) / 2**20:.1f} MiB of links")
    assert len(page.links) == 2_000
    assert seconds <= 1.0
