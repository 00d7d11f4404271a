from __future__ import annotations

import asyncio
import socket
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.simweb import HandWeb, SimWeb
from lycosa.simweb.dns import DnsServer


def _question(name: str, type_: int = 1) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", 4711, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", type_, 1)


def _answer(message: bytes | None) -> tuple[int, int, list[str]]:
    """The number, the response code and the addresses of a response."""
    assert message is not None
    number, flags, _, records, _, _ = struct.unpack_from("!6H", message)
    assert flags & 0x8000
    tail = message[len(message) - 16 * records :]
    return number, flags & 15, [socket.inet_ntoa(tail[16 * i + 12 : 16 * i + 16]) for i in range(records)]


def test_a_known_name_has_its_addresses() -> None:
    server = DnsServer({"a.test": ["127.1.0.1", "127.1.0.2"]}.get, ttl_seconds=7)
    message = server.answer(_question("A.Test"))
    assert _answer(message) == (4711, 0, ["127.1.0.1", "127.1.0.2"])
    assert message is not None
    assert struct.pack("!I", 7) in message
    assert [(query.name, query.type) for query in server.queries] == [("a.test", 1)]


def test_a_known_name_has_no_other_records() -> None:
    assert _answer(DnsServer({"a.test": ["127.1.0.1"]}.get).answer(_question("a.test", 28))) == (4711, 0, [])


def test_an_unknown_name_does_not_exist() -> None:
    assert _answer(DnsServer(lambda name: None).answer(_question("b.test"))) == (4711, 3, [])


@given(st.binary(max_size=80))
def test_no_message_breaks_the_server(data: bytes) -> None:
    answer = DnsServer(lambda name: None).answer(data)
    assert answer is None or len(answer) >= 12


@pytest.mark.parametrize("message", [_question("a.test")[:20], _question("a.test")[:12] + b"\x3fabc\0\0\1\0\1"])
def test_a_cut_question_is_a_format_error(message: bytes) -> None:
    assert _answer(DnsServer(lambda name: None).answer(message))[1] == 1


async def test_names_resolve_over_udp(mixed_web: SimWeb) -> None:
    assert await _resolve(mixed_web.dns_address, mixed_web.layout.host(5).name) == (0, ["127.1.0.6"])
    assert await _resolve(mixed_web.dns_address, "nowhere.test") == (3, [])
    assert len(mixed_web.dns_queries) == 2


async def test_a_test_sets_the_addresses_of_a_name(hand_web: HandWeb) -> None:
    hand_web.page("http://a.test/", "x")
    hand_web.resolve("b.test", "10.0.0.1")
    hand_web.resolve("c.test")
    assert await _resolve(hand_web.dns_address, "a.test") == (0, list(hand_web.addresses("a.test")))
    assert await _resolve(hand_web.dns_address, "b.test") == (0, ["10.0.0.1"])
    assert await _resolve(hand_web.dns_address, "c.test") == (3, [])


async def _resolve(server: str, name: str) -> tuple[int, list[str]]:
    host, _, port = server.partition(":")
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.setblocking(False)
        await loop.sock_connect(client, (host, int(port)))
        await loop.sock_sendall(client, _question(name))
        async with asyncio.timeout(10):
            return _answer(await loop.sock_recv(client, 512))[1:]
