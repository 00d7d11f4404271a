"""In the order topic targets wait in the classes that links promise, move up, and are visited once all the same."""

from __future__ import annotations

from collections import Counter

import pytest

from lycosa.frontier.rules import FrontierRules
from lycosa.model import WAITS, OutcomeKind

from .stage import FakeClock, OpenFrontier, Stage, page

WEAK, STRONG, STRONGEST = (
    {"priority": 3, "promise": 60},
    {"priority": 7, "promise": 400},
    {"priority": 9, "promise": 900},
)
NOTHING = {"priority": 1, "promise": 1, "deferred": WAITS}


class TopicContract:
    """Inherit, and give the fixtures of `FrontierContract`."""

    @pytest.fixture
    async def topic(self, open_frontier: OpenFrontier, clock: FakeClock) -> Stage:
        return self.topic_with(open_frontier, clock)

    def topic_with(self, open_frontier: OpenFrontier, clock: FakeClock, **rules: object) -> Stage:
        rules = {"order": "topic", "durability": "process", "seen_capacity": 10_000} | rules
        return Stage(open_frontier(FrontierRules(**rules), clock), clock)  # type: ignore[arg-type]

    async def waiting(self, stage: Stage, count: int) -> None:
        """So many pages of `a` wait without much promise; then another page names the last of them with more."""
        await stage.open_hosts("a/hub", "b/hub")
        hub, other = sorted(await stage.take(), key=lambda lease: lease.target.url)
        await stage.settle(hub, discovered=[page(f"a/{n}", **WEAK) for n in range(count)])
        await stage.settle(other, discovered=[page(f"a/{count - 1}", **STRONGEST)])
        stage.clock.advance(10)

    async def test_what_a_better_link_names_moves_up_and_is_visited_once(self, topic: Stage) -> None:
        await self.waiting(topic, 20)
        visited = await topic.visit_all()
        assert visited[0] == "a/19"
        assert Counter(visited) == {f"a/{n}": 1 for n in range(20)}
        counts = topic.frontier.counts()
        assert (counts.queued, counts.moved_up, counts.passed_over, counts.known) == (0, 1, 1, 22)
        assert await topic.frontier.is_finished()

    async def test_what_is_named_again_in_no_higher_class_stays(self, topic: Stage) -> None:
        await topic.open_hosts("a/hub")
        hub = await topic.take_one()
        await topic.settle(hub, discovered=[page("a/1", **STRONGEST), page("a/2", **STRONG)])
        topic.clock.advance(10)
        await topic.settle(await topic.take_one(), discovered=[page("a/2", **STRONG), page("a/2", **WEAK)])
        assert topic.frontier.counts().moved_up == 0

    async def test_a_visited_page_is_not_lifted(self, topic: Stage) -> None:
        await self.waiting(topic, 5)
        lease = await topic.take_one()
        assert lease.target.url == "http://a/4"
        await topic.settle(lease, discovered=[page("a/4", **STRONGEST), page("a/hub", **STRONGEST)])
        assert topic.frontier.counts().moved_up == 1
        assert Counter(await topic.visit_all()) == {f"a/{n}": 1 for n in range(4)}

    async def test_what_promises_nothing_waits_until_nothing_else_is_left(self, topic: Stage) -> None:
        await topic.open_hosts("a/hub", "b/hub")
        hub, other = sorted(await topic.take(), key=lambda lease: lease.target.url)
        await topic.settle(hub, discovered=[page("a/off", **NOTHING), page("c/off", **NOTHING)])
        await topic.settle(other, discovered=[page(f"b/{n}", **STRONG) for n in range(5)])
        visited = await topic.visit_all()
        assert sorted(visited[:5]) == [f"b/{n}" for n in range(5)]
        assert sorted(visited[5:]) == ["a/off", "c/off"]

    async def test_what_promises_nothing_is_lifted_by_a_better_link(self, topic: Stage) -> None:
        await topic.open_hosts("a/hub", "b/hub")
        hub, other = sorted(await topic.take(), key=lambda lease: lease.target.url)
        await topic.settle(hub, discovered=[page(f"a/{n}", **NOTHING) for n in range(5)])
        await topic.settle(other, discovered=[page("a/3", **STRONG), page("b/1", **WEAK)])
        visited = await topic.visit_all()
        assert visited[:2] == ["a/3", "b/1"]
        assert Counter(visited) == Counter([*(f"a/{n}" for n in range(5)), "b/1"])

    async def test_hosts_with_little_promise_wait_for_those_with_more(self, topic: Stage) -> None:
        await topic.open_hosts("a/hub", "b/hub")
        hub, other = sorted(await topic.take(), key=lambda lease: lease.target.url)
        await topic.settle(hub, discovered=[page(f"a/{n}", **WEAK) for n in range(3)])
        await topic.settle(other, discovered=[page(f"b/{n}", **STRONG) for n in range(6)])
        visited = await topic.visit_all()
        assert visited == [*(f"b/{n}" for n in range(6)), *(f"a/{n}" for n in range(3))]

    async def test_pages_on_topic_are_counted(self, topic: Stage) -> None:
        await topic.open_hosts("a/1", "b/1")
        one, other = await topic.take()
        await topic.settle(one, on_topic=True)
        await topic.settle(other)
        counts = topic.frontier.counts()
        assert (counts.on_topic, counts.harvest) == (1, 0.5)

    async def test_the_page_limit_is_exact_in_this_order(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        topic = self.topic_with(open_frontier, clock, max_pages=10)
        await self.waiting(topic, 20)
        await topic.visit_all()
        assert topic.frontier.counts().pages == 10

    async def test_full_queues_take_no_copies_in_this_order(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        topic = self.topic_with(open_frontier, clock, max_queued_per_host=10)
        await self.waiting(topic, 10)
        visited = [url for url in await topic.visit_all() if url.startswith("a/")]
        assert sorted(visited) == sorted({*visited})
        assert topic.frontier.counts().queued == 0

    async def test_after_a_restart_what_waits_still_moves_up_and_nothing_is_visited_twice(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        topic = self.topic_with(open_frontier, clock)
        await self.waiting(topic, 20)
        await topic.frontier.close()
        later = self.topic_with(open_frontier, clock)
        if not later.frontier.counts().known:
            return  # in memory nothing is left
        clock.advance(1000)
        first = await later.take_one()
        assert first.target.url == "http://a/19"
        assert first.target.promise == 900
        named = [page("a/12", **STRONGEST), page("a/hub", **STRONGEST), page("a/13", **WEAK)]
        await later.settle(first, discovered=named)
        clock.advance(10)
        visited = await later.visit_all()
        assert visited[0] == "a/12"
        assert Counter(visited) == {f"a/{n}": 1 for n in range(19)}

    async def test_a_host_in_trouble_keeps_no_other_waiting(self, topic: Stage) -> None:
        await topic.open_hosts("a/hub", "b/hub")
        hub, other = sorted(await topic.take(), key=lambda lease: lease.target.url)
        await topic.settle(hub, discovered=[page(f"a/{n}", **WEAK) for n in range(3)])
        await topic.settle(other, discovered=[page(f"b/{n}", **STRONG) for n in range(3)])
        topic.clock.advance(10)
        failing = await topic.take_one()
        assert failing.target.host == "b"
        await topic.settle(failing, OutcomeKind.FAILED, status=503, retry_after_seconds=60.0)
        topic.clock.advance(10)
        assert [lease.target.host for lease in await topic.take()] == ["a"]
