"""The crawler as a library: `async for page in Crawler([...])`. The same parts, in the caller's own process."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self

import msgspec

from lycosa.build import (
    agree,
    begin_seconds,
    hold_folder,
    make_worker,
    open_frontier,
    parse_seeds,
    recover_folder,
    recover_siblings,
    seed_targets,
    write_seeds,
    write_settings,
)
from lycosa.clock import steady_clock
from lycosa.crawl.dispatcher import CentralDispatcher, LocalDispatcher
from lycosa.crawl.settlement import Kept
from lycosa.errors import SettingsError
from lycosa.model import Lease, OutcomeKind
from lycosa.ports import Counts, CrawlFrontier
from lycosa.settings import from_values
from lycosa.store.folder import CrawlFolder

# Pages waiting for the caller: when it is slow, the crawl waits for it. Those under way still come in.
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
    content: str = ""  # the main text, without navigation
    comments: str = ""
    author: str = ""
    published: str = ""
    summary: str = ""
    group: str = ""  # the pages whose texts are 90 % alike


class Crawler:
    """A crawl in this process. Iterate over it for its pages, each once it is safely kept.

    `folder` keeps the crawl and lets the same call go on with it later; without one everything is
    forgotten at the end. Every setting of `lycosa crawl` is a keyword. Leaving the loop early ends the
    crawl; use the crawler as a context (`async with Crawler(...) as crawler`) to have it ended, and its
    folder free again, at a known point.
    """

    def __init__(self, seeds: Sequence[str], *, folder: str | Path | None = None, **settings: Any) -> None:
        if not seeds and folder is None:
            raise SettingsError("no seeds: name a URL to start from, or the folder of a crawl")
        self._seeds = parse_seeds(seeds)
        self._settings = from_values(settings | {"workers": 1})
        self._asked = frozenset(settings)
        if str(folder or "").startswith("s3:"):
            raise SettingsError(f"{folder}: a crawl within a program keeps its pages in a folder of this machine")
        self._folder = folder
        self._frontier: CrawlFrontier | None = None
        self._dispatcher: CentralDispatcher | None = None
        self._waiting = _WaitingPages()
        self._pages: AsyncGenerator[CrawledPage, None] | None = None
        self._last_counts = Counts()

    async def run(self) -> Counts:
        """Crawl to the end without looking at the pages; they are in the folder."""
        async for _ in self:
            pass
        return self.counts()

    def counts(self) -> Counts:
        """Where all known URLs are."""
        return self._last_counts if self._frontier is None else self._frontier.counts()

    def stop(self) -> None:
        """No new requests; the iteration ends once what is under way has come in."""
        if self._dispatcher:
            self._dispatcher.close()
        self._waiting.open()

    def __aiter__(self) -> AsyncIterator[CrawledPage]:
        if self._frontier is not None:
            raise RuntimeError("this crawler is being iterated over already; make another one for another crawl")
        self._pages = self._crawl()
        return self._pages

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()
        if self._pages is not None:
            await self._pages.aclose()

    async def _crawl(self) -> AsyncGenerator[CrawledPage, None]:
        async with AsyncExitStack() as stack:
            path = self._folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="lycosa-"))
            folder, lock = hold_folder(CrawlFolder(path), self._settings)
            stack.enter_context(lock)
            running = await stack.enter_async_context(self._running(folder))
            while page := await self._waiting.next(running):
                yield page

    @asynccontextmanager
    async def _running(self, folder: CrawlFolder) -> AsyncIterator[asyncio.Task[None]]:
        """The crawl, as a task that ends with the last page; everything is closed when the context ends."""
        settings = self._settings
        settings, seeds = await agree(settings, self._seeds, self._asked, folder.frontier)
        write_settings(folder, settings)
        write_seeds(folder, seeds)
        recover_folder(settings, folder)
        recover_siblings(settings, folder)
        clock = steady_clock()
        self._waiting = waiting = _WaitingPages()
        self._frontier = frontier = await open_frontier(settings, folder.frontier, 1, clock)
        try:
            self._dispatcher = counter = CentralDispatcher(
                frontier, clock, settings.max_wait_seconds, begin_seconds(settings)
            )
            key = frontier.crawl_key()
            await frontier.add(seed_targets(settings, seeds, key))
            worker = make_worker(settings, folder, 0, _PatientDispatch(counter, waiting), key, waiting.add)
            try:
                running = asyncio.create_task(worker.run())
                yield running
            finally:
                self.stop()
                try:
                    await running
                finally:
                    await worker.close()
        finally:
            self._last_counts, self._frontier = frontier.counts(), None
            await frontier.close()


class _WaitingPages:
    """Pages on their way to the caller."""

    def __init__(self) -> None:
        self._pages: asyncio.Queue[CrawledPage] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()
        self._is_open = False

    def open(self) -> None:
        """Nobody waits for room from now on."""
        self._is_open = True
        self._room.set()

    def add(self, kept: Kept) -> None:
        """Take in a visit; only those that brought content are pages."""
        if page := _page_of(kept):
            self._pages.put_nowait(page)
            if self._pages.qsize() >= MAX_WAITING_PAGES and not self._is_open:
                self._room.clear()

    async def room(self) -> None:
        """Return when the caller has not too much to do."""
        await self._room.wait()

    async def next(self, running: asyncio.Task[None]) -> CrawledPage | None:
        """The next page; None when the crawl has ended and all are taken."""
        if self._pages.empty() and not running.done():
            arrival = asyncio.ensure_future(self._pages.get())
            try:
                await asyncio.wait((arrival, running), return_when=asyncio.FIRST_COMPLETED)
                if arrival.done():
                    return self._taken(arrival.result())
            finally:
                arrival.cancel()
        return None if self._pages.empty() else self._taken(self._pages.get_nowait())

    def _taken(self, page: CrawledPage) -> CrawledPage:
        if self._pages.qsize() < MAX_WAITING_PAGES:
            self._room.set()
        return page


class _PatientDispatch(LocalDispatcher):
    """Gives out no leases while the caller has pages enough."""

    def __init__(self, counter: CentralDispatcher, waiting: _WaitingPages) -> None:
        super().__init__(counter, worker=0)
        self._waiting = waiting

    async def take(self, limit: int) -> list[Lease]:
        await self._waiting.room()
        return await super().take(limit)


def _page_of(kept: Kept) -> CrawledPage | None:
    visit, response, page, links = kept
    if visit.outcome not in (OutcomeKind.STORED, OutcomeKind.DUPLICATE) or response is None or page is None:
        return None
    return CrawledPage(
        url=visit.url,
        status=visit.status,
        title=page.title,
        description=page.description,
        text=page.text,
        links=links.targets,
        media_type=visit.media_type,
        charset=page.charset,
        language=visit.language,
        depth=visit.depth,
        referrer=visit.referrer,
        original=visit.original,
        fetched_at=visit.fetched_at,
        headers=response.headers,
        body=response.body,
        content=page.content,
        comments=page.comments,
        author=page.author,
        published=page.published,
        summary=visit.summary,
        group=visit.group_id,
    )
