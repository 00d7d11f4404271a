"""The books of a crawl on Redis, for readers: plain commands that change nothing, whatever crawls meanwhile."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from redis import Redis
from redis.exceptions import RedisError

from lycosa.errors import BackendLost, SettingsError
from lycosa.frontier.books import Lines, Sum
from lycosa.frontier.poison import UNREADABLE, readable_history
from lycosa.frontier.redis_crawl import Crawl
from lycosa.frontier.redis_place import Server, parse_address, places_of
from lycosa.frontier.redis_ring import point_on_ring
from lycosa.frontier.redis_state import Overview, PartitionState
from lycosa.frontier.redis_value import number_of, origin_under, raw_text, readable_target
from lycosa.frontier.rules import OriginState, host_of_origin
from lycosa.frontier.tables import HostRecord
from lycosa.model import History, Target
from lycosa.policy.balance import coefficient_of_variation
from lycosa.ports import Counts
from lycosa.settings import Settings

ANSWER_SECONDS = 30.0
# Hosts that rest longer than this do so for a reason of their own, not for politeness.
LONG_REST_SECONDS = 60.0
_ROWS_AT_ONCE = 500

_NO = b"\xc2"  # false
_decode_retry = msgspec.msgpack.Decoder(tuple[int, str, int, msgspec.Raw]).decode


class _HostEntry(msgspec.Struct, array_like=True):
    """A host's record, in the order in which `lua/partition.lua` keeps it."""

    point: int
    node: int
    ring: int
    is_listed: bool
    free_at: float
    parked_until: float
    delay_seconds: float
    crawl_delay_seconds: float
    fetch_seconds: float
    failures: int
    ranks: list[int]
    origins: list[tuple[str, float, float, bool, float]]
    lease: msgspec.Raw = msgspec.Raw(_NO)
    address: str = ""
    refusals: int = -1
    slowdown: float = 1.0
    ban: str = ""
    times: int = 0
    ruled: str = ""
    nearest: str = ""
    measured: msgspec.Raw = msgspec.Raw(_NO)
    dropped: int = 0


class Shares(msgspec.Struct, frozen=True):
    """How many requests each worker was chosen for, ascending; and how much too high the count of a domain may be."""

    requests: list[int]
    max_overestimate: int

    @property
    def variation(self) -> float:
        """The coefficient of variation over the workers."""
        return coefficient_of_variation(self.requests)


class _Buckets(msgspec.Struct):
    level: int
    buckets: int
    now: float


_decode_host = msgspec.msgpack.Decoder(_HostEntry).decode
_decode_cell = msgspec.msgpack.Decoder(dict[int, int]).decode
# Of the sketch that `lua/partition.lua` keeps.
SKETCH_WIDTH = 512


