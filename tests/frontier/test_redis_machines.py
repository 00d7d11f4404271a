"""Several machines on one Redis: who gets which host, what a dead one leaves, one page limit, one set of settings."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import msgspec
import pytest

from lycosa.errors import BackendLost, SettingsError
from lycosa.frontier.redis import RedisFrontier
from lycosa.frontier.redis_agree import agree
from lycosa.frontier.redis_link import Call
from lycosa.frontier.redis_members import NODES_PER_MACHINE
from lycosa.frontier.redis_place import Server, parse_address
from lycosa.frontier.redis_state import Overview, PartitionState
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Kind, OutcomeKind, Settlement
from lycosa.settings import Settings

from .redis_servers import RedisServer, WatchedPair, needs_redis, wait_until
from .stage import FakeClock, Stage, page, rules_read

pytestmark = needs_redis
numbers = count(1)
HOSTS = [f"host{number}" for number in range(300)]
# Hearts beat by the real clock eight times within it, so none does during a test unless it is told to.
SILENCE_SECONDS = 3600.0


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def address(server: RedisServer) -> str:
    return f"{server.address}?crawl=machines{next(numbers)}"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


Open = Callable[..., Stage]


@pytest.fixture
async def machine(address: str, clock: FakeClock) -> AsyncIterator[Open]:
    """Opens machines by name; they leave when the test is over."""
    opened: list[RedisFrontier] = []

    def open_machine(name: str, **rules: object) -> Stage:
        rules = {"workers": 2, "silence_seconds": SILENCE_SECONDS, **rules}
        opened.append(RedisFrontier(address, FrontierRules(**rules), name=name, fake_clock=clock))  # type: ignore[arg-type]
        return Stage(opened[-1], clock)

    yield open_machine
    for frontier in opened:
        await frontier.close()


def redis_of(stage: Stage) -> RedisFrontier:
    assert isinstance(stage.frontier, RedisFrontier)
    return stage.frontier


async def beat(stage: Stage) -> None:
    """What the heart does from time to time."""
    frontier = redis_of(stage)
    if not await frontier._members.beat(frontier._run_for_answers):
        await frontier._forget(list(frontier._held))
    frontier._overview.forget_heads()


async def outlive(*machines: Stage) -> None:
    """Time goes by in which only these are heard."""
    for _ in range(8):
        machines[0].clock.advance(SILENCE_SECONDS / 7)
        for stage in machines:
            await beat(stage)


def look_again(*machines: Stage) -> None:
    """As if what was last seen of the partitions were old; others have changed them."""
    for stage in machines:
        overview = redis_of(stage)._overview
        overview.looked_at = [float("-inf")] * len(overview.looked_at)
        for told_at in overview.told_at:
            told_at.update(dict.fromkeys(told_at, float("-inf")))


async def owners(*machines: Stage) -> dict[str, tuple[int, int]]:
    """Take everything, and say who got which host."""
    found = {}
    for number, stage in enumerate(machines):
        for worker in range(2):
            for lease in await stage.take(worker):
                assert lease.target.host not in found, "one worker at a time"
                found[lease.target.host] = (number, worker)
    return found


async def give_back(*machines: Stage) -> None:
    for stage in machines:
        for worker in range(2):
            await stage.frontier.release(worker)
        stage.clock.advance(1.0)


async def test_every_host_belongs_to_one_worker_of_one_machine(machine: Open) -> None:
    first, second = machine("a"), machine("b")
    await first.add(*(f"{host}/" for host in HOSTS))
    await second.frontier.is_finished()
    await beat(first)
    found = await owners(first, second)
    assert set(found) == set(HOSTS)
    assert len(set(found.values())) == 4


async def test_a_join_moves_only_its_share(machine: Open) -> None:
    first, second = machine("a"), machine("b")
    await first.add(*(f"{host}/" for host in HOSTS))
    before = await owners(first)
    await give_back(first)
    await second.frontier.is_finished()
    await beat(first)
    after = await owners(first, second)
    assert set(after) == set(HOSTS)
    moved = [host for host in HOSTS if after[host] != before[host]]
    assert all(after[host][0] == 1 for host in moved), "whoever stays keeps what it had"
    assert len(moved) / len(HOSTS) <= 0.5 + 0.1


async def test_a_machine_that_falls_silent_loses_its_leases_and_only_its_share_moves(machine: Open) -> None:
    first, second, third = machine("a"), machine("b"), machine("c")
    await first.add(*(f"{host}/" for host in HOSTS))
    await second.frontier.is_finished()
    await third.frontier.is_finished()
    for stage in (first, second):
        await beat(stage)
    before = await owners(first, second, third)
    assert set(before) == set(HOSTS)
    await give_back(first, second)
    # The third says no more, with all its leases.
    await outlive(first, second)
    after = await owners(first, second)
    assert set(after) == set(HOSTS)
    stayed = [host for host in HOSTS if before[host][0] != 2]
    assert all(after[host] == before[host] for host in stayed)


async def test_whoever_was_taken_for_dead_changes_nothing_and_joins_anew(machine: Open) -> None:
    first, second = machine("a"), machine("b")
    await first.add("x/1")
    (lease,) = [lease for worker in range(2) for lease in await first.take(worker)]
    await second.frontier.is_finished()
    await outlive(second)
    assert second.frontier.counts().leased == 0
    assert await first.settle(lease, OutcomeKind.READ) == [lease.token]
    await beat(first)
    assert redis_of(first)._members.outlook.number >= 0
    await beat(second)
    first.clock.advance(400.0)
    # A host goes to its new owner when the old one next looks at it.
    assert len(await owners(second, first)) == 1


async def test_nobody_is_taken_for_dead_while_the_store_was_away(machine: Open) -> None:
    first, second = machine("a", lease_seconds=1e6), machine("b", lease_seconds=1e6)
    await first.add(*(f"{host}/" for host in HOSTS[:20]))
    await second.frontier.is_finished()
    await beat(first)
    assert len(await owners(first, second)) == 20
    first.clock.advance(10 * SILENCE_SECONDS)
    for stage in (first, second):
        await beat(stage)
    look_again(first)
    assert not await first.frontier.is_finished()
    assert first.frontier.counts().leased == 20


async def test_a_machine_that_comes_back_under_its_name_takes_its_own_place(machine: Open) -> None:
    first = machine("a")
    await first.add(*(f"{host}/" for host in HOSTS[:20]))
    assert len(await owners(first)) == 20
    again = machine("a")
    assert not await again.frontier.is_finished()
    assert again.frontier.counts().leased == 0
    assert redis_of(again)._members.outlook.number == 0
    again.clock.advance(1.0)
    assert len(await owners(again)) == 20


async def test_a_machine_that_leaves_passes_on_its_hosts(machine: Open) -> None:
    first, second = machine("a"), machine("b")
    await first.add(*(f"{host}/" for host in HOSTS))
    await second.frontier.is_finished()
    await redis_of(second).close()
    await beat(first)
    assert len(await owners(first)) == len(HOSTS)


async def ask_all(*machines: Stage, rounds: int) -> Counter[tuple[str, int, int]]:
    """Visit what there is, a round a second; returns who asked which domain how often."""
    asked = Counter[tuple[str, int, int]]()
    for _ in range(rounds):
        for number, stage in enumerate(machines):
            look_again(stage)
            for worker in range(2):
                for lease in await stage.take(worker):
                    asked[lease.target.host, number, worker] += 1
                    await stage.visit(lease)
        machines[0].clock.advance(1.0)
    return asked


async def test_a_balanced_domain_is_spread_over_all_machines(machine: Open) -> None:
    first, second = machine("a", assignment="balanced"), machine("b", assignment="balanced")
    await first.add(*(f"{host}.test/{number}" for host in "xyz" for number in range(100)))
    await second.frontier.is_finished()
    await beat(first)
    asked = await ask_all(first, second, rounds=40)
    assert asked == {(f"{host}.test", number, worker): 10 for host in "xyz" for number in (0, 1) for worker in (0, 1)}


async def test_a_newcomer_has_its_share_of_a_balanced_domain_and_no_more(machine: Open) -> None:
    first, second = machine("a", assignment="balanced"), machine("b", assignment="balanced")
    await first.add(*(f"x.test/{number}" for number in range(100)))
    await ask_all(first, rounds=20)
    await second.frontier.is_finished()
    await beat(first)
    asked = await ask_all(first, second, rounds=20)
    assert sum(asked.values()) == 20
    assert set(asked.values()) <= {4, 5, 6}
    assert len(asked) == 4
    await second.frontier.close()
    await beat(first)
    asked = await ask_all(first, rounds=20)
    assert set(asked.values()) <= {9, 10, 11}


async def test_the_balanced_hosts_of_a_dead_machine_are_passed_on(machine: Open) -> None:
    first, second = machine("a", assignment="balanced"), machine("b", assignment="balanced")
    await first.add(*(f"{host}.test/1" for host in HOSTS))
    await second.frontier.is_finished()
    await beat(first)
    await ask_all(first, rounds=1)
    look_again(second)
    under_way = await second.take(0, limit=20)
    assert len(under_way) == 20
    await outlive(first)
    asked = await ask_all(first, rounds=3)
    assert {host for host, _, _ in asked} == {f"{host}.test" for host in HOSTS}
    assert await first.frontier.is_finished()


async def test_the_assignment_of_newer_settings_holds(machine: Open, address: str) -> None:
    await agree(Settings(frontier=address), ["http://x/"], set())
    old = machine("a")
    await old.add(*(f"x.test/{number}" for number in range(30)))
    await agree(Settings(frontier=address + "&settings=update", assignment="balanced"), [], {"assignment"})
    new = machine("b", assignment="balanced")
    await new.frontier.is_finished()
    await old.frontier.close()
    await beat(new)
    asked = await ask_all(new, rounds=20)
    assert set(asked.values()) == {10}


# ---- regions

RULES = {"de": "eu", "jp": "asia"}


@pytest.mark.parametrize("assignment", ["ring", "balanced"])
async def test_a_host_is_visited_from_the_region_that_it_is_bound_to(machine: Open, assignment: str) -> None:
    europe, america = (
        machine(name, region=name, region_rules=RULES, assignment=assignment) for name in ("eu", "america")
    )
    await europe.add(*(f"{host}.{end}/1" for host in HOSTS[:60] for end in ("de", "com")))
    await america.frontier.is_finished()
    await beat(europe)
    asked = await ask_all(europe, america, rounds=6)
    assert len({host for host, _, _ in asked}) == 120
    assert {number for host, number, _ in asked if host.endswith(".de")} == {0}
    assert {number for host, number, _ in asked if host.endswith(".com")} == {0, 1}
    assert len({worker for host, _, worker in asked if host.endswith(".de")}) == 2
    assert await europe.frontier.is_finished()


async def test_while_nobody_of_its_region_is_there_anybody_visits_a_host(machine: Open) -> None:
    america = machine("america", region="america", region_rules=RULES)
    await america.add(*(f"{host}.de/{number}" for host in HOSTS[:10] for number in range(9)))
    assert len({host for host, _, _ in await ask_all(america, rounds=3)}) == 10
    europe = machine("eu", region="eu", region_rules=RULES)
    await europe.frontier.is_finished()
    await beat(america)
    # Who comes back to its hosts finds them where they were left; they are passed on as they are looked at.
    await ask_all(america, europe, rounds=1)
    assert {number for _, number, _ in await ask_all(america, europe, rounds=3)} == {1}
    await europe.frontier.close()
    await beat(america)
    assert {number for _, number, _ in await ask_all(america, rounds=3)} == {0}


async def test_a_new_rule_moves_a_known_host(machine: Open) -> None:
    europe, asia = machine("a", region="eu"), machine("b", region="asia", region_rules=RULES)
    await asia.frontier.is_finished()
    await europe.add(*(f"{host}.jp/{number}" for host in HOSTS[:20] for number in range(6)))
    await beat(europe)
    assert {number for _, number, _ in await ask_all(europe, asia, rounds=2)} == {0, 1}
    await asia.add(*(f"{host}.jp/new" for host in HOSTS[:20]))
    assert {number for _, number, _ in await ask_all(europe, asia, rounds=3)} == {1}


async def visits_until_settled(
    machines: list[Stage], seconds: dict[int, float], rounds: int = 8
) -> list[dict[str, int]]:
    """Visit hosts from machines that need so long to connect; returns who asked which host, round by round."""
    story = []
    for _ in range(rounds):
        asked = {}
        for number, stage in enumerate(machines):
            look_again(stage)
            for worker in range(2):
                for lease in await stage.take(worker):
                    asked[lease.target.host] = number
                    how: dict[str, Any] = {"status": 200, "connect_seconds": seconds[number]}
                    if lease.target.kind is Kind.ROBOTS:
                        news = rules_read(lease.target.origin, stage.clock())
                        await stage.settle(lease, OutcomeKind.READ, robots=news, **how)
                    else:
                        await stage.settle(lease, **how)
        story.append(asked)
        machines[0].clock.advance(1.0)
    return story


async def regions_by_time(machine: Open) -> list[Stage]:
    machines = [machine(name, region=name, region_by="connect time") for name in ("eu", "us", "asia")]
    for stage in machines:
        await stage.frontier.is_finished()
    for stage in machines:
        await beat(stage)
    await machines[0].add(*(f"{host}.test/{number}" for host in HOSTS[:12] for number in range(12)))
    return machines


async def test_a_host_moves_to_the_region_that_connects_fastest(machine: Open) -> None:
    machines = await regions_by_time(machine)
    story = await visits_until_settled(machines, {0: 0.09, 1: 0.02, 2: 0.3})
    hosts = {f"{host}.test" for host in HOSTS[:12]}
    for host in hosts:
        assert {asked[host] for asked in story[:3]} == {0, 1, 2}, "each asked once"
    assert all(asked == dict.fromkeys(hosts, 1) for asked in story[3:])


async def test_a_host_that_is_equally_near_to_all_stays_where_it_is(machine: Open) -> None:
    machines = await regions_by_time(machine)
    story = await visits_until_settled(machines, {0: 0.05, 1: 0.06, 2: 0.055})
    assert all(asked == story[2] for asked in story[3:])
    # Who died is not waited for, and who is left measures on.
    await machines[1].frontier.close()
    await beat(machines[0])
    rest = [machines[0], machines[2]]
    story = await visits_until_settled(rest, {0: 0.01, 1: 0.05}, rounds=5)
    assert set(story[-1].values()) == {0}


def test_a_worker_is_told_of_hosts_however_busy_its_neighbours_are() -> None:
    overview = Overview(1)
    overview.note(0, PartitionState(), [(0, -1.0), (1, -1.0)], looked_at=10.0)
    overview.note(0, PartitionState(), [(0, 5.0)], looked_at=20.0)
    assert overview.due(0, now=4.0, fresh_since=15.0) == []
    assert overview.due(1, now=4.0, fresh_since=15.0) == [0]


async def test_links_of_one_machine_are_visited_by_the_other(machine: Open) -> None:
    first, second = machine("a"), machine("b")
    await first.add(*(f"{host}/" for host in HOSTS[:4]))
    await second.frontier.is_finished()
    await beat(first)
    for stage in (first, second):
        for worker in range(2):
            for lease in await stage.take(worker):
                await stage.settle(lease, OutcomeKind.READ, discovered=[page(f"{host}/") for host in HOSTS])
    first.clock.advance(400.0)
    look_again(first, second)
    found = await owners(first, second)
    assert set(found) == set(HOSTS)


async def test_the_page_limit_holds_over_all_machines(machine: Open) -> None:
    machines = [machine(name, max_pages=25) for name in "abc"]
    await machines[0].add(*(f"{host}/{number}" for host in HOSTS[:30] for number in range(5)))
    for stage in machines:
        await stage.frontier.is_finished()
    for stage in machines:
        await beat(stage)
    pages = 0
    for turn in range(60):
        for stage in machines:
            for worker in range(2):
                for lease in await stage.take(worker, 7):
                    if lease.target.kind is Kind.ROBOTS:
                        await stage.read_robots(lease)
                    else:
                        outcome = OutcomeKind.STORED if turn % 3 else OutcomeKind.FAILED
                        pages += outcome is OutcomeKind.STORED
                        await stage.settle(lease, outcome, status=404)
            look_again(stage)
        machines[0].clock.advance(1.0)
    assert pages == 25
    for stage in machines:
        assert await stage.frontier.is_finished()
        assert stage.frontier.counts().pages == 25


async def test_a_finished_crawl_is_finished_for_all(machine: Open) -> None:
    first, second = machine("a"), machine("b")
    await first.add("x/1")
    assert not await second.frontier.is_finished()
    await beat(first)
    while True:
        leases = [
            (stage, lease) for stage in (first, second) for worker in range(2) for lease in await stage.take(worker)
        ]
        for stage, lease in leases:
            if lease.target.kind is Kind.ROBOTS:
                await stage.read_robots(lease)
            else:
                await stage.settle(lease)
        if await first.frontier.is_finished():
            break
        first.clock.advance(1.0)
        look_again(first, second)
    assert await second.frontier.is_finished()


async def test_a_crawl_stays_finished_while_a_machine_leaves(machine: Open) -> None:
    first, second = machine("a"), machine("b")
    await second.frontier.is_finished()
    frontier, looks = redis_of(first), list[list[int]]()
    look = frontier._look

    async def look_and_let_the_other_leave() -> list[int]:
        looks.append(await look())
        if len(looks) == 1:
            await second.frontier.close()
        return looks[-1]

    frontier._look = look_and_let_the_other_leave  # type: ignore[method-assign]
    assert await frontier.is_finished()
    assert len(looks) == 3, "it looked again after the change"


async def test_the_second_claimant_waits_also_on_another_machine(machine: Open) -> None:
    first, second = machine("a", workers=1), machine("b", workers=1)
    await first.open_hosts("x/1")
    lease = await first.take_one()
    assert await first.frontier.original_of(b"digest", lease.target.url, lease.token) == ""
    asked = asyncio.create_task(second.frontier.original_of(b"digest", "http://elsewhere/", 0))
    await asyncio.sleep(0.1)
    assert not asked.done()
    await first.settle(lease, digest=b"digest")
    assert await asyncio.wait_for(asked, 5) == lease.target.url


async def test_the_claim_of_a_dead_machine_keeps_nobody_waiting(machine: Open) -> None:
    first, second = machine("a", workers=1), machine("b", workers=1)
    await first.open_hosts("x/1")
    lease = await first.take_one()
    assert await first.frontier.original_of(b"digest", lease.target.url, lease.token) == ""
    asked = asyncio.create_task(second.frontier.original_of(b"digest", "http://elsewhere/", 0))
    # It comes back, and knows nothing of what it had.
    again = machine("a", workers=1)
    assert not await again.frontier.is_finished()
    assert await asyncio.wait_for(asked, 60) == ""


# ---- the store


async def test_data_that_vanish_are_never_taken_for_the_end(address: str, clock: FakeClock) -> None:
    with RedisServer() as own:
        stage = Stage(RedisFrontier(own.address, FrontierRules(), fake_clock=clock), clock)
        await stage.add("x/1")
        own.client().flushall()
        with pytest.raises(BackendLost, match="INCOMPLETE"):
            await stage.add("x/2")
        look_again(stage)
        with pytest.raises(BackendLost, match="INCOMPLETE"):
            await stage.frontier.is_finished()
        await redis_of(stage).close()


async def test_a_partition_that_goes_back_in_time_is_noticed(machine: Open, server: RedisServer) -> None:
    stage = machine("a")
    await stage.add("x/1")
    frontier = redis_of(stage)
    key = frontier.address.tag(frontier._partition("x")) + "n"
    before = server.client().get(key)
    await stage.add("x/2")
    server.client().set(key, before)
    with pytest.raises(BackendLost, match="went back in time"):
        await stage.add("x/3")


async def test_nothing_acknowledged_is_lost_when_redis_is_killed(clock: FakeClock) -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as own:
        stage = Stage(RedisFrontier(own.address, FrontierRules(), fake_clock=clock), clock)
        assert not redis_of(stage).warnings
        added = 0
        for turn in range(4):
            added += await stage.add(*(f"{host}/{turn}" for host in HOSTS[:50]))
            own.kill()
            waiting = asyncio.create_task(stage.add(*(f"{host}/during{turn}" for host in HOSTS[:50])))
            await asyncio.sleep(0.05)
            assert not waiting.done(), "an outage is waited for"
            await asyncio.to_thread(own.start)
            added += await waiting
            assert stage.frontier.counts().known == added == 100 * (turn + 1)
        assert len(await stage.take()) == 50
        own.kill()
        await asyncio.to_thread(own.start)
        assert not await stage.frontier.is_finished()
        assert stage.frontier.counts().leased == 50
        await redis_of(stage).close()


@pytest.mark.full
async def test_sentinel_names_the_new_master_and_nothing_is_lost(clock: FakeClock) -> None:
    with WatchedPair() as pair:
        stage = Stage(RedisFrontier(pair.address + "?replicas=1", FrontierRules(), fake_clock=clock), clock)
        assert await stage.add(*(f"{host}/" for host in HOSTS)) == len(HOSTS)
        pair.primary.kill()
        waiting = asyncio.create_task(stage.add("more/1"))
        await asyncio.to_thread(wait_until, pair.has_failed_over)
        # The old one comes back as a replica of the new one; until then nobody could confirm a write.
        await asyncio.to_thread(pair.primary.start)
        await asyncio.wait_for(waiting, 60)
        assert not await stage.frontier.is_finished()
        assert stage.frontier.counts().known == len(HOSTS) + 1
        await redis_of(stage).close()


async def test_a_settlement_that_nobody_answered_counts_once(clock: FakeClock) -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as own:
        stage = Stage(RedisFrontier(own.address, FrontierRules(), fake_clock=clock), clock)
        await stage.open_hosts("x/1")
        lease = await stage.take_one()
        frontier = redis_of(stage)
        send, is_first = frontier._link._send, True

        async def lose_the_first_answer(*args, **more):  # type: ignore[no-untyped-def]
            nonlocal is_first
            replies = await send(*args, **more)
            if is_first and args[2][0].verb == "settle":
                is_first = False
                return await frontier._link._unanswered(ConnectionResetError("cut"), args[1], args[2])
            return replies

        frontier._link._send = lose_the_first_answer  # type: ignore[method-assign]
        assert await frontier.settle([Settlement(lease.token, OutcomeKind.STORED)]) == []
        assert (frontier.counts().stored, frontier.counts().late) == (1, 0)
        await frontier.close()


async def test_leases_whose_answer_was_lost_are_given_out_again(server: RedisServer, machine: Open) -> None:
    stage = machine("a", workers=1)
    frontier = redis_of(stage)
    await stage.add(*(f"{host}/" for host in HOSTS[:5]))
    kept = await stage.take(limit=2)
    link, lost = frontier._link, list[Call]()
    send = link._send

    async def lose_the_first_answer(*args, **more):  # type: ignore[no-untyped-def]
        replies = await send(*args, **more)
        takes = [args[2][place] for place in args[1] if args[2][place].verb == "take"]
        if takes and not lost:
            lost.extend(takes)
            return await link._unanswered(ConnectionResetError("cut"), args[1], args[2])
        return replies

    link._send = lose_the_first_answer  # type: ignore[method-assign]
    assert await stage.take() == [], "given back, they rest as if they had been asked"
    assert lost
    assert stage.frontier.counts().leased == 2
    stage.clock.advance(1.0)
    found = {lease.target.host for lease in [*kept, *await stage.take()]}
    assert found == set(HOSTS[:5])


async def test_what_no_replica_confirmed_is_no_lease_and_no_loss(clock: FakeClock) -> None:
    """A lagging replica takes over: what only the dead primary knew was never acknowledged, so nothing went back."""
    quick = ("--repl-diskless-sync-delay", "0")
    with RedisServer(*quick) as primary, RedisServer("--replicaof", "127.0.0.1", str(primary.port)) as replica:
        wait_until(lambda: primary.client().info()["connected_slaves"] == 1)
        rules, address = FrontierRules(silence_seconds=SILENCE_SECONDS), f"{primary.address}?replicas=1"
        frontiers = [RedisFrontier(address, rules, name=name, fake_clock=clock) for name in "ab"]
        first, second = (Stage(frontier, clock) for frontier in frontiers)
        await first.add(*(f"{host}/" for host in HOSTS[:8]))
        assert not await second.frontier.is_finished()
        await beat(first)
        os.kill(replica.pid, signal.SIGSTOP)
        try:
            taking = asyncio.create_task(first.take())
            await asyncio.to_thread(wait_until, lambda: bool(primary.client().keys("*}e")))
            # Whoever only looks sees what was not confirmed; that is no promise to it.
            await frontiers[1]._look()
            assert second.frontier.counts().leased > 0
            assert not taking.done()
            primary.kill()
        finally:
            os.kill(replica.pid, signal.SIGCONT)
        replica.client().replicaof("NO", "ONE")
        for frontier in frontiers:
            frontier._link._places._server = Server("127.0.0.1", replica.port)  # type: ignore[attr-defined]
            frontier._link.replicas = 0
        leases = await asyncio.wait_for(taking, 60)
        # What the replica had heard of nevertheless was given back, and rests.
        clock.advance(1.0)
        look_again(first, second)
        leases += [*await first.take(), *await second.take()]
        assert {lease.target.host for lease in leases} == set(HOSTS[:8])
        assert second.frontier.counts().leased == 8
        for frontier in frontiers:
            await frontier.close()


async def test_a_server_that_throws_data_away_is_refused() -> None:
    options = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with RedisServer(*options) as own, pytest.raises(SettingsError, match="noeviction"):
        RedisFrontier(own.address, FrontierRules())


async def test_a_server_that_could_lose_data_is_warned_of(server: RedisServer, machine: Open) -> None:
    (sentence,) = redis_of(machine("a")).warnings
    assert "appendonly" in sentence
    with RedisServer("--appendonly", "yes") as own:
        frontier = RedisFrontier(own.address, FrontierRules())
        assert "appendfsync everysec" in frontier.warnings[0]
        await frontier.close()


# ---- settings


async def test_the_first_machine_sets_and_the_others_follow(address: str) -> None:
    first = Settings(frontier=address, max_pages=70, workers=3)
    assert await agree(first, ["http://x/"], {"max_pages"}) == (first, ["http://x/"])
    second, seeds = await agree(Settings(frontier=address, workers=5), [], {"workers"})
    assert (second.max_pages, second.workers, seeds) == (70, 5, ["http://x/"])


async def test_other_settings_are_refused_unless_meant(address: str) -> None:
    asked = {"max_pages"}
    await agree(Settings(frontier=address, max_pages=70), ["http://x/"], asked)
    for other in (80, 0):
        with pytest.raises(SettingsError, match="max_pages is 70"):
            await agree(Settings(frontier=address, max_pages=other), ["http://x/"], asked)
    with pytest.raises(SettingsError, match="http://y/ is no seed"):
        await agree(Settings(frontier=address), ["http://y/"], set())
    changed, seeds = await agree(Settings(frontier=address + "&settings=update", max_pages=80), ["http://y/"], asked)
    assert (changed.max_pages, seeds) == (80, ["http://x/", "http://y/"])


async def test_what_a_folder_remembers_is_not_asked_for(address: str) -> None:
    await agree(Settings(frontier=address, max_pages=70), ["http://x/"], {"max_pages"})
    settings, _ = await agree(Settings(frontier=address, max_pages=60), [], set())
    assert settings.max_pages == 70


async def test_a_crawl_that_nobody_began_needs_seeds(address: str) -> None:
    with pytest.raises(SettingsError, match="must name seeds"):
        await agree(Settings(frontier=address), [], set())


async def test_a_machine_at_work_hears_of_new_settings(machine: Open, address: str) -> None:
    await agree(Settings(frontier=address), ["http://x/"], set())
    stage = machine("a", silence_seconds=4.0)
    await stage.add("x/1")
    await agree(Settings(frontier=address + "&settings=update", max_pages=80), [], {"max_pages"})
    frontier = redis_of(stage)
    assert frontier._heart
    with pytest.raises(BackendLost, match="settings"):
        await asyncio.wait_for(frontier._heart, 60)
    with pytest.raises(BackendLost, match="settings"):
        await stage.add("x/2")


# ---- addresses


def test_addresses_are_read() -> None:
    plain = parse_address("redis://127.0.0.1")
    assert (plain.kind, plain.servers, plain.db, plain.crawl) == ("one", (("127.0.0.1", 6379),), 0, "crawl")
    full = parse_address("rediss://me:p%40ss@h:7000/3?crawl=web&partitions=32&replicas=2&history=no")
    assert (full.is_encrypted, full.username, full.password, full.db) == (True, "me", "p@ss", 3)
    assert (full.crawl, full.partitions, full.replicas, full.keeps_history) == ("web", 32, 2, False)
    assert "p@ss" not in str(full)
    cluster = parse_address("redis+cluster://a:1,b:2")
    assert (cluster.kind, cluster.servers) == ("cluster", (("a", 1), ("b", 2)))
    sentinel = parse_address("redis+sentinel://s1,s2:26380/main/2")
    assert (sentinel.servers, sentinel.master, sentinel.db) == ((("s1", 26379), ("s2", 26380)), "main", 2)
    assert parse_address("redis://[::1]:6380").servers == (("::1", 6380),)


@pytest.mark.parametrize(
    "text",
    ["http://x", "redis://h:port", "redis://h/x", "redis://h?crawl=a/b", "redis://h?what=1", "redis+sentinel://h"],
)
def test_a_bad_address_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(SettingsError, match="frontier: "):
        parse_address(text)


def test_nodes_of_machines_do_not_meet() -> None:
    assert NODES_PER_MACHINE > 256, "more workers than any machine has cores"
    assert msgspec.msgpack.encode(1023 * NODES_PER_MACHINE + 1023)
