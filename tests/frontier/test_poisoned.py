"""Records that nobody here wrote are set aside, counted and told of once; the crawl goes on without them."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from redis import Redis

from lycosa.frontier.poison import readable_history
from lycosa.frontier.redis import RedisFrontier
from lycosa.frontier.redis_books import RedisBooks
from lycosa.frontier.redis_value import entry_of, readable_target
from lycosa.frontier.rocks import RocksFrontier
from lycosa.frontier.rocks_books import RocksBooks
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.tables import Tables, encode
from lycosa.frontier.tables import readable_target as readable_row
from lycosa.model import OutcomeKind, Target

from .redis_servers import RedisServer, needs_redis
from .stage import FakeClock, Stage, page

RULES = FrontierRules(durability="process", seen_capacity=10_000, retry_pauses=(30.0,))
GARBAGE = [
    b"",
    b"\xff" * 40,
    b"\xdd\xff\xff\xff\xff",
    b"not msgpack at all",
    b"\x93\x01\x02\x03",
    b"\x93\xa1a\xa1b\xa1c",
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
        readable_row(bad, "a")
        readable_history(bad)
    for bad in [*GARBAGE, *mutations(entry_of(target), 3000)]:
        readable_target(bad, "a", 6)


def test_a_target_in_the_queue_of_another_host_is_none() -> None:
    assert readable_row(encode(page("a/1")), "a") == page("a/1")
    assert readable_row(encode(page("a/1")), "b") is None
    assert readable_row(encode(Target("http://b/1", "a", b"12345678")), "a") is None


# ---- RocksDB


def spoil(folder: Path, family: str, number: int) -> None:
    """Write garbage over the first entries of a family."""
    tables = Tables(folder)
    rows = getattr(tables, family)
    for key, bad in list(zip(rows.keys(), GARBAGE, strict=False))[:number]:
        rows[key] = bad
    tables.close()


@pytest.mark.parametrize("seen", ["exact", "bloom"])
async def test_a_poisoned_queue_is_worked_off_in_rocksdb(
    folder: Path, caplog: pytest.LogCaptureFixture, seen: str
) -> None:
    rules = FrontierRules(durability="process", seen_capacity=10_000, seen=seen)  # type: ignore[arg-type]
    clock = FakeClock()
    stage = Stage(RocksFrontier(folder, rules, clock), clock)
    urls = [f"{host}/{number}" for host in "ab" for number in range(30)]
    await stage.add(*urls)
    await stage.frontier.close()
    spoil(folder, "queue", len(GARBAGE))
    clock.advance(10.0)
    with caplog.at_level(logging.WARNING):
        stage = Stage(RocksFrontier(folder, rules, clock), clock)
        visited = await stage.visit_all()
    assert len(visited) == len(urls) - len(GARBAGE)
    assert await stage.frontier.is_finished()
    counts = stage.frontier.counts()
    assert (counts.poisoned, counts.queued, counts.stored) == (len(GARBAGE), 0, len(visited))
    assert len([record for record in caplog.records if "set aside" in record.message]) == 1
    await stage.frontier.close()
    tables = Tables(folder)
    assert sorted(tables.poisoned.values()) == sorted(GARBAGE)
    assert tables.counts().poisoned == len(GARBAGE)
    tables.close()


async def test_a_host_with_nothing_but_poison_leaves_the_line(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(RocksFrontier(folder, RULES, clock), clock)
    await stage.add("a/1", "a/2")
    await stage.frontier.close()
    spoil(folder, "queue", 2)
    clock.advance(10.0)
    stage = Stage(RocksFrontier(folder, RULES, clock), clock)
    assert await stage.next_leases() == []
    assert await stage.frontier.is_finished()
    await stage.add("a/3")
    assert await stage.visit_all() == ["a/3"]
    await stage.frontier.close()


async def test_poisoned_retries_and_histories_do_no_harm(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(RocksFrontier(folder, RULES, clock), clock)
    await stage.open_hosts("a/1", "a/2", "a/3")
    for _ in range(2):
        (lease,) = await stage.next_leases()
        await stage.settle(
            lease, OutcomeKind.FAILED, status=404 if lease.target.url.endswith("2") else 503, may_retry=True
        )
    await stage.frontier.close()
    spoil(folder, "delayed", 1)
    spoil(folder, "seen", 3)
    books = RocksBooks(folder)
    assert [list(books.histories()), list(books.queued())] == [[], [page("a/3")]]
    assert len(list(books.retries())) == 1
    books.close()
    clock.advance(100.0)
    stage = Stage(RocksFrontier(folder, RULES, clock), clock)
    assert len(await stage.visit_all()) == 2
    assert stage.frontier.counts().poisoned == 1
    assert await stage.frontier.is_finished()
    await stage.frontier.close()


# ---- Redis


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@needs_redis
@pytest.mark.parametrize("order", ["breadth", "depth"])
async def test_a_poisoned_queue_is_worked_off_in_redis(
    server: RedisServer, caplog: pytest.LogCaptureFixture, order: str
) -> None:
    clock = FakeClock()
    rules = FrontierRules(order=order, retry_pauses=(30.0,))  # type: ignore[arg-type]
    address = f"{server.address}?crawl=poisoned-{order}&partitions=1"
    stage = Stage(RedisFrontier(address, rules, fake_clock=clock), clock)
    await stage.open_hosts("b/1")
    await stage.settle(await stage.take_one(), OutcomeKind.FAILED, status=503, may_retry=True)
    await stage.add(*(f"a/{number}" for number in range(20)))
    # Garbage that the scripts can tell, and some that looks like a target to them.
    mark = b"\xa8" + b"\xff" * 8
    garbage = [*GARBAGE, b"\x93\xa2/x" + mark + b"\x63", b"\x93\xa3b/x" + mark + b"\x00"]
    with Redis(port=int(server.address.rsplit(":", 1)[1].split("/")[0])) as client:
        tag = stage.frontier.address.tag(0)  # type: ignore[attr-defined]
        (queue,) = client.keys(f"{tag}q*:a")
        for place, bad in enumerate(garbage):
            client.lset(queue, 2 * place, bad)
        client.delete(f"{tag}d")
        client.zadd(f"{tag}d", {GARBAGE[1]: clock() + 1.0})
        with closing(RedisBooks(address)) as books:
            assert len(list(books.queued())) == 20 - len(garbage)
            assert list(books.retries()) == []
        with caplog.at_level(logging.WARNING):
            visited = await stage.visit_all()
        assert client.llen(f"{tag}p") == len(garbage) + 1
    assert len(visited) == 20 - len(garbage)
    counts = stage.frontier.counts()
    assert (counts.poisoned, counts.queued, counts.delayed, counts.leased) == (len(garbage) + 1, 0, 0, 0)
    assert await stage.frontier.is_finished()
    assert len([record for record in caplog.records if "set aside" in record.message]) == 1
    await stage.frontier.close()
