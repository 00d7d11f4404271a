"""Chromium, started when a page needs it: a fresh context for each page, limits on time and memory, a bitter end.

Playwright drives it through a pipe. The browser has no network: it is given what `PageRequests` answers. Whatever it
does not do in time is ended with it, and the next page gets another.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lycosa.errors import SettingsError, Shortage
from lycosa.model import RenderEnd
from lycosa.render import launcher
from lycosa.render.processes import end_all, end_largest_page, processes_of
from lycosa.render.requests import BrowserRequest, PageRequests

# The extra `render`: whoever renders nothing need not have it.
if TYPE_CHECKING:
    from playwright.async_api import Browser as PlaywrightBrowser
    from playwright.async_api import BrowserContext, CDPSession, Page, Playwright, Request, Route

_log = logging.getLogger(__name__)

PROGRAMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
# It begins anew after so many pages: what leaks in it does not add up. And it ends when nobody wants a page for long.
MAX_PAGES, IDLE_SECONDS = 250, 60.0
START_SECONDS, CLOSE_SECONDS, ANSWER_SECONDS, SNAPSHOT_SECONDS = 30.0, 5.0, 2.0, 5.0
# What a page needs beyond its own time, until it is there and until its document is read.
MORE_SECONDS = 15.0
# A page is at rest when for so long it has asked for nothing and has not grown.
QUIET_SECONDS, LOOK_SECONDS = 0.5, 0.17
# Not yet if it shows next to nothing: some begin with a pause. And in spite of what it asks for if it has not grown for
# long: some ask for news for ever.
HOLLOW_SECONDS, HOLLOW_CHARS, STILL_SECONDS = 3.0, 25, 15.0
WATCH_SECONDS = 0.5
HEAP_MEGABYTES = 512
FOLDER = "lycosa-browser-"
SWITCHES = (
    # No name leads anywhere, and what needs none meets a proxy where nobody listens.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://127.0.0.1:1",
    "--proxy-bypass-list=<-loopback>",
    "--dns-prefetch-disable",
    "--no-pings",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy",
    "--disable-quic",
    "--disable-gpu",
    "--disable-print-preview",
    "--disable-notifications",
    "--block-new-web-contents",
    "--deny-permission-prompts",
    "--mute-audio",
    "--disk-cache-size=1",
    f"--js-flags=--max-old-space-size={HEAP_MEGABYTES}",
)
# What a page could only use to hold on to whoever looks at it, or to go past us. Of the browser's own means none would
# get through; that a page sees at once that it has none is kinder than a wait.
_QUIET = """(() => {
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebSocket', 'WebSocketStream', 'WebTransport',
                      'EventSource', 'SharedWorker'])
    try { delete window[name]; } catch (error) {}
  for (const name of ['alert', 'confirm', 'prompt', 'print', 'open'])
    try { window[name] = () => name === 'confirm' ? false : name === 'prompt' ? null : undefined; } catch (error) {}
  // What a closed shadow tree shows is shown, too.
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (how) { return attach.call(this, {...how, mode: 'open'}); };
})()"""
_STATE = "[document.readyState, document.getElementsByTagName('*').length]"
_SHOWN = "document.body ? document.body.innerText.trim().length : 0"
_SCROLL = "window.scrollTo(0, document.documentElement.scrollHeight)"
# What is in shadow trees is shown, and would be left out. <noscript> is for those without scripts.
_SNAPSHOT = """(() => {
  let count = 0;
  const open = (root, depth) => {
    for (const each of root.querySelectorAll('*')) {
      if (each.shadowRoot && depth < 50 && count++ < 2000) {
        open(each.shadowRoot, depth + 1);
        each.insertAdjacentHTML('beforeend', each.shadowRoot.innerHTML);
      }
      if (each.localName === 'noscript') each.remove();
    }
  };
  open(document, 0);
  const html = document.documentElement ? document.documentElement.outerHTML : '';
  return '<!DOCTYPE html>' + (html.length > %d ? html.slice(0, %d) : html);
})()"""


class BrowserLimits(NamedTuple):
    """How a browser is started, and how much a page of it may take."""

    program: str
    user_agent: str
    pages: int
    seconds: float
    scrolls: int
    memory_bytes: int
    max_chars: int


class Shown(NamedTuple):
    """A page as the browser showed it in the end; without a document where it could not."""

    end: RenderEnd
    html: str = ""
    has_company: bool = False  # it ended with the whole browser, perhaps for another page's sake


def find_browser(wanted: str) -> str:
    """The program of the browser; raises `SettingsError` where something is missing, and says what."""
    try:
        import playwright  # noqa: F401
    except ImportError:
        raise SettingsError("render: Playwright is missing; install it with: pip install 'lycosa[render]'") from None
    names = [wanted] if wanted else list(PROGRAMS)
    for name in names:
        if program := shutil.which(name):
            return program
    if wanted:
        raise SettingsError(f"browser: there is no program {wanted!r}")
    raise SettingsError("render: there is no Chromium here; install it (apt-get install chromium), or set `browser`")


class _Running(NamedTuple):
    """A browser that runs."""

    playwright: Playwright
    browser: PlaywrightBrowser
    folder: Path
    group: int


class Browser:
    """Shows pages. Started by the first of them; every way out of it ends all its processes."""

    def __init__(self, limits: BrowserLimits) -> None:
        self._limits = limits
        self._running: _Running | None = None
        self._one_start = asyncio.Lock()
        self.places = limits.pages
        self._places = asyncio.Semaphore(limits.pages)
        self._open = self._shown = 0
        self._is_tired = False
        self._ended_for_memory = 0
        self._watcher: asyncio.Task[None] | None = None
        self.starts = 0
        self.group = 0  # of its processes, the last time it was started

    @asynccontextmanager
    async def place(self, wait_seconds: float) -> AsyncIterator[bool]:
        """For a page within; whether there is room for it by then."""
        try:
            async with asyncio.timeout(wait_seconds):
                await self._places.acquire()
        except TimeoutError:
            yield False
            return
        try:
            yield True
        finally:
            self._places.release()

    async def show(self, url: str, requests: PageRequests) -> Shown:
        """Show a page until it is at rest, or has had its time. Raises `Shortage` where no browser can be started."""
        running = await self._started()
        self._open += 1
        self._shown += 1
        try:
            return await self._show(running, url, requests)
        finally:
            self._open -= 1
            if (self._is_tired or self._shown >= MAX_PAGES) and not self._open and self._running is running:
                await self._end(running)

    async def close(self) -> None:
        """End the browser and all that belongs to it."""
        if self._running:
            await self._end(self._running)

    # ---- one page

    async def _show(self, running: _Running, url: str, requests: PageRequests) -> Shown:
        from playwright.async_api import Error

        before = self._ended_for_memory
        tasks = set[asyncio.Task[Any]]()
        context: BrowserContext | None = None
        try:
            async with asyncio.timeout(self._limits.seconds + MORE_SECONDS):
                context = await running.browser.new_context(
                    user_agent=self._limits.user_agent,
                    accept_downloads=False,
                    service_workers="block",
                    java_script_enabled=True,
                    ignore_https_errors=True,
                    permissions=[],
                    reduced_motion="reduce",
                )
                await context.add_init_script(_QUIET)
                page = await context.new_page()
                await context.route("**/*", _Router(page, requests, tasks).answer)
                return await _Shower(self._limits, context, page, requests).show(url)
        except (Error, TimeoutError):
            if self._ended_for_memory > before:
                return Shown(RenderEnd.MEMORY)
            return Shown(RenderEnd.CRASHED, has_company=not running.browser.is_connected())
        finally:
            for task in tasks:
                task.cancel()
            if context is not None and not await _within(CLOSE_SECONDS, context.close()):
                # It does not even let go of a page: nothing more is expected of it.
                self._is_tired = True
                end_all(running.group)

    # ---- its life

    async def _started(self) -> _Running:
        async with self._one_start:
            if self._running and (self._is_tired or not self._running.browser.is_connected()):
                await self._end(self._running)
            if self._running is None:
                self._running = await self._start()
                self._shown, self._is_tired = 0, False
                self.starts += 1
                self.group = self._running.group
                self._watcher = asyncio.create_task(self._watch(self._running))
            return self._running

    async def _start(self) -> _Running:
        from playwright.async_api import Error, async_playwright

        _clear_up()
        folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        playwright: Playwright | None = None
        try:
            async with asyncio.timeout(START_SECONDS):
                playwright = await async_playwright().start()
                browser = await playwright.chromium.launch(
                    executable_path=_script(folder, self._limits.program),
                    args=list(SWITCHES),
                    # Two of Playwright's own would let pages ask for more than a browser ever lets them.
                    ignore_default_args=["--disable-ipc-flooding-protection", "--disable-popup-blocking"],
                    chromium_sandbox=os.geteuid() != 0,
                    # Nothing of ours is any of its business: keys and addresses stand in an environment.
                    env={"HOME": str(folder), "TMPDIR": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"},
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
            return _Running(playwright, browser, folder, int((folder / "pid").read_text()))
        except (Error, TimeoutError, OSError, ValueError) as error:
            with suppress(OSError, ValueError):
                end_all(int((folder / "pid").read_text()))
            if playwright:
                await _within(CLOSE_SECONDS, playwright.stop())
            shutil.rmtree(folder, ignore_errors=True)
            raise Shortage(f"{self._limits.program}: the browser does not start: {str(error)[:300]}") from error

    async def _end(self, running: _Running) -> None:
        if self._running is running:
            self._running = None
        if self._watcher and self._watcher is not asyncio.current_task():
            self._watcher.cancel()
        await _within(CLOSE_SECONDS, running.browser.close())
        end_all(running.group)
        await _within(CLOSE_SECONDS, running.playwright.stop())
        shutil.rmtree(running.folder, ignore_errors=True)

    async def _watch(self, running: _Running) -> None:
        """Keep an eye on its memory while it shows pages; without any for long, end it."""
        idle_since = asyncio.get_running_loop().time()
        while self._running is running:
            await asyncio.sleep(WATCH_SECONDS)
            now = asyncio.get_running_loop().time()
            if self._open:
                idle_since = now
                processes = processes_of(running.group)
                if sum(each.own_bytes for each in processes) > self._limits.memory_bytes:
                    self._ended_for_memory += 1
                    if not end_largest_page(processes):
                        end_all(running.group)
            elif now - idle_since > IDLE_SECONDS:
                async with self._one_start:
                    if not self._open:
                        await self._end(running)


class _Router:
    """What a page asks for, on its way to whoever answers."""

    def __init__(self, page: Page, requests: PageRequests, tasks: set[asyncio.Task[Any]]) -> None:
        self._page = page
        self._requests = requests
        self._tasks = tasks

    async def answer(self, route: Route, request: Request) -> None:
        from playwright.async_api import Error

        given = None
        # A task of its own is cancelled with the page; what Playwright began has to come to its end.
        task = asyncio.create_task(self._requests.answer(self._asked(request)))
        self._tasks.add(task)
        await asyncio.wait((task,))
        self._tasks.discard(task)
        if not task.cancelled():
            given = task.result()
        # The page may be gone by now, and with it whoever asked.
        with suppress(Error):
            if given is not None:
                with suppress(Error):
                    await route.fulfill(status=given.status, headers=given.headers, body=given.body)
                    return
            await route.abort("blockedbyclient")

    def _asked(self, request: Request) -> BrowserRequest:
        kind = request.resource_type
        if request.is_navigation_request():
            kind = "page" if request.frame == self._page.main_frame else "frame"
        return BrowserRequest(request.url, request.method, kind, request.headers)


class _Shower:
    """One page in the browser, from its document to what became of it."""

    def __init__(self, limits: BrowserLimits, context: BrowserContext, page: Page, requests: PageRequests) -> None:
        self._limits = limits
        self._context = context
        self._page = page
        self._requests = requests
        self._world: int | None = None
        self._scrolls = limits.scrolls
        self._is_gone = False
        self._session: CDPSession

    async def show(self, url: str) -> Shown:
        loop = asyncio.get_running_loop()
        until = loop.time() + self._limits.seconds
        self._session = await self._context.new_cdp_session(self._page)
        self._page.on("crash", self._leave)
        self._page.on("close", self._leave)
        self._page.on("dialog", _dismiss)
        await self._page.goto(url, wait_until="commit", timeout=1000 * self._limits.seconds)
        end = await self._wait(until)
        return await self._snapshot(end)

    def _leave(self, _: object) -> None:
        self._is_gone = True

    async def _wait(self, until: float) -> RenderEnd:
        """Return when the page is at rest, or is to wait for no longer."""
        loop = asyncio.get_running_loop()
        last: object = None
        scrolled_at: object = None
        quiet_since = still_since = loop.time()
        while loop.time() < until:
            await asyncio.sleep(LOOK_SECONDS)
            requests = self._requests
            if requests.trouble:
                raise requests.trouble
            if self._is_gone or requests.is_flood:
                return RenderEnd.REQUESTS
            state = await self._evaluate(_STATE, ANSWER_SECONDS)
            now = loop.time()
            if state is None or state != last or state[0] != "complete":
                last, quiet_since, still_since = state, now, now
            elif requests.open:
                quiet_since = now
            is_still = now - still_since >= STILL_SECONDS and not await self._is_hollow(0.0)
            if not is_still and (now - quiet_since < QUIET_SECONDS or await self._is_hollow(now - quiet_since)):
                continue
            if not self._scrolls or state == scrolled_at:
                return RenderEnd.REQUESTS if requests.is_too_much else RenderEnd.WHOLE
            self._scrolls -= 1
            quiet_since, still_since, scrolled_at = now, now, state
            await self._evaluate(_SCROLL, ANSWER_SECONDS)
        self._requests.is_short_of_time = self._requests.open > 0
        return RenderEnd.TIME

    async def _is_hollow(self, quiet_seconds: float) -> bool:
        """Whether a page that is quiet shows so little that it may only have begun."""
        if quiet_seconds >= HOLLOW_SECONDS:
            return False
        shown = await self._evaluate(_SHOWN, ANSWER_SECONDS)
        return isinstance(shown, int | float) and shown < HOLLOW_CHARS

    async def _snapshot(self, end: RenderEnd) -> Shown:
        from playwright.async_api import Error

        if end is not RenderEnd.WHOLE:
            # What it is doing at this moment, and would do next, is over.
            stops: tuple[tuple[str, dict[str, Any]], ...] = (
                ("Runtime.terminateExecution", {}),
                ("Emulation.setScriptExecutionDisabled", {"value": True}),
            )
            await _within(ANSWER_SECONDS, *(self._session.send(method, values) for method, values in stops))
        chars = self._limits.max_chars
        html = await self._evaluate(_SNAPSHOT % (chars, chars), SNAPSHOT_SECONDS)
        if self._is_gone or not isinstance(html, str):
            # Whatever it is busy with, this ends it, and no other page with it.
            await _within(ANSWER_SECONDS, self._session.send("Page.crash"))
            raise Error("the page does not answer")
        if not self._page.url.startswith(("http:", "https:")):
            return Shown(RenderEnd.LEFT)
        return Shown(end, html)

    async def _evaluate(self, expression: str, seconds: float) -> Any:
        """The value of an expression in a world where the page has changed nothing; None if none comes in time."""
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(seconds):
                if self._world is None:
                    tree = await self._session.send("Page.getFrameTree")
                    made = await self._session.send(
                        "Page.createIsolatedWorld", {"frameId": tree["frameTree"]["frame"]["id"]}
                    )
                    self._world = made["executionContextId"]
                answer = await self._session.send(
                    "Runtime.evaluate",
                    {
                        "expression": expression,
                        "contextId": self._world,
                        "returnByValue": True,
                        "timeout": 1000 * seconds,
                    },
                )
        except (TimeoutError, Error):
            self._world = None  # perhaps of another document
            return None
        return answer["result"].get("value")


async def _dismiss(dialog: Any) -> None:
    from playwright.async_api import Error

    with suppress(Error):
        await dialog.dismiss()


async def _within(seconds: float, *works: Coroutine[Any, Any, Any]) -> bool:
    """Whether something is done in time; what it fails of does not matter any more."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.gather(*works, return_exceptions=True)
    except TimeoutError:
        return False
    return True


def _clear_up() -> None:
    """Remove the folders of browsers that were killed together with whoever started them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError, ValueError):
            if not Path(f"/proc/{int((folder / 'pid').read_text())}").exists():
                shutil.rmtree(folder, ignore_errors=True)


def _script(folder: Path, program: str) -> Path:
    """A program that starts the browser by way of our launcher: Playwright runs one, with arguments of its own."""
    script = folder / "browser"
    words = (sys.executable, "-IS", launcher.__file__, str(folder / "pid"), program)
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    script.write_text(f'#!/bin/sh\nexec {quoted} "$@"\n')
    script.chmod(0o700)
    return script
