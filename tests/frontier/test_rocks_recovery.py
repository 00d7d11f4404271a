"""What the durable frontier keeps: over a clean close, over kill -9, and what it refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from lycosa.dedupe.signature import signature_of
from lycosa.errors import FolderInUse
from lycosa.frontier import backlog, hosts
from lycosa.frontier.embedded import memory_frontier, rocks_frontier
from lycosa.frontier.queue import BLOCK_ENTRIES
from lycosa.frontier.rocks.database import Database
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.view import open_rocks_view
from lycosa.model import WAITS, Kind, Lease, OutcomeKind, Settlement
from lycosa.policy.priority import Order

from .stage import FakeClock, Stage, page, rules_pending

RULES = FrontierRules(durability="process", seen_capacity=100_000)
BLOOM = FrontierRules(durability="process", seen_capacity=100_000, seen="bloom", seen_error=1e-5)
FAILED, READ = OutcomeKind.FAILED, OutcomeKind.READ

# A crawl of its own process that is killed in the middle of work; the line it prints last was acknowledged.
KILLED = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.frontier.stage import FakeClock, Stage, page
from lycosa.frontier.embedded import rocks_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Kind

async def crawl():
    rules = FrontierRules(durability={durability!r}, seen={seen!r}, seen_capacity=100_000, seen_error=1e-5)
    clock = FakeClock()
    stage = Stage(rocks_frontier(Path({folder!r}), rules, clock), clock)
    for number in range(1_000_000):
        await stage.add(*(f"h{{(number + turn) % 37}}/{{number}}-{{turn}}" for turn in range(20)))
        leases = await stage.take(limit=20)
        for lease in leases[:10]:
            if lease.target.kind is Kind.ROBOTS:
                await stage.read_robots(lease)
            else:
                await stage.settle(lease, discovered=[page(f"found{{number % 11}}/{{number}}")])
        counts = stage.frontier.counts()
        print(number, counts.known, counts.stored, counts.queued, counts.leased, stage.clock(), flush=True)
        stage.clock.advance(0.5)

asyncio.run(crawl())
"""


@pytest.mark.parametrize(("durability", "seen"), [("power", "exact"), ("process", "exact"), ("process", "bloom")])
async def test_nothing_acknowledged_is_lost_to_kill_9(tmp_path: Path, durability: str, seen: str) -> None:
    folder = tmp_path / "frontier"
    script = KILLED.format(root=str(Path(__file__).parents[2]), folder=str(folder), durability=durability, seen=seen)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        rounds, known, stored, queued, leased, now = line.split()
        if int(rounds) == 40:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()

    clock = FakeClock(float(now))
    rules = FrontierRules(durability="process", seen=seen, seen_capacity=100_000, seen_error=1e-5)  # type: ignore[arg-type]
    frontier = rocks_frontier(folder, rules, clock)
    counts = frontier.counts()
    # It went on for a moment after the line that was read.
    assert counts.known >= int(known)
    assert counts.stored >= int(stored)
    assert counts.leased == 0
    assert int(leased) > 0
    assert counts.known == counts.queued + counts.stored
    assert counts.queued >= int(queued) - (counts.stored - int(stored))
    # What the counters say is what stands in the tables.
    with closing(open_rocks_view(folder)) as view:
        assert all(says == found for _, says, found in view.sums()), view.sums()
        assert list(view.stranded()) == []
        died_leased = {record.name for record in view.hosts() if record.leased_epoch}
    # Every host that was leased when the process died rests for its delay, counted from this start.
    stage = Stage(frontier, clock)
    assert len(died_leased) >= int(leased)
    assert died_leased.isdisjoint(lease.target.host for lease in await stage.take())
    # Every URL that was acknowledged is known still.
    again = [page(f"h{(number + turn) % 37}/{number}-{turn}") for number in range(41) for turn in range(20)]
    assert await frontier.add(again) == 0
    await frontier.close()


