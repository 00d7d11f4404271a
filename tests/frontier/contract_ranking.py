"""In the order best targets wait by importance, move up as it grows, and are visited once all the same."""

from __future__ import annotations

from collections import Counter

import pytest

from lycosa.frontier.rules import FrontierRules
from lycosa.model import WAITS, Kind, Lease, OutcomeKind
from lycosa.policy.priority import sitemap_class

from .contract_runs import NO_PAUSE
from .stage import FakeClock, OpenFrontier, Stage, page


class RankingContract:
    """Inherit, and give the fixtures of `FrontierContract`."""

    @pytest.fixture
    async def best(self, open_frontier: OpenFrontier, clock: FakeClock) -> Stage:
        return self.best_with(open_frontier, clock)

    def best_with(self, open_frontier: OpenFrontier, clock: FakeClock, **rules: object) -> Stage:
        rules = {"order": "best", "durability": "process", "seen_capacity": 10_000} | rules
        return Stage(open_frontier(FrontierRules(**rules), clock), clock)  # type: ignore[arg-type]

    async def hub_of(self, stage: Stage, count: int, **known: object) -> list[Lease]:
        """Visit `a/hub`, which leads to so many pages of its host; they wait. Leases of five other hosts, still out."""
        await stage.open_hosts("a/hub", *(f"s{number}/" for number in range(5)))
        hub, *others = sorted(await stage.take(), key=lambda lease: lease.target.url)
        await stage.settle(hub, discovered=[page(f"a/{n}", **known) for n in range(count)])
        return others

    async def recommend(self, stage: Stage, sources: list[Lease], url: str, **known: object) -> None:
        """These visits end, and each has found a link to the page."""
        for lease in sources:
            await stage.settle(lease, discovered=[page(url, **known)])
        stage.clock.advance(10)

    async def waiting_with_a_copy(self, stage: Stage, count: int) -> None:
        """So many pages wait, and the last of them twice."""
        await self.recommend(stage, await self.hub_of(stage, count), f"a/{count - 1}")
        assert stage.frontier.counts().moved_up > 0

    async def test_what_others_link_to_moves_up_and_is_visited_once(self, best: Stage) -> None:
        await self.waiting_with_a_copy(best, 40)
        visited = [url for url in await best.visit_all() if url.startswith("a/")]
        assert visited[0] == "a/39"
        assert Counter(visited) == {f"a/{n}": 1 for n in range(40)}
        counts = best.frontier.counts()
        assert (counts.queued, counts.delayed, counts.known) == (0, 0, 46)
        assert counts.moved_up == counts.passed_over > 0
        assert counts.stored == counts.known

    async def test_links_that_come_as_fingerprints_count_once_the_url_comes_again(self, best: Stage) -> None:
        *quiet, last = await self.hub_of(best, 40)
        for lease in quiet:
            await best.settle(lease, others=page("a/39").fingerprint)
        assert best.frontier.counts().moved_up == 0
        await self.recommend(best, [last], "a/39")
        assert (await best.visit_all())[0] == "a/39"

    async def test_a_visited_page_does_not_move(self, best: Stage) -> None:
        first, *others = await self.hub_of(best, 40)
        await self.recommend(best, [first], "a/39")
        (lease,) = await best.take()
        assert lease.target.url == "http://a/39"
        await best.visit(lease)
        before = best.frontier.counts().moved_up
        await self.recommend(best, others, "a/39")
        assert best.frontier.counts().moved_up == before

    async def test_a_retry_keeps_its_pause_though_a_copy_waits(self, best: Stage) -> None:
        await self.waiting_with_a_copy(best, 40)
        lease = next(each for each in await best.next_leases() if each.target.url == "http://a/39")
        await best.settle(lease, OutcomeKind.FAILED, status=503, may_retry=True)
        failed_at, seen = best.clock.now, 0
        while leases := await best.next_leases():
            for lease in leases:
                if lease.target.url == "http://a/39":
                    assert best.clock.now >= failed_at + 300
                    seen += 1
                await best.visit(lease)
        assert seen == 1

    async def test_what_is_leased_from_above_is_not_leased_from_below(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        several = self.best_with(open_frontier, clock, connections_per_host={"a": 4}, pace=NO_PAUSE)
        await self.waiting_with_a_copy(several, 40)
        leases = [lease for _ in range(60) for lease in await several.take()]
        assert len({lease.target.url for lease in leases}) == len(leases) <= 4
        for lease in leases:
            await several.settle(lease, fetch_seconds=0.001)
        visited = [lease.target.url.removeprefix("http://") for lease in leases] + await several.visit_all()
        assert Counter(visited) == {f"a/{n}": 1 for n in range(40)}
        assert await several.frontier.is_finished()

    async def test_a_lease_that_got_lost_is_visited_all_the_same(self, best: Stage) -> None:
        await self.waiting_with_a_copy(best, 40)
        await best.take()
        best.clock.advance(1000)
        assert Counter(await best.visit_all()) == {f"a/{n}": 1 for n in range(40)}

    async def test_what_waits_until_nothing_else_is_left_is_not_lifted(self, best: Stage) -> None:
        await self.recommend(best, await self.hub_of(best, 5, deferred=WAITS), "a/4", deferred=WAITS)
        assert best.frontier.counts().moved_up == 0
        assert await best.visit_all() == [f"a/{n}" for n in range(5)]

    async def test_a_sitemap_sets_the_pages_of_its_host_in_order(self, best: Stage) -> None:
        sitemap = page("a/sitemap.xml", kind=Kind.SITEMAP)
        await best.open_hosts("a/")
        await best.settle(await best.take_one(), discovered=[sitemap])
        best.clock.advance(10)
        listed = [page(f"a/{n}", priority=sitemap_class("best", n / 30)) for n in range(31)]
        await best.settle(await best.take_one(), OutcomeKind.READ, discovered=listed)
        best.clock.advance(10)
        visited = [int(url.removeprefix("a/")) for url in await best.visit_all()]
        assert sum(visited[:10]) > sum(visited[-10:])

    async def test_the_page_limit_is_exact(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        best = self.best_with(open_frontier, clock, max_pages=20)
        await self.waiting_with_a_copy(best, 40)
        await best.visit_all()
        assert best.frontier.counts().pages == 20

    async def test_a_full_queue_takes_no_copies_and_nothing_is_visited_twice(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        best = self.best_with(open_frontier, clock, max_queued_per_host=10)
        await self.recommend(best, await self.hub_of(best, 10), "a/9")
        assert best.frontier.counts().moved_up == 0
        visited = [url for url in await best.visit_all() if url.startswith("a/")]
        assert sorted(visited) == sorted({*visited})
        assert best.frontier.counts().queued == 0

    async def test_without_importance_copies_are_passed_over_all_the_same(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        best = self.best_with(open_frontier, clock)
        await self.waiting_with_a_copy(best, 10)
        await best.frontier.close()
        later = Stage(open_frontier(FrontierRules(order="breadth", durability="process"), clock), clock)
        if not later.frontier.counts().known:
            return  # in memory nothing is left
        clock.advance(1000)
        visited = [url for url in await later.visit_all() if url.startswith("a/")]
        assert Counter(visited) == {f"a/{n}": 1 for n in range(10)}

    async def test_after_a_restart_classes_stand_and_nothing_is_visited_twice(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        best = self.best_with(open_frontier, clock)
        await self.waiting_with_a_copy(best, 40)
        await best.frontier.close()
        later = self.best_with(open_frontier, clock)
        if not later.frontier.counts().known:
            return  # in memory nothing is left
        clock.advance(1000)
        visited = [url for url in await later.visit_all() if url.startswith("a/")]
        assert visited[0] == "a/39"
        assert Counter(visited) == {f"a/{n}": 1 for n in range(40)}
