"""The frontier in memory keeps the contract."""

import pytest

from lycosa.frontier.memory import MemoryFrontier
from lycosa.frontier.rules import FrontierRules

from .contract import FrontierContract
from .stage import FakeClock, OpenFrontier


class TestMemoryFrontier(FrontierContract):
    @pytest.fixture
    def open_frontier(self) -> OpenFrontier:
        def opened(rules: FrontierRules, clock: FakeClock) -> MemoryFrontier:
            return MemoryFrontier(rules, clock)

        return opened


def test_the_key_of_a_crawl_is_long_and_its_own() -> None:
    keys = {MemoryFrontier(FrontierRules()).crawl_key() for _ in range(2)}
    assert len(keys) == 2
    assert all(len(key) == 16 for key in keys)
