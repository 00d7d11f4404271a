"""Queued targets as bytes: without what their queue knows (host, class) and what they share with their referrer.

A queue is kept in blocks of such entries: many of them cost a store as much as one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lycosa.frontier.poison import UNREADABLE
from lycosa.frontier.rules import host_of_origin, rank_of
from lycosa.model import MAX_PRIORITY, Kind, Listing, RequestParts, Target, origin_of


class Entry(msgspec.Struct, array_like=True, omit_defaults=True, frozen=True, gc=False):
    """A target in its queue."""

    place: str  # mark of the origin, then path and query
    fingerprint: bytes
    depth: int = 0
    shared: int = 0  # characters of the URL with which the referrer begins
    referrer: str = ""  # the rest of it
    kind: int = 0
    priority: int = 0  # 0: as the rank says
    redirects: int = 0
    attempt: int = 0
    origin: str = ""
    crashes: int = 0
    visits: int = 0
    deferred: int = 0
    request: RequestParts | None = None
    steps: int = 0
    listing: Listing | None = None
    promise: int = 0


_NOTHING_UNUSUAL, _NOTHING_RARE = (0, 0, 0, 0, "", 0, 0, 0), (None, 0, None, 0)
_MARKS = {"http": "", "https": "s"}
_ARRAY, _HEADER_BYTES = b"\xdc", 3
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Entry).decode
_decode_block = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


def mark_of(origin: str, host: str) -> str:
    """What tells the origins of one host apart: `s` for https, then the port if it is not the usual one.

    Of a scheme that is not of the web, its name and a plus.
    """
    scheme, _, authority = origin.partition("://")
    return _MARKS.get(scheme, f"{scheme}+") + authority.removeprefix(host)


def origin_under(mark: str, host: str) -> str:
    """The origin that `mark_of` shortened."""
    if "+" in mark:
        scheme, _, port = mark.rpartition("+")
        return f"{scheme}://{host}{port}"
    return f"https://{host}{mark[1:]}" if mark.startswith("s") else f"http://{host}{mark}"


def entry_of(target: Target) -> bytes:
    """A target as it stands in its queue."""
    origin = origin_of(target.url)
    return entry_under(target, origin, mark_of(origin, target.host), rank_of(target))


def entry_under(target: Target, origin: str, mark: str, rank: int) -> bytes:
    """The same for whoever knows its origin, the mark of that, and its rank."""
    url, referrer, priority = target.url, target.referrer, target.priority
    shared = _shared(url, referrer, len(origin)) if referrer.startswith(origin) else 0
    usual = (
        mark + url[len(origin) :],
        target.fingerprint,
        target.depth,
        shared,
        referrer[shared:] if shared else referrer,
    )
    unusual = (
        int(target.kind),
        # The class is the rank's, unless somebody asked for one that there is not.
        0 if priority == 1 + MAX_PRIORITY - rank and rank else priority,
        target.redirects,
        target.attempt,
        target.origin,
        target.crashes,
        target.visits,
        target.deferred,
    )
    rare = (target.request, target.steps, target.listing, target.promise)
    # What stands last need not be said where it is as usual.
    if rare != _NOTHING_RARE:
        return _encode(usual + unusual + rare)
    return _encode(usual + unusual if unusual != _NOTHING_UNUSUAL else usual)


def _shared(url: str, referrer: str, origin_length: int) -> int:
    """How far a referrer of the same origin begins as the URL does: all of it, to the last folder, to the origin."""
    if url.startswith(referrer):
        return len(referrer)
    folder = url.rfind("/") + 1
    return folder if referrer.startswith(url[:folder]) else origin_length


def target_of(entry: bytes | msgspec.Raw, host: str, rank: int) -> Target | None:
    """The target that `entry_of` shortened; None if these bytes are none of this host."""
    try:
        fields = _decode(entry)
        mark, slash, path = fields.place.partition("/")
        url = origin_under(mark, host) + slash + path
        target = Target(
            url,
            host,
            fields.fingerprint,
            Kind(fields.kind),
            fields.priority or (1 + MAX_PRIORITY - rank if rank else 0),
            fields.depth,
            url[: fields.shared] + fields.referrer,
            fields.redirects,
            fields.attempt,
            fields.origin,
            fields.crashes,
            fields.visits,
            fields.deferred,
            fields.request,
            fields.steps,
            fields.listing,
            fields.promise,
        )
    except (*UNREADABLE, ValueError):
        return None
    return target if host_of_origin(origin_of(url)) == host else None


def encode_block(entries: Sequence[bytes | msgspec.Raw]) -> bytes:
    """A block is a msgpack array whose header is always the long one, so that it can grow without being read."""
    return _ARRAY + len(entries).to_bytes(2) + b"".join(entries)


def longer_block(block: bytes, entries: Sequence[bytes]) -> bytes:
    """A block with some entries more."""
    return b"".join((_ARRAY, (length_of(block) + len(entries)).to_bytes(2), block[_HEADER_BYTES:], *entries))


def length_of(block: bytes) -> int:
    """How many entries a block has."""
    return int.from_bytes(block[1:_HEADER_BYTES])


def readable_block(raw: bytes | None) -> list[msgspec.Raw] | None:
    """The entries of a block; None if these bytes are none."""
    try:
        return _decode_block(raw) if raw and raw[:1] == _ARRAY else None
    except UNREADABLE:
        return None
