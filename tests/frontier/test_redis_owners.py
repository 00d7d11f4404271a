"""Owners of partitions that die, sleep and come back, again and again: nothing is lost, and nothing is done twice.

A thousand deaths: `pytest tests/frontier/test_redis_owners.py -m full`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, suppress
from itertools import count, pairwise
from random import Random

import pytest

from lycosa.errors import BackendLost
from lycosa.frontier.redis.channel import NotOwner
from lycosa.frontier.redis.view import open_redis_view
from lycosa.frontier.view import CrawlView
from lycosa.model import Kind, Lease, OutcomeKind, Settlement

from .crew import WORKERS, Crew, Machine
from .proxy import Proxy
from .redis_servers import RedisServer, wait_until
from .stage import FakeClock, page, rules_read

numbers = count(1)
SILENCE_SECONDS = 5.0
DELAY_SECONDS = 1.0


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
async def crew(server: RedisServer) -> AsyncIterator[Crew]:
    address = f"{server.address}?crawl=owners{next(numbers)}&partitions=8"
    crew = Crew(address, FakeClock(), silence_seconds=SILENCE_SECONDS, lease_seconds=1e6)
    yield crew
    await crew.close()


# ---- a made-up web, and machines that die while they crawl it


class Web:
    """Pages that link to each other, all of which can be reached from the first ones of some hosts."""

    def __init__(self, draw: Random, hosts: int, pages: int) -> None:
        names = [f"host{number}" for number in range(hosts)]
        urls = [f"http://{draw.choice(names)}/{number}" for number in range(pages)]
        self.seeds = urls[:5]
        self.links: dict[str, list[str]] = defaultdict(list)
        for place, url in enumerate(urls[5:], 5):
            # From one that came before, so that every page is reached; and from some that lead to what is known.
            self.links[urls[draw.randrange(place)]].append(url)
            self.links[draw.choice(urls)].append(url)
        self.reachable = set(urls)


class Story:
    """What happened in a crawl of such a web."""

    def __init__(self, crew: Crew, web: Web, draw: Random, max_pages: int) -> None:
        self.crew = crew
        self.web = web
        self.draw = draw
        self.max_pages = max_pages
        self.names = count(1)
        self.kills = 0
        self.leases: dict[Machine, list[Lease]] = {}
        self.orphans: list[Lease] = []  # of machines that died
        self.asked: dict[str, list[float]] = defaultdict(list)
        self.stored = Counter[str]()
        self.late = 0
        self.stored_before_the_last_kill = 0

    # ---- what machines do

    async def join(self, name: str = "") -> None:
        machine = await self.crew.join(name or f"machine{next(self.names)}", max_pages=self.max_pages)
        self.leases[machine] = []

    async def take(self, machine: Machine) -> None:
        leases = await machine.take(self.draw.randrange(WORKERS), self.draw.randrange(1, 12))
        self.leases[machine] += leases
        for lease in leases:
            self.asked[lease.target.host].append(self.crew.clock())

    async def settle(self, machine: Machine, share: float = 0.5) -> None:
        leases = self.leases[machine]
        self.draw.shuffle(leases)
        some = [leases.pop() for _ in range(round(share * len(leases)))]
        late = set(await machine.frontier.settle([self.end_of(lease) for lease in some]))
        self.late += len(late)
        self.stored.update(
            lease.target.url for lease in some if lease.target.kind is Kind.PAGE and lease.token not in late
        )

    async def settle_for_the_dead(self, machine: Machine) -> None:
        some, self.orphans = self.orphans, []
        late = await machine.frontier.settle([self.end_of(lease) for lease in some])
        assert sorted(late) == sorted(lease.token for lease in some), "nobody ends a visit of the dead"

    def end_of(self, lease: Lease) -> Settlement:
        if lease.target.kind is Kind.ROBOTS:
            news = rules_read(lease.target.origin, self.crew.clock())
            return Settlement(lease.token, OutcomeKind.READ, status=200, robots=news)
        discovered = [page(url) for url in self.web.links[lease.target.url]]
        return Settlement(lease.token, OutcomeKind.STORED, status=200, discovered=discovered)

    # ---- what happens to them

    async def kill(self) -> None:
        """In the middle of something."""
        machine = self.draw.choice(self.crew.machines)
        dying: list[Callable[[Machine], Awaitable[None]]] = [self.take, self.settle, Machine.tick]
        last_act = asyncio.ensure_future(self.draw.choice(dying)(machine))
        for _ in range(self.draw.randrange(12)):
            await asyncio.sleep(0)
        await asyncio.wait((last_act,), timeout=self.draw.choice([0.0, 0.001, 0.003]))
        await self.crew.die(machine)
        last_act.cancel()
        with suppress(BackendLost, asyncio.CancelledError):
            await last_act
        self.kills += 1
        self.orphans += self.leases.pop(machine)
        await self.join(machine.name if self.draw.random() < 0.5 else "")

    async def sleep(self, sleeper: Machine) -> None:
        """Past its ownership: what it had is late, and it has nothing before it has joined anew."""
        others = [machine for machine in self.crew.machines if machine is not sleeper]
        await self.crew.outlive(SILENCE_SECONDS, *others)
        leases, self.leases[sleeper] = self.leases[sleeper], []
        late = await sleeper.frontier.settle([self.end_of(lease) for lease in leases])
        assert sorted(late) == sorted(lease.token for lease in leases)
        assert await sleeper.take_all() == []
        self.late += len(late)

    async def step(self) -> None:
        machine = self.draw.choice(self.crew.machines)
        if self.draw.random() < 0.7:
            await machine.tick()
        for _ in range(self.draw.randrange(4)):
            await self.take(machine)
        if self.draw.random() < 0.7:
            await self.settle(machine)
        if self.draw.random() < 0.1:
            await self.settle_for_the_dead(machine)
        if self.draw.random() < 0.01:
            await self.sleep(machine)
        self.crew.clock.advance(self.draw.choice([0.0, 0.1, 0.3, 0.6]))

    async def finish(self) -> None:
        for _ in range(5000):
            for machine in list(self.crew.machines):
                await machine.tick()
                for _ in range(WORKERS):
                    await self.take(machine)
                await self.settle(machine, share=1.0)
            self.crew.clock.advance(0.5)
            if await self.crew.machines[0].frontier.is_finished():
                return
        raise AssertionError("the crawl does not end")


async def crawl(crew: Crew, seed: int, kills: int, hosts: int, pages: int, max_pages: int = 0) -> Story:
    """Three machines, of which one dies every few steps, until so many have."""
    draw = Random(seed)
    story = Story(crew, Web(draw, hosts, pages), draw, max_pages)
    for _ in range(3):
        await story.join()
    await crew.machines[0].add(*story.web.seeds)
    while story.kills < kills:
        for _ in range(draw.randrange(20)):
            await story.step()
        await story.kill()
    story.stored_before_the_last_kill = story.stored.total()
    await story.finish()
    return story


def assert_adds_up(view: CrawlView) -> None:
    """Every counter, and every host that has something queued."""
    assert [each for each in view.sums() if each.says != each.found] == []
    assert list(view.stranded()) == []


def closest(story: Story) -> float:
    """How soon a host was asked again."""
    return min(
        (later - sooner for asked in story.asked.values() for sooner, later in pairwise(asked)),
        default=DELAY_SECONDS,
    )


@pytest.mark.parametrize(
    ("kills", "hosts", "pages"),
    [
        pytest.param(60, 100, 500, id="60"),
        pytest.param(1000, 300, 10_000, id="1000", marks=pytest.mark.full),
    ],
)
async def test_owners_die_and_nothing_is_lost_or_done_twice(crew: Crew, kills: int, hosts: int, pages: int) -> None:
    story = await crawl(crew, seed=kills, kills=kills, hosts=hosts, pages=pages)
    with closing(open_redis_view(crew.address)) as view:
        counts = view.counts()
        histories = {past.url: past for past in view.histories() if not past.url.endswith("/robots.txt")}
        assert_adds_up(view)
    assert set(histories) == story.web.reachable
    assert {past.outcome for past in histories.values()} == {OutcomeKind.STORED}
    assert {past.visits for past in histories.values()} == {1}
    assert counts.stored == counts.known == len(story.web.reachable)
    assert (counts.queued, counts.leased, counts.delayed) == (0, 0, 0)
    # What was acknowledged: some others died before they heard that it was.
    assert set(story.stored.values()) == {1}
    # Without exception: hosts of which something was leased count as asked in the moment of the take-over.
    assert closest(story) >= DELAY_SECONDS
    before = story.stored_before_the_last_kill
    print(f"{story.kills} kills, {before} of {counts.stored} pages before the last; {story.late} late settlements")


@pytest.mark.parametrize(
    ("kills", "pages"), [pytest.param(20, 400, id="20"), pytest.param(400, 6000, id="400", marks=pytest.mark.full)]
)
async def test_owners_die_and_the_page_limit_is_exact(crew: Crew, kills: int, pages: int) -> None:
    limit = pages // 2
    story = await crawl(crew, seed=kills, kills=kills, hosts=60, pages=pages, max_pages=limit)
    with closing(open_redis_view(crew.address)) as view:
        assert view.counts().stored == limit
        assert_adds_up(view)
    assert set(story.stored.values()) == {1}
    assert len(story.stored) <= limit
    print(f"{story.kills} kills, {story.stored_before_the_last_kill} of {limit} pages before the last")
    for machine in crew.machines:
        assert await machine.frontier.is_finished()


async def test_what_was_leased_counts_as_asked_in_the_moment_of_the_take_over(crew: Crew) -> None:
    """Nobody knows when the dead one sent its request; what was not leased need not wait for it."""
    first = await crew.join("a", workers=1)
    await first.open_hosts("slow/1", "slow/2", "idle/1", delay=20.0)
    under_way = {lease.target.host: lease for lease in await first.take_all()}
    assert set(under_way) == {"slow", "idle"}
    await first.visit(under_way["idle"])
    await first.add("idle/2")
    crew.clock.advance(15.0)
    await crew.die(first)
    again = await crew.join("a", workers=1)
    crew.clock.advance(6.0)
    assert [lease.target.host for lease in await again.take_all()] == ["idle"]
    crew.clock.advance(13.9)
    assert await again.take_all() == []
    crew.clock.advance(0.1)
    assert [lease.target.host for lease in await again.take_all()] == ["slow"]


async def test_what_the_dead_were_granted_of_the_limit_goes_to_the_living(crew: Crew) -> None:
    first, second = await crew.join("a", max_pages=200), await crew.join("b", max_pages=200)
    await crew.meet()
    hosts = [f"host{number}" for number in range(80)]
    of_second = [
        host for host in hosts if second.redis._ready_crawl.partition_of(host) in second.redis._ownership.partitions
    ]
    await second.add(*(f"{host}/1" for host in of_second))
    for _ in range(2):
        crew.clock.advance(1.0)
        for lease in await second.take_all():
            await second.visit(lease)
    assert second.frontier.counts().stored == len(of_second)
    assert sum(partition.spare for partition in second.redis._ownership.partitions.values()) > 0
    await crew.die(second)
    await crew.outlive(SILENCE_SECONDS, first)
    await first.add(*(f"{host}/{number}" for host in set(hosts) - set(of_second) for number in range(10)))
    for _ in range(12):
        crew.clock.advance(1.0)
        await first.tick()
        leases = await first.take_all()
        ends = [Settlement(lease.token, OutcomeKind.STORED, status=200) for lease in leases if is_page(lease)]
        news = [(lease, rules_read(lease.target.origin, crew.clock())) for lease in leases if not is_page(lease)]
        ends += [Settlement(lease.token, OutcomeKind.READ, status=200, robots=told) for lease, told in news]
        assert await first.frontier.settle(ends) == []
    assert first.frontier.counts().stored == 200
    assert await first.frontier.is_finished()


def is_page(lease: Lease) -> bool:
    return lease.target.kind is Kind.PAGE


async def test_what_is_given_back_is_not_leased_while_the_answer_is_on_its_way(crew: Crew) -> None:
    machine = await crew.join("a", max_pages=100)
    await machine.add("x/1")
    limit, grant = machine.redis._limit, next(iter(machine.redis._ownership.partitions.values())).grant
    await limit.ask({grant: 9})
    assert grant.may_lease(pages=8, leased=0)
    asked = asyncio.create_task(limit.ask({grant: 3}))
    await asyncio.sleep(0)
    assert not asked.done()
    assert not grant.may_lease(pages=8, leased=0)
    await asked
    assert grant.total == 3


# ---- a machine that slept past its ownership


async def crew_at_work(crew: Crew, hosts: int) -> tuple[Machine, Machine]:
    """Two machines with their shares, and a page queued at each of some hosts, whose robots.txt is read."""
    first, second = await crew.join("a"), await crew.join("b")
    await crew.meet()
    await first.add(*(f"host{number}/1" for number in range(hosts)))
    await crew.meet()
    crew.clock.advance(1.0)
    for machine in crew.machines:
        for lease in await machine.take_all():
            await machine.read_robots(lease)
    crew.clock.advance(1.0)
    return first, second


async def test_who_slept_past_its_ownership_changes_nothing_and_rejoins(crew: Crew, server: RedisServer) -> None:
    first, sleeper = await crew_at_work(crew, hosts=20)
    lost = dict(sleeper.redis._ownership.partitions)
    under_way = await sleeper.take_all()
    assert under_way
    await crew.outlive(SILENCE_SECONDS, first)
    with closing(open_redis_view(crew.address)) as view:
        assert view.crew
        assert [(machine.name, machine.partitions) for machine in view.crew.machines] == [("a", 8)]
    before = _content(server, crew)
    for partition in lost.values():
        with pytest.raises(NotOwner):
            await partition.scheduler.close()
        with pytest.raises(NotOwner):
            await partition.scheduler.add([page("anywhere/1")])
    assert await sleeper.take_all() == []
    ends = [Settlement(lease.token, OutcomeKind.STORED) for lease in under_way]
    assert await sleeper.frontier.settle(ends) == [lease.token for lease in under_way]
    assert _content(server, crew) == before
    await crew.meet()
    with closing(open_redis_view(crew.address)) as view:
        assert view.crew
        assert [(machine.name, machine.partitions) for machine in view.crew.machines] == [("a", 4), ("b", 4)]
    crew.clock.advance(1.0)
    leases = [(machine, lease) for machine in crew.machines for lease in await machine.take_all()]
    assert len(leases) == 20
    for machine, lease in leases:
        await machine.visit(lease)
    for machine in crew.machines:
        assert await machine.frontier.is_finished()
    (channel,) = sleeper.redis._ownership._opener._channels.values()
    assert len(channel._members) == 4, "what was lost is not watched any more"


async def test_the_late_settlement_of_a_sleeper_does_not_speak_for_its_content(crew: Crew) -> None:
    first, sleeper = await crew_at_work(crew, hosts=20)
    ends = [
        Settlement(lease.token, OutcomeKind.STORED, digest=b"of %d" % lease.token) for lease in await sleeper.take_all()
    ]
    await crew.outlive(SILENCE_SECONDS, first)
    assert await sleeper.frontier.settle(ends) == [end.token for end in ends]
    for end in ends:
        assert await first.frontier.original_of(end.digest, "http://another/", 0) == ""


def _content(server: RedisServer, crew: Crew) -> dict[bytes, bytes]:
    """Everything in the partitions of a crawl."""
    client = server.client()
    crawl = crew.machines[0].redis.address.crawl
    keys = sorted(client.scan_iter(f"{{lycosa:{crawl}:*", count=10_000))
    return {key: client.dump(key) for key in keys}


async def test_what_a_sleeper_finds_for_others_arrives_all_the_same(crew: Crew) -> None:
    """To know of a page is nobody's right: what it was told to add is in the inboxes of whoever owns them now."""
    first, sleeper = await crew_at_work(crew, hosts=0)
    await crew.outlive(SILENCE_SECONDS, first)
    await sleeper.add(*(f"host{number}/1" for number in range(20)))
    await crew.meet()
    assert first.frontier.counts().known == 20


