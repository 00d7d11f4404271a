"""What readers find in the books is what the frontier did, in RocksDB and in Redis alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lycosa.errors import BackendLost, SettingsError
from lycosa.frontier.books import Books
from lycosa.frontier.redis import RedisFrontier
from lycosa.frontier.redis_books import RedisBooks
from lycosa.frontier.rocks import RocksFrontier
from lycosa.frontier.rocks_books import RocksBooks
from lycosa.frontier.rules import FrontierRules
from lycosa.model import OutcomeKind

from .redis_servers import RedisServer, needs_redis
from .stage import EmbeddedFrontier, FakeClock, Stage, page

RULES = FrontierRules(retry_pauses=(500.0,))


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


class Kept:
    """A frontier, and its books."""

    def __init__(self, frontier: EmbeddedFrontier, clock: FakeClock, books: Callable[[], Books]) -> None:
        self.stage = Stage(frontier, clock)
        self.books = books


@pytest.fixture(params=["rocks", pytest.param("redis", marks=needs_redis)])
async def kept(request: pytest.FixtureRequest, folder: Path) -> Kept:
    clock = FakeClock()
    if request.param == "rocks":
        return Kept(RocksFrontier(folder, RULES, clock), clock, lambda: RocksBooks(folder))
    address = f"{request.getfixturevalue('server').address}?crawl={folder.parent.name}&partitions=4"
    return Kept(RedisFrontier(address, RULES, fake_clock=clock), clock, lambda: RedisBooks(address))


async def test_the_books_tell_what_happened(kept: Kept) -> None:
    stage = kept.stage
    await stage.open_hosts("a/1", "b/1", "c/1")
    await stage.add("a/2", "a/3", "d/1", depth=3)
    a, b, c, d = sorted(await stage.take(), key=lambda lease: lease.target.host)
    await stage.settle(a, discovered=[page("e/1")], status=200)
    await stage.settle(b, OutcomeKind.FAILED, status=500, may_retry=True)
    await stage.settle(c, OutcomeKind.READ)
    await stage.read_robots(d)
    key = stage.frontier.crawl_key()
    await stage.frontier.close()
    with closing(kept.books()) as books:
        assert books.is_exact
        assert books.crawl_key() == key
        counts = books.counts()
        assert (counts.known, counts.queued, counts.delayed, counts.stored) == (7, 4, 1, 1)
        assert all(says == found for _, says, found in books.sums()), books.sums()
        host = books.host("a")
        assert host
        assert (host.queued, host.failures, list(host.origins)) == (2, 0, ["http://a"])
        assert [target.url for target in books.queue(host)] == ["http://a/2", "http://a/3"]
        assert books.host("nowhere") is None
        assert {host.name: host.queued for host in books.hosts()} == {"a": 2, "b": 0, "c": 0, "d": 1, "e": 1}
        assert sorted(target.url for target in books.queued()) == [
            f"http://{url}" for url in ("a/2", "a/3", "d/1", "e/1")
        ]
        ((due, retried),) = books.retries()
        assert (due >= stage.clock() + 500, retried.url, retried.attempt) == (True, "http://b/1", 1)
        assert {past.url: past.outcome for past in books.histories()} == {
            "http://a/1": OutcomeKind.STORED,
            "http://b/1": OutcomeKind.FAILED,
            "http://c/1": OutcomeKind.READ,
        }
        past = books.history("a", page("a/1").fingerprint)
        assert past
        assert past.status == 200
        assert books.history("a", page("a/2").fingerprint) is None
        assert books.is_known("e", page("e/1").fingerprint)
        assert not books.is_known("e", page("e/2").fingerprint)
        assert books.robots("http://a") == b"rules of http://a"
        assert books.robots("http://e") == b""
        lines = books.lines()
        assert lines.waiting_hosts + lines.parked_hosts == 3
        assert lines.next_retry_at == due
        assert list(books.stranded()) == []


async def test_a_url_is_found_in_any_bucket(kept: Kept) -> None:
    await kept.stage.add(*(f"a/{number}" for number in range(3000)))
    await kept.stage.frontier.close()
    with closing(kept.books()) as books:
        assert all(books.is_known("a", page(f"a/{number}").fingerprint) for number in range(0, 3000, 7))
        assert all(says == found for _, says, found in books.sums()), books.sums()


@needs_redis
def test_a_crawl_that_is_not_there_is_named(server: RedisServer) -> None:
    with pytest.raises(SettingsError, match="no such crawl"):
        RedisBooks(f"{server.address}?crawl=nobody")


@needs_redis
async def test_lost_data_are_no_empty_crawl() -> None:
    with RedisServer() as own:
        frontier = RedisFrontier(own.address, RULES, fake_clock=FakeClock())
        await frontier.add([page("a/1")])
        await frontier.close()
        with closing(RedisBooks(own.address)) as books:
            own.client().delete(*own.client().keys("*:3}n"))
            with pytest.raises(BackendLost, match="INCOMPLETE"):
                books.counts()
            own.kill()
            with pytest.raises(BackendLost, match="cannot be read"):
                books.counts()


@needs_redis
async def test_a_spoilt_table_is_noticed(server: RedisServer) -> None:
    address = f"{server.address}?crawl=spoilt&partitions=1"
    frontier = RedisFrontier(address, RULES, fake_clock=FakeClock())
    await frontier.add([page("a/1"), page("b/1")])
    await frontier.close()
    client, tag = server.client(), frontier.address.tag(0)
    with closing(RedisBooks(address)) as books:
        client.zrem(f"{tag}r0", "a")
        assert [host.name for host in books.stranded()] == ["a"]
        client.rpush(f"{tag}q6:b", client.lindex(f"{tag}q6:b", 0))
        client.hset(f"{tag}h", "c", client.hget(f"{tag}h", "b"))
        assert {name for name, says, found in books.sums() if says != found} == {"queued", "hosts"}
