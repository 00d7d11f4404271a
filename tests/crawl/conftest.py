"""A web made by hand and a crawl of it in this process, for the story of single visits."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from lycosa import CrawledPage, Crawler
from lycosa.simweb import HandWeb

from . import evidence

Outcomes = dict[str, str]


@pytest.fixture
def space() -> Iterator[Path]:
    """A place for crawls: in memory where there is such a place, since each new database costs a dozen fsyncs."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="lycosa-crawl-", dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
async def web() -> AsyncIterator[HandWeb]:
    """An empty web to put pages into."""
    async with HandWeb() as made:
        yield made


def hand_settings(web: HandWeb) -> dict[str, Any]:
    """Settings with which a crawl of a web made by hand is quick and reaches it."""
    return {
        "scope": "any",
        "min_delay_seconds": 0.0,
        "delay_factor": 0.0,
        "retry_after_seconds": (),
        "max_backoff_seconds": 0.0,
        "max_wait_seconds": 5.0,
        "open_networks": ["127.0.0.0/8"],
        "dns_servers": [web.dns_address],
        "durability": "process",
        "seen_capacity": 10_000,
    }


class HandCrawl:
    """Crawls a web made by hand, again and again into the same folder; tells what became of every URL."""

    def __init__(self, web: HandWeb, folder: Path) -> None:
        self.web = web
        self.folder = folder
        self.pages: dict[str, CrawledPage] = {}

    async def __call__(self, *seeds: str, **settings: Any) -> Outcomes:
        """The last outcome of every URL visited, robots.txt left out; the pages are in `pages`."""
        crawler = Crawler(seeds, folder=self.folder, **{**hand_settings(self.web), **settings})
        async for page in crawler:
            self.pages[page.url] = page
        self.counts = crawler.counts()
        return self.outcomes()

    def rows(self) -> list[dict[str, Any]]:
        return sorted(evidence.pages(self.folder), key=lambda row: row["fetched_at"])

    def row(self, url: str) -> dict[str, Any]:
        """The last row of a URL."""
        return [row for row in self.rows() if row["url"] == url][-1]

    def outcomes(self) -> Outcomes:
        return {row["url"]: row["outcome"] for row in self.rows() if not row["url"].endswith("/robots.txt")}

    def requests(self, path: str, host: str = "a.test") -> int:
        """How often a path was asked for."""
        return sum(request.path == path and request.host == host for request in self.web.requests)


@pytest.fixture
def crawl(web: HandWeb, space: Path) -> HandCrawl:
    return HandCrawl(web, space / "crawl")
