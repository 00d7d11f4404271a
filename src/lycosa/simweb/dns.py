"""A DNS server for a simulated web: A records over UDP, and a count of what was asked.

Knows the wire format of RFC 1035 as far as a stub resolver uses it, and no web: a function gives the
addresses. Unknown names do not exist; every known name has no record of any other type.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias, cast

Lookup: TypeAlias = Callable[[str], Sequence[str] | None]

TYPE_A = 1
_RECEIVE_BYTES = 4 * 1024 * 1024
_CLASS_IN = 1
_ANSWER_OF_FIRST_NAME = b"\xc0\x0c"
_IS_RESPONSE, _IS_AUTHORITATIVE, _WANTS_RECURSION, _CAN_RECURSE = 0x8000, 0x0400, 0x0100, 0x0080
_NO_ERROR, _FORMAT_ERROR, _NO_SUCH_NAME = 0, 1, 3


class Query(NamedTuple):
    """One question asked of the server."""

    asked_at: float
    name: str
    type: int


class DnsServer(asyncio.DatagramProtocol):
    """Answers questions from a lookup; `None` from the lookup means that the name does not exist."""

    def __init__(self, lookup: Lookup, *, ttl_seconds: int = 60, is_log_kept: bool = True) -> None:
        self.queries: list[Query] = []
        self.count = 0
        self._is_log_kept = is_log_kept
        self._lookup = lookup
        self._ttl_seconds = ttl_seconds
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self, port: int = 0) -> int:
        """Listen on 127.0.0.1; the port it took."""
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", port))
        assert self._transport is not None, "an open endpoint has a transport"
        # Hundreds of names may be asked for at once, and what the buffer cannot hold is lost without a word.
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        return cast(int, self._transport.get_extra_info("sockname")[1])

    def close(self) -> None:
        """Stop listening."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transport is not registered as asyncio's abstract one.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if self._transport is not None and (answer := self.answer(data)) is not None:
            self._transport.sendto(answer, addr)

    def answer(self, message: bytes) -> bytes | None:
        """The response to a query message; nothing to what is no query."""
        if len(message) < 12 or message[2] & 0x80:
            return None
        number, flags = struct.unpack_from("!HH", message)
        flags = _IS_RESPONSE | _IS_AUTHORITATIVE | _CAN_RECURSE | (flags & _WANTS_RECURSION)
        try:
            name, end = _read_name(message)
            type_, class_ = struct.unpack_from("!HH", message, end)
        except (IndexError, struct.error, UnicodeDecodeError):
            return struct.pack("!6H", number, flags | _FORMAT_ERROR, 0, 0, 0, 0)
        self.count += 1
        if self._is_log_kept:
            self.queries.append(Query(time.monotonic(), name, type_))
        question = message[12 : end + 4]
        addresses = self._lookup(name) if class_ == _CLASS_IN else None
        if addresses is None:
            return struct.pack("!6H", number, flags | _NO_SUCH_NAME, 1, 0, 0, 0) + question
        records = [self._record(address) for address in addresses] if type_ == TYPE_A else []
        head = struct.pack("!6H", number, flags | _NO_ERROR, 1, len(records), 0, 0)
        return head + question + b"".join(records)

    def _record(self, address: str) -> bytes:
        data = ipaddress.IPv4Address(address).packed
        return _ANSWER_OF_FIRST_NAME + struct.pack("!HHIH", TYPE_A, _CLASS_IN, self._ttl_seconds, 4) + data


def _read_name(message: bytes) -> tuple[str, int]:
    """The name of the first question, in lower case, and where it ends; questions do not use compression."""
    labels, place = [], 12
    while length := message[place]:
        if length > 63 or place + length >= len(message):
            raise IndexError("a label longer than the message")
        labels.append(message[place + 1 : place + 1 + length].decode("ascii").lower())
        place += 1 + length
    return ".".join(labels), place + 1
