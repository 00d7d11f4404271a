"""Trouble belongs to an origin (scheme, host, port): the rest of its host is crawled as if nothing were wrong."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lycosa.inspect.reasons import sentence_of
from lycosa.model import Refusal
from lycosa.simweb import HandWeb
from lycosa.simweb.hostile.traps import babble
from lycosa.simweb.log import RequestLog
from lycosa.simweb.server import SimServer, loopback_socket

from ..cli.world import lycosa
from ..fetch.certificate import make_certificate
from ..frontier.redis_servers import RedisServer
from . import evidence
from .command import Ended, crawl

SITE = "site.test"
PAGES = 60
# As an operator has it who set nothing: an origin in trouble is tried again after five minutes.
ORDINARY: dict[str, Any] = {"retry_after_seconds": None}

with_disk = ["rocks", "redis"]


# In memory it is the same scheduler over other tables, whose contract they keep.
@pytest.fixture(params=[pytest.param("memory", marks=pytest.mark.full), *with_disk])
def frontier(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the queue lives, as the operator names it."""
    if request.param != "redis":
        yield request.param
        return
    with RedisServer() as server:
        yield server.address


@contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, kept so that nobody else begins to."""
    with socket.socket() as held:
        held.bind(("0.0.0.0", 0))
        yield held.getsockname()[1]


@asynccontextmanager
async def secure_port(web: HandWeb, certificate: Path) -> AsyncIterator[int]:
    """A port on which the same web is to be had over TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    listener = loopback_socket(0)
    server = SimServer(web, RequestLog())
    await server.start(listener, context)
    try:
        yield listener.getsockname()[1]
    finally:
        await server.close()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """The site's own, which nobody has signed."""
    return make_certificate(tmp_path, f"DNS:{SITE}")


