from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.store.folder import CrawlFolder

from .kept import new_folder


@pytest.fixture
def folder(tmp_path: Path) -> CrawlFolder:
    return new_folder(tmp_path / "crawl")
