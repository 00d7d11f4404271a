from __future__ import annotations

import asyncio
import socket

import pytest

from lycosa.simweb import HandWeb, ServedExchange, SimWeb, WebPlan, make_reply
from lycosa.simweb.log import RequestLog
from lycosa.simweb.server import SimServer

from .fixtures import ask, heard, say


async def test_pages_of_a_hand_made_web_are_served(hand_web: HandWeb) -> None:
    url = hand_web.page("http://a.test/x?y=1", "<p>hello")
    answer = await ask(url)
    assert (answer.status, answer.body) == (200, b"<p>hello")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert hand_web.requested_urls == [url]


async def test_what_was_not_put_is_missing(hand_web: HandWeb) -> None:
    hand_web.page("http://a.test/x", "")
    assert (await ask(hand_web.url("a.test", "/other"))).status == 404
    assert (await ask(hand_web.url("b.test", "/x"))).status == 404


async def test_redirects_and_robots_are_pages_too(hand_web: HandWeb) -> None:
    url = hand_web.redirect("http://a.test/old", "/new", status=308)
    answer = await ask(url)
    assert (answer.status, answer.headers["location"]) == (308, "/new")
    hand_web.robots("a.test", "User-agent: *\nDisallow: /x")
    assert (await ask(hand_web.url("a.test", "/robots.txt"))).body.endswith(b"/x")


