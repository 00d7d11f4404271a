"""The dashboard's pictures in the docs, of a crawl of a simulated web: `python tools/screenshots.py docs/dashboard`.

Needs what the tests of the dashboard need: playwright, and Chromium in the PATH.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, expect, sync_playwright

from lycosa.dashboard.serve import ANYWHERE, DashboardAddress, ServedBeside, listen
from lycosa.simweb import SimWebProcess, WebPlan

PLAN = WebPlan.named("mixed", hosts=60, pages_per_host=60, crawl_delay_seconds=0.5, slow_seconds=0.2)
WIDE, PHONE = {"width": 1200, "height": 780}, {"width": 400, "height": 780}


def main(out: Path) -> None:
    """Take them all."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, SimWebProcess(PLAN) as web, sync_playwright() as playwright:
        folder, listening = Path(place) / "crawl", listen(ANYWHERE)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with ServedBeside(folder, None, listening), _crawling(web, folder) as crawl:
            _while_it_runs(browser, listening, out)
            crawl.wait()
            _when_it_is_over(browser, listening, out, web)
        browser.close()


@contextmanager
def _crawling(web: SimWebProcess, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    servers = f'dns_servers=["{web.dns_address}"]'
    pace = ["--min-delay", "0.1", "--delay-factor", "1", "--set", "retry_after_seconds=[1.0, 2.0]"]
    place = ["--scope", "any", "--folder", str(folder), "--open-network", "127.0.0.0/8", "--set", servers, "--quiet"]
    crawl = subprocess.Popen([sys.executable, "-m", "lycosa.cli.main", "crawl", *web.seeds, *place, *pace])
    try:
        yield crawl
    finally:
        crawl.terminate()
        crawl.wait()


def _while_it_runs(browser: Browser, listening: DashboardAddress, out: Path) -> None:
    for name, scheme, size in (("overview", "light", WIDE), ("overview-dark", "dark", WIDE), ("phone", "light", PHONE)):
        context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
        page = context.new_page()
        page.goto(listening.link)
        if name == "overview":
            # A thousand pages: then there is something to be seen.
            expect(page.locator(".tiles b").first).to_have_text(re.compile(r"\d,\d{3}"), timeout=120_000)
        page.wait_for_selector(".plot canvas")
        page.screenshot(path=out / f"{name}.png")
        context.close()


def _when_it_is_over(browser: Browser, listening: DashboardAddress, out: Path, web: SimWebProcess) -> None:
    seed = web.seeds[0]
    host = seed.partition("//")[2].partition(":")[0].rstrip("/")
    page = browser.new_context(viewport=WIDE).new_page()  # type: ignore[arg-type]
    page.goto(listening.link)
    own = f"http://{listening.host}:{listening.port}"
    pages = (
        ("host", f"/host?{urlencode({'name': host})}"),
        ("url", f"/url?{urlencode({'url': seed})}"),
        ("links", "/graph"),
        ("search", f"/search?{urlencode({'q': 'answer family'})}"),
    )
    for name, address in pages:
        page.goto(own + address)
        if name == "search":
            expect(page.locator("main mark").first).to_be_visible(timeout=120_000)
        page.screenshot(path=out / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
