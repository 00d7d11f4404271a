from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lycosa.errors import SettingsError
from lycosa.frontier.rocks.tables import RocksTables
from lycosa.inspect.opened import open_view, opened_crawl, opened_view
from lycosa.inspect.sql import connect_for
from lycosa.settings import Settings, as_toml
from lycosa.store.folder import CrawlFolder


def kept_in(path: Path, frontier: str) -> CrawlFolder:
    """A folder in which a crawl with this frontier has begun."""
    folder = CrawlFolder(path)
    folder.create()
    folder.settings.write_text(as_toml(Settings(frontier=frontier)), encoding="utf-8")
    return folder


def test_nothing_is_seen_of_a_frontier_that_was_kept_in_memory(tmp_path: Path) -> None:
    folder = kept_in(tmp_path, "memory")
    with opened_view(folder) as view:
        assert view is None
    with opened_crawl(tmp_path) as crawl:
        assert (crawl.view, crawl.settings.frontier) == (None, "memory")


def test_its_tables_are_empty(tmp_path: Path) -> None:
    sql = "SELECT (SELECT count(*) FROM history), (SELECT count(*) FROM hosts)"
    with connect_for(kept_in(tmp_path, "memory"), sql) as connection:
        assert connection.execute(sql).fetchall() == [(0, 0)]


def test_a_frontier_in_a_folder_has_no_crew_and_nothing_agreed(tmp_path: Path) -> None:
    folder = kept_in(tmp_path, "rocks")
    asyncio.run(RocksTables(folder.frontier).close())
    with opened_view(folder) as view:
        assert view is not None
        assert (view.crew, view.shares, view.agreed) == (None, None, None)


def test_an_empty_folder_has_no_frontier(tmp_path: Path) -> None:
    assert open_view(tmp_path, "rocks") is None
    assert not list(tmp_path.iterdir())


def test_only_a_shared_frontier_is_seen_without_a_folder(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="address of a shared frontier"), opened_crawl(tmp_path, "rocks"):
        pass
