"""Records that nobody here wrote are set aside, counted and told of once; the crawl goes on without them."""

from __future__ import annotations

import logging
import math
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from lycosa.frontier.entries import Entry, encode_block, entry_of, readable_block, target_of
from lycosa.frontier.poison import readable_history
from lycosa.frontier.queue import BLOCK_ENTRIES
from lycosa.frontier.records import HostRecord, encode, readable_host, readable_target
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.tables import DELAYED, HISTORY, HOSTS, PARKED, POISONED, QUEUE
from lycosa.model import OutcomeKind, Target
from lycosa.policy.priority import Order

from .kept import InMemory, InRedis, InRocksDB, Place
from .redis_servers import RedisServer
from .stage import FakeClock, Stage, page, rules_pending

FAILED = OutcomeKind.FAILED
RULES = FrontierRules(durability="process", seen_capacity=10_000, retry_pauses=(30.0,))
GARBAGE = [
    b"",
    b"\xff" * 40,
    b"\xdd\xff\xff\xff\xff",
    b"not msgpack at all",
    b"\x93\x01\x02\x03",
    b"\x93\xa1a\xa1b\xa1c",
]
# That stand where an entry could: the block around them can still be read.
NO_ENTRIES = [
    b"\xc0",
    b"\x93\x01\x02\x03",
    b"\x92\xa2\xff\xfe\xa8" + b"\xff" * 8,
    encode(Entry("b/of-another-host", b"12345678")),
    encode(Entry("/of-no-kind", b"12345678", kind=99)),
]


def mutations(good: bytes, number: int) -> Iterator[bytes]:
    draw = random.Random(number)
    for _ in range(number):
        bad = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            bad[draw.randrange(len(bad))] = draw.randrange(256)
        yield bytes(bad[: draw.randrange(len(bad))]) if draw.random() < 0.2 else bytes(bad)


def test_whatever_the_bytes_are_nothing_is_raised() -> None:
    target = page("a/1", depth=3, referrer="http://b/é")
    for bad in [*GARBAGE, *mutations(encode(target), 3000)]:
        readable_target(bad, "a")
        readable_history(bad)
    for bad in [*GARBAGE, *mutations(encode(HostRecord("a", 1, queued=3, address="192.0.2.1")), 3000)]:
        readable_host(bad, "a")
    for bad in [*GARBAGE, *NO_ENTRIES, *mutations(entry_of(target), 3000)]:
        target_of(bad, "a", 6)
    for bad in [*GARBAGE, *mutations(encode_block([entry_of(target)] * 3), 3000)]:
        for entry in readable_block(bad) or ():
            target_of(entry, "a", 6)


def test_a_target_in_the_queue_of_another_host_is_none() -> None:
    assert readable_target(encode(page("a/1")), "a") == page("a/1")
    assert readable_target(encode(page("a/1")), "b") is None
    assert readable_target(encode(Target("http://b/1", "a", b"12345678")), "a") is None


# ---- in every store


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(params=["memory", "rocks", "bloom", "redis"])
def place(request: pytest.FixtureRequest, folder: Path, server: RedisServer) -> Place:
    match request.param:
        case "memory":
            return InMemory()
        case "redis":
            return InRedis(server)
        case "bloom":
            return InRocksDB(folder, seen="bloom", seen_error=1e-6)
        case _:
            return InRocksDB(folder)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def opened(place: Place, clock: FakeClock, order: Order = "breadth") -> Stage:
    clock.advance(10.0)
    return Stage(place.open(replace(RULES, order=order), clock), clock)


def spoil(place: Place, table: str, number: int) -> None:
    """Write garbage over the first rows of a table."""
    for key, bad in list(zip(place.rows(table), GARBAGE, strict=False))[:number]:
        place.put(table, key, bad)


def blocks_of(place: Place, host: str) -> list[bytes]:
    """The keys of a host's blocks, which are all of one lane."""
    record = readable_host(place.rows(HOSTS)[host.encode()], host)
    assert record
    return [key for key in place.rows(QUEUE) if key[:4] == record.number.to_bytes(4)]


def assert_sums_are_right(place: Place) -> None:
    with closing(place.view()) as view:
        assert all(says == found for _, says, found in view.sums()), view.sums()
        assert list(view.stranded()) == []


