"""The life of a browser: it is started for the first page that needs it, and ends with whoever started it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from lycosa.model import RenderEnd, Response
from lycosa.render.browser import Browser, BrowserLimits
from lycosa.render.processes import processes_of
from lycosa.render.requests import PLAIN_KINDS, PageRequests, SharedFiles
from lycosa.settings import Settings
from lycosa.url.canonical import ParsedUrl
from lycosa.wiring.worker import make_fetcher

from .hostile import PAGES, html

LIMITS = BrowserLimits("", "lycosa", pages=1, seconds=20.0, scrolls=0, memory_bytes=1 << 40, max_chars=10_000)


async def _nothing(_: ParsedUrl) -> bool:
    return False


def requests_of(body: str) -> PageRequests:
    response = Response(
        "http://a.test/", 200, [("content-type", "text/html")], body.encode(), b"", b"", b"", "", "", 0.0, 0.0
    )
    fetcher = make_fetcher(Settings(), lambda: 0.0)

    async def fetch(url: str, headers: Sequence[tuple[str, str]]) -> Response:
        return await fetcher.fetch(url, headers=headers)

    return PageRequests(response, fetch, _nothing, SharedFiles(), max_requests=9, max_redirects=5, kinds=PLAIN_KINDS)


async def test_a_page_that_takes_too_much_memory_is_ended_and_the_next_is_shown(browser_program: str) -> None:
    browser = Browser(LIMITS._replace(program=browser_program, memory_bytes=1))
    try:
        shown = await browser.show("http://a.test/", requests_of(html(PAGES["timers-that-grow"])))
        assert shown.end is RenderEnd.MEMORY
    finally:
        await browser.close()
    browser = Browser(LIMITS._replace(program=browser_program))
    try:
        shown = await browser.show(
            "http://a.test/",
            requests_of("<p id=p></p><script>p.append(navigator.userAgent)</script><p>is how it is called"),
        )
        assert shown.end is RenderEnd.WHOLE
        assert '<p id="p">lycosa</p>' in shown.html
        group = browser.group
        assert processes_of(group)
        # Somebody ends it: the next page has another.
        os.killpg(group, signal.SIGKILL)
        shown = await browser.show("http://a.test/", requests_of("<p>once more, and nothing else is here"))
        if shown.has_company:
            # It had not been noticed yet: whoever renders tries again.
            shown = await browser.show("http://a.test/", requests_of("<p>once more, and nothing else is here"))
        assert shown.end is RenderEnd.WHOLE
        assert browser.starts == 2
    finally:
        await browser.close()
    assert not processes_of(group)
    assert not processes_of(browser.group)


async def test_a_browser_does_not_outlive_who_started_it(browser_program: str, tmp_path: Path) -> None:
    note = tmp_path / "group"
    program = f"""
        import asyncio, os, signal, sys
        from pathlib import Path
        from tests.render.test_life import LIMITS, requests_of, Browser, html, PAGES

        async def main():
            browser = Browser(LIMITS._replace(program={browser_program!r}))
            await browser.show("http://a.test/", requests_of("<p>here it is, and nothing else"))
            showing = asyncio.create_task(browser.show("http://a.test/", requests_of(html(PAGES["blocking"]))))
            await asyncio.sleep(0)
            Path({str(note)!r}).write_text(str(browser.group))
            os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
    """
    child = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=Path(__file__).parents[2], check=False)
    assert child.returncode == -signal.SIGKILL
    group = int(note.read_text())
    while processes_of(group):
        await asyncio.sleep(0.05)