async def test_a_validator_is_answered_with_304(hand_web: HandWeb) -> None:
    url = hand_web.page(
        "http://a.test/", "x", headers={"ETag": '"1"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    )
    answers = [
        await ask(url, {"If-None-Match": '"0", W/"1"'}),
        await ask(url, {"If-Modified-Since": "Mon, 01 Jan 2024 00:00:00 GMT"}),
        # RFC 9110, 13.1.3: a date is ignored beside an ETag.
        await ask(url, {"If-None-Match": '"2"', "If-Modified-Since": "Mon, 01 Jan 2024 00:00:00 GMT"}),
    ]
    assert [answer.status for answer in answers] == [304, 304, 200]
    assert answers[0].headers["etag"] == '"1"'
    assert "content-length" not in answers[0].headers


async def test_head_has_the_length_and_no_body(hand_web: HandWeb) -> None:
    answer = await ask(hand_web.page("http://a.test/", "hello"), method="HEAD")
    assert (answer.status, answer.headers["content-length"], answer.body) == (200, "5", b"")


async def test_pipelined_requests_are_answered_in_order_on_one_connection(hand_web: HandWeb) -> None:
    hand_web.page("http://a.test/slow", "first", delay_seconds=0.02)
    hand_web.page("http://a.test/quick", "second")
    quick = b"GET /quick HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"
    answer = await say(hand_web.port, b"GET /slow HTTP/1.1\r\nHost: a.test\r\n\r\n" + quick)
    assert answer.index(b"first") < answer.index(b"second")
    assert [request.path for request in hand_web.requests] == ["/slow", "/quick"]
    assert len({request.connection for request in hand_web.requests}) == 1
    slow, quick_one = hand_web.requests
    assert slow.finished_at is not None
    assert slow.arrived_at < slow.finished_at <= quick_one.arrived_at


async def test_a_request_may_come_in_pieces(hand_web: HandWeb) -> None:
    hand_web.page("http://a.test/x", "whole")
    reader, writer = await asyncio.open_connection("127.0.0.1", hand_web.port)
    for piece in (b"GET /x HT", b"TP/1.1\r\nHost: A.", b"TEST:80\r\nConnection: close\r", b"\n\r\n"):
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    assert heard(await reader.read()).body == b"whole"
    writer.close()


@pytest.mark.parametrize(
    "request_line",
    [
        b"GET /x HTTP/1.0\r\nHost: a.test\r\n\r\n",
        b"GET http://a.test/x HTTP/1.0\r\n\r\n",
        b"GET /x HTTP/1.0\nHost: a.test\n\n",
    ],
)
async def test_odd_requests_are_understood(hand_web: HandWeb, request_line: bytes) -> None:
    hand_web.page("http://a.test/x", "found")
    assert heard(await say(hand_web.port, request_line)).body == b"found"


@pytest.mark.parametrize(
    "data", [b"\0\0\0\r\n\r\n", b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"x" * 70_000]
)
async def test_what_is_no_request_is_refused_and_logged(hand_web: HandWeb, data: bytes) -> None:
    assert heard(await say(hand_web.port, data)).status == 400
    assert [request.status for request in hand_web.requests] == [400]


async def test_a_request_body_reaches_a_behaviour(hand_web: HandWeb) -> None:
    async def echo(exchange: ServedExchange) -> None:
        exchange.reply(make_reply(200, exchange.ask.body))

    hand_web.behave("http://a.test/login", echo)
    head = b"POST /login HTTP/1.1\r\nHost: a.test\r\nContent-Length: 7\r\nConnection: close\r\n\r\n"
    assert heard(await say(hand_web.port, head + b"a=1&b=2")).body == b"a=1&b=2"
    assert hand_web.requests[0].method == "POST"


async def test_a_behaviour_may_send_anything(hand_web: HandWeb) -> None:
    async def broken(exchange: ServedExchange) -> None:
        exchange.send(b"HTTP/1.1 200 Fine\r\nContent-Length: 100\r\n\r\nshort")
        await exchange.drain()
        exchange.close()

    hand_web.behave_host("a.test", broken)
    answer = await say(hand_web.port, b"GET /any HTTP/1.1\r\nHost: a.test\r\n\r\n")
    assert answer.endswith(b"short")
    assert hand_web.requests[0].status == 200


async def test_a_client_that_leaves_ends_its_behaviour_and_is_logged_unfinished(hand_web: HandWeb) -> None:
    is_begun, is_ended = asyncio.Event(), asyncio.Event()

    async def tarpit(exchange: ServedExchange) -> None:
        is_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            is_ended.set()

    hand_web.behave("http://a.test/", tarpit)
    _, writer = await asyncio.open_connection("127.0.0.1", hand_web.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
    async with asyncio.timeout(10):
        await is_begun.wait()
        writer.close()
        await is_ended.wait()
    assert hand_web.requests[0].finished_at is None


async def test_a_behaviour_that_fails_fails_the_test() -> None:
    async def wrong(exchange: ServedExchange) -> None:
        raise KeyError("a bug in the test")

    async def visit() -> None:
        async with HandWeb() as web:
            web.behave("http://a.test/", wrong)
            with pytest.raises(ConnectionResetError):
                await ask(web.url("a.test"))

    with pytest.raises(ExceptionGroup) as caught:
        await visit()
    assert caught.group_contains(KeyError)


async def test_a_big_answer_to_a_slow_reader_does_not_pile_up(hand_web: HandWeb) -> None:
    hand_web.page("http://a.test/", b"x" * 1_000_000)
    reader, writer = await asyncio.open_connection("127.0.0.1", hand_web.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n" * 50)
    await reader.readexactly(1000)
    # The rest waits for the reader: far fewer than 50 answers have been made.
    assert len(hand_web.requests) < 20
    writer.close()


async def test_hundreds_of_connections_are_held_open(hand_web: HandWeb) -> None:
    hand_web.page("http://a.test/", "here")
    clients = [await asyncio.open_connection("127.0.0.1", hand_web.port) for _ in range(400)]
    for _, writer in clients:
        writer.write(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
    for reader, writer in clients:
        assert (await reader.readuntil(b"here")).startswith(b"HTTP/1.1 200 ")
        writer.close()
    assert len({request.connection for request in hand_web.requests}) == 400


async def test_hosts_answer_at_their_own_addresses_too() -> None:
    async with SimWeb(WebPlan.named("clean", hosts=3)) as web:
        reader, writer = await asyncio.open_connection("127.1.0.3", web.port)
        writer.write(b"GET /robots.txt HTTP/1.0\r\n\r\n")
        assert web.layout.host(2).name.encode() in await reader.read()
        writer.close()
        assert (await ask(f"http://127.1.0.2:{web.port}/")).status == 200
        assert (await ask(f"http://elsewhere.test:{web.port}/")).status == 404


@pytest.fixture
def outside_address() -> str:
    """An address of this machine that others might reach."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing; only picks the outgoing address
        except OSError:
            pytest.skip("this machine has no address but loopback")
        return str(probe.getsockname()[0])


async def test_nothing_answers_at_an_outside_address(hand_web: HandWeb, outside_address: str) -> None:
    assert await _answer_at(outside_address, hand_web.port) == b""
    assert hand_web.requests == []


async def test_nothing_answers_outside_even_where_the_kernel_binds_no_device(outside_address: str) -> None:
    listener = socket.create_server(("0.0.0.0", 0))
    server = SimServer(HandWeb(), RequestLog())
    await server.start(listener)
    port = listener.getsockname()[1]
    assert (await _answer_at("127.0.0.1", port)).startswith(b"HTTP/1.1 404 ")
    assert await _answer_at(outside_address, port) == b""
    await server.close()


async def _answer_at(address: str, port: int) -> bytes:
    try:
        async with asyncio.timeout(10):
            reader, writer = await asyncio.open_connection(address, port)
            writer.write(b"GET / HTTP/1.0\r\nHost: a.test\r\n\r\n")
            answer = await reader.read()
            writer.close()
            return answer
    except OSError:
        return b""


async def test_a_host_of_a_plan_may_have_a_behaviour_of_its_own() -> None:
    async def teapot(exchange: ServedExchange) -> None:
        exchange.reply(make_reply(418))

    async with SimWeb(WebPlan.named("clean", hosts=2)) as web:
        web.behave_host(1, teapot)
        assert (await ask(web.url(1, 3))).status == 418
        assert (await ask(web.url(0))).status == 200