@pytest.mark.parametrize("order", ["breadth", "depth"])
async def test_a_queue_with_poisoned_entries_is_worked_off(
    place: Place, clock: FakeClock, caplog: pytest.LogCaptureFixture, order: Order
) -> None:
    urls = [f"{host}/{number}" for host in "ab" for number in range(2 * BLOCK_ENTRIES)]
    stage = opened(place, clock, order)
    await stage.add(*urls)
    await stage.frontier.close()
    key = blocks_of(place, "a")[1]
    entries: list[bytes | Raw] = list(readable_block(place.rows(QUEUE)[key]) or ())
    for number, bad in enumerate(NO_ENTRIES):
        entries[3 * number] = bad
    place.put(QUEUE, key, encode_block(entries))
    with closing(place.view()) as view:
        assert len(list(view.queued())) == len(urls) - len(NO_ENTRIES)
    with caplog.at_level(logging.WARNING):
        stage = opened(place, clock, order)
        visited = await stage.visit_all()
    wanted = set(urls) - {f"a/{BLOCK_ENTRIES + 3 * number}" for number in range(len(NO_ENTRIES))}
    assert set(visited) == wanted
    assert len(visited) == len(wanted)
    assert await stage.frontier.is_finished()
    counts = stage.frontier.counts()
    assert (counts.poisoned, counts.queued, counts.stored) == (len(NO_ENTRIES), 0, len(visited))
    assert len([record for record in caplog.records if "set aside" in record.message]) == 1
    await stage.frontier.close()
    assert sorted(place.rows(POISONED).values()) == sorted(NO_ENTRIES)
    assert_sums_are_right(place)


@pytest.mark.parametrize("order", ["breadth", "depth"])
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_a_block_that_cannot_be_read_takes_nothing_else_with_it(
    place: Place, clock: FakeClock, order: Order, at: int
) -> None:
    urls = [f"a/{number}" for number in range(2 * BLOCK_ENTRIES + 5)]
    stage = opened(place, clock, order)
    await stage.open_hosts(*urls)
    # Some have left its first block by now, or its last.
    for _ in range(3):
        (lease,) = await stage.next_leases()
        await stage.visit(lease)
    await stage.frontier.close()
    keys = blocks_of(place, "a")
    place.put(QUEUE, keys[at], GARBAGE[at])
    stage = opened(place, clock, order)
    visited = {*await stage.visit_all()}
    lost = {*urls[BLOCK_ENTRIES * at : BLOCK_ENTRIES * (at + 1)]}
    gone = {*(urls[:3] if order == "breadth" else urls[-3:])}
    assert visited == {*urls} - lost - gone
    assert await stage.frontier.is_finished()
    counts = stage.frontier.counts()
    assert (counts.poisoned, counts.queued, counts.stored) == (1, 0, len(visited) + 3)
    await stage.frontier.close()
    assert list(place.rows(POISONED).items()) == [(b"queue:" + keys[at], GARBAGE[at])]
    assert_sums_are_right(place)


@pytest.mark.parametrize("order", ["breadth", "depth"])
@pytest.mark.parametrize("bad", [*GARBAGE, encode_block([]), b"\xdc\x00\x05\xc0", b"\xdc\xff\xff" + b"\xc1" * 9, None])
async def test_a_host_with_nothing_but_poison_leaves_the_line(
    place: Place, clock: FakeClock, order: Order, bad: bytes | None
) -> None:
    stage = opened(place, clock, order)
    await stage.add(*(f"a/{number}" for number in range(3 * BLOCK_ENTRIES)))
    await stage.frontier.close()
    for key in place.rows(QUEUE):
        place.put(QUEUE, key, bad)
    stage = opened(place, clock, order)
    assert await stage.next_leases() == []
    assert await stage.frontier.is_finished()
    # Blocks in which nothing could be are not missed.
    assert stage.frontier.counts().poisoned == (3 if bad and bad != encode_block([]) else 1)
    await stage.add("a/new")
    assert await stage.visit_all() == ["a/new"]
    await stage.frontier.close()
    assert_sums_are_right(place)


async def test_what_had_left_a_poisoned_block_is_not_counted_twice(place: Place, clock: FakeClock) -> None:
    """Depth first, what makes room for others leaves the front."""
    rules = replace(RULES, order="depth", max_queued_per_host=6)
    stage = Stage(place.open(rules, clock), clock)
    await stage.add(*(f"a/low{number}" for number in range(5)), priority=2)
    await stage.add(*(f"a/high{number}" for number in range(4)), priority=9)
    assert stage.frontier.counts().queued == 6
    await stage.frontier.close()
    place.put(QUEUE, blocks_of(place, "a")[0], b"\xff" * 40)
    clock.advance(10.0)
    stage = Stage(place.open(rules, clock), clock)
    assert await stage.visit_all() == [f"a/high{number}" for number in (3, 2, 1, 0)]
    assert await stage.frontier.is_finished()
    await stage.frontier.close()
    assert_sums_are_right(place)


