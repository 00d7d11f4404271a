"""One crawl in the store: made by the first machine, joined by all others."""

from __future__ import annotations

import secrets
from typing import Any

import msgspec

from lycosa.errors import SettingsError
from lycosa.frontier.redis_link import Link
from lycosa.frontier.redis_value import encode

FORMAT = 3


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """What never changes about a crawl."""

    id: str
    key: str  # of its fingerprints, in hexadecimal
    partitions: int
    format: int


def empty_partition(crawl_id: str) -> dict[str, Any]:
    """The state of a partition in which nothing has happened. The scripts keep it."""
    outcomes = ["stored", "unchanged", "duplicate", "moved", "refused", "failed", "crashed", "read"]
    counters = ["known", "queued", "leased", "leased_pages", "delayed", "hosts", "healthy", "fetched_bytes"]
    counters += ["late", "poisoned", "dropped"]
    clocks = ["now", "shift", "serial", "changes", "ticket", "granted", "ring", "buckets"]
    return {"id": crawl_id, **dict.fromkeys([*outcomes, *counters, *clocks], 0)} | {
        "level": 1,
        "rings": {},
        "buckets": 1,
        "next_expiry": -1,
        "next_retry": -1,
        "idle_due": -1,
    }


async def open_crawl(link: Link) -> Crawl:
    """The crawl that the address names; a new one if there is none."""
    address = link.address
    tag = address.tag()
    fresh = Crawl(
        id=secrets.token_hex(8),
        key=secrets.token_hex(16),
        partitions=address.partitions or address.usual_partitions,
        format=FORMAT,
    )
    await link.command(tag, "SET", f"{tag}c", encode(fresh), "NX")
    crawl = msgspec.msgpack.decode(await link.command(tag, "GET", f"{tag}c"), type=Crawl)
    if crawl.format != FORMAT:
        raise SettingsError(f"frontier: crawl {address.crawl!r} was made by another version of lycosa")
    if address.partitions not in (None, crawl.partitions):
        raise SettingsError(f"frontier: crawl {address.crawl!r} has {crawl.partitions} partitions, for good")
    # Made once only: a partition that is missing later was lost, and must not look like an empty one.
    if not await link.command(tag, "EXISTS", f"{tag}ready"):
        for partition in range(crawl.partitions):
            place = address.tag(partition)
            await link.command(place, "SET", f"{place}n", encode(empty_partition(crawl.id)), "NX")
        await link.command(tag, "SET", f"{tag}ready", 1)
    return crawl
