from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..cli.world import World, crawled
from .visitor import Visitor, served

CHINESE = (
    "<html lang=zh><meta charset=utf-8><title>安装软件包</title><p>本章说明如何安装和删除软件包，以及如何更新系统。</p>"
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A crawl of a small web, some of it hostile."""
    with crawled(tmp_path_factory.mktemp("dashboard") / "crawl", pages={"/zh": CHINESE}) as made:
        yield made


@pytest.fixture(scope="module")
def visitor(world: World) -> Iterator[Visitor]:
    """Somebody who has the link to a dashboard of it."""
    with served(world.folder.path) as visitor:
        yield visitor
