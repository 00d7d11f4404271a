"""What a crawl that goes on without an end promises: pages are visited again as they change, within the budget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

from msgspec.structs import replace

from lycosa.frontier.rules import FrontierRules
from lycosa.model import History, Kind, Lease, Listing, OutcomeKind
from lycosa.policy.politeness import Pace

from .stage import DAY, FakeClock, OpenFrontier, Stage, page

# Without pauses, so that the budget alone decides.
QUICK = Pace(min_delay_seconds=0, delay_factor=0)


class ChangingWeb:
    """Pages that change at moments drawn by their rates, visited by a stage."""

    def __init__(self, stage: Stage, rates: dict[str, float], seed: int = 1) -> None:
        self.stage = stage
        self.visits = Counter[str]()
        self.visited_at: dict[str, float] = {}
        self._random = Random(seed)
        self.rates = rates
        self._next_change = {url: self._after(url, stage.clock()) for url in rates}

    def _after(self, url: str, at: float) -> float:
        rate = self.rates[url]
        return at + self._random.expovariate(rate) if rate else float("inf")

    async def visit(self, lease: Lease) -> None:
        if lease.target.kind is Kind.ROBOTS:
            await self.stage.read_robots(lease, lasts=10_000 * DAY)
            return
        url, now = lease.target.url.removeprefix("http://"), self.stage.clock()
        is_first, changed = url not in self.visited_at, False
        if self._next_change[url] <= now:
            # However often since: what comes next does not depend on that.
            changed, self._next_change[url] = True, self._after(url, now)
        self.visits[url] += 1
        self.visited_at[url] = now
        if is_first or changed:
            await self.stage.settle(lease, status=200, digest=b"d", etag="e", changed=0.0 if is_first else 0.5)
        else:
            await self.stage.settle(lease, OutcomeKind.UNCHANGED, status=304, digest=b"d", etag="e")

    def fresh_share(self) -> float:
        """The share of pages that have not changed since they were visited."""
        now = self.stage.clock()
        return sum(url in self.visited_at and self._next_change[url] > now for url in self.rates) / len(self.rates)

    async def go_on(self, seconds: float) -> None:
        """Visit whatever is given out for so long."""
        clock, frontier = self.stage.clock, self.stage.frontier
        until = clock.now + seconds
        for step in range(1_000_000):
            for lease in await self.stage.take():
                await self.visit(lease)
            if step % 16 == 0 and hasattr(frontier, "tick"):
                await frontier.tick()
            moment = frontier.next_at(0)
            if moment is None or moment >= until:
                break
            clock.now = max(clock.now, moment)
        else:
            raise AssertionError("the frontier promises something again and again, and never gives it")
        clock.now = until


class ListedWeb(ChangingWeb):
    """Pages that never change, and a sitemap of them: from its third reading on it says that the first one did."""

    def __init__(self, stage: Stage, urls: list[str]) -> None:
        super().__init__(stage, dict.fromkeys(urls, 0.0))
        self.read = 0
        self._begin = stage.clock()

    async def visit(self, lease: Lease) -> None:
        if lease.target.kind is not Kind.SITEMAP:
            await super().visit(lease)
            return
        self.read += 1
        now = self.stage.clock()
        moments = [now if url.endswith("/0") and self.read > 2 else self._begin for url in self.rates]
        found = [page(url, listing=Listing(int(at))) for url, at in zip(self.rates, moments, strict=True)]
        how = {"status": 200, "digest": b"%d" % self.read, "listed": len(found), "discovered": found}
        await self.stage.settle(lease, OutcomeKind.READ, **how)


class RevisitsContract:
    """Part of `FrontierContract`."""

    stage_with: Callable[..., Stage]

    def continuous(self, open_frontier: OpenFrontier, clock: FakeClock, **rules: object) -> Stage:
        rules = {"pace": QUICK, "is_continuous": True, "min_revisit_seconds": 60.0} | rules
        return self.stage_with(open_frontier, clock, **rules)

    async def test_a_crawl_with_an_end_has_nothing_rest(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        assert await stage.visit_all() == ["a/1", "a/2"]
        assert stage.frontier.counts().resting == 0
        assert await stage.frontier.is_finished()

    async def test_a_page_rests_until_it_is_due_and_is_asked_for_changes(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.continuous(open_frontier, clock, pages_per_second=1 / DAY)
        web = ChangingWeb(stage, {"a/1": 0.0})
        await stage.add("a/1")
        await web.go_on(10.0)
        counts = stage.frontier.counts()
        assert (counts.resting, counts.queued, counts.stored) == (1, 0, 1)
        assert not await stage.frontier.is_finished()
        assert stage.frontier.idle_until() is None
        (lease,) = await stage.next_leases()
        assert lease.validators
        assert lease.validators.etag == "e"
        assert lease.target.visits == 1
        assert stage.frontier.counts().resting == 0
        await web.visit(lease)
        past = await stage.frontier.history(page("a/1").fingerprint)
        assert past
        assert (past.visits, past.changes, past.changed_at) == (2, 0, 0)
        assert past.next_at > clock.now
        assert past.interval > 0

    async def test_the_budget_is_used_and_not_exceeded(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.continuous(open_frontier, clock, pages_per_second=100 / DAY)
        random = Random(5)
        web = ChangingWeb(stage, {f"h{n % 7}/{n}": random.choice([0, 0.01, 0.1, 1.0, 10.0]) / DAY for n in range(40)})
        await stage.add(*web.rates)
        await web.go_on(DAY)
        before = web.visits.total()
        # Long enough: each partition may have a visit in hand at either end.
        await web.go_on(2 * DAY)
        assert 196 <= web.visits.total() - before <= 204

    async def test_a_page_that_vanished_is_tried_again_then_gone_then_forgotten(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.continuous(open_frontier, clock, pages_per_second=10 / DAY, forget_seconds=30 * DAY)
        web = ChangingWeb(stage, {"a/1": 0.0})
        await stage.add("a/1")
        await web.go_on(10.0)
        tries = []
        for _ in range(3):
            (lease,) = [lease for lease in await stage.next_leases() if lease.target.kind is Kind.PAGE]
            tries.append(clock.now)
            await stage.settle(lease, OutcomeKind.FAILED, status=404)
        assert tries[1] - tries[0] >= DAY
        assert tries[2] - tries[1] >= 7 * DAY
        assert stage.frontier.counts().known == 1
        await web.go_on(31 * DAY)
        counts = stage.frontier.counts()
        assert (counts.resting, counts.queued) == (0, 0)
        assert await stage.frontier.history(page("a/1").fingerprint) is None
        if self.can_forget:  # type: ignore[attr-defined]
            assert counts.known == 0
            assert await stage.add("a/1") == 1

    async def test_what_was_visited_before_is_taken_in(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.continuous(open_frontier, clock, is_continuous=False)
        await stage.open_hosts("a/1", "a/2", "b/1")
        await stage.visit_all()
        rules = FrontierRules(pace=QUICK, is_continuous=True, durability="process", seen_capacity=10_000)
        if not await self.opened_again(stage, open_frontier, rules):
            return
        assert await stage.frontier.readmit() == 3
        assert await stage.frontier.readmit() == 0
        assert stage.frontier.counts().resting == 3
        clock.advance(30 * DAY)
        web = ChangingWeb(stage, dict.fromkeys(["a/1", "a/2", "b/1"], 0.0))
        await web.go_on(30 * DAY)
        assert all(web.visits.values())
        assert len(web.visits) == 3
        # As in `--revisit --once`: what rests is visited at once, and once.
        assert await self.opened_again(stage, open_frontier, replace(rules, is_continuous=False))
        assert await stage.frontier.readmit() == 3
        assert (stage.frontier.counts().resting, stage.frontier.counts().queued) == (0, 3)
        await web.go_on(1.0)
        assert stage.frontier.counts().resting == 3
        assert await stage.frontier.is_finished()

    async def test_pages_that_are_found_late_have_their_part_of_the_budget_at_once(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.continuous(open_frontier, clock, pages_per_second=1.0)
        web = ChangingWeb(stage, {f"h{host}/{number}": 0.0 for host in range(4) for number in range(5)})
        await stage.add("h0/0")
        for second in range(90):
            if second == 30:
                # Where there was nothing before, on other machines perhaps.
                await stage.add(*web.rates)
            clock.advance(1.0)
            while leases := await stage.take():
                for lease in leases:
                    await web.visit(lease)
            # Only now whoever shares the budget hears of the others.
            if hasattr(stage.frontier, "tick"):
                await stage.frontier.tick()
        assert len(web.visits) == 20

    async def past(self, stage: Stage, url: str) -> History:
        found = await stage.frontier.history(page(url).fingerprint)
        assert found
        return found

    async def test_a_page_that_its_site_says_has_changed_is_visited_sooner(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.continuous(open_frontier, clock, pages_per_second=1 / DAY)
        urls = [f"a/{number}" for number in range(10)]
        web = ChangingWeb(stage, dict.fromkeys(urls, 0.0))
        modified = int(clock.now) - 5
        await stage.frontier.add([page(url, listing=Listing(modified)) for url in urls])
        await web.go_on(15 * DAY)
        before = {url: await self.past(stage, url) for url in urls}
        assert all(past.listing == Listing(modified) for past in before.values())
        resting = [url for url in urls if before[url].next_at > clock.now + DAY]
        told, silent = resting[:2]
        await stage.frontier.add(
            [page(told, listing=Listing(int(clock.now) - 5)), page(silent, listing=Listing(modified))]
        )
        after = {url: await self.past(stage, url) for url in urls}
        assert (after[told].is_told, after[silent].is_told) == (True, False)
        assert after[told].next_at < before[told].next_at
        assert after[silent] == before[silent]
        assert stage.frontier.counts().resting == 10
        counted = dict(web.visits)
        await web.go_on(2 * DAY)
        assert web.visits[told] == counted[told] + 1
        assert not (await self.past(stage, told)).is_told

    async def test_a_list_of_which_another_list_says_that_it_changed_is_read(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.continuous(open_frontier, clock, pages_per_second=10 / DAY)
        named = page("a/map.xml", kind=Kind.SITEMAP, referrer="http://a/robots.txt")
        await stage.frontier.add([named])
        web = ListedWeb(stage, [f"a/{number}" for number in range(60)])
        await web.go_on(6.5 * DAY)
        read, before = web.read, await self.past(stage, "a/map.xml")
        assert before.next_at > clock.now + 0.4 * DAY
        await stage.frontier.add([replace(named, listing=Listing(int(clock.now) - 5))])
        assert (await self.past(stage, "a/map.xml")).is_told
        await web.go_on(0.4 * DAY)
        assert web.read == read + 1

    async def test_a_list_is_read_again_by_how_much_it_lists(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.continuous(open_frontier, clock, pages_per_second=10 / DAY)
        web = ListedWeb(stage, [f"a/{number}" for number in range(60)])
        await stage.add("a/map.xml", kind=Kind.SITEMAP, referrer="http://a/robots.txt")
        await web.go_on(30 * DAY)
        # Sixty pages and it share ten visits a day; a twentieth of those is for it.
        assert 12 <= web.read <= 17
        others = sum(web.visits[f"a/{number}"] for number in range(1, 60)) / 59
        assert web.visits["a/0"] > 1.5 * others
        assert (await self.past(stage, "a/map.xml")).listed == 60

    async def opened_again(self, stage: Stage, open_frontier: OpenFrontier, rules: FrontierRules) -> bool:
        """Whether the same tables could be opened once more, by other rules: where they outlive their frontier."""
        return False
