"""What readers see is what stands in the tables, however many partitions there are and wherever they are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from lycosa.errors import SettingsError
from lycosa.frontier.entries import encode_block, entry_of, mark_of
from lycosa.frontier.memory import MemoryReader, MemoryTables
from lycosa.frontier.queue import BLOCK_ENTRIES
from lycosa.frontier.records import HostRecord, Lane, State, block_key, due_key, encode, pack_site, waiting_key
from lycosa.frontier.rocks.tables import RocksTables
from lycosa.frontier.rules import OriginState, rank_of
from lycosa.frontier.tables import (
    DELAYED,
    HISTORY,
    HOSTS,
    META,
    PARKED,
    QUEUE,
    ROBOTS,
    SITES,
    WAITING,
    Batch,
    Tables,
)
from lycosa.frontier.view import CrawlView, Crew, Machine, Shares, open_rocks_view
from lycosa.model import History, Note, OutcomeKind, Reason, SiteNews, Target, origin_of
from lycosa.ports import Counts

from .stage import page

NOW = 1_700_000_000.0
KEY = b"k" * 16
NO_TARGET = b"\x93\x01\x02\x03"


def _mark(target: Target) -> str:
    return mark_of(origin_of(target.url), target.host)


class Partition:
    """Writes rows as the scheduler does, and keeps its counters."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._batch = Batch()
        self._serial = 0
        self._known = self._queued = self._delayed = self._hosts = 0
        self._waiting = State().waiting

    def add_host(self, name: str, *targets: Target, gone: int = 0, **known: object) -> HostRecord:
        """A host that waits with these targets in its queue, of which the first so many have left."""
        self._hosts += 1
        record = HostRecord(name, self._hosts, **known)  # type: ignore[arg-type]
        for target in targets:
            self.know(target)
        places = sorted({(rank_of(target), _mark(target)) for target in targets})
        for number, place in enumerate(places):
            entries = [entry_of(target) for target in targets if (rank_of(target), _mark(target)) == place]
            record.lanes.append(self._write_lane(record.number, number, place, entries))
        if gone:
            record.lanes[0].gone = gone
            record.lanes[0].entries -= gone
        record.queued = sum(lane.entries for lane in record.lanes)
        self._queued += record.queued
        if record.parked:
            self._batch.put(PARKED, record.parked, name.encode())
        elif record.queued:
            self._serial += 1
            record.waiting = waiting_key(record.lanes[0].rank, self._serial)
            self._waiting[record.lanes[0].rank] += 1
            self._batch.put(WAITING, record.waiting, name.encode())
        self._batch.put(HOSTS, name.encode(), encode(record))
        return record

    def _write_lane(self, host_number: int, number: int, place: tuple[int, str], entries: list[bytes]) -> Lane:
        rank, mark = place
        blocks = [entries[at : at + BLOCK_ENTRIES] for at in range(0, len(entries), BLOCK_ENTRIES)]
        # Blocks that have left are not counted anew.
        for block, some in enumerate(blocks, start=3):
            self._batch.put(QUEUE, block_key(host_number, number, block), encode_block(some))
        return Lane(number, mark, rank, first=3, end=3 + len(blocks), entries=len(entries))

    def delay(self, due_at: float, target: Target) -> None:
        self._serial += 1
        self._delayed += 1
        self._batch.put(DELAYED, due_key(due_at, self._serial, 7), encode(target))
        self.know(target)

    def know(self, target: Target) -> None:
        self._known += 1
        self._batch.known[target.fingerprint] = True

    def remember(self, target: Target, outcome: OutcomeKind, status: int = 0) -> None:
        past = History(url=target.url, outcome=outcome, visited_at=NOW, status=status)
        self._batch.put(HISTORY, target.fingerprint, encode(past))
        self.know(target)

    def put(self, table: str, key: bytes, value: bytes | None) -> None:
        self._batch.put(table, key, value)

    async def write(self, **counts: int) -> None:
        counted = Counts(known=self._known, queued=self._queued, delayed=self._delayed, hosts=self._hosts, **counts)
        state = State(counts=counted, waiting=self._waiting, hosts=self._hosts)
        for key, value in ((b"state", encode(state)), (b"key", KEY), (b"seen", b"exact")):
            self._batch.put(META, key, value)
        await self._tables.write(self._batch)


