"""The frontier in memory keeps the contract."""

from pathlib import Path
from typing import Any

import pytest

from lycosa.errors import SettingsError
from lycosa.frontier.embedded import memory_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.settings import Settings
from lycosa.wiring.crawl import open_frontier

from .contract import FrontierContract
from .stage import FakeClock, OpenFrontier


class TestMemoryFrontier(FrontierContract):
    @pytest.fixture
    def open_frontier(self) -> OpenFrontier:
        return memory_frontier


@pytest.mark.parametrize("change", [{"region": "eu"}, {"region_rules": {"de": "eu"}}, {"region_by": "connect time"}])
async def test_one_machine_has_no_regions(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="are for several machines"):
        await open_frontier(Settings(frontier="memory", **change), tmp_path, 1, FakeClock())


def test_the_key_of_a_crawl_is_long_and_its_own() -> None:
    keys = {memory_frontier(FrontierRules()).crawl_key() for _ in range(2)}
    assert len(keys) == 2
    assert all(len(key) == 16 for key in keys)
