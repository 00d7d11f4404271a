"""Rows changed by hand in the frontier of a crawl that does not run, and frontiers made of nothing but rows."""

from __future__ import annotations

import asyncio
from pathlib import Path

from lycosa.frontier.memory import MemoryReader, MemoryTables
from lycosa.frontier.records import HostRecord, State, encode
from lycosa.frontier.rocks.tables import RocksTables
from lycosa.frontier.tables import HOSTS, META, Batch
from lycosa.frontier.view import Agreed, CrawlView, Crew, Shares
from lycosa.inspect.opened import OpenedCrawl
from lycosa.ports import Counts
from lycosa.settings import Settings

KEY = b"k" * 16


def change_rows(frontier: Path, batch: Batch) -> None:
    """Write into a frontier in RocksDB."""

    async def write() -> None:
        tables = RocksTables(frontier)
        await tables.write(batch)
        await tables.close()

    asyncio.run(write())


def crawl_of(
    batch: Batch, *hosts: HostRecord, crew: Crew | None = None, shares: Shares | None = None, known: int = 1
) -> OpenedCrawl:
    """A crawl that is seen from its frontier alone, with these rows in it."""
    counts = Counts(known=known, queued=sum(host.queued for host in hosts), hosts=len(hosts))
    for host in hosts:
        batch.put(HOSTS, host.name.encode(), encode(host))
    batch.put(META, b"state", encode(State(counts=counts)))
    batch.put(META, b"key", KEY)
    tables = MemoryTables()
    tables.write(batch)
    agreed = Agreed({}, [])
    view = CrawlView([MemoryReader(tables)], lambda _: 0, crew=crew, shares=shares, agreed=agreed)
    return OpenedCrawl(None, Settings(), [], view)
