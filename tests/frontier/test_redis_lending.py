"""Machines that visit hosts of each other's partitions: domains spread over all, hosts asked from their region."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from itertools import count
from typing import Any

import pytest

from lycosa.frontier.redis import lending
from lycosa.frontier.redis.agreement import agree
from lycosa.frontier.redis.view import open_redis_view
from lycosa.model import Kind, Lease, OutcomeKind, Settlement
from lycosa.ports import Counts
from lycosa.settings import Settings

from .crew import WORKERS, Crew, Machine
from .redis_servers import RedisServer
from .stage import FakeClock, rules_read

numbers = count(1)
HOSTS = [f"host{number}" for number in range(300)]
SILENCE_SECONDS = 30.0


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
async def crew(server: RedisServer) -> AsyncIterator[Crew]:
    address = f"{server.address}?crawl=lending{next(numbers)}&partitions=8"
    crew = Crew(address, FakeClock(), silence_seconds=SILENCE_SECONDS)
    yield crew
    await crew.close()


async def crew_of(crew: Crew, names: str, **rules: Any) -> list[Machine]:
    machines = [await crew.join(name, **rules) for name in names]
    await crew.meet()
    # Whom the last owner of a partition asked in its last moments is not known to the next.
    crew.clock.advance(1.0)
    return machines


def seen(crew: Crew) -> Counts:
    """From outside."""
    with closing(open_redis_view(crew.address)) as view:
        return view.counts()


Ends = dict[Machine, list[tuple[int, Lease]]]


async def take_all(crew: Crew) -> Ends:
    """What everybody gets, of its own and of what others hand over: who wants something is told first."""
    taken: Ends = {machine: [] for machine in crew.machines}
    for _ in range(2):
        for machine in crew.machines:
            for worker in range(WORKERS):
                taken[machine] += [(worker, lease) for lease in await machine.take(worker)]
        await crew.meet()
    for machine in crew.machines:
        for worker in range(WORKERS):
            taken[machine] += [(worker, lease) for lease in await machine.take(worker)]
    return taken


async def visit(crew: Crew, machine: Machine, leases: list[Lease], connect_seconds: float = 0.0) -> list[int]:
    """End visits well; those of others' hosts as their owners say."""
    settlements = []
    for lease in leases:
        how: dict[str, Any] = {"status": 200, "connect_seconds": connect_seconds}
        if lease.target.kind is Kind.ROBOTS:
            news = rules_read(lease.target.origin, machine.clock())
            settlements.append(Settlement(lease.token, OutcomeKind.READ, robots=news, **how))
        else:
            settlements.append(Settlement(lease.token, OutcomeKind.STORED, **how))
    return await crew.meanwhile(machine.frontier.settle(settlements))


async def ask_all(crew: Crew, *, rounds: int) -> Counter[tuple[str, str, int]]:
    """Visit what there is, a round a second; returns who asked which host how often."""
    asked = Counter[tuple[str, str, int]]()
    for _ in range(rounds):
        for machine, taken in (await take_all(crew)).items():
            asked.update((lease.target.host, machine.name, worker) for worker, lease in taken)
            assert await visit(crew, machine, [lease for _, lease in taken]) == []
        crew.clock.advance(1.0)
    return asked


# ---- balanced


async def test_a_balanced_domain_is_spread_over_all_machines(crew: Crew) -> None:
    first, _ = await crew_of(crew, "ab", assignment="balanced")
    await first.add(*(f"{host}.test/{number}" for host in "xyz" for number in range(100)))
    await crew.meet()
    asked = await ask_all(crew, rounds=40)
    assert asked == {(f"{host}.test", name, worker): 10 for host in "xyz" for name in "ab" for worker in (0, 1)}


async def test_a_newcomer_has_its_share_of_a_balanced_domain_and_no_more(crew: Crew) -> None:
    first = await crew.join("a", assignment="balanced")
    await first.add(*(f"x.test/{number}" for number in range(100)))
    await ask_all(crew, rounds=20)
    second = await crew.join("b", assignment="balanced")
    await crew.meet()
    asked = await ask_all(crew, rounds=21)
    # Where its owner changed, its domain counted as asked in that moment.
    assert sum(asked.values()) in (20, 21)
    assert set(asked.values()) <= {4, 5, 6}
    assert len(asked) == 4
    await crew.leave(second)
    await crew.meet()
    crew.clock.advance(1.0)
    asked = await ask_all(crew, rounds=20)
    assert set(asked.values()) <= {9, 10, 11}


