"""What operators may want of a crawl: carried out once, kept over restarts, and told."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from lycosa.model import Kind, OutcomeKind, Reason, Refusal
from lycosa.orders import AddSeeds, Given, Order, Pardon, PauseCrawl, ResumeCrawl, SetPolicy

from .stage import FakeClock, OpenFrontier, Stage, page

_numbers = count(1)


async def obey(stage: Stage, order: Order, **more: object) -> None:
    given = Given(f"order{next(_numbers):06}", stage.clock(), order, "a test")
    await stage.frontier.obey(given, **more)  # type: ignore[arg-type]
    await settle_mail(stage)


async def settle_mail(stage: Stage) -> None:
    """On many machines orders come by mail."""
    if tick := getattr(stage.frontier, "tick", None):
        await tick()


class OrdersContract:
    """Part of `FrontierContract`."""

    stage_with: Callable[..., Stage]

    async def test_a_paused_crawl_begins_nothing_until_it_is_to_go_on(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "b/1")
        under_way = (await stage.take(limit=1))[0]
        await obey(stage, PauseCrawl("lunch"))
        assert stage.frontier.paused == "lunch"
        stage.clock.advance(10.0)
        assert await stage.take() == []
        assert await stage.settle(under_way) == []
        assert not await stage.frontier.is_finished()
        assert stage.frontier.idle_until() is None
        await obey(stage, ResumeCrawl())
        assert stage.frontier.paused == ""
        assert len(await stage.visit_all()) == 1

    async def test_an_order_that_comes_twice_is_carried_out_once(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        given = Given("twice", stage.clock(), PauseCrawl("again"))
        await stage.frontier.obey(given)
        await settle_mail(stage)
        await obey(stage, ResumeCrawl())
        await stage.frontier.obey(given)
        await settle_mail(stage)
        assert stage.frontier.paused == ""

    async def test_a_blocked_host_is_left_alone_and_keeps_what_is_queued(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2", "b/1")
        await obey(stage, SetPolicy("a", is_blocked=True))
        assert await stage.visit_all() == ["b/1"]
        assert stage.frontier.counts().queued == 2
        assert not await stage.frontier.is_finished()
        await obey(stage, SetPolicy("a", is_blocked=False))
        assert await stage.visit_all() == ["a/1", "a/2"]

    async def test_what_is_added_to_a_blocked_host_waits_with_the_rest(self, stage: Stage) -> None:
        await obey(stage, SetPolicy("a", is_blocked=True))
        await stage.add("a/1", "b/1")
        assert await stage.visit_all() == ["b/1"]
        await obey(stage, SetPolicy("a", is_blocked=False))
        assert await stage.visit_all() == ["a/1"]

    async def test_a_longer_pause_is_kept_and_a_shorter_one_than_politeness_asks_for_is_not(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2", "a/3")
        await obey(stage, SetPolicy("a", delay_seconds=30.0))
        await stage.settle(await stage.take_one(), fetch_seconds=0.1)
        stage.clock.advance(29.0)
        assert await stage.take() == []
        stage.clock.advance(1.0)
        lease = await stage.take_one()
        await obey(stage, SetPolicy("a", delay_seconds=0.001))
        await stage.settle(lease, fetch_seconds=0.1)
        stage.clock.advance(0.9)
        assert await stage.take() == []
        stage.clock.advance(0.2)
        assert len(await stage.take()) == 1

    async def test_pages_per_day_of_a_host_are_its_budget(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/{n}" for n in range(5)))
        await obey(stage, SetPolicy("a", pages_per_day=24.0))
        began_at = stage.clock()
        await stage.visit_all()
        assert stage.clock() - began_at >= 4 * 3600

    async def test_a_host_that_is_favoured_goes_first(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_active_hosts=1)
        if not hasattr(stage.frontier, "readmit_lost") or hasattr(stage.frontier, "tick"):
            return  # each partition has its own places
        await obey(stage, SetPolicy("z", priority=9))
        await stage.add(*(f"h{n}/1" for n in range(20)), "z/1")
        robots = [lease.target.host for _ in range(4) for lease in await stage.take(limit=1)]
        assert robots[0] == "z" or "z" in robots

    async def test_seeds_are_added(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        await stage.visit_all()
        await obey(stage, AddSeeds(["http://b/1", "http://a/1"]), targets=[page("b/1", priority=10), page("a/1")])
        assert await stage.visit_all() == ["b/1"]

    async def test_what_was_refused_as_endless_is_visited_after_a_pardon(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2", "a/3", "b/2")
        refused = {"a/1": Refusal.ENDLESS, "a/2": Refusal.ROBOTS, "b/2": Refusal.ENDLESS}
        while leases := [lease for lease in await stage.next_leases() if lease.target.kind is Kind.PAGE]:
            for lease in leases:
                why = refused.get(lease.target.url.removeprefix("http://"))
                if why:
                    await stage.settle(lease, OutcomeKind.REFUSED, sent=False, reason=Reason(why))
                else:
                    await stage.settle(lease, status=200)
        await obey(stage, Pardon("a"))
        assert await stage.visit_all() == ["a/1"]