class Written:
    """Tables to write to, and then to look at."""

    def __init__(self, tables: list[Tables], view: Callable[[], CrawlView]) -> None:
        self._tables = tables
        self._view = view
        self.partitions = [Partition(each) for each in tables]

    def of(self, host: str) -> Partition:
        return self.partitions[partition_of(host) % len(self.partitions)]

    async def write(self, **counts: int) -> None:
        for partition in self.partitions:
            await partition.write(**counts)
        for tables in self._tables:
            await tables.close()

    @contextmanager
    def seen(self) -> Iterator[CrawlView]:
        with closing(self._view()) as view:
            yield view


def partition_of(host: str) -> int:
    return ord(host[0]) % 3


@pytest.fixture(params=["memory", "rocks"])
async def written(request: pytest.FixtureRequest, folder: Path) -> Written:
    if request.param == "rocks":
        return Written([RocksTables(folder, durability="process")], lambda: open_rocks_view(folder))
    tables = [MemoryTables() for _ in range(3)]
    return Written(list(tables), lambda: CrawlView([MemoryReader(each) for each in tables], partition_of))


async def test_the_view_tells_what_stands_in_the_tables(written: Written) -> None:
    a, b, d = written.of("a"), written.of("b"), written.of("d")
    origins = {"http://a": OriginState(NOW, NOW + 100)}
    a.add_host("a", page("a/0"), page("a/2"), page("a/3"), gone=1, origins=origins, visits=1, pages=1)
    b.add_host("b")
    d.add_host("d", page("d/1"), parked=due_key(NOW + 50, 7, 4) + b"\0")
    b.delay(NOW + 300, page("b/1", attempt=1))
    d.delay(NOW + 400, page("d/2"))
    a.remember(page("a/1"), OutcomeKind.STORED, 200)
    b.remember(page("b/2"), OutcomeKind.FAILED)
    a.put(ROBOTS, b"http://a", b"rules of http://a")
    d.put(SITES, b"d", pack_site(SiteNews("d", 3, b"notes")))
    await written.write(stored=1)
    with written.seen() as view:
        assert view.is_exact
        assert view.crawl_key() == KEY
        counts = view.counts()
        assert (counts.known, counts.queued, counts.delayed, counts.hosts) == (8, 3, 2, 3)
        assert counts.stored == len(written.partitions)
        names = {"queued", "queued, over all hosts", "delayed", "resting", "hosts", "known"}
        assert {each.name for each in view.sums()} == names
        assert all(says == found for _, says, found in view.sums()), view.sums()
        host = view.host("a")
        assert host
        assert (host.queued, host.visits, host.pages, list(host.origins)) == (2, 1, 1, ["http://a"])
        assert list(view.queue(host)) == [page("a/2"), page("a/3")]
        assert list(view.queue(host, is_last_first=True)) == [page("a/3"), page("a/2")]
        assert view.host("nowhere") is None
        assert {host.name: host.queued for host in view.hosts()} == {"a": 2, "b": 0, "d": 1}
        assert sorted(target.url for target in view.queued()) == ["http://a/2", "http://a/3", "http://d/1"]
        assert list(view.retries()) == [(NOW + 300, page("b/1", attempt=1)), (NOW + 400, page("d/2"))]
        assert {past.url for past in view.histories()} == {"http://a/1", "http://b/2"}
        past = view.history("a", page("a/1").fingerprint)
        assert past
        assert past.status == 200
        assert view.history("a", page("a/2").fingerprint) is None
        assert view.is_known("a", page("a/2").fingerprint)
        assert not view.is_known("a", page("a/9").fingerprint)
        assert view.robots("http://a") == b"rules of http://a"
        assert view.robots("http://d:81") == b""
        assert view.site("d") == b"notes"
        assert view.site("a") == b""
        assert view.lines() == (1, 1, NOW + 300, NOW + 50)
        assert list(view.stranded()) == []
        assert (view.crew, view.shares, view.agreed) == (None, None, None)


async def test_a_long_queue_is_read_by_class_in_both_directions(written: Written) -> None:
    urls = [f"a/{number}" for number in range(5000)]
    written.of("a").add_host("a", page("a/low", priority=1), *map(page, urls), page("a:81/x"), gone=7)
    await written.write()
    with written.seen() as view:
        host = view.host("a")
        assert host
        last = ["a:81/x", "a/low"]
        assert [target.url for target in view.queue(host)] == [f"http://{url}" for url in urls[7:] + last]
        backwards = [target.url for target in view.queue(host, is_last_first=True)]
        assert backwards == [f"http://{url}" for url in urls[:6:-1] + last]
        assert all(says == found for _, says, found in view.sums()), view.sums()