def build_site(web: HandWeb, host: str, pages: int, *elsewhere: str) -> list[str]:
    """Put a tree of pages on a host; each links to its parent, its children, and to the same path elsewhere."""
    paths = ["/", *(f"/page/{number}" for number in range(1, pages))]
    for number, path in enumerate(paths):
        near = [paths[max(0, number - 1) // 2], *paths[2 * number + 1 : 2 * number + 3]]
        hrefs = [*near, *(f"{other}{path}" for other in elsewhere)]
        links = "".join(f'<a href="{href}">to {href}</a> ' for href in hrefs)
        web.page(f"http://{host}{path}", f"<title>{host} {number}</title>{links}<p>{babble(f'{host}{path}')}")
    return paths


async def crawled(web: HandWeb, folder: Path, *seeds: str, **settings: Any) -> Ended:
    ended = await asyncio.to_thread(crawl, web, folder, *seeds, **{"durability": "process", **settings})
    assert ended.exit_code in (0, 3), ended.said[-2000:]
    return ended


def found_on(folder: Path, origin: str) -> set[str]:
    """The paths of an origin's pages."""
    kept = {row["url"] for row in evidence.pages(folder) if row["outcome"] in evidence.KEPT}
    return {url.removeprefix(origin) for url in kept if url.startswith(f"{origin}/")}


async def assert_found(web: HandWeb, folder: Path, frontier: str, good: str, bad: str, trouble: str) -> None:
    """Every page of the good origin is found, though each links to the bad one, and the end names that and why."""
    paths = build_site(web, SITE, PAGES, bad)
    ended = await crawled(web, folder, f"{good}/", frontier=frontier, **ORDINARY)
    assert found_on(folder, good) == set(paths), ended.summary
    assert found_on(folder, bad) == set()
    assert (ended.exit_code, ended.summary["ending"]) == (3, "incomplete"), "the other is to be tried again"
    told = [(each["origin"], f"{each['reason']}: {each['detail']}") for each in ended.summary["troubled"]]
    assert told == [(bad, trouble)]
    assert ended.summary["queued"] + ended.summary["delayed"] == PAGES, "nothing of it is lost"
    assert ended.summary["failed"] == ended.summary["crashed"] == 0


async def test_a_site_that_links_to_its_own_closed_https_is_found(web: HandWeb, space: Path, frontier: str) -> None:
    with closed_port() as port:
        good, bad = web.url(SITE, ""), f"https://{SITE}:{port}"
        await assert_found(web, space / "crawl", frontier, good, bad, "connect: Connection refused")


async def test_a_site_of_https_that_links_to_its_own_closed_http_is_found(
    web: HandWeb, space: Path, frontier: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    async with secure_port(web, certificate) as secure:
        with closed_port() as port:
            good, bad = f"https://{SITE}:{secure}", f"http://{SITE}:{port}"
            await assert_found(web, space / "crawl", frontier, good, bad, "connect: Connection refused")


async def test_a_site_that_links_to_a_dead_port_of_its_host_is_found(web: HandWeb, space: Path, frontier: str) -> None:
    with closed_port() as port:
        good, bad = web.url(SITE, ""), f"http://{SITE}:{port}"
        await assert_found(web, space / "crawl", frontier, good, bad, "connect: Connection refused")


async def test_a_site_that_links_to_a_certificate_of_its_own_making_is_found(
    web: HandWeb, space: Path, frontier: str, certificate: Path
) -> None:
    async with secure_port(web, certificate) as secure:
        good, bad = web.url(SITE, ""), f"https://{SITE}:{secure}"
        await assert_found(web, space / "crawl", frontier, good, bad, "tls: self-signed certificate")


@pytest.mark.parametrize("frontier", with_disk, indirect=True)
@pytest.mark.parametrize(
    ("retries", "looks"),
    [
        pytest.param([0.0], 2, id="one more look"),
        pytest.param(None, 3, id="as an operator has it who set nothing", marks=pytest.mark.full),
    ],
)
async def test_a_name_that_is_not_there_keeps_no_crawl_from_its_end(
    web: HandWeb, space: Path, frontier: str, retries: list[float] | None, looks: int
) -> None:
    nowhere, folder = "http://nowhere.test", space / "crawl"
    paths = build_site(web, SITE, PAGES, nowhere)
    settings = {"retry_after_seconds": retries, "max_wait_seconds": 60.0, "workers": 1}
    ended = await crawled(web, folder, web.url(SITE), frontier=frontier, **settings)
    assert found_on(folder, web.url(SITE, "")) == set(paths)
    assert (ended.exit_code, ended.summary["ending"]) == (0, "finished"), ended.summary
    assert (ended.summary["refused"], ended.summary["troubled"]) == (PAGES, [])
    assert {"reason": Refusal.NAME, "detail": "", "times": PAGES} in ended.summary["reasons"]
    asked = [query for query in web.dns_queries if query.name == "nowhere.test"]
    assert len(asked) >= looks, "each look was at the name servers, and none at our own memory"
    why = await asyncio.to_thread(lycosa, "why", f"{nowhere}/page/1", "--folder", str(folder))
    assert f"It was not requested: {sentence_of(Refusal.NAME)}." in why.stdout, why.stderr


async def test_bad_links_from_elsewhere_do_not_close_a_host(web: HandWeb, space: Path, frontier: str) -> None:
    folder = space / "crawl"
    paths = build_site(web, SITE, 100)
    bad = []
    for status in (500, 429, 403):
        for number in range(5):
            # Like pages of the site, and like none.
            bad.append(web.page(f"http://{SITE}/page/{status}{number}", "no", status=status))
            bad.append(web.page(f"http://{SITE}/old/{status}/{number}", "no", status=status))
    links = "".join(f'<a href="{url}">{url}</a>' for url in bad)
    stranger = web.page("http://stranger.test/", f"<title>links</title>{links}<p>{babble('stranger')}")
    ended = await crawled(web, folder, web.url(SITE), stranger, frontier=frontier)
    assert found_on(folder, web.url(SITE, "")) == set(paths), ended.summary
    # Bad ones may make room for the others, and be left for a later run.
    left = ended.summary["queued"] + ended.summary["delayed"]
    assert ended.summary["failed"] + left == len(bad) == 30
    assert ended.exit_code == (3 if left else 0)
