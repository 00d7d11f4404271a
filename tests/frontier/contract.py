"""Every promise of `ports.Frontier` and `ports.Duplicates`, for any implementation.

A test class inherits `FrontierContract` and gives a fixture `open_frontier`: rules and clock -> frontier.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from lycosa.dedupe.signature import signature_of
from lycosa.frontier.rules import LOST_ROBOTS_SECONDS, MAX_ORIGINS_PER_HOST, FrontierRules
from lycosa.model import Kind, OutcomeKind, Reason, Settlement, SiteNews, Target
from lycosa.policy.politeness import Pace
from lycosa.policy.ring import Ring

from .contract_bans import BansContract
from .contract_deferred import DeferredContract
from .contract_orders import OrdersContract
from .contract_origins import OriginsContract
from .contract_poison import PoisonContract
from .contract_ranking import RankingContract
from .contract_requisites import RequisitesContract
from .contract_revisits import RevisitsContract
from .contract_runs import RunsContract
from .contract_spacing import SpacingContract
from .contract_topic import TopicContract
from .stage import DAY, FakeClock, OpenFrontier, Stage, about, page, robots_for, rules_pending, rules_read

STORED, DUPLICATE, MOVED = OutcomeKind.STORED, OutcomeKind.DUPLICATE, OutcomeKind.MOVED
REFUSED, FAILED, CRASHED, READ = OutcomeKind.REFUSED, OutcomeKind.FAILED, OutcomeKind.CRASHED, OutcomeKind.READ


def urls(leases: list) -> set[str]:  # type: ignore[type-arg]
    return {lease.target.url.removeprefix("http://") for lease in leases}


class FrontierContract(
    SpacingContract,
    OriginsContract,
    BansContract,
    PoisonContract,
    DeferredContract,
    RunsContract,
    RankingContract,
    TopicContract,
    RevisitsContract,
    RequisitesContract,
    OrdersContract,
):
    """Inherit, and say how a frontier is opened."""

    can_forget = True

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def stage(self, open_frontier: OpenFrontier, clock: FakeClock) -> Stage:
        return self.stage_with(open_frontier, clock)

    def stage_with(self, open_frontier: OpenFrontier, clock: FakeClock, **rules: object) -> Stage:
        rules.setdefault("durability", "process")
        rules.setdefault("seen_capacity", 10_000)
        return Stage(open_frontier(FrontierRules(**rules), clock), clock)  # type: ignore[arg-type]

    # ---- known targets

    async def test_a_known_target_changes_nothing(self, stage: Stage) -> None:
        assert await stage.add("a/1", "a/2") == 2
        before = stage.frontier.counts()
        assert await stage.add("a/1", "a/2", priority=9, depth=3) == 0
        assert stage.frontier.counts() == before
        assert before.known == before.queued == 2

    async def test_a_target_that_comes_twice_in_one_call_is_new_once(self, stage: Stage) -> None:
        assert await stage.add("a/1", "a/1", "b/1", "a/1") == 2
        assert stage.frontier.counts().queued == 2

    async def test_a_visited_target_stays_known(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        await stage.settle(await stage.take_one())
        assert await stage.add("a/1") == 0
        assert await stage.frontier.is_finished()

    async def test_what_a_visit_discovers_is_added(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        await stage.settle(await stage.take_one(), discovered=[page("a/2"), page("b/1"), page("a/1")])
        assert sorted(await stage.visit_all()) == ["a/2", "b/1"]

    async def test_what_two_visits_of_one_call_discover_is_added_once(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1")
        found = [page("c/1"), page("c/2")]
        ends = [Settlement(lease.token, STORED, discovered=found) for lease in await stage.take()]
        assert await stage.frontier.settle(ends) == []
        assert stage.frontier.counts().queued == 2
        assert await stage.visit_all() == ["c/1", "c/2"]

    # ---- leases

    async def test_a_host_has_one_lease_at_a_time(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2", "b/1")
        assert urls(await stage.take()) == {"a/1", "b/1"}
        stage.clock.advance(100)
        assert await stage.take() == []

    async def test_no_more_leases_than_asked_for(self, stage: Stage) -> None:
        await stage.add(*(f"h{host}/" for host in range(10)))
        assert len(await stage.take(limit=3)) == 3
        assert len(await stage.take(limit=100)) == 7

    async def test_a_lease_that_expires_gives_its_target_back(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        first = await stage.take_one()
        stage.clock.now = first.expires_at - 0.1
        assert await stage.take() == []
        (second,) = await stage.next_leases()
        assert second.target == first.target
        assert second.token != first.token

    async def test_a_host_rests_after_a_lease_expired(self, stage: Stage) -> None:
        """Whoever overslept may have sent its request at the last moment."""
        await stage.open_hosts("a/1")
        stage.clock.now = (await stage.take_one()).expires_at
        assert await stage.take() == []
        stage.clock.advance(1.0)
        assert urls(await stage.take()) == {"a/1"}

    async def test_a_late_settlement_changes_nothing(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        overslept = await stage.take_one()
        stage.clock.now = overslept.expires_at
        await stage.take()
        before = stage.frontier.counts()
        assert await stage.settle(overslept, discovered=[page("b/1")], digest=b"d") == [overslept.token]
        after = stage.frontier.counts()
        assert (after.known, after.queued, after.stored, after.late) == (1, 1, before.stored, 1)
        assert await stage.frontier.history(page("a/1").fingerprint) is None

    async def test_a_settlement_counts_once(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        lease = await stage.take_one()
        assert await stage.settle(lease) == []
        assert await stage.settle(lease) == [lease.token]
        assert stage.frontier.counts().stored == 1

    async def test_late_and_timely_settlements_may_come_together(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        lease = await stage.take_one()
        late = await stage.frontier.settle([Settlement(4711, STORED), Settlement(lease.token, STORED)])
        assert late == [4711]
        assert stage.frontier.counts().stored == 1

    async def test_the_leases_of_a_worker_that_is_gone_come_back(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1")
        leases = await stage.take()
        await stage.settle(next(lease for lease in leases if lease.target.host == "b"))
        assert await stage.frontier.release(0) == 1
        assert await stage.frontier.release(0) == 0
        assert stage.frontier.counts().leased == 0
        assert await stage.take() == []
        stage.clock.advance(1.0)
        assert urls(await stage.take()) == {"a/1"}

    # ---- sites

    async def test_a_lease_tells_the_version_of_the_notes_on_its_domain(self, stage: Stage) -> None:
        await stage.open_hosts("www.a.test/1", "www.a.test/2", "b.test/1")
        first, other = sorted(await stage.take(), key=lambda lease: -len(lease.target.host))
        assert (first.site_at, other.site_at) == (0, 0)
        await stage.settle(first, site=SiteNews("a.test", 7, b"notes"), discovered=[page("m.a.test/1")])
        await stage.settle(other)
        # One after the other: requests to one domain stand apart.
        given = [*await stage.next_leases(), *await stage.next_leases()]
        leases = {lease.target.host: lease for lease in given}
        assert {host: lease.site_at for host, lease in leases.items()} == {"www.a.test": 7, "m.a.test": 7}
        assert leases["m.a.test"].target.kind is Kind.ROBOTS
        assert await stage.frontier.site("a.test") == b"notes"

    async def test_newer_notes_take_the_place_of_older_ones(self, stage: Stage) -> None:
        await stage.open_hosts("a.test/1", "a.test/2")
        for version, notes in ((1, b"\x00\xff old"), (2, b"\x00\xff new")):
            (lease,) = await stage.next_leases()
            await stage.settle(lease, site=SiteNews("a.test", version, notes))
        assert await stage.frontier.site("a.test") == b"\x00\xff new"

    async def test_a_domain_that_nobody_visited_has_no_notes(self, stage: Stage) -> None:
        assert await stage.frontier.site("nowhere.test") == b""

    async def test_a_late_settlement_leaves_the_notes_as_they_are(self, stage: Stage) -> None:
        await stage.open_hosts("a.test/1")
        overslept = await stage.take_one()
        stage.clock.now = overslept.expires_at
        await stage.take()
        late = await stage.settle(overslept, site=SiteNews("a.test", 1, b"notes"), known=[page("a.test/2").fingerprint])
        assert late == [overslept.token]
        assert await stage.frontier.site("a.test") == b""
        assert await stage.add("a.test/2") == 1

    async def test_a_page_that_is_known_under_another_name_is_not_queued_under_it(self, stage: Stage) -> None:
        await stage.open_hosts("a.test/1")
        names = [page(f"a.test/{number}").fingerprint for number in (1, 2, 3)]
        found = [page("a.test/2"), page("a.test/4")]
        await stage.settle(await stage.take_one(), known=names, discovered=found)
        assert stage.frontier.counts().known == 4
        assert await stage.visit_all() == ["a.test/4"]
        assert await stage.add("a.test/3") == 0
        assert await stage.frontier.history(page("a.test/3").fingerprint) is None
        past = await stage.frontier.history(page("a.test/1").fingerprint)
        assert past is not None
        assert past.outcome is STORED

    async def test_a_probe_comes_before_other_pages_and_after_robots(self, stage: Stage) -> None:
        await stage.open_hosts("a.test/1", "a.test/2")
        probe = Target("http://a.test/no", "a.test", b"", kind=Kind.PROBE, priority=10)
        await stage.settle(await stage.take_one(), discovered=[probe])
        assert await stage.visit_all() == ["a.test/no", "a.test/2"]
        assert await stage.frontier.is_finished()

    # ---- robots.txt

    async def test_robots_comes_first(self, stage: Stage) -> None:
        await stage.add("a/1", priority=10)
        lease = await stage.take_one()
        assert lease.target.kind is Kind.ROBOTS
        assert (lease.target.url, lease.target.origin) == ("http://a/robots.txt", "http://a")
        await stage.read_robots(lease)
        assert await stage.take() == []
        stage.clock.advance(1.0)
        second = await stage.take_one()
        assert (second.target.url, second.robots_at) == ("http://a/1", stage.clock() - 1.0)
        assert await stage.frontier.robots("http://a") == b"rules of http://a"

    async def test_every_origin_of_a_host_has_its_own_robots(self, stage: Stage) -> None:
        await stage.open_hosts("http://a/1")
        await stage.settle(await stage.take_one(), discovered=[page("https://a/1"), page("http://a:8080/1")])
        asked = set()
        for _ in range(2):
            (lease,) = await stage.next_leases()
            asked.add(lease.target.url)
            await stage.read_robots(lease)
            (lease,) = await stage.next_leases()
            await stage.settle(lease)
        assert asked == {"https://a/robots.txt", "http://a:8080/robots.txt"}

    async def test_an_origin_without_a_record_has_no_robots(self, stage: Stage) -> None:
        assert await stage.frontier.robots("http://nowhere") == b""

    async def test_robots_is_asked_again_when_it_expires(self, stage: Stage) -> None:
        await stage.add("a/1")
        await stage.read_robots(await stage.take_one(), lasts=60.0)
        stage.clock.advance(61.0)
        lease = await stage.take_one()
        assert lease.target.kind is Kind.ROBOTS
        await stage.read_robots(lease)
        assert await stage.visit_all() == ["a/1"]

    async def test_a_host_waits_while_its_robots_cannot_be_read(self, stage: Stage) -> None:
        await stage.add("a/1", "b/1")
        first, other = sorted(await stage.take(), key=lambda lease: lease.target.host)
        await stage.settle(first, READ, sent=True, robots=rules_pending("http://a", stage.clock(), 300.0))
        await stage.read_robots(other)
        stage.clock.advance(1.0)
        lease = await stage.take_one()
        assert urls([lease]) == {"b/1"}
        await stage.settle(lease)
        stage.clock.advance(298.0)
        assert await stage.take() == []
        stage.clock.advance(1.0)
        assert urls(await stage.take()) == {"a/robots.txt"}

    async def test_a_robots_visit_without_news_is_not_repeated_at_once(self, stage: Stage) -> None:
        await stage.add("a/1")
        await stage.settle(await stage.take_one(), CRASHED)
        stage.clock.advance(LOST_ROBOTS_SECONDS - 1.0)
        assert await stage.take() == []
        stage.clock.advance(1.0)
        assert urls(await stage.take()) == {"a/robots.txt"}

    async def test_a_robots_redirected_to_another_host_frees_the_host_that_waits_for_it(self, stage: Stage) -> None:
        await stage.open_hosts("b/1")
        await stage.add("a/1", priority=10)
        lease = next(lease for lease in await stage.take() if lease.target.host == "a")
        moved = robots_for("http://a", "http://b/robots.txt")
        waits = rules_pending("http://a", stage.clock(), 900.0)
        await stage.settle(lease, MOVED, status=301, discovered=[moved], robots=waits)
        await stage.frontier.release(0)
        stage.clock.advance(1.0)
        # It goes before b's own page, although that came first.
        away = await stage.take_one()
        assert away.target == moved
        await stage.read_robots(away)
        assert await stage.frontier.robots("http://a") == b"rules of http://a"
        stage.clock.advance(1.0)
        assert urls(await stage.take()) == {"a/1", "b/1"}

    async def test_an_errand_does_not_wait_for_the_robots_of_the_host_it_goes_to(self, stage: Stage) -> None:
        await stage.add("b/1", priority=10)
        await stage.settle(await stage.take_one(), READ, robots=rules_pending("http://b", stage.clock(), 900.0))
        stage.clock.advance(1.0)
        assert await stage.take() == []
        assert await stage.frontier.add([robots_for("http://a", "http://b/robots.txt")]) == 0
        away = await stage.take_one()
        assert away.target.origin == "http://a"
        await stage.read_robots(away)
        stage.clock.advance(1.0)
        assert await stage.take() == []

    async def test_an_errand_may_come_again_and_again(self, stage: Stage) -> None:
        for _ in range(2):
            await stage.frontier.add([robots_for("http://a", "http://b/robots.txt")])
            (lease,) = await stage.next_leases()
            await stage.read_robots(lease)
        assert stage.frontier.counts().read == 2
        assert stage.frontier.counts().known == 0

    async def test_a_host_with_very_many_origins_keeps_the_latest(self, stage: Stage) -> None:
        ports = range(8000, 8000 + 2 * MAX_ORIGINS_PER_HOST)
        await stage.add(*(f"http://a:{port}/" for port in ports))
        assert len(await stage.visit_all()) == len(ports)

    # ---- order

    async def test_higher_classes_go_first_then_arrival_decides(self, stage: Stage) -> None:
        await stage.add("a/3", "a/4", priority=3)
        await stage.add("a/1", "a/2", priority=8)
        await stage.add("a/5", priority=1)
        await stage.add("a/0", priority=10)
        assert await stage.visit_all() == [f"a/{number}" for number in range(6)]

    async def test_a_better_target_overtakes_while_the_host_is_at_work(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{number}" for number in range(40)))
        await stage.settle(await stage.take_one(), discovered=[page(f"a/best{n}", priority=9) for n in range(40)])
        order = await stage.visit_all()
        assert order == [f"a/best{n}" for n in range(40)] + [f"a/{number}" for number in range(1, 40)]

    async def test_depth_first_visits_what_was_found_last(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, order="depth")
        await stage.open_hosts("a/1", "a/2")
        await stage.settle(await stage.take_one(), discovered=[page("a/3"), page("a/4")])
        assert await stage.visit_all() == ["a/4", "a/3", "a/1"]

    async def test_a_priority_out_of_range_is_taken_for_the_nearest(self, stage: Stage) -> None:
        await stage.add("a/last", priority=-3)
        await stage.add("a/first", priority=99)
        assert await stage.visit_all() == ["a/first", "a/last"]

    # ---- politeness

    async def test_a_host_rests_ten_times_the_fetch_time(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        await stage.settle(await stage.take_one(), fetch_seconds=2.5)
        stage.clock.advance(24.9)
        assert await stage.take() == []
        stage.clock.advance(0.1)
        assert urls(await stage.take()) == {"a/2"}

    async def test_a_pause_begins_with_the_answer(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2", "a/3")
        await stage.settle(await stage.take_one(), fetch_seconds=2.5, rested_seconds=20.0)
        stage.clock.advance(4.9)
        assert await stage.take() == []
        stage.clock.advance(0.1)
        await stage.settle(await stage.take_one(), fetch_seconds=2.5, rested_seconds=2000.0)
        stage.clock.advance(1.0)  # for its domain
        assert urls(await stage.take()) == {"a/3"}

    async def test_the_crawl_delay_is_kept_in_full(self, stage: Stage) -> None:
        await stage.add("a/1", "a/2")
        await stage.read_robots(await stage.take_one(), delay=3000.0)
        for url in ("a/1", "a/2"):
            stage.clock.advance(2999.0)
            assert await stage.take() == []
            stage.clock.advance(1.0)
            lease = await stage.take_one()
            assert urls([lease]) == {url}
            await stage.settle(lease)

    async def test_the_longest_crawl_delay_of_a_hosts_origins_counts(self, stage: Stage) -> None:
        await stage.open_hosts("http://a/1", delay=50.0)
        await stage.settle(await stage.take_one(), discovered=[page("https://a/1"), page("https://a/2")])
        (lease,) = await stage.next_leases()
        await stage.read_robots(lease, delay=0.0)
        stage.clock.advance(49.0)
        assert await stage.take() == []

    async def test_a_crawl_delay_holds_while_robots_cannot_be_read_again(self, stage: Stage) -> None:
        await stage.add("a/1", "b/1")
        for lease in await stage.take():
            await stage.read_robots(lease, delay=50.0, lasts=60.0)
        stage.clock.advance(60.0)
        for lease in await stage.take():
            news = rules_pending(lease.target.origin, stage.clock(), 10.0)
            await stage.settle(lease, READ, robots=news)
        stage.clock.advance(49.0)
        assert await stage.take() == []

    async def test_retry_after_makes_the_host_wait(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        await stage.settle(await stage.take_one(), FAILED, status=429, retry_after_seconds=5000.0)
        stage.clock.advance(4999.0)
        assert await stage.take() == []
        stage.clock.advance(1.0)
        assert urls(await stage.take()) == {"a/2"}

    async def test_failures_double_the_pause_and_the_fifth_opens_the_circuit(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{number}" for number in range(9)))
        for pause in (2.0, 4.0, 8.0, 16.0, 1800.0, 1800.0):
            lease = await stage.take_one()
            await stage.settle(lease, FAILED, status=503)
            stage.clock.advance(pause - 0.1)
            assert await stage.take() == []
            stage.clock.advance(0.1)
        await stage.settle(await stage.take_one())
        stage.clock.advance(1.0)
        assert len(await stage.take()) == 1

    async def test_a_page_that_fails_alone_does_not_slow_its_host(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2", "a/3")
        for _ in range(2):
            await stage.settle(await stage.take_one(), FAILED, status=404)
            stage.clock.advance(1.0)
        assert len(await stage.take()) == 1

    async def test_a_refusal_that_sent_nothing_costs_no_pause(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2", "a/3")
        for _ in range(2):
            await stage.settle(await stage.take_one(), REFUSED, sent=False)
        assert urls(await stage.take()) == {"a/3"}

    async def test_a_failure_before_sending_is_trouble_all_the_same(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        await stage.settle(await stage.take_one(), FAILED, sent=False)
        stage.clock.advance(1.9)
        assert await stage.take() == []

    async def test_no_delay_means_no_wait(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, pace=Pace(min_delay_seconds=0.0, delay_factor=0.0))
        await stage.add("a/1", "a/2")
        before = clock()
        assert await stage.visit_all() == ["a/1", "a/2"]
        assert clock() == before

    # ---- retries

    async def test_a_retry_comes_after_its_pause_with_its_attempt(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, retry_pauses=(300.0, 3600.0))
        await stage.open_hosts("a/1")
        for attempt, pause in ((0, 300.0), (1, 3600.0)):
            lease = await stage.take_one()
            assert lease.target.attempt == attempt
            await stage.settle(lease, FAILED, status=500, may_retry=True)
            counts = stage.frontier.counts()
            assert (counts.delayed, counts.queued, counts.failed) == (1, 0, 0)
            assert not await stage.frontier.is_finished()
            clock.advance(pause - 1.0)
            assert await stage.take() == []
            clock.advance(1.0)
        await stage.settle(await stage.take_one(), FAILED, status=500, may_retry=True)
        assert await stage.frontier.is_finished()
        assert stage.frontier.counts().failed == 1

    async def test_a_retry_waits_for_its_host(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        await stage.settle(await stage.take_one(), FAILED, status=429, retry_after_seconds=7000.0, may_retry=True)
        stage.clock.advance(6999.0)
        assert await stage.take() == []
        stage.clock.advance(1.1)
        assert urls(await stage.take()) == {"a/1"}

    # ---- the page limit and the end

    async def test_exactly_max_pages(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_pages=7)
        await stage.add(*(f"h{number % 10}/{number}" for number in range(60)))
        outcomes = [STORED, FAILED, DUPLICATE, REFUSED, MOVED, CRASHED, OutcomeKind.UNCHANGED]
        turn = 0
        while not await stage.frontier.is_finished():
            leases = await stage.next_leases()
            assert leases
            for lease in leases:
                if lease.target.kind is Kind.ROBOTS:
                    await stage.read_robots(lease)
                else:
                    turn += 1
                    await stage.settle(lease, outcomes[turn % len(outcomes)], status=200)
                assert stage.frontier.counts().pages <= 7
        assert stage.frontier.counts().pages == 7
        assert await stage.next_leases() == []

    async def test_leases_count_towards_the_page_limit(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_pages=2)
        await stage.open_hosts("a/1", "b/1", "c/1")
        first, second = await stage.take()
        assert await stage.take() == []
        assert stage.frontier.next_at(0) == first.expires_at
        await stage.settle(first, FAILED, status=404)
        (third,) = await stage.take()
        await stage.settle(second)
        assert not await stage.frontier.is_finished()
        await stage.settle(third)
        assert await stage.frontier.is_finished()

    async def test_finished_means_nothing_queued_leased_or_delayed(self, stage: Stage) -> None:
        assert await stage.frontier.is_finished()
        await stage.add("a/1")
        assert not await stage.frontier.is_finished()
        await stage.read_robots(await stage.take_one())
        assert not await stage.frontier.is_finished()
        stage.clock.advance(1.0)
        lease = await stage.take_one()
        assert not await stage.frontier.is_finished()
        await stage.settle(lease, FAILED, status=500, may_retry=True)
        assert not await stage.frontier.is_finished()
        (lease,) = await stage.next_leases()
        await stage.settle(lease)
        assert await stage.frontier.is_finished()

    async def test_the_counts_add_up(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"h{number % 5}/{number}" for number in range(50)))
        for turn, outcome in enumerate([STORED, FAILED, REFUSED, MOVED, CRASHED, DUPLICATE] * 2):
            for lease in await stage.next_leases():
                await stage.settle(lease, outcome, status=500, may_retry=turn % 3 == 1, body_bytes=10)
            counts = stage.frontier.counts()
            settled = counts.pages + counts.moved + counts.refused + counts.failed + counts.crashed
            assert counts.known == counts.queued + counts.delayed + settled == 50
        assert stage.frontier.counts().hosts == 5
        assert stage.frontier.counts().read == 5
        assert stage.frontier.counts().fetched_bytes > 0

    # ---- when

    async def test_next_at_is_when_something_is_given(self, stage: Stage) -> None:
        assert stage.frontier.next_at(0) is None
        await stage.add("a/1", "a/2")
        assert (moment := stage.frontier.next_at(0)) is not None
        assert moment <= stage.clock()
        await stage.read_robots(await stage.take_one())
        assert stage.frontier.next_at(0) == stage.clock() + 1.0
        stage.clock.advance(1.0)
        lease = await stage.take_one()
        assert stage.frontier.next_at(0) == lease.expires_at
        await stage.settle(lease, FAILED, status=503, retry_after_seconds=500.0)
        assert stage.frontier.next_at(0) == about(stage.clock() + 500.0)

    async def test_idle_until_tells_back_off_from_work(self, stage: Stage) -> None:
        assert stage.frontier.idle_until() is None
        await stage.open_hosts("a/1", "b/1", delay=200.0)
        assert stage.frontier.idle_until() is None
        leases = {lease.target.host: lease for lease in await stage.next_leases()}
        assert stage.frontier.idle_until() is None
        await stage.settle(leases["b"])
        await stage.settle(leases["a"], FAILED, status=503, may_retry=True)
        assert stage.frontier.idle_until() == about(stage.clock() + 400.0)
        await stage.add("c/1")
        assert stage.frontier.idle_until() is None

    async def test_a_long_crawl_delay_is_work_and_not_idleness(self, stage: Stage) -> None:
        await stage.add("a/1", "a/2")
        await stage.read_robots(await stage.take_one(), delay=5000.0)
        assert await stage.take() == []
        assert stage.frontier.idle_until() is None

    async def test_unreadable_robots_is_idleness(self, stage: Stage) -> None:
        await stage.add("a/1")
        await stage.settle(await stage.take_one(), READ, robots=rules_pending("http://a", stage.clock(), 600.0))
        stage.clock.advance(1.0)
        assert await stage.take() == []
        assert stage.frontier.idle_until() == about(stage.clock() + 599.0)

    # ---- duplicates

    async def test_the_second_claimant_waits_and_learns_the_original(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1")
        first, second = await stage.take()
        assert await stage.frontier.original_of(b"digest", first.target.url, first.token) == ""
        assert await stage.frontier.original_of(b"digest", first.target.url, first.token) == ""
        asked = asyncio.create_task(stage.frontier.original_of(b"digest", second.target.url, second.token))
        await asyncio.sleep(0)
        assert not asked.done()
        await stage.settle(first, digest=b"digest")
        assert await asked == first.target.url
        assert await stage.frontier.original_of(b"digest", first.target.url, 0) == ""

    @pytest.mark.parametrize("end", ["failed", "released", "expired"])
    async def test_a_claim_ends_with_its_lease(self, stage: Stage, end: str) -> None:
        await stage.open_hosts("a/1", "b/1")
        (first,) = await stage.take(limit=1)
        await stage.frontier.original_of(b"digest", first.target.url, first.token)
        await stage.frontier.original_of(b"other", first.target.url, first.token)
        stage.clock.now = first.expires_at - 1.0
        (second,) = await stage.take()
        asked = [
            asyncio.create_task(stage.frontier.original_of(digest, second.target.url, second.token))
            for digest in (b"digest", b"other")
        ]
        await asyncio.sleep(0)
        match end:
            case "failed":
                await stage.settle(first, FAILED, status=500)
            case "released":
                await stage.frontier.release(0)
            case "expired":
                stage.clock.now = first.expires_at
                await stage.take()
        assert await asyncio.gather(*asked) == ["", ""]

    async def test_whoever_overslept_holds_no_claim(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        overslept = await stage.take_one()
        await stage.frontier.release(0)
        assert await stage.frontier.original_of(b"digest", overslept.target.url, overslept.token) == ""
        (lease,) = await stage.next_leases()
        asked = stage.frontier.original_of(b"digest", "http://elsewhere/", lease.token)
        assert await asyncio.wait_for(asked, 5) == ""

    async def test_only_what_was_stored_is_an_original(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1")
        first, second = await stage.take()
        await stage.settle(first, FAILED, status=404, digest=b"digest")
        assert await stage.frontier.original_of(b"digest", second.target.url, second.token) == ""

    async def test_texts_that_are_nearly_the_same_are_one_group(self, stage: Stage) -> None:
        words = [f"word{number}" for number in range(400)]
        text, edited, other = " ".join(words), " ".join([*words[:395], "and", "more"]), " ".join(reversed(words))
        first = await stage.frontier.group_of(signature_of(text).to_bytes())
        second = await stage.frontier.group_of(signature_of(edited).to_bytes())
        third = await stage.frontier.group_of(signature_of(other).to_bytes())
        assert first.is_first
        assert (second.group, second.is_first) == (first.group, False)
        assert third.is_first
        assert third.group != first.group

    async def test_the_history_names_the_group(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        lease = await stage.take_one()
        await stage.settle(lease, group=b"12345678")
        past = await stage.frontier.history(lease.target.fingerprint)
        assert past is not None
        assert past.group == b"12345678"

    # ---- history and revisits

    async def test_the_history_of_a_visit_can_be_read(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", depth=3, referrer="http://seed/")
        mark = page("a/1").fingerprint
        assert await stage.frontier.history(mark) is None
        await stage.settle(await stage.take_one(), FAILED, status=503, reason=Reason("status", "503"), may_retry=True)
        past = await stage.frontier.history(mark)
        assert past is not None
        assert (past.url, past.outcome, past.status) == ("http://a/1", FAILED, 503)
        assert (past.reason, past.detail) == ("status", "503")
        assert (past.visits, past.depth, past.referrer, past.visited_at) == (1, 3, "http://seed/", stage.clock())
        assert past.next_at == stage.clock() + 300.0
        (lease,) = await stage.next_leases()
        await stage.settle(lease, status=200, etag="e")
        past = await stage.frontier.history(mark)
        assert past is not None
        assert (past.outcome, past.visits, past.next_at, past.etag) == (STORED, 2, 0.0, "e")

    async def test_readmitted_pages_are_visited_once_more_with_validators(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1", "c/1")
        outcomes = {"a": STORED, "b": OutcomeKind.MOVED, "c": DUPLICATE}
        for lease in await stage.take():
            await stage.settle(lease, outcomes[lease.target.host], status=404, etag="tag", digest=b"digest")
        assert await stage.frontier.is_finished()
        assert await stage.frontier.readmit() == 2
        assert await stage.frontier.readmit() == 0
        assert not await stage.frontier.is_finished()
        stage.clock.advance(1.0)
        leases = await stage.take()
        assert urls(leases) == {"a/1", "c/1"}
        for lease in leases:
            assert lease.validators is not None
            assert (lease.validators.etag, lease.validators.digest) == ("tag", b"digest")
            await stage.settle(lease, OutcomeKind.UNCHANGED, status=304)
        past = await stage.frontier.history(page("a/1").fingerprint)
        assert past is not None
        assert past.visits == 2
        assert await stage.frontier.is_finished()
        assert await stage.frontier.readmit() == 2

    async def test_what_failed_is_asked_again_in_a_revisit(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1", "c/1")
        outcomes = {"a": FAILED, "b": OutcomeKind.CRASHED, "c": OutcomeKind.REFUSED}
        for lease in await stage.take():
            await stage.settle(lease, outcomes[lease.target.host], status=404)
        assert await stage.frontier.is_finished()
        assert await stage.frontier.readmit() == 2
        assert sorted(await stage.visit_all()) == ["a/1", "b/1"]
        past = await stage.frontier.history(page("a/1").fingerprint)
        assert past is not None
        assert (past.outcome, past.visits) == (STORED, 2)

    # ---- queues with a limit

    async def test_what_a_full_queue_has_no_room_for_is_dropped_and_counted(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_queued_per_host=3)
        assert await stage.add(*(f"a/{number}" for number in range(5)), "b/1") == 4
        counts = stage.frontier.counts()
        assert (counts.known, counts.queued, counts.dropped) == (4, 4, 2)
        assert sorted(await stage.visit_all()) == ["a/0", "a/1", "a/2", "b/1"]
        assert await stage.frontier.is_finished()

    async def test_what_is_more_important_takes_the_place_of_what_is_less(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_queued_per_host=4)
        await stage.add(*(f"a/low{number}" for number in range(3)), priority=2)
        await stage.add("a/middle", priority=5)
        assert await stage.add("a/high1", "a/high2", "a/high3", priority=9) == 3
        assert await stage.add("a/late", "a/later", "a/last", priority=5) == 0
        counts = stage.frontier.counts()
        assert (counts.known, counts.queued, counts.dropped) == (4, 4, 6)
        assert await stage.visit_all() == ["a/high1", "a/high2", "a/high3", "a/middle"]

    async def test_what_was_dropped_may_be_found_again(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_queued_per_host=2)
        low = [page(f"a/{number}", priority=1) for number in range(40)]
        assert await stage.frontier.add(low) == 2
        for number in range(2):
            assert await stage.add(f"a/high{number}", priority=9) == 1
        assert await stage.visit_all() == ["a/high0", "a/high1"]
        again = []
        for target in low:
            again += [target.url] * await stage.frontier.add([target])
            await stage.visit_all()
        # A filter cannot forget the two that stood in the queue before they were dropped.
        assert len(again) == (40 if self.can_forget else 38)
        assert stage.frontier.counts().known == 2 + len(again)

    @pytest.mark.parametrize("order", ["breadth", "depth"])
    async def test_what_is_under_way_is_not_dropped(
        self, open_frontier: OpenFrontier, clock: FakeClock, order: str
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_queued_per_host=2, order=order)
        await stage.open_hosts("a/1", priority=1)
        lease = await stage.take_one()
        await stage.add("a/2", priority=1)
        assert await stage.add("a/3", priority=9) == 1
        assert await stage.settle(lease, status=200) == []
        assert stage.frontier.counts().queued == 1
        assert await stage.visit_all() == ["a/3"]

    @pytest.mark.parametrize("order", ["breadth", "depth"])
    async def test_what_is_settled_together_does_not_take_the_place_of_each_other(
        self, open_frontier: OpenFrontier, clock: FakeClock, order: str
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_queued_per_host=2, order=order)
        await stage.open_hosts("a/1", "b/1", priority=1)
        first, second = sorted(await stage.take(), key=lambda lease: lease.target.host)
        await stage.add("a/2", priority=5)
        found = [page("a/3", priority=9), page("a/4", priority=8)]
        ends = [Settlement(second.token, STORED, discovered=found), Settlement(first.token, STORED)]
        assert await stage.frontier.settle(ends) == []
        counts = stage.frontier.counts()
        assert (counts.queued, counts.stored, counts.known) == (2, 2, 4)
        assert await stage.visit_all() == ["a/3", "a/4"]
        assert await stage.frontier.is_finished()

    @pytest.mark.parametrize("order", ["breadth", "depth"])
    async def test_a_host_that_begins_to_rest_makes_room_by_what_has_just_joined_its_queue(
        self, open_frontier: OpenFrontier, clock: FakeClock, order: str
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_queued_per_host=2, order=order)
        await stage.open_hosts("a/1", "b/1")
        first, second = sorted(await stage.take(), key=lambda lease: lease.target.host)
        await stage.add("a/old", priority=1)
        trouble: dict[str, Any] = {"status": 503, "retry_after_seconds": 1000.0}
        ends = [
            Settlement(first.token, FAILED, discovered=[page("a/new", priority=1)], **trouble),
            Settlement(second.token, STORED, discovered=[page("a/best", priority=9)]),
        ]
        assert await stage.frontier.settle(ends) == []
        counts = stage.frontier.counts()
        assert (counts.queued, counts.known, counts.dropped) == (2, 4, 1)
        assert await stage.visit_all() == ["a/best", "a/old" if order == "breadth" else "a/new"]

    async def test_what_was_visited_before_is_not_dropped(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_queued_per_host=2)
        await stage.open_hosts("a/1", "a/2")
        await stage.visit_all()
        assert await stage.frontier.readmit() == 2
        assert await stage.add("a/3", priority=10) == 0
        assert sorted(await stage.visit_all()) == ["a/1", "a/2"]
        assert stage.frontier.counts().known == 2

    async def test_robots_and_other_errands_are_always_taken(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_queued_per_host=1)
        await stage.open_hosts("a/1")
        await stage.frontier.add([robots_for("http://b", "http://a/robots.txt")])
        assert stage.frontier.counts().queued == 2
        assert urls([await stage.take_one()]) == {"a/robots.txt"}

    # ---- workers

    async def test_hosts_are_given_to_their_owner_only(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, workers=3)
        names = [f"host{number}" for number in range(60)]
        await stage.add(*(f"{name}/" for name in names))
        given = {worker: {lease.target.host for lease in await stage.take(worker)} for worker in range(3)}
        ring = Ring(range(3))
        assert given == {worker: {name for name in names if ring.owner(name) == worker} for worker in range(3)}
        assert all(given.values())

    async def test_a_balanced_domain_is_spread_evenly_over_the_workers(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, workers=3, assignment="balanced")
        hosts = ["www.a.test", "m.a.test", "b.test"]
        await stage.add(*(f"{host}/{number}" for host in hosts for number in range(20)))
        asked = Counter[tuple[str, int]]()
        while not await stage.frontier.is_finished():
            for worker in range(3):
                for lease in await stage.take(worker):
                    asked[lease.target.host.removeprefix("www.").removeprefix("m."), worker] += 1
                    await stage.visit(lease)
            clock.advance(1.0)
        assert {asked["a.test", worker] for worker in range(3)} == {14}, "two of robots.txt, 40 of pages"
        assert {asked["b.test", worker] for worker in range(3)} == {7}
        assert stage.frontier.counts().stored == 60

    async def test_what_was_not_asked_stays_with_the_worker_that_was_chosen(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, workers=2, assignment="balanced")
        await stage.add("a.test/1")
        for _ in range(3):
            given = {worker: await stage.take(worker) for worker in range(2)}
            ((chosen, (lease,)),) = [(worker, leases) for worker, leases in given.items() if leases]
            await stage.frontier.give_back([lease.token])
            (again,) = await stage.take(chosen)
            await stage.frontier.give_back([again.token])
        await stage.visit((await stage.take(chosen))[0])
        clock.advance(1.0)
        assert urls(await stage.take(1 - chosen)) == {"a.test/1"}

    async def test_a_busy_balanced_worker_begins_with_the_domain_it_has_had_least(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, assignment="balanced")
        await stage.add(*(f"often.test/{number}" for number in range(60)))
        for _ in range(50):
            for lease in await stage.take():
                await stage.visit(lease)
            clock.advance(1.0)
        clock.advance(0.1)
        await stage.add("new.test/")
        assert urls(await stage.take(limit=1)) == {"new.test/robots.txt"}
        clock.advance(600.0)
        assert len(await stage.take()) == 1

    async def test_a_lease_given_back_leaves_no_trace(self, stage: Stage) -> None:
        await stage.open_hosts("x/1", "x/2")
        lease = await stage.take_one()
        await stage.frontier.give_back([lease.token])
        counts = stage.frontier.counts()
        assert (counts.leased, counts.queued) == (0, 2)
        again = await stage.take_one()
        assert again.target == lease.target
        assert again.token != lease.token
        assert await stage.settle(lease) == [lease.token]
        await stage.frontier.give_back([lease.token])
        assert await stage.settle(again) == []

    async def test_release_touches_one_worker_only(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, workers=2)
        await stage.add(*(f"host{number}/" for number in range(20)))
        first, second = await stage.take(0), await stage.take(1)
        assert await stage.frontier.release(0) == len(first)
        assert stage.frontier.counts().leased == len(second)

    # ---- many hosts

    async def test_no_host_starves_when_there_are_more_than_places(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_active_hosts=4)
        wanted = [f"h{host}/{number}" for host in range(25) for number in range(4)]
        await stage.add(*wanted)
        assert sorted(await stage.visit_all()) == sorted(wanted)

    async def test_a_never_ending_host_makes_room(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_active_hosts=2)
        await stage.open_hosts("endless1/0", "endless2/0")
        await stage.add(*(f"h{host}/" for host in range(6)))
        visited: Counter[str] = Counter()
        for number in range(1, 1000):
            for lease in await stage.next_leases():
                visited[lease.target.host] += 1
                if lease.target.kind is Kind.ROBOTS:
                    await stage.read_robots(lease)
                else:
                    found = [page(f"{lease.target.host}/{number}")] if "endless" in lease.target.host else []
                    await stage.settle(lease, status=200, discovered=found)
            if len(visited) == 8 and all(visited[f"h{host}"] == 2 for host in range(6)):
                return
        raise AssertionError(f"some hosts never had their turn: {visited}")

    async def test_parked_hosts_do_not_take_places(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_active_hosts=2)
        await stage.add("slow1/1", "slow2/1")
        for lease in await stage.take():
            await stage.read_robots(lease, delay=DAY)
        await stage.add("a/1", "b/1")
        assert urls(await stage.take()) == {"a/robots.txt", "b/robots.txt"}

    async def test_good_news_end_a_wait_for_robots_but_not_a_back_off(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2", "b/1")
        leases = {lease.target.host: lease for lease in await stage.take()}
        await stage.settle(leases["a"], FAILED, status=503, retry_after_seconds=1000.0)
        await stage.settle(leases["b"], robots=rules_read("http://a", stage.clock()))
        stage.clock.advance(999.0)
        assert await stage.take() == []
        stage.clock.advance(1.1)
        assert urls(await stage.take()) == {"a/2"}