class RedisBooks:
    """Implements `Books`. Raises `SettingsError` if there is no such crawl, `BackendLost` if nobody answers."""

    is_exact = True

    def __init__(self, address: str) -> None:
        self.address = parse_address(address)
        self._places = places_of(self.address)
        self._clients: dict[Server, Any] = {}
        tag = self.address.tag()
        with self._translated():
            packed = self._at(tag).get(f"{tag}c")
        if packed is None:
            raise SettingsError(f"{self.address}: there is no such crawl; crawl=NAME in the address names it")
        self.crawl = msgspec.msgpack.decode(packed, type=Crawl)

    def agreed(self) -> tuple[dict[str, object], list[str]]:
        """The settings and seeds that all machines go by; empty before the first has joined."""
        tag = self.address.tag()
        with self._translated():
            settings, seeds = self._at(tag).hmget(f"{tag}s", "settings", "seeds")
        return msgspec.json.decode(settings or b"{}"), msgspec.json.decode(seeds or b"[]", type=list[str])

    def is_running(self) -> bool:
        """Whether any machine was heard lately."""
        tag = self.address.tag()
        with self._translated():
            packed, (now, _) = self._at(tag).get(f"{tag}u"), self._at(tag).time()
        silence_seconds = self.agreed()[0].get("silence_seconds", Settings().silence_seconds)
        heard_at = msgspec.msgpack.decode(packed)[1] if packed else 0.0
        return bool(self.machines()) and now - heard_at <= float(str(silence_seconds))

    def machines(self) -> list[tuple[str, int, str]]:
        """Who takes part: names, how many workers each has, regions. The dead are listed until somebody notices."""
        tag = self.address.tag()
        with self._translated():
            rows = self._at(tag).hgetall(f"{tag}m")
        found = [msgspec.msgpack.decode(packed) for packed in rows.values()]
        return sorted((each["name"], each["workers"], each["region"]) for each in found)

    def crawl_key(self) -> bytes:
        return bytes.fromhex(self.crawl.key)

    def counts(self) -> Counts:
        return self._overview().counts()

    def host(self, name: str) -> HostRecord | None:
        tag = self._tag(name)
        with self._translated():
            packed = self._at(tag).hget(f"{tag}h", name)
            return next(self._records(tag, [(name.encode(), packed)]))[0] if packed else None

    def hosts(self) -> Iterator[HostRecord]:
        return (record for record, _, _ in self._entries())

    def queue(self, host: HostRecord) -> Iterator[Target]:
        tag = self._tag(host.name)
        with self._translated():
            packed = self._at(tag).hget(f"{tag}h", host.name)
            for rank in _decode_host(packed).ranks if packed else ():
                yield from self._queue(tag, host.name, rank)

    def queued(self) -> Iterator[Target]:
        for record, entry, tag in self._entries():
            with self._translated():
                for rank in entry.ranks:
                    yield from self._queue(tag, record.name, rank)

    def retries(self) -> Iterator[tuple[float, Target]]:
        found = []
        for tag in self._tags():
            with self._translated():
                rows = self._at(tag).zrange(f"{tag}d", 0, -1, withscores=True)
            for member, due in rows:
                if target := _readable_retry(member):
                    found.append((float(due), target))
        return iter(sorted(found, key=lambda retry: retry[0]))

    def history(self, host: str, fingerprint: bytes) -> History | None:
        tag = self._tag(host)
        with self._translated():
            packed = self._at(tag).hget(f"{tag}y", fingerprint)
        return readable_history(packed)

    def histories(self) -> Iterator[History]:
        for tag in self._tags():
            with self._translated():
                for _, packed in self._at(tag).hscan_iter(f"{tag}y", count=_ROWS_AT_ONCE):
                    if past := readable_history(packed):
                        yield past

    def is_known(self, host: str, fingerprint: bytes) -> bool:
        tag = self._tag(host)
        with self._translated():
            number, buckets = number_of(fingerprint), self._buckets(tag)
            return bool(self._at(tag).sismember(f"{tag}s{_bucket(number, buckets)}", number))

    def robots(self, origin: str) -> bytes:
        tag = self._tag(host_of_origin(origin))
        with self._translated():
            return self._at(tag).hget(f"{tag}t", origin) or b""

    def site(self, domain: str) -> bytes:
        tag = self._tag(domain)
        with self._translated():
            return self._at(tag).hget(f"{tag}w", str(point_on_ring(domain))) or b""

    def lines(self) -> Lines:
        listed, resting, next_host_at = 0, 0, list[float]()
        for tag in self._tags():
            with self._translated():
                client, soon = self._at(tag), self._buckets(tag).now + LONG_REST_SECONDS
                for node in msgspec.msgpack.decode(client.get(f"{tag}o") or b"\x90"):
                    key = f"{tag}r{node}"
                    listed += client.zcard(key)
                    resting += client.zcount(key, soon, "+inf")
                    next_host_at += [due for _, due in client.zrangebyscore(key, soon, "+inf", 0, 1, withscores=True)]
        (next_retry_at,) = self._overview().first("next_retry") or [0.0]
        return Lines(listed - resting, resting, next_retry_at, min(next_host_at, default=0.0))

    def shares(self) -> Shares | None:
        """How evenly a balanced crawl is spread over the workers that take part; None if it is not balanced."""
        had, most_too_many = Counter[int](), 0
        for tag in self._tags():
            with self._translated():
                # Every request is counted once in each row.
                cells = self._at(tag).hmget(f"{tag}f", list(range(SKETCH_WIDTH)))
            here = Counter[int]()
            for packed in filter(None, cells):
                here.update(_decode_cell(packed))
            had += here
            most_too_many = max(most_too_many, math.floor(math.e / SKETCH_WIDTH * max(here.values(), default=0)))
        return Shares(sorted(had.values()), most_too_many) if had else None

    def sums(self) -> list[Sum]:
        counts, by_host = self.counts(), sum(record.queued for record in self.hosts())
        queued = delayed = leased = hosts = known = 0
        for tag in self._tags():
            with self._translated():
                client, buckets = self._at(tag), self._buckets(tag).buckets
                hosts += client.hlen(f"{tag}h")
                delayed += client.zcard(f"{tag}d")
                leased += client.zcard(f"{tag}e")
                known += sum(client.scard(f"{tag}s{bucket}") for bucket in range(buckets))
                queued += sum(client.llen(key) for key in client.scan_iter(f"{tag}q*", count=10_000))
        return [
            Sum("queued", counts.queued, queued),
            Sum("queued, over all hosts", by_host, queued),
            Sum("delayed", counts.delayed, delayed),
            Sum("leased", counts.leased, leased),
            Sum("hosts", counts.hosts, hosts),
            Sum("known", counts.known, known),
        ]

    def stranded(self) -> Iterator[HostRecord]:
        for record, entry, tag in self._entries():
            if record.queued and bytes(entry.lease) == _NO:
                with self._translated():
                    if self._at(tag).zscore(f"{tag}r{entry.node}", record.name) is None:
                        yield record

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    # ---- looking

    def _tags(self) -> list[str]:
        return [self.address.tag(partition) for partition in range(self.crawl.partitions)]

    def _tag(self, host: str) -> str:
        return self.address.tag(point_on_ring(host) % self.crawl.partitions)

    def _at(self, tag: str) -> Any:
        server = self._places.of(tag)
        if server not in self._clients:
            options = {"socket_timeout": ANSWER_SECONDS, **self.address.options}
            self._clients[server] = Redis(server.host, server.port, **options)
        return self._clients[server]

    def _overview(self) -> Overview:
        overview = Overview(self.crawl.partitions)
        with self._translated():
            for partition, tag in enumerate(self._tags()):
                state = msgspec.msgpack.decode(self._state(tag), type=PartitionState)
                overview.note(partition, state, (), 0.0)
        return overview

    def _buckets(self, tag: str) -> _Buckets:
        return msgspec.msgpack.decode(self._state(tag), type=_Buckets)

    def _state(self, tag: str) -> bytes:
        packed: bytes | None = self._at(tag).get(f"{tag}n")
        if packed is None:
            raise BackendLost(f"INCOMPLETE: the data of this crawl are gone: {tag} is not there")
        return packed

    def _entries(self) -> Iterator[tuple[HostRecord, _HostEntry, str]]:
        for tag in self._tags():
            cursor: int | None = None
            while cursor != 0:
                with self._translated():
                    cursor, rows = self._at(tag).hscan(f"{tag}h", cursor or 0, count=_ROWS_AT_ONCE)
                    found = list(self._records(tag, list(rows.items())))
                for record, entry in found:
                    yield record, entry, tag

    def _records(self, tag: str, rows: list[tuple[bytes, bytes]]) -> Iterator[tuple[HostRecord, _HostEntry]]:
        hosts = [(name.decode(), _decode_host(packed)) for name, packed in rows]
        pipeline = self._at(tag).pipeline(transaction=False)
        for name, entry in hosts:
            for rank in entry.ranks:
                pipeline.llen(f"{tag}q{rank}:{name}")
        lengths = iter(pipeline.execute())
        for name, entry in hosts:
            yield _record(name, entry, sum(next(lengths) for _ in entry.ranks)), entry

    def _queue(self, tag: str, host: str, rank: int) -> Iterator[Target]:
        key, start = f"{tag}q{rank}:{host}", 0
        while values := self._at(tag).lrange(key, start, start + _ROWS_AT_ONCE - 1):
            yield from (target for value in values if (target := readable_target(value, host, rank)))
            start += _ROWS_AT_ONCE

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (RedisError, OSError) as error:
            raise BackendLost(f"{self.address} cannot be read: {error}") from error


