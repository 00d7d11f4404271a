"""A crawl opened to be looked at: by its folder, or by the frontier that its machines share.

The one place that chooses how a frontier is read. Changes nothing, and may look while the crawl runs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from lycosa import settings
from lycosa.errors import LycosaError, SettingsError
from lycosa.frontier.redis.address import is_redis
from lycosa.frontier.view import CrawlView, open_rocks_view
from lycosa.inspect.wording import visible_lines
from lycosa.settings import Settings
from lycosa.store.folder import CrawlFolder
from lycosa.store.mirror import MirroredFolder
from lycosa.store.objects import ObjectPlace, Objects
from lycosa.url.canonical import SCHEMES, ParsedUrl, parse_seeds


class OpenedCrawl(NamedTuple):
    """A crawl to look at. `folder` is None for a crawl seen from its shared frontier alone."""

    folder: CrawlFolder | None
    settings: Settings
    seeds: list[ParsedUrl]
    view: CrawlView | None  # None: its frontier was kept in memory only


@contextmanager
def opened_crawl(place: Path | ObjectPlace, frontier: str | None = None) -> Iterator[OpenedCrawl]:
    """The crawl that is kept in a place; or, if an address is given, the one whose machines share that frontier."""
    if frontier:
        with _opened_frontier(frontier) as crawl:
            yield crawl
    else:
        with opened_folder(place) as folder, opened_view(folder) as view:
            yield OpenedCrawl(folder, folder_settings(folder), folder.read_seeds(), view)


@contextmanager
def _opened_frontier(address: str) -> Iterator[OpenedCrawl]:
    view = open_view(None, address)
    if view is None:
        raise SettingsError(f"--frontier takes the address of a shared frontier (redis://…), not {address!r}")
    with closing(view):
        assert view.agreed is not None, "machines that share a crawl agree on it"
        agreed, seeds = view.agreed
        yield OpenedCrawl(
            None, settings.from_values({**agreed, "frontier": address}), parse_seeds(seeds, SCHEMES), view
        )


@contextmanager
def opened_folder(place: Path | ObjectPlace) -> Iterator[CrawlFolder]:
    """A crawl while its tables are read."""
    folder = open_folder(place)
    with readable_tables(folder):
        yield folder


@contextmanager
def readable_tables(folder: CrawlFolder) -> Iterator[None]:
    """Around whatever reads the tables of a folder. Raises `LycosaError` if one of them is damaged."""
    try:
        yield
    except Exception as error:
        # Not imported here: who has read no table has not waited for DuckDB either.
        duckdb = sys.modules.get("duckdb")
        if duckdb is None or not isinstance(error, duckdb.Error):
            raise
        raise LycosaError(f"{folder.path}: its tables cannot be read: {visible_lines(str(error))}") from error


def open_folder(place: Path | ObjectPlace) -> CrawlFolder:
    """The crawl that is kept in a place; raises `SettingsError` if there is none."""
    folder = MirroredFolder(Objects(place)) if isinstance(place, ObjectPlace) else CrawlFolder(place)
    if not folder.exists:
        raise SettingsError(f"{place}: there is no crawl in this folder; name another with --folder")
    return folder


def folder_settings(folder: CrawlFolder) -> Settings:
    """The settings a crawl was last run with."""
    return settings.load(folder.settings if folder.settings.exists() else None, {})


@contextmanager
def opened_view(folder: CrawlFolder) -> Iterator[CrawlView | None]:
    """The frontier of a crawl, while it is looked at; None: it was kept in memory only."""
    view = open_view(folder.frontier, folder_settings(folder).frontier)
    with closing(view) if view else nullcontext():
        yield view


def open_view(folder: Path | None, address: str) -> CrawlView | None:
    """The frontier at an address that machines share, or else in a folder; None if nothing of it is kept there."""
    if is_redis(address):
        from lycosa.frontier.redis.view import open_redis_view

        return open_redis_view(address)
    # The file without which RocksDB has nothing.
    return open_rocks_view(folder) if folder and (folder / "CURRENT").exists() else None