async def test_the_balanced_hosts_of_a_dead_machine_are_passed_on(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab", assignment="balanced")
    hosts = {f"{host}.test" for host in HOSTS}
    await first.add(*(f"{host}/1" for host in hosts))
    await crew.meet()
    under_way = [lease for _, lease in (await take_all(crew))[second]]
    assert {
        second.redis._ready_crawl.home_of(lease.token) in second.redis._ownership.partitions for lease in under_way
    } == {True, False}
    await crew.die(second)
    await first.frontier.release(0)
    await first.frontier.release(1)
    await crew.outlive(SILENCE_SECONDS, first)
    crew.clock.advance(1.0)
    asked = await ask_all(crew, rounds=3)
    assert {host for host, _, _ in asked} == hosts
    assert await first.frontier.is_finished()


async def test_who_comes_back_at_once_keeps_nothing_of_what_it_was_lent(crew: Crew) -> None:
    """Though it has the number of its past again."""
    first, second = await crew_of(crew, "ab", assignment="balanced", lease_seconds=1e6)
    await first.add(*(f"{host}.test/1" for host in HOSTS[:40]))
    await crew.meet()
    taken = await take_all(crew)
    assert [lease for _, lease in taken[second] if first.redis._has_lease(lease.token)]
    assert await visit(crew, first, [lease for _, lease in taken[first]]) == []
    await crew.die(second)
    await crew.join("b", assignment="balanced", lease_seconds=1e6)
    await crew.meet()
    assert seen(crew).leased == 0
    crew.clock.advance(1.0)
    asked = await ask_all(crew, rounds=4)
    assert {host for host, _, _ in asked} == {f"{host}.test" for host in HOSTS[:40]}
    assert await first.frontier.is_finished()


async def test_what_a_dead_worker_was_lent_counts_as_sent(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab", assignment="balanced")
    await first.add(*(f"{host}.test/{number}" for host in HOSTS[:40] for number in range(3)))
    await crew.meet()
    # At once: what is handed over is not there before the next beats.
    taken = await take_all(crew)
    lent = {lease.target.host for _, lease in taken[second] if first.redis._has_lease(lease.token)}
    assert lent
    crew.clock.advance(0.9)
    for worker in range(WORKERS):
        assert await second.frontier.release(worker)
    await crew.meet()
    crew.clock.advance(0.9)
    assert not lent & {lease.target.host for some in (await take_all(crew)).values() for _, lease in some}
    crew.clock.advance(0.1)
    assert lent <= {lease.target.host for some in (await take_all(crew)).values() for _, lease in some}


async def test_what_was_handed_over_and_not_begun_is_free_at_once(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab", assignment="balanced")
    await first.add(*(f"{host}.test/1" for host in HOSTS[:40]))
    await crew.meet()
    lent = [lease for _, lease in (await take_all(crew))[second] if first.redis._has_lease(lease.token)]
    assert lent
    for lease in lent:
        await second.frontier.give_back([lease.token])
    await crew.meet()
    again = {lease.target.host for some in (await take_all(crew)).values() for _, lease in some}
    assert again == {lease.target.host for lease in lent}


async def test_own_visits_are_settled_while_the_owner_of_others_says_nothing(crew: Crew) -> None:
    first, second = await crew_of(crew, "ab", assignment="balanced")
    await first.add(*(f"{host}.test/1" for host in HOSTS[:40]))
    await crew.meet()
    mine, lent = list[Lease](), list[Lease]()
    for _, lease in (await take_all(crew))[second]:
        (lent if first.redis._has_lease(lease.token) else mine).append(lease)
    waiting = asyncio.create_task(second.settle(lent[0], OutcomeKind.READ))
    assert await asyncio.wait_for(second.settle(mine[0], OutcomeKind.READ), 5) == []
    assert not waiting.done()
    assert await crew.meanwhile(waiting) == []


async def test_who_overslept_while_it_waited_for_an_answer_gets_one(
    crew: Crew, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it goes by another name by then: that its settlement was late."""
    monkeypatch.setattr(lending, "ANSWER_SECONDS", 0.2)
    first, second = await crew_of(crew, "ab", assignment="balanced")
    await first.add(*(f"{host}.test/1" for host in HOSTS[:40]))
    await crew.meet()
    (lease, *_) = [lease for _, lease in (await take_all(crew))[second] if first.redis._has_lease(lease.token)]
    waiting = asyncio.create_task(second.settle(lease, OutcomeKind.READ))
    await asyncio.sleep(0)
    third = await crew.join("c", assignment="balanced")
    await crew.outlive(SILENCE_SECONDS, third)
    # Both others were taken for dead: the one that was asked, and the one that asks.
    assert await asyncio.wait_for(crew.meanwhile(waiting), 60) == [lease.token]


async def test_the_assignment_of_newer_settings_holds(crew: Crew) -> None:
    await agree(Settings(frontier=crew.address), ["http://x/"], set())
    old = await crew.join("a")
    await old.add(*(f"x.test/{number}" for number in range(30)))
    await agree(Settings(frontier=crew.address + "&settings=update", assignment="balanced"), [], {"assignment"})
    await crew.leave(old)
    await crew.join("b", assignment="balanced")
    crew.clock.advance(1.0)
    asked = await ask_all(crew, rounds=20)
    assert set(asked.values()) == {10}


async def test_all_machines_go_by_the_terms_of_one_topic(crew: Crew) -> None:
    def about(topic: str, term: str, update: str = "") -> Settings:
        return Settings(frontier=crew.address + update, order="topic", topic=topic, topic_terms={term: 1.0})

    async def terms(settings: Settings, *asked: str) -> dict[str, float]:
        return (await agree(settings, ["http://x/"], {*asked}))[0].topic_terms

    assert await terms(about("falcons", "falcons"), "order", "topic") == {"falcons": 1.0}
    assert await terms(Settings(frontier=crew.address)) == {"falcons": 1.0}
    # Whoever names the same topic goes by what others have made of it.
    assert await terms(about("falcons", "falcon"), "order", "topic") == {"falcons": 1.0}
    assert await terms(about("rivers", "rivers", "&settings=update"), "order", "topic") == {"rivers": 1.0}
    assert await terms(Settings(frontier=crew.address)) == {"rivers": 1.0}


# ---- regions

RULES = {"de": "eu", "jp": "asia"}


@pytest.mark.parametrize("assignment", ["ring", "balanced"])
async def test_a_host_is_visited_from_the_region_that_it_is_bound_to(crew: Crew, assignment: str) -> None:
    for name in ("eu", "america"):
        await crew.join(name, region=name, region_rules=RULES, assignment=assignment)
    await crew.meet()
    crew.clock.advance(1.0)
    await crew.machines[0].add(*(f"{host}.{end}/1" for host in HOSTS[:60] for end in ("de", "com")))
    await crew.meet()
    asked = await ask_all(crew, rounds=6)
    assert len({host for host, _, _ in asked}) == 120
    assert {name for host, name, _ in asked if host.endswith(".de")} == {"eu"}
    assert {name for host, name, _ in asked if host.endswith(".com")} == {"eu", "america"}
    assert len({worker for host, _, worker in asked if host.endswith(".de")}) == 2
    for machine in crew.machines:
        assert await machine.frontier.is_finished()


async def test_while_nobody_of_its_region_is_there_anybody_visits_a_host(crew: Crew) -> None:
    america = await crew.join("america", region="america", region_rules=RULES)
    await america.add(*(f"{host}.de/{number}" for host in HOSTS[:10] for number in range(9)))
    assert len({host for host, _, _ in await ask_all(crew, rounds=3)}) == 10
    europe = await crew.join("eu", region="eu", region_rules=RULES)
    await crew.meet()
    crew.clock.advance(1.0)
    assert {name for _, name, _ in await ask_all(crew, rounds=3)} == {"eu"}
    await crew.leave(europe)
    await crew.meet()
    crew.clock.advance(1.0)
    assert {name for _, name, _ in await ask_all(crew, rounds=3)} == {"america"}


async def test_a_new_rule_moves_a_known_host(crew: Crew) -> None:
    for name in ("eu", "asia"):
        await crew.join(name, region=name)
    await crew.machines[0].add(*(f"{host}.jp/{number}" for host in HOSTS[:20] for number in range(6)))
    await crew.meet()
    crew.clock.advance(1.0)
    assert {name for _, name, _ in await ask_all(crew, rounds=2)} == {"eu", "asia"}
    for machine in list(crew.machines):
        await crew.leave(machine)
        await crew.join(machine.name, region=machine.name, region_rules=RULES)
    await crew.meet()
    crew.clock.advance(1.0)
    assert {name for _, name, _ in await ask_all(crew, rounds=3)} == {"asia"}


async def visits_until_settled(crew: Crew, seconds: dict[str, float], rounds: int = 8) -> list[dict[str, str]]:
    """Visit hosts from machines that need so long to connect; returns who asked which host, round by round."""
    story = []
    for _ in range(rounds):
        asked = {}
        for machine, taken in (await take_all(crew)).items():
            asked.update({lease.target.host: machine.name for _, lease in taken})
            assert await visit(crew, machine, [lease for _, lease in taken], seconds[machine.name]) == []
        story.append(asked)
        crew.clock.advance(1.0)
    return story


async def regions_by_time(crew: Crew) -> set[str]:
    """Machines of three regions, and hosts that none has asked yet."""
    for name in ("eu", "us", "asia"):
        await crew.join(name, region=name, region_by="connect time")
    hosts = {f"{host}.test" for host in HOSTS[:12]}
    await crew.machines[0].add(*(f"{host}/{number}" for host in hosts for number in range(12)))
    await crew.meet()
    crew.clock.advance(1.0)
    return hosts


async def test_a_host_moves_to_the_region_that_connects_fastest(crew: Crew) -> None:
    hosts = await regions_by_time(crew)
    story = await visits_until_settled(crew, {"eu": 0.09, "us": 0.02, "asia": 0.3})
    for host in hosts:
        assert {asked[host] for asked in story[:3]} == {"eu", "us", "asia"}, "each asked once"
    assert all(asked == dict.fromkeys(hosts, "us") for asked in story[3:])


async def test_a_host_that_is_equally_near_to_all_stays_where_it_is(crew: Crew) -> None:
    await regions_by_time(crew)
    story = await visits_until_settled(crew, {"eu": 0.05, "us": 0.06, "asia": 0.055})
    assert all(asked == story[2] for asked in story[3:])
    # Who died is not waited for, and who is left measures on.
    await crew.leave(crew.machines[1])
    await crew.meet()
    crew.clock.advance(1.0)
    story = await visits_until_settled(crew, {"eu": 0.01, "asia": 0.05}, rounds=5)
    assert set(story[-1].values()) == {"eu"}