async def test_what_was_put_off_is_put_off_after_a_restart(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.open_hosts("a/1", "b/1")
    leases = {lease.target.host: lease for lease in await stage.take()}
    await stage.settle(leases["a"], OutcomeKind.REFUSED, sent=False, deferred=WAITS)
    found = [page("a/doubt1", deferred=1), page("a/doubt2", deferred=1), page("b/2")]
    await stage.settle(leases["b"], status=200, discovered=found)
    await stage.frontier.close()

    again = Stage(rocks_frontier(folder, RULES, clock), clock)
    assert again.frontier.counts().queued == 4
    order = await again.visit_all()
    assert order[-1] == "a/1"
    assert sorted(order) == ["a/1", "a/doubt1", "a/doubt2", "b/2"]
    await again.frontier.close()


async def test_a_clean_close_keeps_everything(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.open_hosts("slow/1", "busy/1", "failing/1", "open/1", "open/2")
    leases = {lease.target.host: lease for lease in await stage.take()}
    await stage.settle(leases["slow"], FAILED, status=503, retry_after_seconds=5000.0, may_retry=True)
    await stage.settle(leases["failing"], FAILED, status=500)
    await stage.settle(leases["open"], digest=b"digest", etag="e")
    await stage.add("slow/2", "dark/1")
    await stage.settle(await stage.take_one(), READ, robots=rules_pending("http://dark", clock(), 700.0))
    clock.advance(1.0)
    assert {lease.target.url for lease in await stage.take()} == {"http://open/2"}
    before, key = stage.frontier.counts(), stage.frontier.crawl_key()
    await stage.frontier.close()

    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    after = stage.frontier.counts()
    assert before.leased == 2
    assert after.leased == 0
    assert (after.known, after.queued, after.delayed, after.failed) == (7, before.queued, 1, 1)
    assert stage.frontier.crawl_key() == key
    assert await stage.frontier.robots("http://open") == b"rules of http://open"
    assert await stage.frontier.original_of(b"digest", "http://elsewhere/", 0) == "http://open/1"
    assert await stage.take() == [], "those that were leased rest once more"
    given: dict[str, float] = {}
    began = clock()
    while leases_now := await stage.next_leases():
        for lease in leases_now:
            given[lease.target.url] = clock() - began
            if lease.target.kind is Kind.ROBOTS:
                await stage.read_robots(lease)
            else:
                await stage.settle(lease, status=200)
    assert given["http://busy/1"] == given["http://open/2"] == 1.0
    assert given["http://dark/robots.txt"] == pytest.approx(699.0)
    assert given["http://slow/2"] == pytest.approx(4999.0)
    assert given["http://slow/1"] == pytest.approx(5000.0)
    await stage.frontier.close()


async def test_a_token_of_an_earlier_run_is_late(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.add("a/1")
    lease = await stage.take_one()
    await stage.frontier.close()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    assert await stage.settle(lease, READ) == [lease.token]
    (again,) = await stage.next_leases()
    assert again.token > lease.token


async def test_a_host_that_was_asked_when_all_died_rests_as_long_as_it_wishes(folder: Path) -> None:
    """Nobody knows when its request went out: so it counts as sent at the start of whoever comes next."""
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.open_hosts("a/1", delay=50.0)
    (lease,) = await stage.next_leases()
    clock.advance(45.0)
    await stage.frontier.close()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    clock.advance(49.0)
    assert await stage.take() == []
    clock.advance(1.0)
    assert (await stage.take_one()).target == lease.target
    await stage.frontier.close()


async def test_arrival_order_survives_restarts(folder: Path) -> None:
    clock = FakeClock()
    for run in range(4):
        stage = Stage(rocks_frontier(folder, RULES, clock), clock)
        await stage.add(f"a/{run}")
        await stage.frontier.close()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    assert await stage.visit_all() == [f"a/{run}" for run in range(4)]


def test_a_second_crawl_on_the_same_folder_is_refused(folder: Path) -> None:
    first = rocks_frontier(folder, RULES)
    with pytest.raises(FolderInUse, match="another crawl"):
        rocks_frontier(folder, RULES)
    del first


async def test_a_running_crawl_can_be_read_by_others(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.add("a/1", "b/1")
    with closing(open_rocks_view(folder)) as view:
        assert view.counts().known == 2
        assert {record.name for record in view.hosts()} == {"a", "b"}
        assert {target.url for target in view.queued()} == {"http://a/1", "http://b/1"}
    await stage.frontier.close()


async def test_a_clock_set_back_does_not_lengthen_a_pause(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.open_hosts("a/1", "a/2")
    await stage.settle(await stage.take_one(), fetch_seconds=1.0)
    await stage.frontier.close()
    clock.advance(-3600.0)
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.take()
    moment = stage.frontier.next_at(0)
    assert moment is not None
    assert moment - clock() <= 10.0


async def test_what_is_acknowledged_was_put_on_the_disk_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut takes what was not synced. A pause shorter than a machine's start need not be kept over one."""
    synced_at: list[int] = []
    databases: list[Database] = []
    put = Database.sync

    def sync(database: Database) -> None:
        written = database.changes()
        put(database)
        synced_at.append(written)
        databases.append(database)

    monkeypatch.setattr(Database, "sync", sync)
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, FrontierRules(durability="power", seen_capacity=1000), clock), clock)
    await stage.add("a/1", "a/2")
    assert synced_at[-1] == databases[-1].changes()
    lease = await stage.take_one()
    assert synced_at[-1] < databases[-1].changes(), "a pause of a second"
    await stage.read_robots(lease, delay=60.0)
    assert synced_at[-1] == databases[-1].changes()
    clock.advance(60.0)
    await stage.take_one()
    assert synced_at[-1] == databases[-1].changes(), "a pause of a minute"
    databases.clear()
    await stage.frontier.close()


# ---- what must not grow


def urls(leases: list[Lease]) -> set[str]:
    return {lease.target.url for lease in leases}


@pytest.mark.parametrize("end", ["released", "restarted"])
async def test_a_host_with_a_long_delay_gives_its_place_to_others_when_its_worker_is_gone(
    folder: Path, end: str
) -> None:
    clock = FakeClock()
    rules = FrontierRules(durability="process", seen_capacity=1000, max_active_hosts=1)
    stage = Stage(rocks_frontier(folder, rules, clock), clock)
    await stage.open_hosts("slow/1", delay=3000.0)
    assert urls(await stage.next_leases()) == {"http://slow/1"}
    if end == "released":
        assert await stage.frontier.release(0) == 1
    else:
        await stage.frontier.close()
        stage = Stage(rocks_frontier(folder, rules, clock), clock)
        assert await stage.take() == []
    await stage.add("other/1")
    assert urls(await stage.next_leases()) == {"http://other/robots.txt"}


async def test_settled_leases_leave_nothing_in_memory(folder: Path) -> None:
    clock = FakeClock()
    frontier = rocks_frontier(folder, RULES, clock)
    stage = Stage(frontier, clock)
    await stage.add(*(f"a/{number}" for number in range(200)))
    await stage.visit_all()
    assert not frontier._scheduler.leases
    assert not frontier._claims._holder
    assert not frontier._claims._digests_of
    assert not frontier._scheduler._hosts._active
    assert not any(frontier._scheduler._hosts._ready.values())


@pytest.mark.parametrize("order", ["breadth", "depth"])
@pytest.mark.parametrize("rests", [False, True])
async def test_a_long_queue_stays_in_the_store(order: Order, rests: bool) -> None:
    clock = FakeClock()
    frontier = memory_frontier(FrontierRules(order=order), clock)
    stage = Stage(frontier, clock)
    await stage.open_hosts("a/first")
    under_way = await stage.take_one()
    wanted = [f"a/{number}" for number in range(40 * BLOCK_ENTRIES)]
    await stage.add(*wanted[:100])
    if rests:
        await stage.settle(under_way, FAILED, status=503, retry_after_seconds=1000.0)
    else:
        await stage.settle(under_way, status=200)
    for start in range(100, len(wanted), 50):
        await stage.add(*wanted[start : start + 50])
    host = frontier._scheduler._hosts.get("a")
    assert host.is_active is not rests
    assert host.record.queued == len(wanted)
    assert len(host.queue._blocks) <= 2
    assert await stage.visit_all(patience=2000) == wanted[:: 1 if order == "breadth" else -1]


async def test_hosts_in_memory_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "CACHED_HOSTS", 10)
    clock = FakeClock()
    rules = FrontierRules(durability="process", seen_capacity=1000, max_active_hosts=5)
    frontier = rocks_frontier(folder, rules, clock)
    stage = Stage(frontier, clock)
    await stage.add(*(f"h{number}/" for number in range(100)))
    await stage.take()
    assert len(frontier._scheduler._hosts._active) == 5
    assert len(frontier._scheduler._hosts._resting) <= 10


async def test_many_that_are_due_at_once_are_woken_in_portions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MAX_WOKEN", 3)
    monkeypatch.setattr(hosts, "MAX_MOVES", 3)
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    wanted = [f"h{number}/1" for number in range(20)]
    await stage.add(*wanted)
    while leases := await stage.next_leases():
        for lease in leases:
            if lease.target.kind is Kind.ROBOTS:
                await stage.read_robots(lease)
            else:
                await stage.settle(lease, FAILED, status=503, may_retry=True, retry_after_seconds=900.0)
        if stage.frontier.counts().delayed == 20:
            break
    clock.advance(1000.0)
    assert sorted(await stage.visit_all()) == sorted(wanted)


async def test_high_classes_become_active_first_and_low_ones_are_not_forgotten(folder: Path) -> None:
    """Ten places for 2,000 hosts of two classes, drawn with weights 121 : 4; the seed is that of the first run."""
    clock = FakeClock()
    rules = FrontierRules(durability="process", seen_capacity=10_000, max_active_hosts=10)
    stage = Stage(rocks_frontier(folder, rules, clock), clock)
    await stage.frontier.add([page(f"low{number}/", priority=1) for number in range(1000)])
    await stage.frontier.add([page(f"high{number}/", priority=10) for number in range(1000)])
    drawn: list[str] = []
    while len(drawn) < 1000:
        leases = await stage.take()
        drawn += [lease.target.host for lease in leases if lease.target.kind is Kind.ROBOTS]
        await stage.frontier.settle(
            [
                Settlement(lease.token, READ, status=200, robots=rules_pending(lease.target.origin, clock(), 1e6))
                for lease in leases
            ]
        )
        clock.advance(1.0)
        await stage.take()
    share = sum(name.startswith("low") for name in drawn) / len(drawn)
    assert 0.015 < share < 0.05


async def test_groups_of_texts_survive(folder: Path) -> None:
    clock = FakeClock()
    signature = signature_of("what somebody wrote and others copied").to_bytes()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    first = await stage.frontier.group_of(signature)
    await stage.add("http://a/1")
    await stage.frontier.close()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    again = await stage.frontier.group_of(signature)
    assert first.is_first
    assert (again.group, again.is_first) == (first.group, False)
    await stage.frontier.close()


async def test_sisters_of_a_host_asked_just_before_a_restart_wait_too(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.add("x.s.test/1", "y.s.test/1")
    await stage.take_one()
    await stage.frontier.close()
    clock.advance(0.2)
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    clock.advance(0.9)
    assert await stage.take() == []
    clock.advance(0.1)
    (lease,) = await stage.take()
    assert lease.target.host in {"x.s.test", "y.s.test"}
    await stage.frontier.close()


async def test_the_address_of_a_host_survives(folder: Path) -> None:
    clock = FakeClock()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    await stage.add("a/1", "b/1")
    first, second = await stage.take()
    assert await stage.frontier.may_ask_at(first.token, "192.0.2.1")
    assert not await stage.frontier.may_ask_at(second.token, "192.0.2.1")
    await stage.frontier.close()
    clock.advance(10.0)
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    clock.advance(10.0)
    leases = {lease.target.host: lease.address for lease in await stage.take()}
    assert leases[second.target.host] == "192.0.2.1"
    await stage.frontier.close()


async def test_a_crowd_behind_one_address_leaves_memory(folder: Path) -> None:
    clock = FakeClock()
    frontier = rocks_frontier(folder, RULES, clock)
    stage = Stage(frontier, clock)
    await stage.add(*(f"h{number}/" for number in range(300)))
    for lease in await stage.take():
        if await stage.frontier.may_ask_at(lease.token, "192.0.2.1"):
            await stage.read_robots(lease)
    clock.advance(1.0)
    await stage.take()
    assert len(frontier._scheduler._hosts._active) <= 2 * hosts.LINE_HOSTS
    await stage.frontier.close()


async def test_deaths_of_workers_are_counted_over_a_restart(folder: Path) -> None:
    clock = FakeClock()
    for _ in range(2):
        stage = Stage(rocks_frontier(folder, RULES, clock), clock)
        await stage.add("a/1")
        clock.advance(10.0)
        if stage.frontier.counts().read == 0:
            await stage.open_hosts("a/1")
        (lease,) = await stage.next_leases()
        await stage.settle(lease, OutcomeKind.CRASHED, was_fatal=True)
        await stage.frontier.close()
    stage = Stage(rocks_frontier(folder, RULES, clock), clock)
    assert stage.frontier.counts().crashed == 1
    assert await stage.frontier.is_finished()
    await stage.frontier.close()
