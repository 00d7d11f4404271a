"""Which pages are rendered, and what becomes of them: from a fetched page to what a browser shows of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

import msgspec

from lycosa.model import Page, RawLink, RenderCause, RenderEnd, Rendering, Response
from lycosa.page.media import Media, media_of
from lycosa.render.browser import Browser, Shown
from lycosa.render.lessons import Lessons, has_gained
from lycosa.render.need import has_scripts, need_of
from lycosa.render.requests import MEDIA_KINDS, PLAIN_KINDS, Fetch, PageRequests, SharedFiles
from lycosa.url.canonical import FETCHED, ParsedUrl, parse

Mode = Literal["never", "auto", "always"]
# A page whose browser was ended for another's sake is shown once more; so is one that waited for its many files until
# its time was over, since those that came are at hand by then.
MAX_TRIES = 2
# Of the time that a lease lasts, how much a page may wait for its place in the browser; of pages that were known to
# need it, how many are fetched for each place; and after how long a visit that waits to be one of them is put back.
WAIT_SHARE, QUEUED_PER_PLACE, QUEUE_SECONDS = 3, 3, 20.0


class PageRenderer:
    """Renders the pages of one worker. Whatever goes wrong, the page is there as it was fetched."""

    def __init__(
        self,
        browser: Browser,
        permits: Callable[[str, ParsedUrl], Awaitable[bool]],
        mode_of: Callable[[str], Mode],
        *,
        max_requests: int,
        max_redirects: int,
        lease_seconds: float,
        has_media: bool,
    ) -> None:
        self._browser = browser
        self._permits = permits
        self._mode_of = mode_of
        self._max_requests = max_requests
        self._max_redirects = max_redirects
        self._wait_seconds = lease_seconds / WAIT_SHARE
        self._kinds = PLAIN_KINDS | MEDIA_KINDS if has_media else PLAIN_KINDS
        self._queue = asyncio.Semaphore(QUEUED_PER_PLACE * browser.places)
        self._shared = SharedFiles()
        self._lessons = Lessons()

    def expects(self, url: str) -> bool:
        """Whether a page that has not been fetched yet will be rendered, as far as that can be told."""
        mode, parsed = self._mode_of(url), _parsed(url)
        return mode == "always" or (mode == "auto" and self._lessons.has_gained(parsed.host, parsed.path_and_query))

    @asynccontextmanager
    async def queue(self) -> AsyncIterator[bool]:
        """Around the visit of such a page: whoever waits for the browser for long does so without a page in hand."""
        try:
            async with asyncio.timeout(QUEUE_SECONDS):
                await self._queue.acquire()
        except TimeoutError:
            yield False
            return
        try:
            yield True
        finally:
            self._queue.release()

    def cause(self, response: Response, page: Page) -> RenderCause | None:
        """Why a page is to be rendered; `STATIC` or None if it is not."""
        mode, url = self._mode_of(response.url), _parsed(response.url)
        content_type = response.header("content-type")
        is_html = mode != "never" and media_of(content_type, response.body) is Media.HTML
        if not is_html or (page.noindex and page.nofollow):
            return None
        if mode == "always":
            return RenderCause.ALWAYS
        cause = self._lessons.decide(url.host, url.path_and_query, need_of(content_type, response.body, page))
        return None if cause is RenderCause.LEARNT and not has_scripts(response.body) else cause

    async def render(
        self, response: Response, page: Page, cause: RenderCause, fetch: Fetch, read: Callable[[bytes], Page]
    ) -> tuple[Response, Page]:
        """A response with what a browser made of it, by what `fetch` brought, and its page as `read` understands it."""
        if cause is RenderCause.STATIC:
            return msgspec.structs.replace(response, rendering=Rendering(cause)), page
        shown, resources, jumps = await self._show(response, fetch)
        html = shown.html.encode("utf-8", "replace")
        rendered = together(page, read(html), jumps) if html else led_on(page, jumps)
        gained, url = has_gained(page, rendered), _parsed(response.url)
        if shown.end is not RenderEnd.NO_PLACE:
            is_plain = cause is RenderCause.LEARNT
            self._lessons.learn(url.host, url.path_and_query, has_gained=gained, is_plain=is_plain)
        end = shown.end
        if not gained and cause is not RenderCause.ALWAYS:
            html, rendered = b"", page
            end = RenderEnd.NOTHING_NEW if end is RenderEnd.WHOLE else end
        elif rendered.truncated and not page.truncated:
            # It has grown beyond what is read of a page.
            html, rendered = b"", led_on(page, jumps)
        return msgspec.structs.replace(response, rendering=Rendering(cause, end, html, resources)), rendered

    async def _show(self, response: Response, fetch: Fetch) -> tuple[Shown, list[Response], list[str]]:
        async with self._browser.place(self._wait_seconds) as has_place:
            if not has_place:
                return Shown(RenderEnd.NO_PLACE), [], []
            resources = list[Response]()
            for tries_left in reversed(range(MAX_TRIES)):
                requests = self._requests(response, fetch)
                shown = await self._browser.show(response.url, requests)
                resources += requests.resources
                if requests.trouble:
                    raise requests.trouble
                if not (tries_left and (shown.has_company or (requests.is_short_of_time and requests.resources))):
                    break
        return shown, resources, requests.jumps

    def _requests(self, response: Response, fetch: Fetch) -> PageRequests:
        return PageRequests(
            response,
            fetch,
            partial(self._permits, _parsed(response.url).host),
            self._shared,
            max_requests=self._max_requests,
            max_redirects=self._max_redirects,
            kinds=self._kinds,
        )

    async def close(self) -> None:
        """End the browser."""
        await self._browser.close()


def together(fetched: Page, rendered: Page, jumps: Sequence[str] = ()) -> Page:
    """A page as the browser shows it, with the links that were in it before; what either says to robots counts."""
    hrefs = {link.href for link in rendered.links}
    page = msgspec.structs.replace(
        rendered,
        links=rendered.links + [link for link in fetched.links if link.href not in hrefs],
        requisites=list(dict.fromkeys([*rendered.requisites, *fetched.requisites])),
        canonical=rendered.canonical or fetched.canonical,
        refresh=rendered.refresh or fetched.refresh,
        charset=fetched.charset,
        noindex=rendered.noindex or fetched.noindex,
        nofollow=rendered.nofollow or fetched.nofollow,
        noarchive=rendered.noarchive or fetched.noarchive,
        noai=rendered.noai or fetched.noai,
        noimageai=rendered.noimageai or fetched.noimageai,
        truncated=rendered.truncated or fetched.truncated,
    )
    return led_on(page, jumps)


def led_on(page: Page, jumps: Sequence[str]) -> Page:
    """A page with links to where its scripts wanted to go."""
    return msgspec.structs.replace(page, links=page.links + [RawLink(url, "", "") for url in jumps]) if jumps else page


def _parsed(url: str) -> ParsedUrl:
    parsed = parse(url, None, FETCHED)
    assert isinstance(parsed, ParsedUrl), "what was fetched is a URL"
    return parsed
