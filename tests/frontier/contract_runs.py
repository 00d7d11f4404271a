"""Several leases of one host: given out together, kept apart by the worker, put back as if they had not been."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lycosa.frontier.queue import BLOCK_ENTRIES
from lycosa.frontier.rules import FrontierRules
from lycosa.model import WAITS, Kind, Lease, OutcomeKind, Settlement
from lycosa.policy.politeness import (
    CAUTIOUS_RUN,
    KNOWN_VISITS,
    MAX_RUN,
    MAX_UNSENT_RUN,
    UNSENT_BEFORE_RUN,
    Pace,
    top_up_length,
)

from .stage import FakeClock, OpenFrontier, Stage, page, rules_read

REFUSED, FAILED, READ, STORED = OutcomeKind.REFUSED, OutcomeKind.FAILED, OutcomeKind.READ, OutcomeKind.STORED
NO_PAUSE = Pace(min_delay_seconds=0.0, delay_factor=0.0)
QUICK = 0.001
MANY = 3 * CAUTIOUS_RUN
TOP_UP = top_up_length(CAUTIOUS_RUN)


def paths(leases: list[Lease]) -> list[str]:
    return [lease.target.url.removeprefix("http://a/") for lease in leases]


async def settle_all(stage: Stage, leases: list[Lease], outcome: OutcomeKind = STORED, **how: object) -> None:
    how.setdefault("fetch_seconds", QUICK)
    ends = [Settlement(lease.token, outcome, **how) for lease in leases]  # type: ignore[arg-type]
    assert await stage.frontier.settle(ends) == []


class RunsContract:
    """Inherit, and give the fixtures of `FrontierContract`."""

    @pytest.fixture
    async def quick(self, open_frontier: OpenFrontier, clock: FakeClock) -> Stage:
        """One host without pauses, with many pages and its robots.txt read."""
        return await self.quick_with(open_frontier, clock)

    async def quick_with(self, open_frontier: OpenFrontier, clock: FakeClock, **rules: object) -> Stage:
        rules.setdefault("pace", NO_PAUSE)
        chosen = FrontierRules(durability="process", seen_capacity=10_000, **rules)  # type: ignore[arg-type]
        stage = Stage(open_frontier(chosen, clock), clock)
        await stage.add(*(f"a/{number:03}" for number in range(MANY)))
        (robots,) = await stage.take()
        assert robots.target.kind is Kind.ROBOTS
        await settle_all(stage, [robots], READ, status=200, robots=rules_read("http://a", clock()))
        return stage

    # ---- where no pause is kept

    async def test_a_host_without_pauses_is_given_out_in_runs(self, quick: Stage) -> None:
        run = await quick.take()
        assert paths(run) == [f"{number:03}" for number in range(CAUTIOUS_RUN)]
        assert all(lease.at_once for lease in run)
        assert quick.frontier.counts().leased == CAUTIOUS_RUN
        assert quick.frontier.counts().queued == MANY

    async def test_runs_are_longer_once_a_host_is_known_well_and_not_of_what_is_in_doubt(self, quick: Stage) -> None:
        await quick.add(*(f"a/more-{number:03}" for number in range(KNOWN_VISITS + MAX_RUN)))
        visited = 0
        while visited < KNOWN_VISITS:
            run = await quick.take()
            assert len(run) <= CAUTIOUS_RUN
            visited += len(run)
            await settle_all(quick, run)
        known = await quick.take()
        assert len(known) == MAX_RUN
        await settle_all(quick, known)
        while rest := await quick.take():
            await settle_all(quick, rest)
        await quick.add(*(f"a/doubt-{number:03}" for number in range(MAX_RUN)), deferred=1)
        assert len(await quick.take()) == CAUTIOUS_RUN

    async def test_a_host_counts_once_however_long_its_run(self, quick: Stage) -> None:
        await quick.add("b/1")
        (robots,) = [lease for lease in await quick.take(limit=2) if lease.target.host == "b"]
        assert robots.target.kind is Kind.ROBOTS

    async def test_a_host_with_a_pause_has_one_lease_at_a_time(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{number}" for number in range(9)))
        lease = await stage.take_one()
        assert not lease.at_once
        assert await stage.settle(lease, fetch_seconds=QUICK) == []
        assert await stage.take() == []

    async def test_a_crawl_delay_ends_the_runs(self, quick: Stage) -> None:
        run = await quick.take()
        await settle_all(quick, run[1:])
        await settle_all(quick, run[:1], robots=rules_read("http://a", quick.clock(), delay=7.0))
        assert await quick.take() == []
        quick.clock.advance(7.0)
        lease = await quick.take_one()
        assert not lease.at_once

    async def test_a_slow_host_is_given_out_one_by_one(self, quick: Stage) -> None:
        await settle_all(quick, await quick.take(), fetch_seconds=3.0)
        assert len(await quick.take()) == 1

    async def test_a_host_in_trouble_is_given_out_one_by_one(self, quick: Stage) -> None:
        await settle_all(quick, await quick.take(), FAILED, status=503)
        (lease,) = await quick.next_leases()
        assert not lease.at_once

    async def test_a_pause_that_one_visit_causes_is_not_ended_by_another(self, quick: Stage) -> None:
        run = await quick.take()
        await settle_all(quick, run[:1], FAILED, status=429, retry_after_seconds=50.0)
        await settle_all(quick, run[1:2])
        await quick.frontier.give_back([lease.token for lease in run[2:]])
        quick.clock.advance(49.0)
        assert await quick.take() == []
        quick.clock.advance(1.0)
        assert paths(await quick.take())[0] == "002"

    async def test_a_run_is_topped_up_when_enough_of_it_is_settled(self, quick: Stage) -> None:
        run = await quick.take()
        await settle_all(quick, run[: TOP_UP - 1])
        assert await quick.take() == []
        await settle_all(quick, run[TOP_UP - 1 : TOP_UP])
        more = await quick.take()
        assert paths(more) == [f"{number:03}" for number in range(CAUTIOUS_RUN, CAUTIOUS_RUN + TOP_UP)]
        assert quick.frontier.counts().leased == CAUTIOUS_RUN

    async def test_a_pause_ends_the_topping_up(self, quick: Stage) -> None:
        run = await quick.take()
        await settle_all(quick, run[:-2])
        await settle_all(quick, run[-2:-1], FAILED, status=503, retry_after_seconds=500.0)
        assert await quick.take() == []
        await settle_all(quick, run[-1:])
        assert await quick.take() == []
        assert quick.frontier.next_at(0) is not None
        quick.clock.advance(500.0)
        assert paths(await quick.take())[0] == f"{CAUTIOUS_RUN:03}"

    async def test_only_the_worker_that_has_a_run_is_given_more_of_it(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = Stage(open_frontier(FrontierRules(pace=NO_PAUSE, workers=2, durability="process"), clock), clock)
        await stage.add(*(f"a/{number:03}" for number in range(MANY)))
        owner = 0 if (given := await stage.take(0)) else 1
        await settle_all(stage, given or await stage.take(1), READ, status=200, robots=rules_read("http://a", clock()))
        run = await stage.take(owner)
        await settle_all(stage, run[:-1])
        assert await stage.take(1 - owner) == []
        assert len(await stage.take(owner)) == CAUTIOUS_RUN - 1

    async def test_what_is_better_comes_with_the_next_leases(self, quick: Stage) -> None:
        run = await quick.take()
        await settle_all(quick, run[:TOP_UP], discovered=[page("a/best", priority=9)])
        assert paths(await quick.take())[0] == "best"

    async def test_a_run_may_be_settled_in_any_order(self, quick: Stage) -> None:
        run = await quick.take()
        for some in (run[20:25], run[7:9], run[30:], run[:3], run[25:30], run[3:7], run[9:20]):
            await settle_all(quick, some, discovered=[page(f"a/from-{some[0].token}")])
        rest = [f"{number:03}" for number in range(CAUTIOUS_RUN, MANY)]
        left = [path.removeprefix("a/") for path in await quick.visit_all()]
        assert [path for path in left if path in rest] == rest
        assert len(left) == len(rest) + 7
        assert quick.frontier.counts().stored == MANY + 7
        assert await quick.frontier.is_finished()

    async def test_nothing_is_lost_behind_blocks_that_were_emptied_out_of_order(self, quick: Stage) -> None:
        begun = list[str]()
        for kept in (range(16, 32), range(32, 48), range(16)):
            # One whole block is settled; the others go back, and what is in between leaves memory.
            run = await quick.take()
            some = [lease for lease in run if int(lease.target.url[-3:]) in kept]
            assert len(some) == BLOCK_ENTRIES
            await settle_all(quick, some)
            begun += paths(some)
            await quick.frontier.release(0)
        left = [path.removeprefix("a/") for path in await quick.visit_all()]
        assert sorted(begun + left) == [f"{number:03}" for number in range(MANY)]
        assert quick.frontier.counts().poisoned == 0
        assert await quick.frontier.is_finished()

    async def test_a_run_that_left_from_within_loses_nothing(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        """Blocks in the middle of the queue are empty before those in front of them."""
        stage = await self.quick_with(open_frontier, clock, connections_per_host={"a": 6})
        run = await stage.take()
        # So slow that from now on it is leased one by one.
        await settle_all(stage, run[16:64], fetch_seconds=3.0)
        await stage.frontier.give_back([lease.token for lease in [*run[:16], *run[64:]]])
        left = [path.removeprefix("a/") for path in await stage.visit_all()]
        assert sorted(left) == [f"{number:03}" for number in range(MANY) if not 16 <= number < 64]
        assert stage.frontier.counts().stored == MANY
        assert stage.frontier.counts().poisoned == 0

    async def test_depth_first_is_given_out_one_by_one(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        """What a page leads to comes before all that was found earlier."""
        stage = await self.quick_with(open_frontier, clock, order="depth")
        first = await stage.take_one()
        await settle_all(stage, [first], discovered=[page("a/new")])
        assert paths(await stage.take()) == ["new"]

    async def test_the_page_limit_counts_every_lease_of_a_run(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = await self.quick_with(open_frontier, clock, max_pages=5)
        run = await stage.take()
        assert len(run) == 5
        await settle_all(stage, run)
        assert await stage.frontier.is_finished()

    async def test_a_host_that_takes_more_at_once_has_longer_runs(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = await self.quick_with(open_frontier, clock, connections_per_host={"a": 3})
        assert len(await stage.take()) == CAUTIOUS_RUN + 2 * TOP_UP

    # ---- going back

    async def test_what_was_not_begun_goes_back_untouched(self, quick: Stage) -> None:
        run = await quick.take()
        await settle_all(quick, run[:2])
        await quick.frontier.give_back([lease.token for lease in run[2:]])
        counts = quick.frontier.counts()
        assert (counts.leased, counts.queued, counts.stored) == (0, MANY - 2, 2)
        assert paths(await quick.take()) == [f"{number:03}" for number in range(2, CAUTIOUS_RUN + 2)]

    async def test_a_run_of_a_worker_that_is_gone_comes_back(self, quick: Stage) -> None:
        run = await quick.take()
        await settle_all(quick, run[5:6])
        assert await quick.frontier.release(0) == CAUTIOUS_RUN - 1
        again = await quick.take()
        assert paths(again) == [f"{number:03}" for number in range(CAUTIOUS_RUN + 1) if number != 5]
        late = await quick.frontier.settle([Settlement(lease.token, STORED) for lease in run])
        assert late == [lease.token for lease in run]
        assert quick.frontier.counts().stored == 1

    async def test_a_run_that_expires_comes_back(self, quick: Stage) -> None:
        run = await quick.take()
        quick.clock.now = run[0].expires_at
        assert paths(await quick.next_leases()) == paths(run)

    # ---- visits that send nothing

    async def test_many_that_send_nothing_are_given_out_together(self, stage: Stage) -> None:
        count = 4 * MAX_UNSENT_RUN
        await stage.open_hosts(*(f"a/{number:04}" for number in range(count)))
        turns, seen = 0, list[str]()
        while leases := await stage.take():
            turns += 1
            seen += paths(leases)
            assert len(leases) <= MAX_UNSENT_RUN
            await settle_all(stage, leases, REFUSED, sent=False)
        assert seen == [f"{number:04}" for number in range(count)]
        assert turns < UNSENT_BEFORE_RUN + 8 + 4
        assert stage.frontier.counts().refused == count

    async def test_a_run_that_sends_something_rests_after_that(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{number}" for number in range(90)))
        for _ in range(UNSENT_BEFORE_RUN + 2):
            await settle_all(stage, await stage.take(), REFUSED, sent=False)
        run = await stage.take()
        assert len(run) > 3
        assert not any(lease.at_once for lease in run)
        await settle_all(stage, run[:1], REFUSED, sent=False)
        await settle_all(stage, run[1:2])
        await stage.frontier.give_back([lease.token for lease in run[2:]])
        stage.clock.advance(0.9)
        assert await stage.take() == []
        stage.clock.advance(0.1)
        assert paths(await stage.take()) == paths(run[2:3])

    async def test_a_run_of_which_nothing_was_sent_keeps_nobody_waiting(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"x.a.test/{number}" for number in range(2 * UNSENT_BEFORE_RUN)))
        for _ in range(UNSENT_BEFORE_RUN):
            await settle_all(stage, await stage.take(), REFUSED, sent=False)
        run = await stage.take()
        assert len(run) == UNSENT_BEFORE_RUN
        await stage.add("y.a.test/1")
        await settle_all(stage, run, REFUSED, sent=False)
        (robots,) = await stage.take()
        assert robots.target.host == "y.a.test"

    async def test_what_is_put_off_again_and_again_is_given_out_together(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{number}" for number in range(100)))
        turns, leases = 0, await stage.take()
        while leases[0].target.deferred == 0:
            turns += 1
            await settle_all(stage, leases, REFUSED, sent=False, deferred=WAITS)
            leases = await stage.take()
        assert turns < 30
        assert {lease.target.deferred for lease in leases} == {WAITS}
        assert stage.frontier.counts().queued == 100

    async def test_what_is_in_doubt_is_not_given_out_while_better_may_be_found(self, quick: Stage) -> None:
        for _ in range(MANY // CAUTIOUS_RUN - 1):
            await settle_all(quick, await quick.take())
        *others, last = await quick.take()
        doubtful = [replace(page(f"a/doubt-{each}"), deferred=1 + each % WAITS) for each in range(CAUTIOUS_RUN)]
        await settle_all(quick, others[:1], discovered=doubtful)
        await settle_all(quick, others[1:])
        assert await quick.take() == []
        await settle_all(quick, [last], discovered=[page("a/better")])
        assert paths(await quick.take()) == ["better"]

    async def test_what_waits_is_given_out_together_once_nothing_else_is(self, quick: Stage) -> None:
        while (leases := await quick.take())[0].target.deferred == 0:
            await settle_all(quick, leases, REFUSED, sent=False, deferred=WAITS)
        assert len(leases) > 1
        assert {lease.target.deferred for lease in leases} == {WAITS}
