from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lycosa.store.folder import CrawlFolder

from .object_server import ObjectServer, use


@pytest.fixture
def folder(tmp_path: Path) -> CrawlFolder:
    crawl = CrawlFolder(tmp_path / "crawl")
    crawl.create()
    return crawl


@pytest.fixture
def objects_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    """An object store, found by the environment; copies and spools lie in a folder of the test's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ObjectServer() as server:
        use(server, monkeypatch)
        yield server
