"""Several machines on one Redis: who gets which host, what a dead one leaves, one page limit, one set of settings."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from itertools import count
from typing import Any

import msgspec
import pytest

from lycosa.errors import BackendLost, SettingsError
from lycosa.frontier.redis.agreement import agree
from lycosa.frontier.redis.frontier import RedisFrontier
from lycosa.frontier.redis.membership import NODES_PER_MACHINE
from lycosa.frontier.redis.view import open_redis_view
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Kind, Lease, OutcomeKind, Settlement
from lycosa.ports import Counts
from lycosa.settings import Settings
from lycosa.site_rules import SiteRules

from .crew import WORKERS, Crew, Machine
from .proxy import Proxy
from .redis_servers import RedisServer, WatchedPair, wait_until
from .stage import FakeClock, page

numbers = count(1)
HOSTS = [f"host{number}" for number in range(300)]
SILENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def address(server: RedisServer) -> str:
    return f"{server.address}?crawl=machines{next(numbers)}&partitions=16"


@pytest.fixture
async def crew(address: str) -> AsyncIterator[Crew]:
    crew = Crew(address, FakeClock(), silence_seconds=SILENCE_SECONDS)
    yield crew
    await crew.close()


async def crew_of(crew: Crew, names: str, **rules: Any) -> list[Machine]:
    """Machines that know each other, each with its share."""
    machines = [await crew.join(name, **rules) for name in names]
    await crew.meet()
    # Whom the last owner of a partition asked in its last moments is not known to the next.
    crew.clock.advance(1.0)
    return machines


def seen_from_outside(address: str) -> Counts:
    with closing(open_redis_view(address)) as view:
        return view.counts()


# ---- who has which host


async def owners(*machines: Machine) -> dict[str, tuple[int, int]]:
    """Take everything, and say who got which host."""
    found = {}
    for number, machine in enumerate(machines):
        for worker in range(WORKERS):
            for lease in await machine.take(worker):
                assert lease.target.host not in found, "one worker at a time"
                found[lease.target.host] = (number, worker)
    return found


async def give_back(*machines: Machine) -> None:
    for machine in machines:
        for worker in range(WORKERS):
            await machine.frontier.release(worker)
        machine.clock.advance(1.0)


async def test_every_host_belongs_to_one_worker_of_one_machine(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab")
    await first.add(*(f"{host}/" for host in HOSTS))
    await crew.meet()
    found = await owners(first, second)
    assert set(found) == set(HOSTS)
    assert len(set(found.values())) == 4


async def test_a_join_moves_only_its_share(crew: Crew) -> None:
    first = await crew.join("a")
    await first.add(*(f"{host}/" for host in HOSTS))
    before = await owners(first)
    assert set(before) == set(HOSTS)
    await give_back(first)
    second = await crew.join("b")
    await crew.meet()
    crew.clock.advance(1.0)
    after = await owners(first, second)
    assert set(after) == set(HOSTS)
    moved = [host for host in HOSTS if after[host] != before[host]]
    assert all(after[host][0] == 1 for host in moved), "whoever stays keeps what it had"
    assert 0.3 < len(moved) / len(HOSTS) < 0.7


async def test_a_join_takes_nothing_that_is_under_way(crew: Crew) -> None:
    first = await crew.join("a")
    await first.add(*(f"{host}/" for host in HOSTS))
    under_way = await first.take_all()
    second = await crew.join("b")
    await crew.meet()
    assert await second.take_all() == []
    ends = [Settlement(lease.token, OutcomeKind.READ) for lease in under_way]
    assert await first.frontier.settle(ends) == [], "in time"
    await crew.meet()
    crew.clock.advance(400.0)
    assert await second.take_all()


async def test_a_lease_that_ran_out_keeps_nothing_from_moving(crew: Crew) -> None:
    first = await crew.join("a", lease_seconds=60.0)
    await first.add(*(f"{host}/" for host in HOSTS[:50]))
    assert len(await first.take_all()) == 50
    second = await crew.join("b", lease_seconds=60.0)
    await crew.outlive(70.0, first, second)
    found = dict[str, tuple[int, int]]()
    for _ in range(2):
        # Their hosts rest as if they had been asked when the leases ran out.
        found |= await owners(first, second)
        crew.clock.advance(1.0)
    assert len(found) == 50
    with closing(open_redis_view(crew.address)) as view:
        assert view.crew
        assert [machine.partitions for machine in view.crew.machines] == [8, 8]


async def test_nothing_more_is_leased_of_what_is_beyond_a_share_however_many_join(crew: Crew) -> None:
    """And once it may leave, everybody has its share."""
    first = await crew.join("a")
    await first.add(*(f"{host}/" for host in HOSTS))
    # One in each partition, so that none can leave.
    under_way: dict[int, Lease] = {}
    for lease in await first.take_all():
        if under_way.setdefault(first.redis._ready_crawl.partition_of(lease.target.host), lease) is not lease:
            await first.frontier.give_back([lease.token])
    assert len(under_way) == 16
    for name in "bcd":
        await crew.join(name)
        await crew.meet()
    leases = await first.take_all()
    assert len({first.redis._ready_crawl.partition_of(lease.target.host) for lease in leases}) == 4
    ends = [Settlement(lease.token, OutcomeKind.READ) for lease in [*under_way.values(), *leases]]
    assert await first.frontier.settle(ends) == []
    await crew.meet()
    with closing(open_redis_view(crew.address)) as view:
        assert view.crew
        assert [machine.partitions for machine in view.crew.machines] == [4, 4, 4, 4]


async def test_shares_are_in_proportion_to_workers(crew: Crew) -> None:
    machines = [await crew.join(str(workers), workers=workers) for workers in (1, 3, 4)]
    await crew.meet()
    with closing(open_redis_view(crew.address)) as view:
        assert view.crew
        assert [(machine.name, machine.partitions) for machine in view.crew.machines] == [("1", 2), ("3", 6), ("4", 8)]
    await crew.leave(machines[1])
    await crew.meet()
    with closing(open_redis_view(crew.address)) as view:
        assert view.crew
        assert [machine.partitions for machine in view.crew.machines] == [3, 13]
        assert view.crew.unowned_partitions == 0


async def test_a_machine_that_falls_silent_loses_its_leases_and_only_its_share_moves(crew: Crew) -> None:
    first, second, third = await crew_of(crew, "abc")
    await first.add(*(f"{host}/" for host in HOSTS))
    await crew.meet()
    before = await owners(first, second, third)
    assert set(before) == set(HOSTS)
    await give_back(first, second)
    # The third says no more, with all its leases.
    await crew.outlive(SILENCE_SECONDS, first, second)
    crew.clock.advance(1.0)
    after = await owners(first, second)
    assert set(after) == set(HOSTS)
    stayed = [host for host in HOSTS if before[host][0] != 2]
    assert all(after[host] == before[host] for host in stayed)


async def test_whoever_was_taken_for_dead_changes_nothing_and_joins_anew(crew: Crew) -> None:
    first = await crew.join("a")
    await first.add("x/1")
    (lease,) = await first.take_all()
    second = await crew.join("b")
    await crew.outlive(SILENCE_SECONDS, second)
    assert second.frontier.counts().leased == 0
    assert await first.settle(lease, OutcomeKind.READ) == [lease.token]
    await crew.meet()
    crew.clock.advance(400.0)
    assert len(await owners(second, first)) == 1
    with closing(open_redis_view(crew.address)) as view:
        assert view.crew
        assert [(machine.name, machine.partitions) for machine in view.crew.machines] == [("a", 8), ("b", 8)]


async def test_nobody_is_taken_for_dead_while_the_store_was_away(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab", lease_seconds=1e6)
    await first.add(*(f"{host}/" for host in HOSTS[:20]))
    await crew.meet()
    under_way = [(machine, lease) for machine in (first, second) for lease in await machine.take_all()]
    assert len(under_way) == 20
    crew.clock.advance(10 * SILENCE_SECONDS)
    await crew.meet()
    assert not await first.frontier.is_finished()
    assert first.frontier.counts().leased == 20
    for machine, lease in under_way:
        assert await machine.settle(lease, OutcomeKind.READ) == []


async def test_a_machine_that_comes_back_under_its_name_takes_its_own_place(crew: Crew) -> None:
    first = await crew.join("a")
    await first.add(*(f"{host}/" for host in HOSTS[:20]))
    assert len(await owners(first)) == 20
    await crew.die(first)
    again = await crew.join("a")
    assert not await again.frontier.is_finished()
    assert again.frontier.counts().leased == 0
    with closing(open_redis_view(crew.address)) as view:
        assert view.crew
        assert [(machine.name, machine.partitions) for machine in view.crew.machines] == [("a", 16)]
    assert await owners(again) == {}, "whom it asked last is not known"
    crew.clock.advance(1.0)
    assert len(await owners(again)) == 20


async def test_a_machine_that_leaves_passes_on_its_hosts(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab")
    await first.add(*(f"{host}/" for host in HOSTS))
    await crew.meet()
    await crew.leave(second)
    await crew.meet()
    crew.clock.advance(1.0)
    assert len(await owners(first)) == len(HOSTS)


async def test_links_of_one_machine_are_visited_by_the_other(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab")
    await first.add(*(f"{host}/" for host in HOSTS[:4]))
    await crew.meet()
    for machine in (first, second):
        for lease in await machine.take_all():
            await machine.settle(lease, OutcomeKind.READ, discovered=[page(f"{host}/") for host in HOSTS])
    await crew.meet()
    crew.clock.advance(400.0)
    found = await owners(first, second)
    assert set(found) == set(HOSTS)
    assert {number for number, _ in found.values()} == {0, 1}


def test_nodes_of_machines_do_not_meet() -> None:
    assert NODES_PER_MACHINE > 256, "more workers than any machine has cores"
    assert msgspec.msgpack.encode(1023 * NODES_PER_MACHINE + 1023)


# ---- the end, and the limit


async def visit_all(crew: Crew, *, rounds: int = 60) -> int:
    """Visit what there is, a round a second. Returns how many pages were stored."""
    stored = 0
    for turn in range(rounds):
        for machine in crew.machines:
            for worker in range(WORKERS):
                for lease in await machine.take(worker, 7):
                    if lease.target.kind is Kind.ROBOTS:
                        await machine.read_robots(lease)
                    else:
                        outcome = OutcomeKind.STORED if turn % 3 else OutcomeKind.FAILED
                        assert await machine.settle(lease, outcome, status=404) == []
                        stored += outcome is OutcomeKind.STORED
            await machine.tick()
        crew.clock.advance(1.0)
    return stored


async def test_the_page_limit_holds_over_all_machines(crew: Crew) -> None:
    machines = await crew_of(crew, "abc", max_pages=25)
    await machines[0].add(*(f"{host}/{number}" for host in HOSTS[:30] for number in range(5)))
    assert await visit_all(crew) == 25
    for machine in machines:
        assert await machine.frontier.is_finished()
        assert machine.frontier.counts().pages == 25


async def test_what_a_machine_was_granted_of_the_limit_and_does_not_use_goes_to_others(crew: Crew) -> None:
    """Whoever has the last hosts fetches all that is left, though others asked for a part of it."""
    machines = await crew_of(crew, "abc", max_pages=100)
    await machines[0].add(*(f"{host}/1" for host in HOSTS[:30]), *(f"{HOSTS[30]}/{number}" for number in range(150)))
    assert await visit_all(crew, rounds=250) == 100
    for machine in machines:
        assert await machine.frontier.is_finished()


async def test_a_finished_crawl_is_finished_for_all(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab")
    await first.add("x/1")
    await crew.meet()
    while not await first.frontier.is_finished():
        assert not await second.frontier.is_finished()
        for machine in (first, second):
            for lease in await machine.take_all():
                await machine.visit(lease)
        crew.clock.advance(1.0)
        await crew.meet()
    assert await second.frontier.is_finished()


async def test_work_that_moves_on_while_somebody_looks_for_the_end_is_seen(server: RedisServer, crew: Crew) -> None:
    """It was in one partition when the other was looked at, and in the other when the one was."""
    busy = await crew.join("a")
    with Proxy(server.port) as proxy:
        looker = await crew.join("b", address=f"{proxy.address}?{crew.address.partition('?')[2]}")
        *_, low, high = sorted(HOSTS[:3], key=busy.redis._ready_crawl.partition_of)
        assert busy.redis._ready_crawl.partition_of(low) < busy.redis._ready_crawl.partition_of(high)
        (lease,) = await robots_read(busy, f"{high}/1")
        # Partitions are looked at in their order; each look asks for one state.
        held = proxy.hold_request("HGET", busy.redis._ready_crawl.partition_of(high) + 1)
        looking = asyncio.create_task(looker.frontier.is_finished())
        await asyncio.to_thread(wait_until, lambda: held.is_under_way)
        await busy.settle(lease, discovered=[page(f"{low}/1")])
        await asyncio.to_thread(held.release)
        assert not await asyncio.wait_for(looking, 30)
        await crew.leave(looker)


# ---- claims to contents


async def robots_read(machine: Machine, *urls: str) -> list[Lease]:
    """The leases of these pages, after the robots.txt of their hosts."""
    await machine.open_hosts(*urls)
    return await machine.take_all()


async def test_the_second_claimant_waits_also_on_another_machine(crew: Crew) -> None:
    first, second = await crew.join("a", workers=1), await crew.join("b", workers=1)
    (lease,) = await robots_read(first, "x/1")
    assert await first.frontier.original_of(b"digest", lease.target.url, lease.token) == ""
    asked = asyncio.create_task(second.frontier.original_of(b"digest", "http://elsewhere/", 0))
    await asyncio.sleep(0.1)
    assert not asked.done()
    await first.settle(lease, digest=b"digest")
    assert await asyncio.wait_for(asked, 5) == lease.target.url


async def test_the_claim_of_a_dead_machine_keeps_nobody_waiting(crew: Crew) -> None:
    first, second = await crew.join("a", workers=1), await crew.join("b", workers=1)
    (lease,) = await robots_read(first, "x/1")
    assert await first.frontier.original_of(b"digest", lease.target.url, lease.token) == ""
    asked = asyncio.create_task(second.frontier.original_of(b"digest", "http://elsewhere/", 0))
    await crew.die(first)
    # It comes back, and knows nothing of what it had.
    again = await crew.join("a", workers=1)
    assert not await again.frontier.is_finished()
    assert await asyncio.wait_for(crew.meanwhile(asked), 60) == ""


async def test_a_claim_that_somebody_else_has_by_now_is_not_ended(crew: Crew, server: RedisServer) -> None:
    first = await crew.join("a", workers=1)
    (lease,) = await robots_read(first, "x/1")
    assert await first.frontier.original_of(b"theirs", lease.target.url, lease.token) == ""
    (key,) = server.client().keys("*ktheirs")
    server.client().set(key, "another:1")
    await first.settle(lease, digest=b"theirs")
    assert server.client().get(key) == b"another:1"


async def test_the_claim_of_a_machine_that_has_just_joined_holds(crew: Crew) -> None:
    """Though others have not heard of it yet."""
    first, second = await crew_of(crew, "ab")
    await first.add(*(f"{host}/1" for host in HOSTS[:20]))
    await crew.leave(second)
    newcomer = await crew.join("c")
    await newcomer.tick()
    for _ in range(2):
        crew.clock.advance(1.0)
        (lease, *more) = await newcomer.take_all()
        for each in [lease, *more]:
            if each.target.kind is Kind.ROBOTS:
                await newcomer.read_robots(each)
    assert await newcomer.frontier.original_of(b"digest", lease.target.url, lease.token) == ""
    asked = asyncio.create_task(first.frontier.original_of(b"digest", "http://elsewhere/", 0))
    await asyncio.sleep(0.2)
    assert not asked.done()
    await newcomer.settle(lease, digest=b"digest")
    assert await asyncio.wait_for(asked, 5) == lease.target.url


# ---- the store


async def test_data_that_vanish_are_never_taken_for_the_end() -> None:
    with RedisServer() as own:
        machine = await Crew(own.address, FakeClock()).join("a")
        await machine.add("x/1")
        own.client().flushall()
        with pytest.raises(BackendLost, match="INCOMPLETE"):
            await machine.add("x/2")
        assert not await machine.frontier.is_finished()
        with pytest.raises(BackendLost, match="INCOMPLETE"):
            await machine.tick()
        await machine.redis.close()


async def test_data_that_vanish_at_the_end_are_not_taken_for_it() -> None:
    with RedisServer() as own:
        machine = await Crew(own.address, FakeClock()).join("a")
        assert await machine.frontier.is_finished()
        own.client().flushall()
        with pytest.raises(BackendLost, match="INCOMPLETE"):
            await machine.frontier.is_finished()
        await machine.redis.close()


async def test_a_store_that_goes_back_in_time_is_noticed() -> None:
    with RedisServer() as own:
        machine = await Crew(own.address, FakeClock()).join("a")
        await machine.add("x/1")
        own.client().save()
        await machine.add("x/2")
        own.kill()
        await asyncio.to_thread(own.start)
        with pytest.raises(BackendLost, match="went back in time"):
            await machine.add("x/3")
        await machine.redis.close()


async def test_nothing_acknowledged_is_lost_when_redis_is_killed() -> None:
    with RedisServer("--appendonly", "yes", "--appendfsync", "always") as own:
        machine = await Crew(own.address, FakeClock(), workers=1).join("a")
        assert not machine.redis.warnings
        added = 0
        for turn in range(4):
            added += await machine.add(*(f"{host}/{turn}" for host in HOSTS[:50]))
            own.kill()
            waiting = asyncio.create_task(machine.add(*(f"{host}/during{turn}" for host in HOSTS[:50])))
            await asyncio.sleep(0.05)
            assert not waiting.done(), "an outage is waited for"
            await asyncio.to_thread(own.start)
            added += await waiting
            assert machine.frontier.counts().known == added == 100 * (turn + 1)
        leases = await machine.take()
        assert len(leases) == 50
        own.kill()
        await asyncio.to_thread(own.start)
        assert not await machine.frontier.is_finished()
        assert seen_from_outside(own.address).leased == 50
        assert await machine.frontier.settle([]) == []
        assert await machine.settle(leases[0], OutcomeKind.READ) == []
        await machine.redis.close()


@pytest.mark.full
async def test_sentinel_names_the_new_master_and_nothing_is_lost() -> None:
    with WatchedPair() as pair:
        machine = await Crew(pair.address + "?replicas=1", FakeClock()).join("a")
        assert await machine.add(*(f"{host}/" for host in HOSTS)) == len(HOSTS)
        pair.primary.kill()
        waiting = asyncio.create_task(machine.add("more/1"))
        await asyncio.to_thread(wait_until, pair.has_failed_over)
        # The old one comes back as a replica of the new one; until then nobody could confirm a write.
        await asyncio.to_thread(pair.primary.start)
        await asyncio.wait_for(waiting, 60)
        assert not await machine.frontier.is_finished()
        assert machine.frontier.counts().known == len(HOSTS) + 1
        await machine.redis.close()


@pytest.mark.parametrize("what", ["request", "answer"])
async def test_a_settlement_that_nobody_answered_counts_once(server: RedisServer, crew: Crew, what: str) -> None:
    with Proxy(server.port) as proxy:
        crawl = crew.address.partition("?")[2]
        machine = await crew.join("a", address=f"{proxy.address}?{crawl}", workers=1)
        (lease,) = await robots_read(machine, "x/1")
        (proxy.cut_before_request if what == "request" else proxy.cut_before_answer)("EXEC")
        assert await machine.settle(lease) == []
        assert await machine.settle(lease) == [lease.token]
        assert (machine.frontier.counts().stored, machine.frontier.counts().late) == (1, 1)
        assert seen_from_outside(crew.address).stored == 1
        await crew.leave(machine)


async def test_leases_whose_answer_was_lost_are_given_out_all_the_same(server: RedisServer, crew: Crew) -> None:
    with Proxy(server.port) as proxy:
        crawl = crew.address.partition("?")[2]
        machine = await crew.join("a", address=f"{proxy.address}?{crawl}", workers=1)
        await machine.add(*(f"{host}/" for host in HOSTS[:5]))
        kept = await machine.take(limit=2)
        proxy.cut_before_answer("EXEC")
        more = await machine.take()
        assert {lease.target.host for lease in [*kept, *more]} == set(HOSTS[:5])
        assert seen_from_outside(crew.address).leased == 5
        await crew.leave(machine)


async def test_what_no_replica_confirmed_is_no_lease_and_no_loss() -> None:
    """A lagging replica takes over: what only the dead primary knew was never acknowledged, so nothing went back."""
    quick = ("--repl-diskless-sync-delay", "0")
    with (
        RedisServer(*quick) as primary,
        RedisServer(*quick, "--replicaof", "127.0.0.1", str(primary.port)) as replica,
        RedisServer(*quick) as third,
        Proxy(primary.port) as proxy,
    ):
        wait_until(lambda: primary.client().info()["connected_slaves"] == 1)
        crew = Crew(f"{proxy.address}?replicas=1", FakeClock(), workers=1)
        first, second = await crew_of(crew, "ab")
        await first.add(*(f"{host}/" for host in HOSTS[:8]))
        await crew.meet()
        os.kill(replica.pid, signal.SIGSTOP)
        try:
            taking = asyncio.create_task(first.take())
            # Whoever only looks sees what was not confirmed; that is no promise to it.
            await asyncio.to_thread(wait_until, lambda: seen_from_outside(primary.address).leased > 0)
            assert not taking.done()
            primary.kill()
        finally:
            os.kill(replica.pid, signal.SIGCONT)
        replica.client().replicaof("NO", "ONE")
        third.client().replicaof("127.0.0.1", replica.port)
        proxy.lead_to(replica.port)
        leases = [*await asyncio.wait_for(taking, 60), *await second.take()]
        assert {lease.target.host for lease in leases} == set(HOSTS[:8])
        assert seen_from_outside(replica.address).leased == 8
        await crew.close()


async def test_a_server_that_throws_data_away_is_refused_at_the_start() -> None:
    options = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with RedisServer(*options) as own:
        frontier = RedisFrontier(own.address, FrontierRules())
        with pytest.raises(SettingsError, match="noeviction"):
            await frontier.begin()
        await frontier.close()


async def test_a_server_that_could_lose_data_is_warned_of(crew: Crew) -> None:
    machine = await crew.join("a")
    (sentence,) = machine.redis.warnings
    assert "appendonly" in sentence


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


async def test_machines_agree_on_the_rules_of_sites_and_tell_no_secret(address: str) -> None:
    asked, rules = {"site"}, {"x": SiteRules(delay_seconds=2.0, headers={"X-Key": "hush"})}
    await agree(Settings(frontier=address, site=rules), ["http://x/"], asked)
    second, _ = await agree(Settings(frontier=address), [], set())
    assert second.site == rules
    with pytest.raises(SettingsError, match="rules of sites differ") as refused:
        await agree(Settings(frontier=address), [], asked)
    assert "hush" not in str(refused.value)


async def test_what_a_folder_remembers_is_not_asked_for(address: str) -> None:
    await agree(Settings(frontier=address, max_pages=70), ["http://x/"], {"max_pages"})
    settings, _ = await agree(Settings(frontier=address, max_pages=60), [], set())
    assert settings.max_pages == 70


async def test_a_crawl_that_nobody_began_needs_seeds(address: str) -> None:
    with pytest.raises(SettingsError, match="must name seeds"):
        await agree(Settings(frontier=address), [], set())


async def test_a_machine_at_work_hears_of_new_settings(crew: Crew, address: str) -> None:
    await agree(Settings(frontier=address), ["http://x/"], set())
    machine = await crew.join("a", is_live=True, silence_seconds=1.0)
    await machine.add("x/1")
    await agree(Settings(frontier=address + "&settings=update", max_pages=80), [], {"max_pages"})

    async def go_on() -> None:
        while True:
            await machine.add("x/2")

    with pytest.raises(BackendLost, match="settings"):
        await asyncio.wait_for(go_on(), 60)
