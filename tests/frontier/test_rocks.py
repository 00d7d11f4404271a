"""The frontier on RocksDB keeps the contract, in both modes of the URL-seen test."""

import shutil
from pathlib import Path

import msgspec
import pytest

from lycosa.frontier.embedded import EmbeddedFrontier, rocks_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.view import open_rocks_view

from .contract import FrontierContract
from .contract_revisits import QUICK, ChangingWeb
from .stage import DAY, FakeClock, OpenFrontier, Stage


class TestRocksFrontier(FrontierContract):
    @pytest.fixture
    def open_frontier(self, folder: Path) -> OpenFrontier:
        return lambda rules, clock: rocks_frontier(folder, rules, clock)

    async def opened_again(self, stage: Stage, open_frontier: OpenFrontier, rules: FrontierRules) -> bool:
        await stage.frontier.close()
        stage.frontier = open_frontier(rules, stage.clock)
        return True

    async def test_revisits_survive_the_death_of_the_crawl(self, folder: Path, clock: FakeClock) -> None:
        """Its files as they are at any moment tell the same schedule: nothing is due that was not, nothing is lost."""
        rules = FrontierRules(pace=QUICK, is_continuous=True, pages_per_second=100 / DAY, durability="process")
        dead: list[EmbeddedFrontier] = []
        frontier = rocks_frontier(folder, rules, clock)
        stage = Stage(frontier, clock)
        web = ChangingWeb(stage, {f"h{n % 5}/{n}": (0.1 + n % 3) / DAY for n in range(30)})
        await stage.add(*web.rates)
        for _ in range(4):
            await web.go_on(0.4 * DAY)
            await stage.take()  # under way when it dies
            copy = folder.with_name(f"copy{len(dead)}")
            shutil.copytree(folder, copy)
            dead.append(frontier)
            stage.frontier = frontier = rocks_frontier(copy, rules, clock)
            folder = copy
            counts = stage.frontier.counts()
            assert (counts.known, counts.resting + counts.queued) == (30, 30)
        before = web.visits.total()
        await web.go_on(DAY)
        assert 99 <= web.visits.total() - before <= 103
        await stage.frontier.close()
        for one in dead:
            await one.close()
        view = open_rocks_view(folder)
        assert all(says == found for _, says, found in view.sums())
        view.close()


class TestRocksFrontierWithBloom(FrontierContract):
    """The filter is large enough here that it never errs."""

    can_forget = False

    @pytest.fixture
    def open_frontier(self, folder: Path) -> OpenFrontier:
        def opened(rules: FrontierRules, clock: FakeClock) -> EmbeddedFrontier:
            chosen = msgspec.structs.replace(rules, seen="bloom", seen_error=1e-6)
            return rocks_frontier(folder, chosen, clock)

        return opened
