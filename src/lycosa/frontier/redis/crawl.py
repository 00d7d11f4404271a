"""One crawl in the store: made by the first machine, joined by all others."""

from __future__ import annotations

import asyncio
import secrets

import msgspec

from lycosa.errors import BackendLost, SettingsError
from lycosa.frontier.records import FORMAT
from lycosa.frontier.redis.address import Address
from lycosa.frontier.redis.connection import Connection
from lycosa.policy.ring import point_of


class Crawl(msgspec.Struct, frozen=True, kw_only=True):
    """What never changes about a crawl."""

    id: str
    key: str  # of its fingerprints, in hexadecimal
    partitions: int
    format: int

    def partition_of(self, host: str) -> int:
        """Where a host belongs: all hosts of a registered domain to the same partition."""
        return point_of(host) % self.partitions

    def home_of(self, token: int) -> int:
        """The partition that a lease is from."""
        return token % self.partitions

    def tags(self, address: Address) -> list[str]:
        """Of all partitions."""
        return [address.tag(number) for number in range(self.partitions)]


class Fence(msgspec.Struct, frozen=True, array_like=True):
    """Who owns a partition: by the nonce of a machine; nobody, if that is empty. Each owner has a greater epoch."""

    epoch: int
    nonce: str


def encode_fence(fence: Fence) -> bytes:
    return msgspec.msgpack.encode(fence)


def decode_fence(raw: bytes) -> Fence:
    return msgspec.msgpack.decode(raw, type=Fence)


def gone(address: Address) -> BackendLost:
    """The data of a crawl that has begun are not there."""
    return BackendLost(
        f"INCOMPLETE: the data of this crawl are gone from {address}. Pages fetched so far are in the folders; give "
        "the crawl another name (crawl=NAME in the address of the frontier) to begin anew"
    )


async def open_crawl(connection: Connection, known_as: str = "") -> Crawl:
    """The crawl that the address names; a new one if there is none, unless it is known to have begun as `known_as`."""
    address = connection.address
    tag = address.tag()
    fresh = Crawl(
        id=secrets.token_hex(8),
        key=secrets.token_hex(16),
        partitions=address.partitions or address.usual_partitions,
        format=FORMAT,
    )
    if not known_as:
        await connection.command(tag, "SET", f"{tag}c", msgspec.msgpack.encode(fresh), "NX")
    raw = await connection.command(tag, "GET", f"{tag}c")
    if raw is None:
        raise gone(address)
    crawl = msgspec.msgpack.decode(raw, type=Crawl)
    if known_as not in ("", crawl.id):
        raise gone(address)
    if crawl.format != FORMAT:
        raise SettingsError(f"frontier: crawl {address.crawl!r} was made by another version of lycosa")
    if address.partitions not in (None, crawl.partitions):
        raise SettingsError(f"frontier: crawl {address.crawl!r} has {crawl.partitions} partitions, for good")
    await _make_partitions(connection, crawl)
    return crawl


async def _make_partitions(connection: Connection, crawl: Crawl) -> None:
    """Made once only: a partition that is missing later was lost, and must not look like an empty one."""
    tag = connection.address.tag()
    if await connection.command(tag, "EXISTS", f"{tag}ready"):
        return
    nobody = encode_fence(Fence(0, ""))
    places = crawl.tags(connection.address)
    await asyncio.gather(*(connection.command(place, "SET", f"{place}f", nobody, "NX") for place in places))
    await connection.command(tag, "SET", f"{tag}ready", 1)
