"""The frontier on RocksDB keeps the contract, in both modes of the URL-seen test."""

from pathlib import Path

import msgspec
import pytest

from lycosa.frontier.embedded import EmbeddedFrontier, rocks_frontier
from lycosa.frontier.rules import FrontierRules

from .contract import FrontierContract
from .stage import FakeClock, OpenFrontier


class TestRocksFrontier(FrontierContract):
    @pytest.fixture
    def open_frontier(self, folder: Path) -> OpenFrontier:
        return lambda rules, clock: rocks_frontier(folder, rules, clock)


class TestRocksFrontierWithBloom(FrontierContract):
    """The filter is large enough here that it never errs."""

    can_forget = False

    @pytest.fixture
    def open_frontier(self, folder: Path) -> OpenFrontier:
        def opened(rules: FrontierRules, clock: FakeClock) -> EmbeddedFrontier:
            chosen = msgspec.structs.replace(rules, seen="bloom", seen_error=1e-6)
            return rocks_frontier(folder, chosen, clock)

        return opened
