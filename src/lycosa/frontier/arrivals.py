"""What visits found, from messages to entries of queues, without a value for each link in between.

A page names forty URLs and more, and of nearly all nothing is to be said but where they are and who named them. Such
targets are plain: of a batch all those are sorted in at once, by a compiled pass where that was built (`native/`).
Which of them are new is for others to say; what is not plain comes back as it came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from lycosa.frontier.entries import entry_under, mark_of
from lycosa.frontier.rules import rank_of
from lycosa.model import MAX_PRIORITY, MIN_PRIORITY, Settlement, Target, origin_of

# Entries of one host, one mark of origins (see `entries.mark_of`) and one rank, in the order in which they were found.
Group = tuple[str, str, int, list[bytes]]

_FINGERPRINT_BYTES, _MAX_HOST, _MAX_PORT, _MAX_DEFERRED = 8, 1024, 255, 127
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Target]).decode
_decode_one = msgspec.msgpack.Decoder(Target).decode


def in_short(settlement: Settlement) -> Settlement:
    """A settlement with what it discovered as bytes: for a message, or for `arriving`."""
    if not settlement.discovered:
        return settlement
    found = _encode(in_full(settlement).discovered) if settlement.found else _encode(settlement.discovered)
    return msgspec.structs.replace(settlement, discovered=[], found=found)


def in_full(settlement: Settlement) -> Settlement:
    """A settlement with what it discovered as targets: for rules that look at each."""
    if not settlement.found:
        return settlement
    return msgspec.structs.replace(settlement, discovered=_decode(settlement.found) + settlement.discovered, found=b"")


def message_of(targets: Sequence[Target]) -> bytes:
    """Targets as `found` has them."""
    return _encode(targets)


def named_by_values(messages: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The fingerprints of the plain targets of these messages; and the other targets, as they came."""
    found = [target for message in messages for target in _decode(message)]
    marks = [target.fingerprint for target in found if is_plain(target)]
    return marks, [_encode(target) for target in found if not is_plain(target)]


def arriving_by_values(messages: Sequence[bytes], fresh: set[bytes]) -> tuple[list[Group], list[bytes]]:
    """The plain targets that are fresh, each once, and then no longer; and their fingerprints."""
    groups: dict[tuple[str, str, int], Group] = {}
    marks: list[bytes] = []
    for target in (target for message in messages for target in _decode(message)):
        if target.fingerprint not in fresh or not is_plain(target):
            continue
        fresh.discard(target.fingerprint)
        marks.append(target.fingerprint)
        origin, rank = origin_of(target.url), rank_of(target)
        mark = mark_of(origin, target.host)
        group = groups.setdefault((target.host, mark, rank), (target.host, mark, rank, []))
        group[3].append(entry_under(target, origin, mark, rank))
    return list(groups.values()), marks


def is_plain(target: Target) -> bool:
    """Whether nothing is to be said of a target but what each link has."""
    url, host = target.url, target.host
    scheme, _, authority = origin_of(url).partition("://")
    usual = Target(url, host, target.fingerprint, priority=target.priority, depth=target.depth)
    return (
        len(target.fingerprint) == _FINGERPRINT_BYTES
        and MIN_PRIORITY <= target.priority <= MAX_PRIORITY
        and target.depth >= 0
        and 0 <= target.deferred <= _MAX_DEFERRED
        and scheme in ("http", "https")
        and 0 < len(host) <= _MAX_HOST
        and authority.startswith(host)
        and len(authority) - len(host) <= _MAX_PORT
        and url.find("/", 8) > 0
        and url.isascii()
        and target.referrer.isascii()
        and msgspec.structs.replace(target, referrer="", deferred=0) == usual
    )


def others_of(named: Iterable[bytes]) -> list[Target]:
    """The targets that are not plain."""
    return [_decode_one(raw) for raw in named]


Named = Callable[[Sequence[bytes]], tuple[list[bytes], list[bytes]]]
Arriving = Callable[[Sequence[bytes], set[bytes]], tuple[list[Group], list[bytes]]]


def _choose() -> tuple[Named, Arriving]:
    try:
        from lycosa.frontier._native import arriving, named_in
    except ImportError:  # installed without a compiler
        return named_by_values, arriving_by_values
    return named_in, arriving


named_in, arriving = _choose()
