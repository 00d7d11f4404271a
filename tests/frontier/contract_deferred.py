"""What is put off: behind others of its host, or until nothing else is left anywhere."""

from __future__ import annotations

import pytest

from lycosa.frontier.rules import FrontierRules, is_last_first, rank_of
from lycosa.model import MAX_DOUBT, WAITS, WAITS_LAST, Lease, OutcomeKind

from .stage import FakeClock, OpenFrontier, Stage, page, rules_pending

REFUSED, FAILED, READ = OutcomeKind.REFUSED, OutcomeKind.FAILED, OutcomeKind.READ


async def put_off(stage: Stage, lease: Lease, deferred: int, **how: object) -> None:
    assert await stage.settle(lease, REFUSED, sent=False, deferred=deferred, **how) == []


def path_of(lease: Lease) -> str:
    return lease.target.url.removeprefix("http://")


class DeferredContract:
    """Inherit, and give the fixtures of `FrontierContract`."""

    # ---- behind others of a host

    async def test_what_is_in_doubt_comes_behind_others_by_how_much_it_is(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        found = [
            *(page(f"a/doubt{doubt}-{number}", deferred=doubt) for doubt in (3, 1, 2) for number in range(2)),
            page("a/2", priority=1),
            page("a/3", priority=9),
        ]
        await stage.settle(await stage.take_one(), status=200, discovered=found)
        order = await stage.visit_all()
        assert order[:2] == ["a/3", "a/2"]
        assert [path.partition("-")[0] for path in order[2:]] == [f"a/doubt{doubt}" for doubt in (1, 1, 2, 2, 3, 3)]
        assert len({*order}) == 8
        assert await stage.frontier.is_finished()

    @pytest.mark.parametrize("doubt", range(1, MAX_DOUBT + 1))
    async def test_many_in_doubt_come_by_the_end_that_is_looked_at(self, stage: Stage, doubt: int) -> None:
        await stage.open_hosts("a/1")
        found = [page(f"a/doubt{number}", deferred=doubt) for number in range(150)]
        await stage.settle(await stage.take_one(), status=200, discovered=found)
        order = [f"a/doubt{number}" for number in range(150)]
        is_newest_first = is_last_first(rank_of(found[0]), "breadth")
        assert await stage.visit_all() == (order[::-1] if is_newest_first else order)

    async def test_a_visit_that_is_put_off_leaves_no_trace(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        lease, before = await stage.take_one(), stage.frontier.counts()
        await put_off(stage, lease, 1)
        after = stage.frontier.counts()
        assert (after.queued, after.leased, after.known) == (2, 0, 2)
        assert after.refused == before.refused == 0
        assert await stage.frontier.history(page("a/1").fingerprint) is None
        # Nothing was sent: there is no pause.
        second = await stage.take_one()
        assert path_of(second) == "a/2"
        await stage.visit(second)
        (again,) = await stage.next_leases()
        assert (path_of(again), again.target.deferred) == ("a/1", 1)

    async def test_a_target_may_be_put_off_again_and_again(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        for deferred in (*range(1, MAX_DOUBT + 1), WAITS, WAITS_LAST):
            (lease,) = await stage.next_leases()
            assert lease.target.deferred == deferred - 1
            await put_off(stage, lease, deferred)
        (lease,) = await stage.next_leases()
        assert lease.target.deferred == WAITS_LAST
        await stage.settle(lease, REFUSED, sent=False)
        assert await stage.frontier.is_finished()
        assert stage.frontier.counts().refused == 1

    async def test_what_a_put_off_visit_discovered_is_added(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        await put_off(stage, await stage.take_one(), WAITS, discovered=[page("b/1")])
        assert await stage.visit_all() == ["b/1", "a/1"]

    async def test_a_late_settlement_puts_nothing_off(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        overslept = await stage.take_one()
        stage.clock.now = overslept.expires_at
        await stage.take()
        assert await stage.settle(overslept, REFUSED, sent=False, deferred=WAITS) == [overslept.token]
        assert stage.frontier.counts().queued == 1
        (lease,) = await stage.next_leases()
        assert lease.target.deferred == 0

    # ---- until nothing else is left

    async def test_what_waits_comes_when_nothing_else_is_left_anywhere_the_oldest_first(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1")
        leases = {lease.target.host: lease for lease in await stage.take()}
        waiting = [page(f"a/wait{number}", deferred=WAITS) for number in range(3)]
        more = [page(f"b/{number}") for number in range(2, 9)]
        await stage.settle(leases["a"], status=200, discovered=waiting)
        await stage.settle(leases["b"], status=200, discovered=[*more, page("b/doubt", deferred=MAX_DOUBT)])
        order = await stage.visit_all()
        assert order == [*(f"b/{number}" for number in range(2, 9)), "b/doubt", *(f"a/wait{n}" for n in range(3))]
        assert await stage.frontier.is_finished()

    async def test_what_waits_for_the_last_time_comes_behind_what_waits(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        for _ in range(2):
            (lease,) = await stage.next_leases()
            await put_off(stage, lease, WAITS)
        (lease,) = await stage.next_leases()
        assert path_of(lease) == "a/1"
        await put_off(stage, lease, WAITS_LAST)
        assert await stage.visit_all() == ["a/2", "a/1"]

    async def test_a_lease_that_is_out_may_lead_further(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1")
        leases = {lease.target.host: lease for lease in await stage.take()}
        await put_off(stage, leases["a"], WAITS)
        stage.clock.advance(10.0)
        assert await stage.take() == []
        assert not await stage.frontier.is_finished()
        await stage.settle(leases["b"], status=200, discovered=[page("b/2")])
        assert await stage.visit_all() == ["b/2", "a/1"]

    async def test_a_host_that_rests_for_long_is_waited_for(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1", "b/2", delay=1_000.0)
        leases = {lease.target.host: lease for lease in await stage.next_leases()}
        await put_off(stage, leases["a"], WAITS)
        await stage.visit(leases["b"])
        assert await stage.visit_all() == ["b/2", "a/1"]

    async def test_what_is_added_later_goes_first(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        for _ in range(2):
            (lease,) = await stage.next_leases()
            await put_off(stage, lease, WAITS)
        (lease,) = await stage.next_leases()
        await stage.settle(lease, status=200, discovered=[page("a/new"), page("c/new")])
        order = await stage.visit_all()
        assert sorted(order[:2]) == ["a/new", "c/new"]
        assert order[2:] == ["a/2"]

    @pytest.mark.parametrize("trouble", ["failures", "robots"])
    async def test_hosts_in_trouble_do_not_keep_it_waiting(self, stage: Stage, trouble: str) -> None:
        await stage.open_hosts("a/1")
        await put_off(stage, await stage.take_one(), WAITS)
        await stage.add("b/1", "b/2")
        robots = next(lease for lease in await stage.next_leases() if lease.target.host == "b")
        now = stage.clock()
        if trouble == "robots":
            await stage.settle(robots, READ, robots=rules_pending("http://b", now, 80_000.0))
        else:
            await stage.read_robots(robots)
            (lease,) = await stage.next_leases()
            await stage.settle(lease, FAILED, status=503, retry_after_seconds=80_000.0)
        (lease,) = await stage.next_leases()
        assert path_of(lease) == "a/1"
        assert stage.clock() < now + 1_000.0

    async def test_more_hosts_wait_than_have_places(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        rules = FrontierRules(durability="process", seen_capacity=10_000, max_active_hosts=3)
        stage = Stage(open_frontier(rules, clock), clock)
        await stage.add(*(f"h{host}/1" for host in range(12)))
        visited: list[str] = []
        waits: set[str] = set()
        for _ in range(400):
            leases = await stage.next_leases()
            if not leases:
                break
            for lease in leases:
                if lease.target.fingerprint and lease.target.deferred == 0 and lease.target.host != "h11":
                    waits.add(path_of(lease))
                    await put_off(stage, lease, WAITS)
                else:
                    visited += [path_of(lease)] if lease.target.fingerprint else []
                    await stage.visit(lease)
        assert visited[0] == "h11/1"
        assert sorted(visited[1:]) == sorted(waits)
        assert len(waits) == 11
        assert await stage.frontier.is_finished()
