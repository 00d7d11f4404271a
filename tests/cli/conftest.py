from __future__ import annotations

from collections.abc import Iterator

import pytest

from .world import World, crawled


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A crawl of a small web; commands only read it."""
    with crawled(tmp_path_factory.mktemp("world") / "crawl") as made:
        yield made


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A crawl that stopped at its page limit, with a queue left."""
    with crawled(tmp_path_factory.mktemp("begun") / "crawl", "--max-pages", "1") as made:
        yield made
