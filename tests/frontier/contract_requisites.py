"""Requisites in the queues: before the pages of their host, and whatever the page limit says."""

from __future__ import annotations

from typing import Any

from lycosa.model import Kind, Lease, OutcomeKind, Target

from .stage import DAY, FakeClock, OpenFrontier, Stage, about, page, rules_pending

READ, FAILED = OutcomeKind.READ, OutcomeKind.FAILED


def requisite(url: str, **known: Any) -> Target:
    return page(url, kind=Kind.REQUISITE, priority=9, **known)


def path_of(lease: Lease) -> str:
    return lease.target.url.removeprefix("http://")


async def fetch_all(stage: Stage, *, patience: int = 300) -> list[str]:
    """Visit until nothing is given out any more; all that was given out but for robots.txt."""
    given: list[str] = []
    for _ in range(patience):
        if not (leases := await stage.next_leases()):
            return given
        for lease in leases:
            if lease.target.kind is Kind.REQUISITE:
                given.append(path_of(lease))
                await stage.settle(lease, READ, status=200)
            else:
                given += [path_of(lease)] if lease.target.kind is Kind.PAGE else []
                await stage.visit(lease)
    raise AssertionError("the crawl does not end")


class RequisitesContract:
    """Inherit, and give the fixtures of `FrontierContract`."""

    async def test_requisites_come_before_the_pages_of_their_host(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        found = [page("a/3", priority=10), requisite("a/x.css", steps=2), requisite("a/y.png")]
        await stage.settle(await stage.take_one(), status=200, discovered=found)
        assert stage.frontier.counts().requisites_queued == 2
        (lease,) = await stage.next_leases()
        assert (path_of(lease), lease.target) == ("a/x.css", found[1]), "nothing of it is lost in the queue"
        await stage.settle(lease, READ, status=200)
        assert await fetch_all(stage) == ["a/y.png", "a/3", "a/2"]
        counts = stage.frontier.counts()
        assert (counts.requisites, counts.requisites_queued, counts.pages) == (2, 0, 3)

    async def test_the_page_limit_leaves_requisites_alone(self, open_frontier: OpenFrontier, clock: FakeClock) -> None:
        stage = self.stage_with(open_frontier, clock, max_pages=2)  # type: ignore[attr-defined]
        await stage.open_hosts("a/1", "a/2", "a/3", "b/1", "c/1")
        found = [requisite("a/x"), requisite("a/y"), requisite("cdn/z"), page("d/1"), page("a/4")]
        given: list[str] = []
        while len(given) < 2:
            for lease in await stage.next_leases():
                given += [path_of(lease)] if lease.target.kind is Kind.PAGE else []
                how = {"discovered": found} if path_of(lease) == "a/1" else {}
                is_page = lease.target.kind is Kind.PAGE
                await (stage.settle(lease, status=200, **how) if is_page else stage.settle(lease, READ, status=200))
        if "a/1" not in given:
            await stage.frontier.add(found)
        assert set(await fetch_all(stage)) <= {"a/x", "a/y", "cdn/z"}
        counts = stage.frontier.counts()
        assert (counts.pages, counts.requisites, counts.requisites_queued, counts.leased) == (2, 3, 0, 0)
        assert await stage.frontier.is_finished()
        assert await stage.take() == []

    async def test_requisites_that_fail_do_not_close_a_host_of_pages(self, stage: Stage) -> None:
        await stage.open_hosts("a/1", "a/2")
        missing = [requisite(f"a/img/{number}.png", referrer="http://a/1") for number in range(8)]
        await stage.settle(await stage.take_one(), status=200, discovered=missing)
        for _ in missing:
            (lease,) = await stage.next_leases()
            assert lease.target.kind is Kind.REQUISITE
            await stage.settle(lease, FAILED, status=500)
        began_at = stage.clock()
        (lease,) = await stage.next_leases()
        assert path_of(lease) == "a/2"
        assert stage.clock() - began_at < 120.0, "slowed, not closed"

    async def test_a_limit_that_waits_for_a_host_in_trouble_says_until_when(
        self, open_frontier: OpenFrontier, clock: FakeClock
    ) -> None:
        stage = self.stage_with(open_frontier, clock, max_pages=1)  # type: ignore[attr-defined]
        await stage.open_hosts("a/1", "a/2", "b/1")
        (first, *others) = await stage.next_leases()
        await stage.frontier.give_back([lease.token for lease in others])
        await stage.settle(first, status=200, discovered=[requisite("cdn/x")])
        (lease,) = await stage.next_leases()
        assert lease.target.url == "http://cdn/robots.txt"
        asked_at = stage.clock()
        await stage.settle(lease, READ, status=503, robots=rules_pending("http://cdn", asked_at, lasts=DAY))
        stage.clock.advance(10.0)
        assert await stage.take() == [], "no page, though its host is free again"
        assert not await stage.frontier.is_finished(), "the page is not whole"
        assert stage.frontier.idle_until() == about(asked_at + DAY), "and nothing else is done meanwhile"

    async def test_a_revisit_asks_for_them_as_what_they_are(self, stage: Stage) -> None:
        await stage.open_hosts("a/1")
        await stage.settle(await stage.take_one(), status=200, discovered=[requisite("a/x"), requisite("a/y")])
        await fetch_all(stage)
        assert await stage.frontier.readmit() == 3
        again = {path_of(lease): lease.target.kind for lease in await stage.next_leases()}
        assert again in ({"a/x": Kind.REQUISITE}, {"a/y": Kind.REQUISITE})