async def test_who_stood_still_while_it_took_a_partition_over_goes_on(server: RedisServer, crew: Crew) -> None:
    """Somebody else has it by then."""
    first = await crew.join("a")
    with Proxy(server.port) as proxy:
        crawl = crew.address.partition("?")[2]
        # It has set the fence, and is about to look into the first of its partitions.
        second = await crew.join("b", address=f"{proxy.address}?{crawl}")
        await first.tick()
        held = proxy.hold_request("MULTI")
        taking_over = asyncio.create_task(second.tick())
        await asyncio.to_thread(wait_until, lambda: held.is_under_way)
        await crew.outlive(SILENCE_SECONDS, first)
        await asyncio.to_thread(held.release)
        await asyncio.wait_for(taking_over, 30)
        await crew.meet()
        with closing(open_redis_view(crew.address)) as view:
            assert view.crew
            assert [(each.name, each.partitions) for each in view.crew.machines] == [("a", 4), ("b", 4)]
        await crew.leave(second)


# ---- the inbox


@pytest.mark.parametrize("word", ["MULTI", "XTRIM"], ids=["before it acted", "before it said that it had"])
async def test_links_arrive_though_the_owner_dies_over_them(server: RedisServer, crew: Crew, word: str) -> None:
    finder = await crew.join("a")
    with Proxy(server.port) as proxy:
        crawl = crew.address.partition("?")[2]
        owner = await crew.join("b", address=f"{proxy.address}?{crawl}")
        await crew.meet()
        crew.clock.advance(1.0)
        (home, *_) = owner.redis._ownership.partitions
        hosts = [f"host{number}" for number in range(60)]
        start = next(
            host for host in hosts if finder.redis._ready_crawl.partition_of(host) in finder.redis._ownership.partitions
        )
        found = [page(f"{host}/1") for host in hosts if owner.redis._ready_crawl.partition_of(host) == home]
        await finder.add(f"{start}/1")
        (lease,) = await finder.take_all()
        await finder.settle(lease, OutcomeKind.READ, discovered=found)
        held = proxy.hold_request(word)
        reading = asyncio.create_task(owner.tick())
        await asyncio.to_thread(wait_until, lambda: held.is_under_way)
        await crew.die(owner)
        reading.cancel()
        with suppress(asyncio.CancelledError, BackendLost):
            await reading
        await crew.outlive(SILENCE_SECONDS, finder)
        # What the dead one had on its way arrives after all, and is refused: the partition is another's.
        await asyncio.to_thread(held.release)
        await crew.meet()
    with closing(open_redis_view(crew.address)) as view:
        assert {target.url for target in view.queued()} >= {target.url for target in found}
        assert_adds_up(view)
        assert view.counts().known == len(found) + 1
        assert view.counts().queued == len(found) + 1