async def test_nothing_is_known_of_a_crawl_that_has_not_begun(written: Written) -> None:
    with written.seen() as view:
        assert view.is_exact
        assert (view.crawl_key(), view.counts(), view.lines()) == (b"", Counts(), (0, 0, 0.0, 0.0))
        assert all(says == found == 0 for _, says, found in view.sums())


async def test_what_cannot_be_read_is_passed_over(written: Written) -> None:
    a, b = written.of("a"), written.of("b")
    damaged = a.add_host("a", *(page(f"a/{number}") for number in range(BLOCK_ENTRIES + 4)))
    record = b.add_host("b", page("b/1"))
    for number, bad in enumerate((b"", b"\xff" * 40, NO_TARGET)):
        b.put(HOSTS, b"bad%d" % number, bad)
        b.put(HISTORY, b"history%d" % number, bad)
        b.put(DELAYED, due_key(NOW, number, 7), bad)
    b.put(HOSTS, b"\xff\xfe", encode(record))
    b.put(HOSTS, b"bother", encode(record))
    a.put(QUEUE, block_key(damaged.number, 0, 3), b"\xff" * 40)
    await written.write()
    with written.seen() as view:
        assert {host.name for host in view.hosts()} == {"a", "b"}
        assert view.host("bad1") is None
        assert view.host("bother") is None
        assert [target.url for target in view.queued()] == [
            *(f"http://a/{number}" for number in range(BLOCK_ENTRIES, BLOCK_ENTRIES + 4)),
            "http://b/1",
        ]
        assert list(view.retries()) == []
        assert list(view.histories()) == []
        assert view.history("b", b"history1") is None
        wrong = {name for name, says, found in view.sums() if says != found}
        assert wrong == {"queued", "queued, over all hosts", "hosts", "delayed"}


async def test_counters_that_cannot_be_read_are_none() -> None:
    tables = MemoryTables()
    partition = Partition(tables)
    partition.add_host("a", page("a/1"))
    await partition.write()
    tables.rows[META][b"state"] = NO_TARGET
    view = CrawlView([MemoryReader(tables)], lambda _: 0)
    assert view.counts() == Counts()
    assert ("queued", 0, 1) in view.sums()


async def test_a_host_that_stands_in_no_line_is_stranded(written: Written) -> None:
    a = written.of("a")
    record = a.add_host("a", page("a/1"))
    a.put(WAITING, record.waiting, None)
    written.of("b").add_host("b", page("b/1"))
    await written.write()
    with written.seen() as view:
        assert [host.name for host in view.stranded()] == ["a"]


async def test_an_origin_in_trouble_is_told_with_its_reason_and_its_next_try(written: Written) -> None:
    origins = {
        "http://a": OriginState(NOW, NOW + 1000),
        "https://a": OriginState(0.0, NOW + 300, is_pending=True, trouble=Reason("connect", "refused")),
        "http://a:81": OriginState(NOW, NOW + 1000, rest_until=NOW + 60, trouble=Reason("timeout")),
    }
    targets = [page(url) for url in ("a/1", "https://a/1", "https://a/2", "http://a:81/1")]
    written.of("a").add_host("a", *targets, origins=origins, free_at=NOW + 100)
    written.of("b").add_host("b", page("b/1"), origins={"http://b": OriginState(NOW, NOW + 1000)})
    await written.write()
    with written.seen() as view:
        told = [(each.origin, each.reason, each.next_try_at, each.queued) for each in view.troubled_origins()]
        assert told == [
            ("https://a", Reason(Note.ROBOTS_PENDING, "connect: refused"), NOW + 300, 2),
            ("http://a:81", Reason(Note.ORIGIN_RESTS, "timeout"), NOW + 100, 1),
        ]


def test_a_folder_without_a_frontier_is_refused(folder: Path) -> None:
    with pytest.raises(SettingsError, match="no frontier"):
        open_rocks_view(folder)


def test_a_crew_runs_while_anybody_is_heard() -> None:
    heard, silent = (Machine("m", 2, "", 1.0, is_silent, "", 4) for is_silent in (False, True))
    assert [Crew(machines, 0).is_running for machines in ([], [silent], [silent, heard])] == [False, False, True]


def test_shares_tell_how_unevenly_workers_are_asked() -> None:
    assert Shares([5, 5], 0).variation == 0.0
    assert Shares([0, 10], 0).variation == 1.0
