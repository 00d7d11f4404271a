from __future__ import annotations

from pathlib import Path

import pytest

from lycosa.store.folder import CrawlFolder


@pytest.fixture
def folder(tmp_path: Path) -> CrawlFolder:
    crawl = CrawlFolder(tmp_path / "crawl")
    crawl.create()
    return crawl
