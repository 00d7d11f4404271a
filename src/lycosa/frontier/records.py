"""What stands in the frontier's tables: records, keys, and how they become bytes."""

from __future__ import annotations

from struct import pack, unpack_from

import msgspec

from lycosa.frontier.poison import UNREADABLE
from lycosa.frontier.rules import RANKS, OriginState, host_of_origin
from lycosa.model import NO_REASON, Reason, SiteNews, Target, origin_of
from lycosa.ports import Counts

FORMAT = 7
_VERSION_BYTES = 8
DAY_SECONDS = 86_400.0


class Lane(msgspec.Struct, array_like=True, omit_defaults=True, gc=False):
    """The queue of one origin of a host in one rank: blocks `first` up to, but not with, `end`."""

    number: int  # among the lanes of its host
    mark: str  # of the origin (see `entries.mark_of`), or one of those in `queue.py`
    rank: int
    first: int = 0
    gone: int = 0  # entries at the front of the first block that have left
    end: int = 0
    entries: int = 0


class HostPolicy(msgspec.Struct, array_like=True, omit_defaults=True, frozen=True):
    """What an operator wants of one host (see `orders.SetPolicy`)."""

    delay_seconds: float = 0.0
    pages_per_day: float = 0.0
    priority: int = 0
    is_blocked: bool = False


class HostRecord(msgspec.Struct, array_like=True, omit_defaults=True, gc=False):
    """One row of the domain-policy table: what a host is owed and what is known of it."""

    name: str
    number: int
    queued: int = 0
    lanes: list[Lane] = []  # by rank, those with something in them; none has two of the same mark and rank
    waiting: bytes = b""
    parked: bytes = b""
    free_at: float = 0.0
    delay_seconds: float = 0.0
    crawl_delay_seconds: float = 0.0
    failures: int = 0
    visits: int = 0
    pages: int = 0
    fetch_seconds: float = 0.0
    # The epoch (run of a session, or ownership) in which a lease was last given out and not yet settled; 0 if none.
    leased_epoch: int = 0
    origins: dict[str, OriginState] = msgspec.field(default_factory=dict)
    address: str = ""
    refusals: int = -1  # in a row, since it last gave a page; -1: it has not given any
    slowdown: float = 1.0
    given: list[int] = []  # kinds of URLs that gave pages lately
    failing: list[int] = []  # kinds of URLs that failed since it last gave a page
    ban: Reason = NO_REASON  # how it told us to go away, until it answers again
    dropped: int = 0  # targets for which its queue had no room
    nearest: str = ""  # the region whose machines connect fastest; empty: not measured
    measured: dict[str, float] = {}  # how long it took the machines of each region to connect
    unsent: int = 0  # visits in a row that sent nothing
    rates: float = 0.0  # believed rates of change of its pages, added up; and of how many (`policy.freshness.RatePool`)
    rated: float = 0.0
    price: float = 0.0  # what visits of it were worth lately, where its pauses let us make fewer than are due
    policy: HostPolicy | None = None
    trust: list[float] = []  # how good what it says of its URLs is (`policy.listing.Trust`)

    @property
    def asked_delay_seconds(self) -> float:
        """The pause that its robots.txt or the operator asks for, the longer of them."""
        if (policy := self.policy) is None:
            return self.crawl_delay_seconds
        by_budget = DAY_SECONDS / policy.pages_per_day if policy.pages_per_day else 0.0
        return max(self.crawl_delay_seconds, policy.delay_seconds, by_budget)


class Schedule(msgspec.Struct, array_like=True):
    """What is kept of a crawl that visits its pages again: the price of a visit, and what is left of the budget."""

    price: float = 0.0
    visits: float = 0.0  # that made the price
    rates: float = 0.0  # as of a host, but of all
    rated: float = 0.0
    left: float = 1.0  # visits that may be made at once, as of a moment
    at: float = 0.0
    share: float = 1.0  # of the budget, where others have the rest
    is_whole: bool = False  # all that was visited before it was begun has a time
    favour: float = 1.0  # how much more than a page's part of the budget each page here has, since it is worth more
    foresight: list[float] = []  # how fresh visited pages were, and were held to be (`policy.freshness.Foresight`)


class State(msgspec.Struct, array_like=True, kw_only=True):
    """What is kept of all tables together, so that nothing is counted by scanning. Written with every batch."""

    crawl: str = ""  # whose tables these are
    epoch: int = 0
    changes: int = 0  # how many batches were written
    serial: int = 0
    hosts: int = 0
    waiting: list[int] = msgspec.field(default_factory=lambda: [0] * RANKS)  # hosts that wait or are active, by rank
    parked_at_ease: int = 0  # parked hosts that are in no trouble
    counts: Counts = Counts()
    schedule: Schedule | None = None  # of a crawl that visits its pages again
    paused: str = ""  # why an operator wants nothing begun


encode = msgspec.msgpack.Encoder().encode
decode_target = msgspec.msgpack.Decoder(Target).decode
decode_state = msgspec.msgpack.Decoder(State).decode
_decode_host = msgspec.msgpack.Decoder(HostRecord).decode


def encode_host(record: HostRecord) -> bytes:
    """A host's record without its name, which is its key."""
    name, record.name = record.name, ""
    raw = encode(record)
    record.name = name
    return raw


def readable_host(raw: bytes | None, name: str) -> HostRecord | None:
    """The record that these bytes are; None if they are none, or another host's."""
    try:
        record = _decode_host(raw) if raw else None
    except UNREADABLE:
        return None
    if record is None or record.name not in ("", name):
        return None
    record.name = name
    return record


def readable_target(raw: bytes, host: str = "") -> Target | None:
    """The target that these bytes are; None if they are none, or none of this host."""
    try:
        target = decode_target(raw)
    except UNREADABLE:
        return None
    is_whole = not host or (target.host == host and host_of_origin(origin_of(target.url)) == host)
    return target if is_whole else None


def block_key(host_number: int, lane: int, block: int) -> bytes:
    return (host_number << 40 | lane << 32 | block).to_bytes(9)


def waiting_key(rank: int, serial: int) -> bytes:
    return (rank << 56 | serial).to_bytes(8)


def due_key(due_at: float, serial: int, width: int) -> bytes:
    # The bits of a positive double sort like its value, and nothing is rounded to before its time.
    return pack(">d", due_at) + serial.to_bytes(width)


def due_of(key: bytes) -> float:
    return float(unpack_from(">d", key)[0])


def pack_site(news: SiteNews) -> bytes:
    return news.version.to_bytes(_VERSION_BYTES) + news.notes


def site_version(raw: bytes | None) -> int:
    return int.from_bytes(raw[:_VERSION_BYTES]) if raw else 0


def site_notes(raw: bytes | None) -> bytes:
    return raw[_VERSION_BYTES:] if raw else b""
