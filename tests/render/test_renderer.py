"""What becomes of a page in the browser: how often it is shown, and what is kept of that. Without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from lycosa.model import Page, RenderCause, RenderEnd, Response
from lycosa.page.parser import PageParser
from lycosa.render.browser import Browser, Shown
from lycosa.render.renderer import PageRenderer
from lycosa.render.requests import BrowserRequest, PageRequests
from lycosa.settings import Settings
from lycosa.url.canonical import ParsedUrl

SHELL, WHOLE = "<div id=app></div><script src=/a.js></script>", "<p>All that the files of this page make of it."


class SlowBrowser:
    """Has time for two more of a page's files each time it shows it, and shows it whole once there are all."""

    places = 1

    def __init__(self, files: int, *, is_waiting: bool = True) -> None:
        self.files = [f"http://a.test/{number}.js" for number in range(files)]
        self.is_waiting = is_waiting
        self.shown = 0
        self._at_hand = set[str]()

    @asynccontextmanager
    async def place(self, wait_seconds: float) -> AsyncIterator[bool]:
        yield True

    async def show(self, url: str, requests: PageRequests) -> Shown:
        self.shown += 1
        for file in [file for file in self.files if file not in self._at_hand][:2]:
            assert await requests.answer(BrowserRequest(file, "GET", "script", {}))
            self._at_hand.add(file)
        if len(self._at_hand) == len(self.files):
            return Shown(RenderEnd.WHOLE, WHOLE)
        requests.is_short_of_time = self.is_waiting
        return Shown(RenderEnd.TIME)


def answer(url: str, body: str, content_type: str) -> Response:
    return Response(url, 200, [("content-type", content_type)], body.encode(), b"", b"", b"", "", "", 0.0, 0.0)


@pytest.mark.parametrize(
    ("files", "is_waiting", "shown", "end"),
    [
        (2, True, 1, RenderEnd.WHOLE),
        (4, True, 2, RenderEnd.WHOLE),
        (6, True, 2, RenderEnd.TIME),
        (4, False, 1, RenderEnd.TIME),
    ],
)
async def test_a_page_that_waits_for_its_files_has_a_second_try(
    files: int, shown: int, end: RenderEnd, *, is_waiting: bool
) -> None:
    browser, asked = SlowBrowser(files, is_waiting=is_waiting), list[str]()

    async def fetch(url: str, headers: Sequence[tuple[str, str]]) -> Response:
        asked.append(url)
        return answer(url, "x()", "text/javascript")

    async def permits(host: str, url: ParsedUrl) -> bool:
        return True

    limits: dict[str, Any] = {"max_requests": 9, "max_redirects": 5, "lease_seconds": 180.0, "has_media": False}
    renderer = PageRenderer(cast(Browser, browser), permits, lambda url: "always", **limits)
    parser = PageParser(Settings(), "lycosa")

    def read(html: bytes) -> Page:
        return parser.parse(html, "text/html; charset=utf-8", url="http://a.test/")

    fetched = answer("http://a.test/", SHELL, "text/html")
    response, page = await renderer.render(fetched, read(SHELL.encode()), RenderCause.ALWAYS, fetch, read)
    assert response.rendering
    assert (browser.shown, response.rendering.end) == (shown, end)
    assert (page.text != "") is (end is RenderEnd.WHOLE)
    # Each was asked for once, and is kept, whichever try it was for.
    assert [resource.url for resource in response.rendering.resources] == asked == browser.files[: 2 * shown]
