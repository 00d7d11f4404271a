"""Requests of several machines to one address stand apart: who may go next is asked of the store."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import msgspec

from lycosa.clock import Clock
from lycosa.frontier.redis.connection import Connection

_decode = msgspec.msgpack.Decoder(list[float]).decode
Wanted = Sequence[tuple[int, str]]  # tokens of leases, and the addresses they lead to


@dataclass(eq=False, repr=False)
class SharedAddresses:
    """The moments at which addresses may be asked."""

    _connection: Connection
    _partitions: int
    _gap_seconds: float
    _fake_clock: Clock | None

    async def reserve(self, wanted: Wanted) -> dict[int, float]:
        """When each lease may ask its address: 0 for now."""
        return await self._ask(wanted, is_undone=False) if self._gap_seconds else dict.fromkeys(dict(wanted), 0.0)

    async def undo(self, wanted: Wanted) -> None:
        """Nothing was sent under these leases."""
        if self._gap_seconds:
            await self._ask(wanted, is_undone=True)

    async def _ask(self, wanted: Wanted, *, is_undone: bool) -> dict[int, float]:
        # Tokens as text: Lua's numbers are exact up to 53 bits only.
        wants: dict[int, list[tuple[str, str]]] = defaultdict(list)
        for token, address in wanted:
            wants[crc32(address.encode()) % self._partitions].append((address, str(token)))
        answers = await asyncio.gather(*(self._ask_at(place, some, is_undone) for place, some in wants.items()))
        return {token: due for answer in answers for token, due in answer.items()}

    async def _ask_at(self, partition: int, wants: list[tuple[str, str]], is_undone: bool) -> dict[int, float]:
        args: dict[str, Any] = {"gap": self._gap_seconds, "wants": wants, "is_undone": is_undone}
        if self._fake_clock:
            args["now"] = self._fake_clock()
        raw = await self._connection.run("reserve", self._connection.address.tag(partition), args, durable=False)
        return {} if is_undone else {int(token): due for (_, token), due in zip(wants, _decode(raw), strict=True)}
