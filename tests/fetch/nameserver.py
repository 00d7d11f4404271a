"""A name server for tests: answers A and AAAA from a table, counts queries, and can fail or stay silent."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter

NOERROR, SERVFAIL, NXDOMAIN = 0, 2, 3
TYPES = {1: "A", 28: "AAAA"}


class NameServer(asyncio.DatagramProtocol):
    """`records[name, type]` is a list of addresses; other types of a known name are empty, other names unknown."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], list[str]] = {}
        # 0 keeps the client library's own cache out of the way: every look-up that is made is seen here.
        self.ttl = 0
        self.failure = NOERROR
        self.is_silent = False
        self.queries: Counter[tuple[str, str]] = Counter()
        self.gate = asyncio.Event()
        self.gate.set()
        self._replies: set[asyncio.Task[None]] = set()
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> str:
        """Listen on a free port; returns `address:port`."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        return "127.0.0.1:{}".format(self._transport.get_extra_info("sockname")[1])

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def datagram_received(self, data: bytes, addr: tuple[str | int, int]) -> None:
        task = asyncio.get_running_loop().create_task(self._reply(data, addr))
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _reply(self, data: bytes, addr: tuple[str | int, int]) -> None:
        name, kind, question = _question(data)
        self.queries[name, kind] += 1
        await self.gate.wait()
        if not self.is_silent and self._transport is not None:
            self._transport.sendto(self._answer(data[:2], name, kind, question), addr)

    def _answer(self, ident: bytes, name: str, kind: str, question: bytes) -> bytes:
        addresses = self.records.get((name, kind), [])
        is_known = any(known == name for known, _ in self.records)
        code = self.failure or (NOERROR if is_known else NXDOMAIN)
        if code:
            addresses = []
        head = ident + struct.pack("!HHHHH", 0x8180 | code, 1, len(addresses), 0, 0)
        return head + question + b"".join(_record(kind, address, self.ttl) for address in addresses)


def _question(data: bytes) -> tuple[str, str, bytes]:
    labels, at = [], 12
    while length := data[at]:
        labels.append(data[at + 1 : at + 1 + length].decode("ascii"))
        at += 1 + length
    kind = TYPES[struct.unpack("!H", data[at + 1 : at + 3])[0]]
    return ".".join(labels).lower(), kind, data[12 : at + 5]


def _record(kind: str, address: str, ttl: int) -> bytes:
    family, code = (socket.AF_INET, 1) if kind == "A" else (socket.AF_INET6, 28)
    data = socket.inet_pton(family, address)
    return b"\xc0\x0c" + struct.pack("!HHIH", code, 1, ttl, len(data)) + data
