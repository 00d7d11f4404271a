"""Webs to render, and crawls that do; without a browser they are skipped by name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lycosa.errors import SettingsError
from lycosa.render.browser import find_browser
from lycosa.simweb import HandWeb

from ..crawl.conftest import HandCrawl


@pytest.fixture(scope="session")
def browser_program() -> str:
    try:
        return find_browser("")
    except SettingsError as error:
        pytest.skip(f"no browser: {error}")


@pytest.fixture
async def web() -> AsyncIterator[HandWeb]:
    """An empty web to put pages into."""
    async with HandWeb() as made:
        yield made


@pytest.fixture
def space() -> Iterator[Path]:
    """A place for crawls."""
    made = Path(tempfile.mkdtemp(prefix="lycosa-render-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def crawl(web: HandWeb, space: Path) -> HandCrawl:
    return HandCrawl(web, space / "crawl")
