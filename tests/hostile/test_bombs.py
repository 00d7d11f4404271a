"""A few kilobytes that claim to be a gigabyte: wherever they explode, memory stays where it was."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from lycosa.fetch.coding import decode
from lycosa.simweb import HandWeb, Reply, ServedExchange
from lycosa.simweb.hostile.bombs import BOMB_BYTES, CODINGS, PLACES, bomb, bomb_bytes
from lycosa.simweb.hostile.traps import html

from .conftest import hand_settings

MAX_GROWTH_BYTES = 64 * 1024 * 1024
# Of bodies that come faster than the disk takes them; without a budget sixty took 1.2 GiB.
MAX_GROWTH_AT_ONCE_BYTES = 256 * 1024 * 1024


def put_bomb(web: HandWeb, coding: str, place: str) -> str:
    """A host with one bomb; returns the seed that leads to it."""
    host = f"{coding}-{place}.test"
    reply = bomb(coding, place)

    async def explode(exchange: ServedExchange) -> None:
        exchange.reply(reply)

    home = web.page(f"http://{host}/", html(host))
    match place:
        case "robots":
            web.behave(f"http://{host}/robots.txt", explode)
        case "sitemap" | "gz-sitemap":
            web.robots(host, "Sitemap: /bomb.xml")
            web.behave(f"http://{host}/bomb.xml", explode)
        case _:
            web.robots(host, "")
            return web.behave(f"http://{host}/bomb", explode)
    return home


async def growth(web: HandWeb, bombs: list[str], **settings: Any) -> list[dict[str, Any]]:
    """How far the memory of a crawl of its own process grew, after each bomb."""
    harmless = [web.page("http://harmless.test/", html("harmless") + "x" * 3_000_000)]
    chosen = {**hand_settings(web), "circuit_seconds": 0.0, **settings}
    order = {"settings": chosen, "harmless": harmless, "bombs": bombs}
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.hostile.bomb_child", json.dumps(order),
        stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    out, _ = await child.communicate()
    assert child.returncode == 0
    grown: list[dict[str, Any]] = json.loads(out)
    return grown


@pytest.mark.row("M", "S4")
async def test_bombs_of_every_coding_at_every_place_leave_memory_alone(web: HandWeb, record_property: Any) -> None:
    bombs = [put_bomb(web, coding, place) for coding in CODINGS for place in PLACES]
    grown = await growth(web, bombs)
    assert len(grown) == len(CODINGS) * len(PLACES)
    assert not [bomb for bomb in grown if bomb["crashed"]]
    most = max(bomb["growth_bytes"] for bomb in grown)
    text = f"{len(grown)} bombs of {BOMB_BYTES // 2**20:,} MiB: +{most / 2**20:.0f} MiB"
    record_property("M", text)
    record_property("S4", text)
    assert most <= MAX_GROWTH_BYTES, [(bomb["url"], bomb["growth_bytes"] >> 20) for bomb in grown]


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_is_one(coding: str) -> None:
    body = bomb_bytes(coding)
    assert len(body) < 2_000_000
    decoded = decode(body, [coding], 30_000_000)
    assert decoded.is_cut
    assert decoded.body.count(decoded.body[:1]) == 30_000_000


@pytest.mark.row("G14")
async def test_ten_sitemap_bombs_at_once_leave_memory_alone(web: HandWeb, record_property: Any) -> None:
    for number in range(10):
        host = f"s{number}.test"
        web.robots(host, "Sitemap: /bomb.xml")
        reply = bomb("gzip", "sitemap")

        async def explode(exchange: ServedExchange, reply: Reply = reply) -> None:
            exchange.reply(reply)

        web.behave(f"http://{host}/bomb.xml", explode)
        web.page(f"http://{host}/", html(host))
    door = web.page("http://door.test/", html("door", [web.url(f"s{number}.test") for number in range(10)]))
    (grown,) = await growth(web, [door])
    assert grown["read"] == 21
    record_property("G14", f"ten sitemap bombs at once: +{grown['growth_bytes'] / 2**20:.0f} MiB")
    assert grown["growth_bytes"] <= MAX_GROWTH_AT_ONCE_BYTES


@pytest.mark.row("G14")
async def test_twenty_hosts_with_the_longest_robots_txt_leave_memory_alone(web: HandWeb, record_property: Any) -> None:
    rules = b"User-agent: *\n" + b"".join(b"Disallow: /%x\n" % number for number in range(32_000))
    hosts = [f"r{number}.test" for number in range(20)]
    for host in hosts:
        web.robots(host, rules)
        web.page(f"http://{host}/zzz", html(host))
    door = web.page("http://door.test/", html("door", [web.url(host, "/zzz") for host in hosts]))
    (grown,) = await growth(web, [door])
    assert grown["stored"] == 21
    record_property("G14", f"20 robots.txt of 500 KiB: +{grown['growth_bytes'] / 2**20:.0f} MiB")
    assert grown["growth_bytes"] <= MAX_GROWTH_AT_ONCE_BYTES


@pytest.mark.row("G14")
async def test_thirty_long_bodies_at_once_leave_memory_alone(web: HandWeb, record_property: Any) -> None:
    hosts = [f"l{number}.test" for number in range(30)]
    noise = random.Random(1).randbytes(5 * 1024 * 1024)
    for host in hosts:
        web.page(f"http://{host}/", host.encode() + noise, headers={"Content-Type": "application/octet-stream"})
    door = web.page("http://door.test/", html("door", [web.url(host) for host in hosts]))
    (grown,) = await growth(web, [door])
    assert grown["stored"] >= 20
    record_property("G14", f"30 bodies of 5 MiB at once: +{grown['growth_bytes'] / 2**20:.0f} MiB")
    assert grown["growth_bytes"] <= MAX_GROWTH_AT_ONCE_BYTES


@pytest.mark.row("G14")
async def test_sixty_bodies_that_cannot_be_decoded_leave_memory_alone(web: HandWeb, record_property: Any) -> None:
    hosts = [f"d{number}.test" for number in range(60)]
    noise = random.Random(1).randbytes(5 * 1024 * 1024)
    headers = {"Content-Type": "application/octet-stream", "Content-Encoding": "br"}
    for host in hosts:
        web.page(f"http://{host}/", noise, headers=headers)
    door = web.page("http://door.test/", html("door", [web.url(host) for host in hosts]))
    (grown,) = await growth(web, [door])
    assert not grown["crashed"]
    # Before they counted until their visit was over it was 400 MiB.
    record_property("G14", f"60 bodies of 5 MiB that cannot be decoded: +{grown['growth_bytes'] / 2**20:.0f} MiB")
    assert grown["growth_bytes"] <= MAX_GROWTH_AT_ONCE_BYTES