async def test_a_new_target_does_not_join_a_block_that_cannot_be_read(place: Place, clock: FakeClock) -> None:
    stage = opened(place, clock)
    await stage.add("a/1", "a/2")
    await stage.frontier.close()
    spoil(place, QUEUE, 1)
    stage = opened(place, clock)
    await stage.add("a/3", "a/4")
    assert await stage.visit_all() == ["a/3", "a/4"]
    counts = stage.frontier.counts()
    assert (counts.poisoned, counts.queued) == (1, 0)
    await stage.frontier.close()
    assert_sums_are_right(place)


async def test_poisoned_retries_and_histories_do_no_harm(place: Place, clock: FakeClock) -> None:
    stage = opened(place, clock)
    await stage.open_hosts("a/1", "a/2", "a/3")
    for _ in range(2):
        (lease,) = await stage.next_leases()
        status = 404 if lease.target.url.endswith("2") else 503
        await stage.settle(lease, FAILED, status=status, may_retry=True)
    await stage.frontier.close()
    spoil(place, DELAYED, 1)
    spoil(place, HISTORY, 3)
    with closing(place.view()) as view:
        assert [list(view.histories()), list(view.queued())] == [[], [page("a/3")]]
        assert len(list(view.retries())) == 1
    clock.advance(100.0)
    stage = opened(place, clock)
    assert len(await stage.visit_all()) == 2
    assert stage.frontier.counts().poisoned == 1
    assert await stage.frontier.is_finished()
    await stage.frontier.close()


# ---- hosts


@pytest.mark.parametrize("bad", [*GARBAGE[1:], encode(HostRecord("other", 1))])
async def test_a_host_whose_record_cannot_be_read_keeps_nobody_waiting(
    place: Place, clock: FakeClock, bad: bytes
) -> None:
    """What it had queued is lost to the crawl, which neither fails nor waits for it."""
    stage = opened(place, clock)
    await stage.add("a/1", "a/2", "b/1", "b/2")
    await stage.frontier.close()
    place.put(HOSTS, b"a", bad)
    stage = opened(place, clock)
    assert await stage.visit_all() == ["b/1", "b/2"]
    assert await stage.next_leases() == []
    assert stage.frontier.counts().poisoned == 1
    assert stage.frontier.idle_until() == math.inf
    await stage.frontier.close()
    assert place.rows(POISONED) == {b"hosts:a": bad}
    stage = opened(place, clock)
    assert await stage.next_leases() == []
    assert stage.frontier.idle_until() == math.inf
    assert stage.frontier.counts().poisoned == 1, "it is met once"
    await stage.frontier.close()


async def test_a_host_whose_record_was_lost_is_known_anew_when_it_is_found_again(
    place: Place, clock: FakeClock
) -> None:
    stage = opened(place, clock)
    await stage.add("a/1", "b/1")
    await stage.frontier.close()
    place.put(HOSTS, b"a", b"\xff" * 40)
    stage = opened(place, clock)
    assert await stage.add("a/1", "a/2") == 1
    assert sorted(await stage.visit_all()) == ["a/2", "b/1"]
    assert stage.frontier.idle_until() == math.inf
    await stage.frontier.close()


async def test_a_resting_host_whose_record_was_lost_is_not_waited_for(place: Place, clock: FakeClock) -> None:
    stage = opened(place, clock)
    await stage.add("a/1", "b/1")
    for lease in await stage.take():
        if lease.target.host == "a":
            await stage.settle(lease, OutcomeKind.READ, robots=rules_pending("http://a", clock(), 500.0))
        else:
            await stage.visit(lease)
    clock.advance(1.0)
    await stage.visit(await stage.take_one())
    await stage.frontier.close()
    assert list(place.rows(PARKED).values()) == [b"a"]
    place.put(HOSTS, b"a", b"\xff" * 40)
    stage = opened(place, clock)
    clock.advance(600.0)
    assert await stage.next_leases() == []
    assert stage.frontier.idle_until() == math.inf
    assert stage.frontier.counts().poisoned == 1
    await stage.frontier.close()
    assert place.rows(PARKED) == {}