def _readable_retry(member: bytes) -> Target | None:
    try:
        _, host, rank, value = _decode_retry(member)
    except UNREADABLE:
        return None
    return readable_target(raw_text(value), host, rank)


def _record(name: str, entry: _HostEntry, queued: int) -> HostRecord:
    is_parked = entry.parked_until > entry.free_at
    return HostRecord(
        name=name,
        number=0,
        queued=queued,
        parked=b"parked" if is_parked else b"",
        free_at=max(entry.free_at, entry.parked_until),
        delay_seconds=entry.delay_seconds,
        crawl_delay_seconds=entry.crawl_delay_seconds,
        failures=entry.failures,
        fetch_seconds=entry.fetch_seconds,
        address=entry.address,
        refusals=entry.refusals,
        slowdown=entry.slowdown,
        ban=entry.ban,
        region=entry.ruled or entry.nearest,
        dropped=entry.dropped,
        origins={
            origin_under(mark, name): OriginState(fetched_at, expires_at, is_pending, delay)
            for mark, fetched_at, expires_at, is_pending, delay in entry.origins
        },
    )


def _bucket(number: str, seen: _Buckets) -> int:
    """As `bucket_of` of the scripts has it."""
    low = int(number[-9:])
    bucket = low % seen.level
    return low % (2 * seen.level) if bucket < seen.buckets - seen.level else bucket
