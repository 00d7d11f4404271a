"""Promises about hosts with several origins, and with several kinds of URLs, for any frontier. Part of the contract."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from lycosa.frontier.queue import MAX_MARKS
from lycosa.frontier.rules import MAX_ORIGINS_PER_HOST
from lycosa.model import Kind, Lease, OutcomeKind, origin_of
from lycosa.policy.politeness import BAN_REFUSALS, CIRCUIT_FAILURES

from .stage import FakeClock, OpenFrontier, Stage, about, page, rules_pending

FAILED, READ = OutcomeKind.FAILED, OutcomeKind.READ
CIRCUIT_SECONDS = 1800.0
PAIRS = pytest.mark.parametrize(
    ("dark", "light"),
    [
        ("http://a", "https://a"),
        ("https://a", "http://a"),
        ("http://a:8080", "http://a"),
        ("https://a", "https://a:8443"),
    ],
)


class OriginsContract:
    """Inherited by `FrontierContract`."""

    def stage_with(self, open_frontier: OpenFrontier, clock: FakeClock, **rules: object) -> Stage:
        raise NotImplementedError

    async def darken(self, stage: Stage, lease: Lease, seconds: float = 300.0) -> None:
        """A robots.txt cannot be read."""
        assert lease.target.kind is Kind.ROBOTS
        await stage.settle(lease, READ, robots=rules_pending(lease.target.origin, stage.clock(), seconds))

    async def next_one(self, stage: Stage) -> Lease:
        (lease,) = await stage.next_leases()
        return lease

    async def visited(self, stage: Stage) -> Lease:
        lease = await self.next_one(stage)
        await stage.visit(lease)
        return lease

    async def open_origins(self, stage: Stage, *origins: str) -> None:
        """Have the robots.txt and a page of each of them."""
        await stage.add(*(f"{origin}/0" for origin in origins))
        await stage.visit_all()

    # ---- robots.txt of one of them

    @PAIRS
    async def test_an_origin_whose_robots_cannot_be_read_does_not_keep_the_others_waiting(
        self, stage: Stage, dark: str, light: str
    ) -> None:
        await stage.add(f"{dark}/1", f"{dark}/2", f"{light}/1", f"{light}/2")
        lease = await self.next_one(stage)
        assert lease.target.origin == dark
        await self.darken(stage, lease)
        began, given = stage.clock(), list[str]()
        for _ in range(3):
            lease = await self.next_one(stage)
            given.append(lease.target.url)
            await stage.visit(lease)
        assert given == [f"{light}/robots.txt", f"{light}/1", f"{light}/2"]
        assert stage.clock() - began <= 10.0
        assert stage.frontier.counts().queued == 2
        # And its own come back when it is tried again.
        lease = await self.next_one(stage)
        assert lease.target.url == f"{dark}/robots.txt"
        assert stage.clock() == about(began + 300.0)
        await stage.visit(lease)
        assert [(await self.visited(stage)).target.url for _ in range(2)] == [f"{dark}/1", f"{dark}/2"]
        assert await stage.frontier.is_finished()

    @PAIRS
    async def test_an_origin_that_stays_dark_waits_anew_after_every_try(
        self, stage: Stage, dark: str, light: str
    ) -> None:
        await stage.add(f"{dark}/1", *(f"{light}/{number}" for number in range(500)))
        tried_at, others = list[float](), 0
        while len(tried_at) < 3:
            lease = await self.next_one(stage)
            if lease.target.origin == dark:
                tried_at.append(stage.clock())
                await self.darken(stage, lease, 100.0)
            else:
                others += lease.target.kind is Kind.PAGE
                await stage.visit(lease)
        # Everybody has a request a second in the meantime.
        assert others >= 190
        assert all(100.0 <= second - first <= 103.0 for first, second in pairwise(tried_at))

    async def test_robots_that_expires_and_cannot_be_read_again_closes_its_origin_only(self, stage: Stage) -> None:
        await stage.add("http://a/1", "http://a/2", "https://a/1", "https://a/2")
        for lasts in (3.5, 90_000.0):
            lease = await self.next_one(stage)
            await stage.read_robots(lease, lasts=lasts)
            await stage.visit(await self.next_one(stage))
        lease = await self.next_one(stage)
        assert lease.target.url == "http://a/robots.txt"
        await self.darken(stage, lease)
        assert (await self.visited(stage)).target.url == "https://a/2"
        stage.clock.advance(1.0)
        assert await stage.take() == []
        assert stage.frontier.idle_until() == about(lease.expires_at - 180.0 + 300.0)

    # ---- whose turn it is

    async def test_origins_of_one_class_take_turns(self, stage: Stage) -> None:
        origins = ["http://a", "https://a", "http://a:81"]
        await self.open_origins(stage, *origins)
        await stage.add(*(f"{origin}/{number}" for origin in origins for number in range(1, 51)))
        given = [origin_of((await self.visited(stage)).target.url) for _ in range(30)]
        assert Counter(given) == dict.fromkeys(origins, 10)
        assert all(len({*given[start : start + 3]}) == 3 for start in range(0, 30, 3))

    async def test_a_higher_class_goes_first_whatever_its_origin(self, stage: Stage) -> None:
        await self.open_origins(stage, "http://a", "https://a")
        await stage.add("http://a/low", "https://a/low", priority=2)
        await stage.add("https://a/high1", "https://a/high2", "https://a/high3", priority=9)
        given = [(await self.visited(stage)).target.url for _ in range(3)]
        assert given == [f"https://a/high{number}" for number in (1, 2, 3)]

    async def test_a_closed_origin_keeps_no_lower_class_of_another_waiting(self, stage: Stage) -> None:
        await stage.add("http://a/best", priority=10)
        await self.darken(stage, await self.next_one(stage))
        await stage.add("https://a/worst", priority=1)
        given = [(await self.visited(stage)).target.url for _ in range(2)]
        assert given == ["https://a/robots.txt", "https://a/worst"]

    # ---- when all of them wait

    async def test_a_host_of_which_all_origins_are_dark_rests_until_the_first_may_be_tried(self, stage: Stage) -> None:
        await stage.add("http://a/1", "https://a/1")
        due = {}
        for seconds in (500.0, 200.0):
            lease = await self.next_one(stage)
            await self.darken(stage, lease, seconds)
            due[lease.target.origin] = stage.clock() + seconds
        stage.clock.advance(1.0)
        assert await stage.take() == []
        first = min(due, key=lambda origin: due[origin])
        assert stage.frontier.idle_until() == about(due[first])
        lease = await self.next_one(stage)
        assert (lease.target.origin, stage.clock()) == (first, about(due[first]))
        await self.darken(stage, lease, 900.0)
        stage.clock.advance(1.0)
        assert await stage.take() == []
        (other,) = {*due} - {first}
        assert stage.frontier.idle_until() == about(due[other])
        assert (await self.next_one(stage)).target.origin == other

    async def test_a_host_that_is_all_dark_takes_no_place(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_active_hosts=1)
        await stage.add("http://a/1", "https://a/1")
        for _ in range(2):
            await self.darken(stage, await self.next_one(stage))
        clock.advance(1.0)
        assert await stage.take() == []
        await stage.add("b/1")
        assert (await self.next_one(stage)).target.url == "http://b/robots.txt"

    async def test_a_new_link_to_an_origin_that_may_be_asked_wakes_its_host(self, stage: Stage) -> None:
        await stage.add("http://a/1", "b/1")
        for lease in await stage.take():
            await (self.darken(stage, lease, 5000.0) if lease.target.host == "a" else stage.visit(lease))
        stage.clock.advance(1.0)
        lease = await stage.take_one()
        assert lease.target.host == "b"
        await stage.settle(lease, status=200, discovered=[page("http://a/2")])
        stage.clock.advance(1.0)
        assert await stage.take() == [], "that origin is still dark"
        assert stage.frontier.idle_until() is not None
        await stage.add("https://a/1")
        assert stage.frontier.idle_until() is None
        assert (await stage.take_one()).target.url == "https://a/robots.txt"

    # ---- very many of them

    async def test_more_origins_than_are_remembered_all_end(self, stage: Stage) -> None:
        """Some of them have no queue of their own, and some answers are forgotten; nothing is lost for that."""
        origins = [f"http://a:{port}" for port in range(8000, 8000 + 2 * max(MAX_MARKS, MAX_ORIGINS_PER_HOST) + 5)]
        urls = [f"{origin}/{number}" for number in range(2) for origin in origins]
        await stage.add(*urls)
        failures, given = Counter[str](), list[str]()
        while leases := await stage.next_leases():
            for lease in leases:
                origin = lease.target.origin
                if lease.target.kind is Kind.PAGE:
                    given.append(lease.target.url)
                    await stage.visit(lease)
                elif int(origin[-4:]) % 2 and failures[origin] < 2:
                    failures[origin] += 1
                    await self.darken(stage, lease)
                else:
                    await stage.visit(lease)
            assert sum(failures.values()) < 4 * len(origins)
        assert sorted(given) == sorted(urls)
        counts = stage.frontier.counts()
        assert (counts.queued, counts.delayed, counts.stored) == (0, 0, len(urls))
        assert await stage.frontier.is_finished()

    async def test_what_was_just_learnt_of_an_origin_is_not_forgotten_for_others(self, stage: Stage) -> None:
        """However many others of its host are dark: else its robots.txt would be asked for again and again."""
        dark = [f"http://a:{port}" for port in range(8000, 8000 + MAX_ORIGINS_PER_HOST)]
        assert len(dark) > MAX_MARKS
        await stage.add(*(f"{origin}/" for origin in dark), priority=9)
        for _ in dark:
            await self.darken(stage, await self.next_one(stage), 5000.0)
        await stage.add("https://a/1", priority=9)
        given = [(await self.visited(stage)).target.url for _ in range(2)]
        assert given == ["https://a/robots.txt", "https://a/1"]

    async def test_origins_that_may_be_asked_are_forgotten_before_those_that_may_not(self, stage: Stage) -> None:
        dark = [f"http://a:{port}" for port in range(8000, 8000 + MAX_ORIGINS_PER_HOST - 2)]
        await stage.add(*(f"{origin}/" for origin in dark), priority=9)
        for _ in dark:
            await self.darken(stage, await self.next_one(stage), 5000.0)
        light = [f"http://a:{port}" for port in range(9000, 9000 + MAX_ORIGINS_PER_HOST)]
        await stage.add(*(f"{origin}/" for origin in light), priority=9)
        began, given = stage.clock(), set[str]()
        while len(given) < 2 * len(light):
            given.add((await self.visited(stage)).target.url)
        assert {origin_of(url) for url in given} == {*light}
        assert stage.clock() - began < 600.0

    # ---- an origin that fails

    async def fail_five_times(self, stage: Stage, origin: str) -> None:
        for _ in range(CIRCUIT_FAILURES):
            lease = await self.next_one(stage)
            assert origin_of(lease.target.url) == origin
            await stage.settle(lease, FAILED, status=503)

    @PAIRS
    async def test_an_origin_that_fails_again_and_again_is_closed_and_the_others_go_on(
        self, stage: Stage, dark: str, light: str
    ) -> None:
        await self.open_origins(stage, light, dark)
        await stage.add(*(f"{light}/{number}" for number in range(1, 6)))
        await stage.add(*(f"{dark}/{number}" for number in range(1, 9)), priority=9)
        await self.fail_five_times(stage, dark)
        began = stage.clock()
        given = [(await self.visited(stage)).target.url for _ in range(5)]
        assert given == [f"{light}/{number}" for number in range(1, 6)]
        assert stage.clock() - began <= 10.0
        stage.clock.advance(1.0)
        assert await stage.take() == []
        assert stage.frontier.idle_until() == about(began + CIRCUIT_SECONDS)
        lease = await self.next_one(stage)
        assert (lease.target.url, stage.clock()) == (f"{dark}/6", about(began + CIRCUIT_SECONDS))

    async def test_the_failures_of_an_origin_are_not_those_of_the_others(self, stage: Stage) -> None:
        await self.open_origins(stage, "http://a", "https://a")
        await stage.add(*(f"http://a/{number}" for number in range(1, 9)))
        await stage.add(*(f"https://a/{number}" for number in range(1, 9)), priority=9)
        await self.fail_five_times(stage, "https://a")
        assert stage.frontier.idle_until() is None
        for pause in (2.0, 4.0):
            lease = await self.next_one(stage)
            assert origin_of(lease.target.url) == "http://a"
            await stage.settle(lease, FAILED, status=503)
            assert stage.frontier.next_at(0) == about(stage.clock() + pause)

    async def test_an_origin_that_is_alone_in_the_queue_rests_with_its_host(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"https://a/{number}" for number in range(9)))
        await self.fail_five_times(stage, "https://a")
        stage.clock.advance(CIRCUIT_SECONDS - 1.0)
        assert await stage.take() == []
        assert stage.frontier.idle_until() == about(stage.clock() + 1.0)

    # ---- kinds of URLs

    @pytest.mark.parametrize("status", [500, 503, 429, 403])
    async def test_a_host_that_gives_pages_is_not_closed_by_urls_of_another_kind(
        self, stage: Stage, status: int
    ) -> None:
        """They go behind all others of their host, which tell whether it is in trouble."""
        await stage.open_hosts("a/page/0")
        await self.visited(stage)
        await stage.add(*(f"a/edit/{number}" for number in range(30)))
        await stage.add(*(f"a/page/{number}" for number in range(1, 41)))
        began, asked = stage.clock(), list[str]()
        while leases := await stage.next_leases():
            (lease,) = leases
            asked.append(lease.target.url.removeprefix("http://a/"))
            if asked[-1].startswith("page"):
                await stage.visit(lease)
                pages_done_at = stage.clock()
            else:
                await stage.settle(lease, FAILED, status=status)
        assert asked[:41] == ["edit/0", *(f"page/{number}" for number in range(1, 41))]
        assert {*asked[41:]} >= {f"edit/{number}" for number in range(1, 30)}
        assert pages_done_at - began < 60.0
        counts = stage.frontier.counts()
        assert (counts.stored, counts.failed) == (41, 30)

    @pytest.mark.parametrize("status", [500, 429, 403])
    async def test_bad_links_between_good_ones_slow_a_host_down_and_no_more(self, stage: Stage, status: int) -> None:
        await stage.open_hosts("a/page/0")
        await self.visited(stage)
        for number in range(1, 31):
            await stage.add(f"a/edit/{number}", f"a/page/{number}")
        last, began = stage.clock(), stage.clock()
        while stage.frontier.counts().stored < 31:
            lease = await self.next_one(stage)
            assert stage.clock() - last < 60.0
            last = stage.clock()
            if "/page/" in lease.target.url:
                await stage.visit(lease)
            else:
                await stage.settle(lease, FAILED, status=status)
        assert stage.clock() - began < 300.0

    async def test_a_host_that_fails_where_it_gave_pages_has_its_circuit_opened(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/page/{number}" for number in range(20)))
        for _ in range(3):
            await self.visited(stage)
        await self.fail_five_times(stage, "http://a")
        stage.clock.advance(CIRCUIT_SECONDS - 1.0)
        assert await stage.take() == []
        assert stage.frontier.idle_until() is not None
        stage.clock.advance(1.0)
        assert len(await stage.take()) == 1

    async def test_refusals_of_another_kind_are_no_ban_and_those_of_pages_still_are(self, stage: Stage) -> None:
        await stage.open_hosts(*(f"a/page/{number}" for number in range(20)))
        for _ in range(3):
            await self.visited(stage)
        await stage.add(*(f"a/edit/{number}" for number in range(5)), priority=9)
        refused = list[str]()
        while stage.frontier.counts().delayed == 0:
            lease = await self.next_one(stage)
            refused.append(lease.target.url.removeprefix("http://a/"))
            await stage.settle(lease, FAILED, status=403)
        assert refused == ["edit/0", *(f"page/{number}" for number in range(3, 3 + BAN_REFUSALS))]
        assert stage.frontier.idle_until() is not None
