"""A small web made by hand, crawled once by the real command: what the other commands are then asked about."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lycosa.cli.main import main
from lycosa.simweb import HandWeb
from lycosa.store.folder import CrawlFolder

# What a page may send: a formula, terminal escapes, text turned around, markup.
HOSTILE_TITLE = "=cmd() \x1b]0;owned\x07 \x1b[31mred \u202eback <script>alert(1)</script>"
LONG_TEXT = "<p>The quick brown fox jumps over the lazy dog, and the spider sees it from its web.</p>"


def lycosa(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    command = [sys.executable, "-m", "lycosa.cli.main", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


@dataclass(frozen=True)
class World:
    """A crawl that has been made, and the web it was made of, which still answers."""

    folder: CrawlFolder
    web: HandWeb

    def url(self, path: str, host: str = "a.test") -> str:
        return self.web.url(host, path)

    @property
    def place(self) -> list[str]:
        return ["--folder", str(self.folder.path)]

    @property
    def network(self) -> list[str]:
        return ["--open-network", "127.0.0.0/8", "--set", f'dns_servers=["{self.web.dns_address}"]']


@contextmanager
def serving() -> Iterator[HandWeb]:
    """The web, on a thread of its own: commands run a loop themselves."""
    web, loop = HandWeb(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(web.__aenter__(), loop).result(10)
        _furnish(web)
        yield web
        asyncio.run_coroutine_threadsafe(web.__aexit__(None, None, None), loop).result(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def _furnish(web: HandWeb) -> None:
    web.robots("a.test", "# rules\nUser-agent: other\nDisallow: /\n\nUser-agent: *\nAllow: /\nDisallow: /private/\n")
    paths = ("one", "copy", "moved", "gone", "broken", "private/x", "shop/x", "latin", "data.bin", "plain.txt")
    links = "".join(f'<a href="/{path}">{path}</a> ' for path in paths)
    links += '<a rel="nofollow" href="/unfollowed">no</a> <a href="http://elsewhere.test/">away</a>'
    links += '<a href="javascript:void(0)">script</a>'
    title = HOSTILE_TITLE.replace("<", "&lt;")
    web.page("http://a.test/", f"<html lang=en><title>{title}</title><p>Welcome home.</p>{links}")
    for path in ("one", "copy"):
        web.page(
            f"http://a.test/{path}", f"<meta name=robots content=noai><title>One</title>{LONG_TEXT}<a href='/'>home</a>"
        )
    web.redirect("http://a.test/moved", "/one")
    web.page("http://a.test/gone", "gone", status=410)
    web.page("http://a.test/broken", "later", status=503)
    cyrillic = "<meta charset=windows-1251><title>Паук</title><p>Паук плетёт паутину.</p>"
    web.page("http://a.test/latin", cyrillic.encode("cp1251"), headers={"Content-Type": "text/html"})
    web.page("http://a.test/data.bin", bytes(range(256)), headers={"Content-Type": "application/octet-stream"})
    web.page("http://a.test/plain.txt", "plain \x1b[2J words", headers={"Content-Type": "text/plain"})
    web.resolve("closed.test", "10.1.2.3")


@contextmanager
def crawled(path: Path, *more: str, pages: Mapping[str, str] | None = None) -> Iterator[World]:
    """The web and `pages` beside it, by their paths, and a crawl of it.

    It ends incomplete: /broken is to be tried again tomorrow.
    """
    with serving() as web:
        world = World(CrawlFolder(path), web)
        for page_path, page in (pages or {}).items():
            web.page(f"http://a.test{page_path}", page)
        seeds = [world.url("/"), world.url("/", "closed.test"), *map(world.url, pages or ())]
        pace = ["--min-delay", "0", "--delay-factor", "0", "--workers", "1", "--quiet"]
        rules = ["--exclude", "/shop/", "--max-depth", "3", "--set", "retry_after_seconds=[86400.0]"]
        code = main(["crawl", *seeds, *world.place, *world.network, *pace, *rules, *more])
        assert code in (0, 3)
        yield world
