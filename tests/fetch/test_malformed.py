"""Broken, lying and endless answers: each gives a response or a visit error, never a crash or a hang."""

from __future__ import annotations

import base64
from typing import Any

import brotli
import pytest

from lycosa.errors import VisitError
from lycosa.fetch.curl import CurlFetcher
from lycosa.model import Failure, Response

from .. import suites
from .conftest import MakeFetcher
from .rawweb import RawWeb, endless, hang, hang_after, page

OK = b"HTTP/1.1 200 OK\r\n"


async def outcome(fetcher: CurlFetcher, web: RawWeb, answer: bytes) -> Response | Failure:
    web.answers["/"] = answer
    try:
        return await fetcher.fetch(web.url("/"))
    except VisitError as error:
        return error.reason


KEPT: dict[str, tuple[bytes, int, bytes, str]] = {
    "no length": (OK + b"\r\nhello", 200, b"hello", ""),
    "length too long": (OK + b"Content-Length: 99\r\n\r\nhello", 200, b"hello", "disconnect"),
    "length too short": (OK + b"Content-Length: 2\r\n\r\nhello", 200, b"he", ""),
    "lengths that agree": (OK + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 200, b"hello", ""),
    "chunked and a length": (
        OK + b"Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, b"hello", "",
    ),
    "chunks cut": (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nwo", 200, b"hellowo", "disconnect"),
    "chunks that lie": (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n", 200, b"hello", "disconnect"),
    "no last chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 200, b"hello", "disconnect"),
    "trailers": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nHTTP/1.1: 999\r\nX: y\r\n\r\n", 200, b"hello", "",
    ),
    "line feeds only": (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", 200, b"hello", ""),
    "no reason": (b"HTTP/1.1 200\r\n\r\nhello", 200, b"hello", ""),
    "HTTP/1.0": (b"HTTP/1.0 404 Not Found\r\n\r\nhello", 404, b"hello", ""),
    "204 with a body": (b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", 204, b"", ""),
    "304 with a body": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", 304, b"", ""),
    "interim": (b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" * 10 + page(b"hello"), 200, b"hello", ""),
    "nulls": (OK + b"\r\n" + b"\0" * 68_000, 200, b"\0" * 68_000, ""),
    "a broken redirect": (
        b"HTTP/1.1 302 Found\r\nLocation: /x\r\nTransfer-Encoding: chunked\r\n\r\nno chunk", 302, b"", "disconnect",
    ),
    "plain text called gzip": (page(b"hello", "Content-Encoding: gzip"), 200, b"hello", ""),
    "an error in an unknown coding": (page(b"xx", "Content-Encoding: dcz", status="404 Gone"), 404, b"xx", ""),
    "an unknown status": (page(b"hello", status="999 Odd"), 999, b"hello", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", KEPT)
async def test_what_can_be_understood_is_kept(web: RawWeb, fetcher: CurlFetcher, case: str) -> None:
    answer, status, body, truncated = KEPT[case]
    response = await outcome(fetcher, web, answer)
    assert isinstance(response, Response)
    assert (response.status, response.body, response.truncated) == (status, body, truncated)


REFUSED: dict[str, tuple[bytes, set[Failure]]] = {
    "nothing": (b"", {Failure.RESET}),
    "HTTP/0.9": (b"<html>hello</html>", {Failure.PROTOCOL}),
    "garbage before the status line": (b"garbage\r\n" + page(b"hello"), {Failure.PROTOCOL}),
    "binary": (bytes(range(256)) * 300, {Failure.PROTOCOL}),
    "nulls": (b"\0" * 68_000, {Failure.PROTOCOL}),
    "half a head": (OK + b"Content-Type: text", {Failure.RESET, Failure.PROTOCOL}),
    "negative length": (OK + b"Content-Length: -5\r\n\r\nhello", {Failure.PROTOCOL}),
    "lengths that differ": (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", {Failure.PROTOCOL}),
    "a body that never came": (OK + b"Content-Length: 5\r\n\r\n", {Failure.RESET}),
    "chunks that are none": (OK + b"Transfer-Encoding: chunked\r\n\r\nhello", {Failure.RESET}),
    "a line without a colon": (OK + b"no colon\r\n\r\nhello", {Failure.PROTOCOL}),
    "an unknown coding": (page(b"hello", "Content-Encoding: dcz"), {Failure.CODING}),
    "three codings": (page(b"hello", "Content-Encoding: gzip, gzip, gzip"), {Failure.CODING}),
    "too many lines": (OK + b"X: y\r\n" * 257 + b"\r\n", {Failure.HEADERS}),
    "too many bytes": (OK + (b"X: " + b"y" * 1000 + b"\r\n") * 70 + b"\r\n", {Failure.HEADERS}),
    "too long a line": (OK + b"X: " + b"y" * 17_000 + b"\r\n\r\n", {Failure.HEADERS}),
    "one line of 10 MB": (OK + b"X: " + b"y" * 10_000_000 + b"\r\n\r\n", {Failure.HEADERS}),
    "a million lines": (OK + b"X: y\r\n" * 1_000_000 + b"\r\n", {Failure.HEADERS}),
    "a long status line": (b"HTTP/1.1 200 " + b"y" * 10_000_000, {Failure.HEADERS, Failure.PROTOCOL}),
    "eleven interims": (b"HTTP/1.1 100 Continue\r\n\r\n" * 11 + page(b"hello"), {Failure.HEADERS}),
    "a flood of interims": (b"HTTP/1.1 100 Continue\r\n\r\n" * 400_000, {Failure.HEADERS}),
    "switching protocols": (b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n", {Failure.PROTOCOL, Failure.RESET}),
    "HTTP/2 without being asked": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {Failure.PROTOCOL}),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_understood_fails_the_visit(web: RawWeb, fetcher: CurlFetcher, case: str) -> None:
    answer, reasons = REFUSED[case]
    assert await outcome(fetcher, web, answer) in reasons


@pytest.mark.parametrize("text", ["http://x y/", "http://a\\@b/", "http://u:p@127.0.0.1/", "http://127.0.0.1:99999/",
                                  "http:///x", "ftp://127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:70/_x",
                                  "data:,x", "", "http://127.0.0.1/a b", "http://127.0.0.1/\n", "http://127.0.0.1/\0",
                                  "http://127.0.0.1/é", "http://[::1/", "http://%31/", "//127.0.0.1/"])  # fmt: skip
async def test_texts_that_are_no_requestable_url_fail_without_a_request(fetcher: CurlFetcher, text: str) -> None:
    with pytest.raises(VisitError) as failure:
        await fetcher.fetch(text)
    assert failure.value.reason is Failure.PROTOCOL
    assert not failure.value.sent


async def test_headers_are_safe_to_write_elsewhere(web: RawWeb, fetcher: CurlFetcher) -> None:
    head = b'ETag: "\x1b[31m"\r\nX-Name:  caf\xe9 \r\nFOLDED: one\r\n\ttwo\r\nEmpty:\r\n'
    response = await outcome(fetcher, web, OK + head + b"Content-Length: 0\r\n\r\n")
    assert isinstance(response, Response)
    assert response.header("etag") == '" [31m"'
    assert response.header("x-name") == "café"
    assert response.header("folded").split() == ["one", "two"]
    assert response.header("empty") == ""
    assert all(name == name.lower() for name, _ in response.headers)


async def test_the_body_is_cut_at_the_limit_and_kept(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    fetcher = make_fetcher(max_body_bytes=100_000)
    web.answers["/"] = page(b"x" * 100_000)
    assert (await fetcher.fetch(web.url("/"))).truncated == ""
    web.answers["/"] = page(b"x" * 100_001)
    response = await fetcher.fetch(web.url("/"))
    assert (len(response.body), response.truncated) == (100_000, "length")
    response = await fetcher.fetch(web.url("/"), max_body_bytes=10)
    assert (len(response.body), response.truncated) == (10, "length")


async def test_an_endless_body_is_cut(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    web.answers["/"] = endless(OK + b"\r\n", b"x" * 65_536)
    response = await make_fetcher(max_body_bytes=1_000_000).fetch(web.url("/"))
    assert (len(response.body), response.truncated) == (1_000_000, "length")


async def test_a_bomb_is_cut_and_its_raw_bytes_are_kept(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    coded = brotli.compress(b"\0" * 20_000_000, quality=1)
    web.answers["/"] = page(coded, "Content-Encoding: br")
    response = await make_fetcher(max_body_bytes=1_000_000).fetch(web.url("/"))
    assert response.raw_body == coded
    assert (len(response.body), response.truncated) == (1_000_000, "length")


async def test_a_damaged_coding_is_kept_and_marked(web: RawWeb, fetcher: CurlFetcher) -> None:
    coded = brotli.compress(b"".join(b"%d" % n for n in range(50_000)))
    web.answers["/"] = page(coded[: len(coded) // 2], "Content-Encoding: br")
    response = await fetcher.fetch(web.url("/"))
    assert response.truncated == "coding"
    assert response.body.startswith(b"0123456789")


async def test_silence_after_accepting_is_a_timeout(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    web.answers["/"] = hang
    with pytest.raises(VisitError) as failure:
        await make_fetcher(first_byte_seconds=0.1).fetch(web.url("/"))
    assert failure.value.reason is Failure.TIMEOUT
    assert failure.value.sent


async def test_headers_that_never_end_are_a_timeout(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    web.answers["/"] = hang_after(OK + b"X: y\r\n")
    with pytest.raises(VisitError) as failure:
        await make_fetcher(idle_seconds=0.1).fetch(web.url("/"))
    assert failure.value.reason is Failure.TIMEOUT


async def test_a_head_without_its_page_is_a_timeout(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    web.answers["/"] = hang_after(OK + b"Content-Length: 9\r\n\r\n")
    with pytest.raises(VisitError) as failure:
        await make_fetcher(idle_seconds=0.1).fetch(web.url("/"))
    assert failure.value.reason is Failure.TIMEOUT


@pytest.mark.parametrize("limit", ["idle_seconds", "fetch_seconds"])
async def test_a_body_cut_by_time_is_kept(web: RawWeb, make_fetcher: MakeFetcher, limit: str) -> None:
    web.answers["/"] = hang_after(OK + b"Content-Length: 99\r\n\r\nhello")
    changes: dict[str, Any] = {limit: 0.5}
    response = await make_fetcher(**changes).fetch(web.url("/"))
    assert (response.body, response.truncated) == (b"hello", "time")


@pytest.mark.parametrize("start", [OK, OK + b"\r\n"])
async def test_a_dripping_answer_is_too_slow(
    web: RawWeb, make_fetcher: MakeFetcher, monkeypatch: pytest.MonkeyPatch, start: bytes
) -> None:
    monkeypatch.setattr("lycosa.fetch.curl.SPEED_WINDOW_SECONDS", 0.2)
    web.answers["/"] = endless(start, b"X: y\r\n", pause_seconds=0.02)
    with pytest.raises(VisitError) as failure:
        await make_fetcher(min_bytes_per_second=100_000).fetch(web.url("/"))
    assert failure.value.reason is Failure.SLOW


async def test_bad_servers_seen_by_nutch(web: RawWeb, fetcher: CurlFetcher) -> None:
    cases = suites.load("conformance/http/nutch/bad_server_responses.json")
    results = {}
    for case in cases:
        result = await outcome(fetcher, web, base64.b64decode(case["raw_b64"]))
        results[case["name"]] = result.status if isinstance(result, Response) else result
    assert results["testBadHttpServer"] == 200
    assert results["testIgnoreErrorInRedirectPayload"] == 302
    assert results["testMultiLineHeader"] == 200
    assert results["testNoStatusLine"] is Failure.PROTOCOL


async def test_heads_of_the_web_platform_tests_give_an_outcome(web: RawWeb, fetcher: CurlFetcher) -> None:
    files = suites.find_all("conformance/http/wpt-*/resources/*.asis")
    assert len(files) > 50
    for file in files:
        result = await outcome(fetcher, web, file.read_bytes())
        assert isinstance(result, (Response, Failure)), file.name


async def test_content_lengths_of_the_web_platform_tests(web: RawWeb, fetcher: CurlFetcher) -> None:
    for case in suites.load("conformance/http/wpt-content-length/resources/content-lengths.json"):
        answer = OK + case["input"].encode("latin-1") + b"\r\n\r\n" + b"x" * 42
        assert isinstance(await outcome(fetcher, web, answer), (Response, Failure)), case
