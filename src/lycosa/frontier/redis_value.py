"""How targets and everything else look in Redis: msgpack, as short as it gets, readable for the Lua scripts.

A queued target leaves out what its queue knows (host, class) and what it shares with its referrer.
"""

from __future__ import annotations

from typing import Any

import msgspec

from lycosa.frontier.poison import UNREADABLE
from lycosa.frontier.rules import host_of_origin, rank_of
from lycosa.model import MAX_PRIORITY, Kind, Target, origin_of

_MIN_TEXT_HEADER, _TEXT_8, _TEXT_16, _TEXT_32 = 0xA0, b"\xd9", b"\xda", b"\xdb"

encode = msgspec.msgpack.Encoder().encode


class Entry(msgspec.Struct, array_like=True, omit_defaults=True, frozen=True, gc=False):
    """A target in its queue. The scripts read the first three."""

    place: str  # mark of the origin, then path and query
    fingerprint: bytes
    kind: int
    depth: int = 0
    shared: int = 0  # characters of the URL with which the referrer begins
    referrer: str = ""  # the rest of it
    priority: int = 0  # 0: as the rank says
    redirects: int = 0
    attempt: int = 0
    origin: str = ""
    crashes: int = 0


def text(raw: bytes) -> msgspec.Raw:
    """Bytes as a msgpack string: the Lua library knows no other kind of bytes."""
    size = len(raw)
    if size < 32:
        return msgspec.Raw(bytes((_MIN_TEXT_HEADER | size,)) + raw)
    if size < 1 << 8:
        return msgspec.Raw(_TEXT_8 + size.to_bytes(1) + raw)
    if size < 1 << 16:
        return msgspec.Raw(_TEXT_16 + size.to_bytes(2) + raw)
    return msgspec.Raw(_TEXT_32 + size.to_bytes(4) + raw)


def raw_text(packed: msgspec.Raw) -> bytes:
    """The bytes that `text` wrapped."""
    whole = bytes(packed)
    return whole[_start_of_text(whole, 0) :]


def mark_of(origin: str, host: str) -> str:
    """What tells the origins of one host apart: `s` for https, then the port if it is not the usual one."""
    scheme, _, authority = origin.partition("://")
    return ("s" if scheme == "https" else "") + authority.removeprefix(host)


def origin_under(mark: str, host: str) -> str:
    """The origin that `mark_of` shortened."""
    return f"https://{host}{mark[1:]}" if mark.startswith("s") else f"http://{host}{mark}"


def entry_of(target: Target) -> bytes:
    """A target as it stands in its queue."""
    origin = origin_of(target.url)
    rank = rank_of(target)
    # The class is the rank's, unless somebody asked for one that there is not.
    is_usual = rank > 0 and target.priority == 1 + MAX_PRIORITY - rank
    shared = _shared(target.url, target.referrer, len(origin))
    return encode_entry(
        mark_of(origin, target.host) + target.url[len(origin) :],
        target.fingerprint,
        int(target.kind),
        target.depth,
        shared,
        target.referrer[shared:],
        0 if is_usual else target.priority,
        target.redirects,
        target.attempt,
        target.origin,
        target.crashes,
    )


def _shared(url: str, referrer: str, origin_length: int) -> int:
    """How far the referrer is the beginning of the URL: all of it, to the last folder, to the end of the origin."""
    if url.startswith(referrer):
        return len(referrer)
    for length in (url.rfind("/") + 1, origin_length):
        if referrer.startswith(url[:length]):
            return length
    return 0


def encode_entry(place: str, fingerprint: bytes, *rest: Any) -> bytes:
    """The fields of `Entry` with the fingerprint as a string of bytes, trailing defaults left out."""
    fields = [place, text(fingerprint), *rest]
    while len(fields) > 3 and not fields[-1]:
        fields.pop()
    return encode(fields)


def target_of(entry: bytes, host: str, rank: int) -> Target:
    """The target that `entry_of` shortened."""
    fields = _decode_entry(entry)
    mark, slash, path = fields.place.partition("/")
    url = origin_under(mark, host) + slash + path
    return Target(
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
    )


def readable_target(entry: bytes, host: str, rank: int) -> Target | None:
    """The target that these bytes are; None if they are none."""
    try:
        target = target_of(entry, host, rank)
    except (*UNREADABLE, LookupError, ValueError, OverflowError):
        return None
    return target if host_of_origin(origin_of(target.url)) == host else None


def _decode_entry(entry: bytes) -> Entry:
    """Read an entry although its fingerprint is no UTF-8: it is cut out before the rest is read."""
    start = _end_of_text(entry, 1)
    end = _end_of_text(entry, start)
    head, size = entry[:start], end - start - 1
    return _entry_decoder.decode(head + b"\xc4" + size.to_bytes(1) + entry[start + 1 : end] + entry[end:])


_entry_decoder = msgspec.msgpack.Decoder(Entry)


def _end_of_text(packed: bytes, start: int) -> int:
    first, begin = packed[start], _start_of_text(packed, start)
    return begin + (first & 0x1F if begin == start + 1 else int.from_bytes(packed[start + 1 : begin]))


def _start_of_text(packed: bytes, start: int) -> int:
    first = packed[start]
    return start + 1 + (0 if first & 0xE0 == _MIN_TEXT_HEADER else {0xD9: 1, 0xDA: 2, 0xDB: 4}[first])


def number_of(fingerprint: bytes) -> str:
    """A fingerprint as the integer that a set of Redis keeps in eight bytes."""
    return str(int.from_bytes(fingerprint, signed=True)) if fingerprint else ""
