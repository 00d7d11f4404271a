"""The frontier on RocksDB keeps the contract, in both modes of the URL-seen test."""

from pathlib import Path

import msgspec
import pytest

from lycosa.frontier.rocks import RocksFrontier
from lycosa.frontier.rules import FrontierRules

from .contract import FrontierContract
from .stage import FakeClock, OpenFrontier


class TestRocksFrontier(FrontierContract):
    @pytest.fixture
    def open_frontier(self, folder: Path) -> OpenFrontier:
        return lambda rules, clock: RocksFrontier(folder, rules, clock)


class TestRocksFrontierWithBloom(FrontierContract):
    """The filter is large enough here that it never errs."""

    can_forget = False

    @pytest.fixture
    def open_frontier(self, folder: Path) -> OpenFrontier:
        def opened(rules: FrontierRules, clock: FakeClock) -> RocksFrontier:
            chosen = msgspec.structs.replace(rules, seen="bloom", seen_error=1e-6)
            return RocksFrontier(folder, chosen, clock)

        return opened
