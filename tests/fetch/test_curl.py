"""One exchange and many: what is sent, what comes back, which connections are made, and how all of it ends."""

from __future__ import annotations

import asyncio
import gzip
import resource
from pathlib import Path
from typing import Any

import pytest
import uvloop

from lycosa.errors import AddressRefused, NoNetwork, Shortage, Unreachable, VisitError
from lycosa.fetch.curl import CurlFetcher
from lycosa.fetch.dns import Resolver
from lycosa.fetch.gate import AddressGate
from lycosa.model import Failure, Reason
from lycosa.settings import Settings

from .conftest import MakeFetcher
from .nameserver import NOERROR, SERVFAIL, NameServer
from .rawweb import RawWeb, hang, page


class FixedResolver(Resolver):
    """Answers from a list, one answer per question."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        super().__init__([])
        self.answers = list(answers)

    async def addresses(self, host: str) -> tuple[str, ...]:
        return self.answers.pop(0)

    async def is_answered(self, since: float) -> bool:
        return True


async def failure_of(fetcher: CurlFetcher, url: str) -> VisitError:
    with pytest.raises(VisitError) as failure:
        await fetcher.fetch(url)
    return failure.value


async def test_a_response_says_all_of_the_exchange(web: RawWeb, fetcher: CurlFetcher) -> None:
    web.answers["/a?b=c"] = page(b"hello", "Content-Type: text/html")
    response = await fetcher.fetch(web.url("/a?b=c#part"))
    assert response.status == 200
    assert response.body == b"hello"
    assert response.raw_body is response.body
    assert response.head == b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/html\r\n\r\n"
    assert response.headers == [("content-length", "5"), ("content-type", "text/html")]
    assert (response.address, response.protocol, response.truncated) == ("127.0.0.1", "http/1.1", "")
    assert response.seconds > 0


async def test_the_request_head_is_the_one_that_was_sent(web: RawWeb, fetcher: CurlFetcher) -> None:
    for path in ["/", "/a/../b/./c?x=%20&y=//", "/" + "x" * 3000]:
        web.answers[path] = page(b"")
        headers = [("If-None-Match", '"v1"'), ("Accept", "application/xml")]
        plain = await fetcher.fetch(web.url(path))
        conditional = await fetcher.fetch(web.url(path), headers=headers)
        assert web.requests[-2:] == [plain.request_head, conditional.request_head]
        assert b'\r\nIf-None-Match: "v1"\r\n' in conditional.request_head
        assert b"If-None-Match" not in plain.request_head
        assert conditional.request_head.count(b"\r\nAccept: ") == 1


async def test_the_crawler_names_itself(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    web.answers["/"] = page(b"")
    await make_fetcher(user_agent="spider/1 (+https://x.test)").fetch(web.url("/"))
    assert b"\r\nUser-Agent: spider/1 (+https://x.test)\r\n" in web.requests[0]
    assert b"\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" in web.requests[0]


async def test_header_values_cannot_break_out_of_their_line(web: RawWeb, fetcher: CurlFetcher) -> None:
    web.answers["/"] = page(b"")
    evil = [("If-None-Match", "a\r\nCookie: b"), ("X: y\r\nCookie", "b"), ("If-Modified-Since", "\0"), ("Empty", "")]
    await fetcher.fetch(web.url("/"), headers=evil)
    assert b"Cookie" not in web.requests[0]
    assert web.requests[0].count(b"\r\n") == 7


async def test_connections_are_reused(web: RawWeb, fetcher: CurlFetcher) -> None:
    web.keeps_alive = True
    web.answers = {f"/{n}": page(b"%d" % n) for n in range(20)}
    assert [(await fetcher.fetch(web.url(f"/{n}"))).body for n in range(20)] == [b"%d" % n for n in range(20)]
    assert web.connections == 1


async def test_a_response_tells_how_long_it_took_to_connect(web: RawWeb, fetcher: CurlFetcher) -> None:
    web.keeps_alive = True
    web.answers["/"] = page(b"")
    first, second = [await fetcher.fetch(web.url("/")) for _ in range(2)]
    assert 0 < first.connect_seconds < first.seconds
    assert second.connect_seconds == 0


async def test_redirects_are_answers(web: RawWeb, fetcher: CurlFetcher) -> None:
    web.answers["/"] = page(b"", "Location: /next", status="301 Moved")
    response = await fetcher.fetch(web.url("/"))
    assert response.is_redirect
    assert response.header("location") == "/next"
    assert web.paths == ["/"]


async def test_nothing_is_carried_from_one_request_to_the_next(
    web: RawWeb, fetcher: CurlFetcher, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("default login user password secret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    web.answers["/"] = page(b"", "Set-Cookie: a=b", 'WWW-Authenticate: Basic realm="x"', status="401 No")
    for _ in range(2):
        response = await fetcher.fetch(web.url("/"))
        assert response.status == 401
    assert len(web.requests) == 2
    assert not any(b"Cookie" in request or b"Authorization" in request for request in web.requests)


async def test_codings_come_off_and_the_raw_body_stays(web: RawWeb, fetcher: CurlFetcher) -> None:
    coded = gzip.compress(b"hello" * 1000)
    web.answers["/"] = page(coded, "Content-Encoding: gzip")
    response = await fetcher.fetch(web.url("/"))
    assert response.body == b"hello" * 1000
    assert response.raw_body == coded


async def test_a_closed_port_fails_without_a_request(fetcher: CurlFetcher) -> None:
    failure = await failure_of(fetcher, "http://127.0.0.1:1/")
    assert failure.reason is Failure.CONNECT
    assert failure.in_short == Reason(Failure.CONNECT, "Connection refused")
    assert not failure.sent


async def test_the_next_address_is_tried_when_one_does_not_answer(web: RawWeb) -> None:
    web.answers["/"] = page(b"hello")
    resolver = FixedResolver(("127.0.0.2", "127.0.0.1"))
    fetcher = CurlFetcher(Settings(), resolver, AddressGate(["127.0.0.0/8"]))
    response = await fetcher.fetch(web.url("/", "two.test"))
    assert response.address == "127.0.0.1"
    await fetcher.close()


async def test_ipv6_addresses_are_fetched_from(make_fetcher: MakeFetcher) -> None:
    web = RawWeb()
    try:
        await web.start(host="::1")
    except OSError:
        pytest.skip("no IPv6 here")
    web.answers["/"] = page(b"hello")
    response = await make_fetcher(open_networks=["::1"]).fetch(web.url("/", "[::1]"))
    assert (response.body, response.address) == (b"hello", "::1")
    web.close()


async def test_names_are_resolved_and_sent_as_host(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    server = NameServer()
    server.records["a.test", "A"] = ["127.0.0.1"]
    fetcher = make_fetcher(dns_servers=[await server.start()])
    web.answers["/"] = page(b"hello")
    await fetcher.prefetch(["a.test", "missing.test"])
    response = await fetcher.fetch(web.url("/", "a.test"))
    assert f"Host: a.test:{web.port}\r\n".encode() in web.requests[0]
    assert response.address == "127.0.0.1"
    assert server.queries["a.test", "A"] == 1
    failure = await failure_of(fetcher, web.url("/", "missing.test"))
    assert failure.reason is Failure.DNS
    server.close()


async def test_a_host_is_not_blamed_for_a_network_that_is_gone(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    server = NameServer()
    server.records["a.test", "A"] = ["127.0.0.1"]
    fetcher = make_fetcher(dns_servers=[await server.start()])
    server.failure = SERVFAIL
    with pytest.raises(NoNetwork):
        await fetcher.fetch(web.url("/", "a.test"))
    with pytest.raises(NoNetwork):
        await fetcher.address_of("a.test", "")
    was_cut_off = fetcher.is_cut_off
    server.failure = NOERROR
    web.answers["/"] = page(b"hello")
    await fetcher.fetch(web.url("/", "a.test"))
    assert (was_cut_off, fetcher.is_cut_off) == (True, False)
    server.close()


async def test_a_lack_of_descriptors_is_not_taken_for_a_network_that_is_gone(
    web: RawWeb, make_fetcher: MakeFetcher
) -> None:
    server = NameServer()
    server.failure = SERVFAIL
    fetcher = make_fetcher(dns_servers=[await server.start()])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with pytest.raises(NoNetwork):
        await fetcher.fetch(web.url("/", "a.test"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(Shortage):
            await fetcher.fetch(web.url("/", "b.test"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    server.close()


async def test_a_host_that_is_down_alone_is_blamed(make_fetcher: MakeFetcher) -> None:
    server = NameServer()
    server.records["a.test", "A"] = ["127.0.0.1"]
    fetcher = make_fetcher(dns_servers=[await server.start()])
    assert (await failure_of(fetcher, "http://a.test:1/")).reason is Failure.CONNECT
    assert not fetcher.is_cut_off
    server.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0",
                                  "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "169.254.169.254"])  # fmt: skip
async def test_closed_addresses_get_no_connection(web: RawWeb, make_fetcher: MakeFetcher, host: str) -> None:
    failure = await failure_of(make_fetcher(open_networks=[]), web.url("/", host))
    assert isinstance(failure, AddressRefused)
    assert not failure.sent
    assert web.connections == 0


@pytest.mark.parametrize("host", ["127.1", "0x7f000001", "2130706433", "017700000001", "localhost", "localhost."])
async def test_odd_forms_of_loopback_get_no_connection(web: RawWeb, make_fetcher: MakeFetcher, host: str) -> None:
    server = NameServer()
    fetcher = make_fetcher(dns_servers=[await server.start()])
    assert (await failure_of(fetcher, web.url("/", host))).reason is Failure.DNS
    assert web.connections == 0
    server.close()


@pytest.mark.parametrize("host", ["127.1", "2130706433", "a.test", "localhost"])
async def test_the_connection_goes_where_the_resolver_said_whatever_the_host_looks_like(web: RawWeb, host: str) -> None:
    fetcher = CurlFetcher(Settings(), FixedResolver(("127.0.0.2",)), AddressGate(["127.0.0.2"]))
    assert (await failure_of(fetcher, web.url("/", host))).reason is Failure.CONNECT
    assert web.connections == 0
    await fetcher.close()


async def test_a_name_that_changes_its_address_is_checked_again(web: RawWeb) -> None:
    resolver = FixedResolver(("127.0.0.2",), ("127.0.0.1",))
    fetcher = CurlFetcher(Settings(), resolver, AddressGate(["127.0.0.2"]))
    assert (await failure_of(fetcher, web.url("/", "evil.test"))).reason is Failure.CONNECT
    assert (await failure_of(fetcher, web.url("/", "evil.test"))).reason is Failure.ADDRESS
    assert web.connections == 0
    await fetcher.close()


async def test_the_address_is_checked_again_when_the_socket_is_opened(web: RawWeb) -> None:
    class Forgetful(AddressGate):
        """Permits each address once: only a second look can refuse it."""

        def __init__(self) -> None:
            super().__init__([])
            self.asked: set[str] = set()

        def permits(self, address: str) -> bool:
            is_first = address not in self.asked
            self.asked.add(address)
            return is_first

    fetcher = CurlFetcher(Settings(), Resolver([]), Forgetful())
    failure = await failure_of(fetcher, web.url("/"))
    assert isinstance(failure, AddressRefused)
    assert not failure.sent
    assert web.connections == 0
    await fetcher.close()


async def test_a_cancelled_fetch_closes_its_connection_and_frees_its_place(
    web: RawWeb, make_fetcher: MakeFetcher
) -> None:
    web.answers = {"/hang": hang, "/": page(b"hello")}
    fetcher = make_fetcher(connections=1)
    hanging = asyncio.create_task(fetcher.fetch(web.url("/hang")))
    await web.arrived.wait()
    waiting = asyncio.create_task(fetcher.fetch(web.url("/")))
    hanging.cancel()
    await web.all_closed.wait()
    assert (await waiting).body == b"hello"
    assert hanging.cancelled()


async def test_open_requests_are_bounded(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    most = 0

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal most
        most = max(most, web.open_connections)
        await asyncio.sleep(0)
        writer.write(page(b""))

    web.answers["/"] = answer
    fetcher = make_fetcher(connections=3)
    await asyncio.gather(*(fetcher.fetch(web.url("/")) for _ in range(30)))
    # A connection that is over may be closing while the next begins.
    assert most <= 6


async def test_close_ends_what_is_under_way(web: RawWeb, fetcher: CurlFetcher) -> None:
    web.answers["/"] = hang
    hanging = asyncio.create_task(fetcher.fetch(web.url("/")))
    await web.arrived.wait()
    await fetcher.close()
    with pytest.raises(Unreachable):
        await hanging
    await web.all_closed.wait()
    with pytest.raises(Unreachable):
        await fetcher.fetch(web.url("/"))


async def test_two_thousand_connections_at_once(web: RawWeb, make_fetcher: MakeFetcher) -> None:
    count = 2000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3 * count:
        pytest.skip("too few descriptors allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3 * count), hard))
    everyone = asyncio.Event()

    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if web.open_connections == count:
            everyone.set()
        await everyone.wait()
        writer.write(page(b"hello"))

    web.answers["/"] = answer
    patient: dict[str, Any] = {"connect_seconds": 60.0, "first_byte_seconds": 60.0, "fetch_seconds": 60.0}
    fetcher = make_fetcher(connections=count, **patient)
    responses = await asyncio.gather(*(fetcher.fetch(web.url("/")) for _ in range(count)))
    assert {response.body for response in responses} == {b"hello"}
    assert web.connections == count


def test_it_runs_on_uvloop() -> None:
    async def run() -> None:
        web = RawWeb()
        await web.start()
        web.keeps_alive = True
        web.answers = {"/": page(b"hello" * 10_000), "/hang": hang}
        fetcher = CurlFetcher(Settings(), Resolver([]), AddressGate(["127.0.0.0/8"]))
        for _ in range(3):
            assert (await fetcher.fetch(web.url("/"))).body == b"hello" * 10_000
        assert web.connections == 1
        hanging = asyncio.create_task(fetcher.fetch(web.url("/hang")))
        await asyncio.sleep(0)
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)
        await fetcher.close()
        web.close()

    uvloop.run(run())