async def test_a_message_that_cannot_be_read_keeps_no_crawl_from_its_end(server: RedisServer, crew: Crew) -> None:
    machine = await crew.join("a")
    server.client().xadd(f"{machine.redis.address.tag(3)}i", {"": b"\xff nonsense"})
    assert not await machine.frontier.is_finished()
    await machine.tick()
    assert await machine.frontier.is_finished()


# ---- by the real clock


async def test_a_dead_machines_partitions_are_at_work_again_soon(server: RedisServer) -> None:
    """Within the silence after which it is taken for dead and some seconds, and nothing of it is lost."""
    silence_seconds, grace_seconds = 2.0, 5.0
    crew = Crew(f"{server.address}?crawl=real&partitions=8", FakeClock(), silence_seconds=silence_seconds)
    for name in "abc":
        await crew.join(name, is_live=True)
    while not all(len(machine.redis._ownership.partitions) in (2, 3) for machine in crew.machines):
        await asyncio.sleep(0.05)

    async def take(wanted: set[str]) -> None:
        given = set[str]()
        while not given >= wanted:
            for machine in crew.machines:
                given.update(lease.target.host for lease in await machine.take_all())
            await asyncio.sleep(0.05)

    victim, hosts = crew.machines[2], {f"host{number}" for number in range(100)}
    await victim.add(*(f"{host}/1" for host in hosts))
    await asyncio.wait_for(take(hosts), 60)
    its_own = {
        host for host in hosts if victim.redis._ready_crawl.partition_of(host) in victim.redis._ownership.partitions
    }
    died_at = time.monotonic()
    await crew.die(victim)
    await asyncio.wait_for(take(its_own), 60)
    took = time.monotonic() - died_at
    print(f"at work again after {took:.1f} s, silence {silence_seconds:g} s")
    assert took < silence_seconds + grace_seconds
    with closing(open_redis_view(crew.address)) as view:
        assert view.counts().queued == len(hosts)
        assert_adds_up(view)
    await crew.close()
