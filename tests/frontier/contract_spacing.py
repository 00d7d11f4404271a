"""Promises about registered domains and addresses, for any frontier. Part of the contract."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lycosa.model import Kind, Lease, OutcomeKind
from lycosa.policy.politeness import Pace

from .stage import FakeClock, OpenFrontier, Stage, about

ONE, OTHER = "192.0.2.1", "192.0.2.2"


class Watched:
    """Works off a frontier as workers do, with a name server of its own, and notes every request."""

    def __init__(self, stage: Stage, addresses: dict[str, str]) -> None:
        self.stage = stage
        self.addresses = addresses
        self.requests: list[tuple[float, str]] = []

    async def work(self, until_hosts: int, patience: int = 4000) -> None:
        """Until so many hosts have been asked for a page."""
        done: set[str] = set()
        for _ in range(patience):
            for lease in await self.stage.next_leases():
                if await self.visit(lease) and lease.target.kind is Kind.PAGE:
                    done.add(lease.target.host)
            if len(done) >= until_hosts:
                return
        raise AssertionError(f"only {len(done)} hosts had their turn")

    async def visit(self, lease: Lease) -> bool:
        address = self.addresses[lease.target.host]
        if lease.address != address and not await self.stage.frontier.may_ask_at(lease.token, address):
            return False
        self.requests.append((self.stage.clock(), lease.target.host))
        if lease.target.kind is Kind.ROBOTS:
            await self.stage.read_robots(lease)
        else:
            await self.stage.settle(lease, status=200, address=address)
        return True

    def smallest_gap(self, *hosts: str) -> float:
        at = [moment for moment, host in self.requests if host in hosts]
        return min(second - first for first, second in pairwise(at))


class SpacingContract:
    """Inherited by `FrontierContract`."""

    def stage_with(self, open_frontier: OpenFrontier, clock: FakeClock, **rules: object) -> Stage:
        raise NotImplementedError

    async def located(self, stage: Stage, **addresses: str) -> None:
        """Hosts at addresses that are known, with one page each to visit."""
        hosts = {host.replace("_", "."): address for host, address in addresses.items()}
        await stage.add(*(f"{host}/" for host in hosts))
        await Watched(stage, hosts).work(until_hosts=len(hosts))
        stage.clock.advance(10.0)
        await stage.add(*(f"{host}/1" for host in hosts))

    # ---- domains

    async def test_hosts_of_one_domain_share_the_pause_of_a_host(self, stage: Stage) -> None:
        await stage.add("x.s.test/1", "y.s.test/1", "z.t.test/1")
        first = await stage.take()
        assert len(first) == 2
        assert len({lease.target.host for lease in first} & {"x.s.test", "y.s.test"}) == 1
        stage.clock.advance(0.9)
        assert await stage.take() == []
        stage.clock.advance(0.1)
        (second,) = await stage.take()
        assert {lease.target.host for lease in [*first, second]} == {"x.s.test", "y.s.test", "z.t.test"}

    async def test_a_domain_on_two_addresses_has_two_requests_a_second(self, stage: Stage) -> None:
        await self.located(stage, x_s_test=ONE, y_s_test=OTHER)
        (first,) = await stage.take()
        stage.clock.advance(0.4)
        assert await stage.take() == []
        stage.clock.advance(0.1)
        (second,) = await stage.take()
        assert {first.target.url, second.target.url} == {"http://x.s.test/1", "http://y.s.test/1"}

    async def test_a_domain_on_one_address_has_one_request_a_second(self, stage: Stage) -> None:
        await self.located(stage, x_s_test=ONE, y_s_test=ONE)
        await stage.take_one()
        stage.clock.advance(0.9)
        assert await stage.take() == []
        stage.clock.advance(0.1)
        assert len(await stage.take()) == 1

    async def test_a_refusal_that_sent_nothing_costs_domain_and_address_nothing(self, stage: Stage) -> None:
        await self.located(stage, x_s_test=ONE)
        await stage.add("x.s.test/2", "x.s.test/3")
        for _ in range(3):
            await stage.settle(await stage.take_one(), OutcomeKind.REFUSED, sent=False)
        await stage.add("y.s.test/1")
        assert await stage.frontier.may_ask_at((await stage.take_one()).token, ONE)

    async def test_a_domain_rests_after_a_lease_expired(self, stage: Stage) -> None:
        """Whoever overslept may have sent its request at the last moment."""
        await stage.add("x.s.test/1", "y.s.test/1")
        stage.clock.now = (await stage.take_one()).expires_at - 0.5
        second = await stage.take_one()
        await stage.settle(second, OutcomeKind.REFUSED, sent=False)
        stage.clock.advance(0.5)
        assert await stage.take() == []
        stage.clock.advance(1.0)
        assert len(await stage.take()) == 1

    # ---- addresses

    async def test_an_address_is_asked_by_one_host_at_a_time(self, stage: Stage) -> None:
        await stage.add("a/1", "b/1")
        first, second = await stage.take()
        assert first.address == second.address == ""
        assert await stage.frontier.may_ask_at(first.token, ONE)
        before = stage.frontier.counts()
        assert not await stage.frontier.may_ask_at(second.token, ONE)
        after = stage.frontier.counts()
        assert (after.leased, after.queued, after.late) == (1, before.queued, 0)
        stage.clock.advance(0.5)
        assert await stage.take() == []
        (again,) = await stage.next_leases()
        assert (again.target, again.address) == (second.target, ONE)
        assert stage.clock() == about(again.expires_at - 180.0)

    async def test_a_lease_given_up_for_its_address_is_late(self, stage: Stage) -> None:
        await stage.add("a/1", "b/1")
        first, second = await stage.take()
        await stage.frontier.may_ask_at(first.token, ONE)
        await stage.frontier.may_ask_at(second.token, ONE)
        assert await stage.settle(second) == [second.token]
        assert not await stage.frontier.may_ask_at(second.token, OTHER)

    async def test_a_known_address_that_is_busy_is_not_given_out(self, stage: Stage) -> None:
        await self.located(stage, a=ONE, b=ONE, c=OTHER)
        leases = await stage.take()
        assert sorted(lease.address for lease in leases) == [ONE, OTHER]
        stage.clock.advance(0.5)
        assert await stage.take() == []
        (third,) = await stage.next_leases()
        assert third.address == ONE
        assert {lease.target.host for lease in [*leases, third]} == {"a", "b", "c"}

    async def test_the_address_of_the_last_visit_is_remembered(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        await stage.settle(await stage.take_one(), status=200, address=ONE)
        (lease,) = await stage.next_leases()
        assert lease.address == ONE

    async def test_a_host_that_moved_asks_for_its_new_address(self, stage: Stage) -> None:
        await self.located(stage, a=ONE, b=OTHER)
        leases = {lease.target.host: lease for lease in await stage.take()}
        assert await stage.frontier.may_ask_at(leases["a"].token, ONE)
        assert not await stage.frontier.may_ask_at(leases["a"].token, OTHER)
        (lease,) = await stage.next_leases()
        assert (lease.target.host, lease.address) == ("a", OTHER)

    async def test_whoever_waits_for_no_host_waits_for_no_domain_or_address(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, pace=Pace(min_delay_seconds=0.0, delay_factor=0.0))
        hosts = [f"h{number}.s.test" for number in range(10)]
        await stage.add(*(f"{host}/" for host in hosts))
        watched = Watched(stage, dict.fromkeys(hosts, ONE))
        before = clock()
        await watched.work(until_hosts=10)
        assert clock() == before

    @pytest.mark.parametrize("domains", [1, 100])
    async def test_a_crowd_behind_one_address_is_served_one_by_one(self, stage: Stage, domains: int) -> None:
        hosts = [f"h{number}.s{number % domains}.test" for number in range(100)]
        await stage.add(*(f"{host}/" for host in hosts))
        watched = Watched(stage, dict.fromkeys(hosts, ONE))
        await watched.work(until_hosts=100)
        # Names of one domain on one server are one server.
        assert watched.smallest_gap(*hosts) >= (1.0 if domains == 1 else 0.5)

    async def test_a_crowd_behind_one_address_leaves_room_for_others(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_active_hosts=80)
        crowd = [f"h{number}.test" for number in range(150)]
        await stage.add(*(f"{host}/{page}" for host in crowd for page in range(3)))
        watched = Watched(stage, dict.fromkeys(crowd, ONE) | {"lonely.test": OTHER})
        await watched.work(until_hosts=50)
        await stage.add("lonely.test/")
        began = clock()
        while not any(host == "lonely.test" for _, host in watched.requests):
            for lease in await stage.next_leases():
                await watched.visit(lease)
        assert clock() - began < 60.0
