"""The crawler as a library: `async for page in Crawler([...])`. The same parts, in the caller's own process."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from lycosa.build import make_worker, open_frontier, parse_seeds, recover_folder, seed_targets, write_seeds
from lycosa.clock import steady_clock
from lycosa.dispatch import Counter, EmbeddedFrontier
from lycosa.errors import SettingsError
from lycosa.model import OutcomeKind
from lycosa.ports import Counts
from lycosa.settings import as_toml, from_values
from lycosa.store.folder import CrawlFolder
from lycosa.worker import Kept

# Pages waiting for the caller: when it is slow, the crawl waits for it.
MAX_WAITING_PAGES = 256


class CrawledPage(msgspec.Struct, frozen=True):
    """One page of a crawl, as the caller gets it: what stands in the `pages` and `links` tables, and the body."""

    url: str
    status: int
    title: str
    description: str
    text: str
    links: list[str]
    media_type: str
    charset: str
    language: str
    depth: int
    referrer: str
    original: str
    fetched_at: float
    headers: list[tuple[str, str]]
    body: bytes


class Crawler:
    """A crawl in this process. Iterate over it for its pages, each once it is safely kept.

    `folder` keeps the crawl and lets the same call go on with it later; without one everything is
    forgotten at the end. Every setting of `lycosa crawl` is a keyword.
    """

    def __init__(self, seeds: Sequence[str], *, folder: str | Path | None = None, **settings: Any) -> None:
        if not seeds and folder is None:
            raise SettingsError("no seeds: name a URL to start from, or the folder of a crawl")
        self._seeds = parse_seeds(seeds)
        self._settings = from_values(settings | {"workers": 1})
        self._folder = folder
        self._frontier: EmbeddedFrontier | None = None
        self._pages: asyncio.Queue[CrawledPage] = asyncio.Queue()
        self._counter: Counter | None = None

    async def run(self) -> Counts:
        """Crawl to the end without looking at the pages; they are in the folder."""
        async for _ in self:
            pass
        return self.counts()

    def counts(self) -> Counts:
        """Where all known URLs are."""
        return self._last_counts if self._frontier is None else self._frontier.counts()

    _last_counts = Counts()

    def stop(self) -> None:
        """No new requests; the iteration ends once what is under way has come in."""
        if self._counter:
            self._counter.close()

    async def __aiter__(self) -> AsyncIterator[CrawledPage]:
        if self._folder is None:
            with tempfile.TemporaryDirectory(prefix="lycosa-") as folder:
                async for page in self._crawl(CrawlFolder(folder)):
                    yield page
        else:
            async for page in self._crawl(CrawlFolder(self._folder)):
                yield page

    async def _crawl(self, folder: CrawlFolder) -> AsyncIterator[CrawledPage]:
        folder.create()
        with folder.lock():
            folder.settings.write_text(as_toml(self._settings), encoding="utf-8")
            write_seeds(folder, self._seeds)
            recover_folder(self._settings, folder)
            clock = steady_clock()
            self._frontier = frontier = open_frontier(self._settings, folder.frontier, 1, clock)
            self._counter = Counter(frontier, clock, self._settings.max_wait_seconds)
            worker = make_worker(self._settings, folder, 0, self._counter.window(0), frontier.crawl_key(), self._keep)
            await frontier.add(seed_targets(self._settings, self._seeds, frontier.crawl_key()))
            running = asyncio.create_task(worker.run())
            try:
                async for page in self._arrivals(running):
                    yield page
            finally:
                self._counter.close()
                await running
                await worker.close()
                self._last_counts, self._frontier = frontier.counts(), None
                await frontier.close()

    async def _arrivals(self, running: asyncio.Task[None]) -> AsyncIterator[CrawledPage]:
        while not running.done() or not self._pages.empty():
            arrival = asyncio.ensure_future(self._pages.get())
            await asyncio.wait((arrival, running), return_when=asyncio.FIRST_COMPLETED)
            if arrival.done():
                yield arrival.result()
            else:
                arrival.cancel()

    def _keep(self, kept: Kept) -> None:
        visit, response, page, links = kept
        if visit.outcome not in (OutcomeKind.STORED, OutcomeKind.DUPLICATE) or response is None or page is None:
            return
        self._pages.put_nowait(
            CrawledPage(
                url=visit.url,
                status=visit.status,
                title=page.title,
                description=page.description,
                text=page.text,
                links=links.targets,
                media_type=visit.media_type,
                charset=page.charset,
                language=page.language,
                depth=visit.depth,
                referrer=visit.referrer,
                original=visit.original,
                fetched_at=visit.fetched_at,
                headers=response.headers,
                body=response.body,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
