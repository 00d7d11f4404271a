"""The port between the scheduler and whatever keeps its tables: small, ordered where order matters, atomic to write.

A store knows no rule of crawling: it gets, scans and writes bytes. What one `write` changes is seen whole or not at
all, also after a crash; writes take effect in the order of their calls, and whoever reads after a write sees it.
There is one writer: a store that finds another one in its place raises.

hosts     host name                                       -> HostRecord (the domain-policy table)
queue     host number (4) · lane (1) · block number (4)   -> a block of queued targets (see `queue.py`)
waiting   rank (1) · serial (7)                           -> host name; a host that has something queued      ordered
parked    due (8) · host number (4) · in trouble (1)      -> host name; a host that rests for long            ordered
delayed   due (8) · serial (7)                            -> Target to be queued again then                   ordered
revisits  due (8) · fingerprint (8)                       -> nothing; a visited URL that is due again then    ordered
history   fingerprint (8)                                 -> History of a URL that was visited
robots    origin                                          -> the robots record, opaque
sites     registered domain                               -> version (8) · the notes on it, opaque
contents  digest                                          -> URL under which this content was stored first
orders    id                                              -> Obeyed: what an operator wanted, and what came of it
poisoned  table · : · key                                 -> a value that could not be read, set aside
meta      state, format, key, seen
and beside them the set of known URLs, by their fingerprints (8).
"""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Iterator, Sequence
from typing import Protocol

HOSTS, QUEUE, WAITING, PARKED, DELAYED, REVISITS = "hosts", "queue", "waiting", "parked", "delayed", "revisits"
HISTORY, ROBOTS, SITES, CONTENTS, ORDERS = "history", "robots", "sites", "contents", "orders"
POISONED, META = "poisoned", "meta"
# Tables that can be scanned in the order of their keys, which have one length each; the others are only looked up.
KEY_BYTES = {WAITING: 8, PARKED: 13, DELAYED: 15, REVISITS: 16}
ORDERED = tuple(KEY_BYTES)
TABLES = (HOSTS, QUEUE, *ORDERED, HISTORY, ROBOTS, SITES, CONTENTS, ORDERS, POISONED, META)

Row = tuple[bytes, bytes]


class Batch:
    """What one write changes. A key that is put twice is written once, as it was put last."""

    __slots__ = ("known", "tables")

    def __init__(self) -> None:
        self.tables: dict[str, dict[bytes, bytes | None]] = {}  # None: the key is gone
        self.known: dict[bytes, bool] = {}  # fingerprints that are known from now on, or no longer

    def __bool__(self) -> bool:
        return bool(self.tables or self.known)

    def put(self, table: str, key: bytes, value: bytes | None) -> None:
        rows = self.tables.get(table)
        if rows is None:
            rows = self.tables[table] = {}
        rows[key] = value

    def delete(self, table: str, key: bytes) -> None:
        self.put(table, key, None)


class Done:
    """The answer of a store that writes at once: there is nothing to wait for."""

    __slots__ = ()

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


class Tables(Protocol):
    """What the scheduler needs of a store. Raises `BackendLost` where the store cannot go on."""

    async def get(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of these keys, in their order."""

    async def scan(self, table: str, after: bytes, limit: int) -> list[Row]:
        """The first rows of an ordered table behind a key."""

    async def known(self, fingerprints: Sequence[bytes]) -> list[bool]:
        """Whether each of these is known."""

    def write(self, batch: Batch) -> Awaitable[None]:
        """Take a batch in, after all before it. Awaiting the answer tells that it was: it must not be used again."""

    async def durable(self) -> None:
        """Return once all that was written survives a power cut, as far as the operator wants that."""

    async def close(self) -> None:
        """Write what is pending and let go."""


class Reader(Protocol):
    """The tables as others read them, without disturbing whoever writes."""

    def get(self, table: str, keys: Sequence[bytes]) -> list[bytes | None]: ...

    def rows(self, table: str) -> Iterator[Row]:
        """All rows of a table; in order if it is ordered."""

    def known(self, fingerprints: Sequence[bytes]) -> list[bool]: ...

    def count_known(self) -> int:
        """How many URLs are known, by counting."""

    def close(self) -> None: ...
