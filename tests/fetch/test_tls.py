"""Certificates are verified unless the crawl only records; HTTP/2 where it is offered."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from lycosa.errors import VisitError
from lycosa.fetch.curl import CurlFetcher
from lycosa.model import Failure, RequestParts
from lycosa.site_rules import SiteRules

from .conftest import MakeFetcher
from .http2 import HELLO, Http2Web
from .rawweb import RawWeb, page


def server_context(certificate: Path, *protocols: str) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(list(protocols))
    return context


async def start(certificate: Path) -> RawWeb:
    web = RawWeb()
    await web.start(server_context(certificate, "http/1.1"))
    web.answers["/"] = page(b"hello")
    return web


async def failure_of(fetcher: CurlFetcher, url: str) -> Failure:
    with pytest.raises(VisitError) as failure:
        await fetcher.fetch(url)
    return failure.value.reason


async def test_an_unknown_certificate_is_a_failure(certificate: Path, fetcher: CurlFetcher) -> None:
    web = await start(certificate)
    assert await failure_of(fetcher, web.url("/", scheme="https")) is Failure.TLS
    assert not web.requests
    web.close()


async def test_a_recording_crawl_fetches_all_the_same(certificate: Path, make_fetcher: MakeFetcher) -> None:
    web = await start(certificate)
    response = await make_fetcher(tls="record").fetch(web.url("/", scheme="https"))
    assert (response.body, response.protocol) == (b"hello", "http/1.1")
    assert web.requests == [response.request_head]
    web.close()


async def test_a_recording_crawl_tells_no_secret_to_whom_it_does_not_know(
    certificate: Path, make_fetcher: MakeFetcher
) -> None:
    web = await start(certificate)
    url = web.url("/", scheme="https")
    keyed = make_fetcher(tls="record", site={"127.0.0.1": SiteRules(headers={"Authorization": "Bearer mine"})})
    assert await failure_of(keyed, url) is Failure.TLS
    plain = make_fetcher(tls="record")
    assert (await plain.fetch(url)).body == b"hello"
    with pytest.raises(VisitError):
        # Not over the connection that is open from before, either.
        await plain.fetch(url, parts=RequestParts(headers=(("Cookie", "sid=mine"),)))
    assert b"mine" not in b"".join(web.requests)
    web.close()


async def test_a_known_certificate_holds_for_its_own_name_only(certificate: Path, make_fetcher: MakeFetcher) -> None:
    web = await start(certificate)
    fetcher = make_fetcher(ca_file=str(certificate))
    assert (await fetcher.fetch(web.url("/", scheme="https"))).body == b"hello"
    other = RawWeb()
    await other.start(server_context(certificate), host="127.0.0.2")
    assert await failure_of(fetcher, other.url("/", "127.0.0.2", "https")) is Failure.TLS
    web.close()
    other.close()


async def test_plain_text_where_tls_is_expected_is_a_failure(web: RawWeb, fetcher: CurlFetcher) -> None:
    async def greet(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    assert await failure_of(fetcher, f"https://127.0.0.1:{port}/") is Failure.TLS
    server.close()


@pytest.mark.parametrize("http2", [True, False])
async def test_http2_is_spoken_where_it_is_offered_and_wanted(
    certificate: Path, make_fetcher: MakeFetcher, http2: bool
) -> None:
    pytest.importorskip("h2")
    web = Http2Web()
    url = await web.start(server_context(certificate, "h2"))
    fetcher = make_fetcher(ca_file=str(certificate), http2=http2)
    if http2:
        responses = [await fetcher.fetch(url) for _ in range(3)]
        assert {(response.body, response.protocol) for response in responses} == {(HELLO, "h2")}
        assert responses[0].head.startswith(b"HTTP/1.1 200 \r\ncontent-type: text/html\r\n")
        assert responses[0].header("content-type") == "text/html"
    else:
        assert await failure_of(fetcher, url) in set(Failure)
    web.close()
