"""The dashboard in a real browser: what moves, what a keyboard and a phone can do, and what nobody may see."""

from __future__ import annotations

import json
import lzma
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from lycosa.crawl.orders import pending
from lycosa.dashboard import search
from lycosa.orders import PauseCrawl, SetPolicy
from lycosa.simweb import SimWebProcess, WebPlan

from ..cli.world import World
from .visitor import Visitor, index, served, tables_of

AXE = Path(__file__).parents[1] / "data" / "axe" / "axe.min.js.xz"
CHROMIUM = shutil.which("chromium")
# So slow that it is under way for minutes, however late the browser comes; it is ended by the test.
PLAN = WebPlan.named("mixed", hosts=6, pages_per_host=600, crawl_delay_share=0.0, slow_seconds=0.2)
PHONE = {"width": 400, "height": 800}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no browser")


@pytest.fixture(scope="module")
def browser(world: World) -> Iterator[Browser]:
    # After the crawl, which runs a loop in this thread, as Playwright does from here on.
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def said() -> list[str]:
    """What a page complained of."""
    return []


@pytest.fixture
def page(browser: Browser, visitor: Visitor, said: list[str]) -> Iterator[Page]:
    """Let in by the link; whatever it complains of fails the test."""
    context = browser.new_context(base_url=f"http://127.0.0.1:{visitor.port}")
    page = opened(context.new_page(), said)
    page.goto(f"/?token={visitor.token}")
    yield page
    context.close()
    assert said == []


def opened(page: Page, said: list[str]) -> Page:
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(f"dialog: {dialog.message}"))
    return page


def pages_of(world: World) -> dict[str, str]:
    return {
        "overview": "/",
        "host": "/host?name=a.test",
        "url": f"/url?url={quote(world.url('/'), safe='')}",
        "kept": f"/kept?url={quote(world.url('/'), safe='')}&version=0",
        "graph": "/graph",
        "versions": f"/url?url={quote(world.url('/one'), safe='')}&old=0&new=0",
        "search": "/search?q=welcome",
        "report": world.folder.report.as_uri(),
        "no search": "/search?q=%22",
        "not there": f"/url?url={quote(world.url('/never'), safe='')}",
    }


def test_the_token_does_not_stay_in_the_address(page: Page) -> None:
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""


def test_figures_move_while_a_crawl_runs(browser: Browser, tmp_path: Path, said: list[str]) -> None:
    with SimWebProcess(PLAN) as web:
        servers = f'dns_servers=["{web.dns_address}"]'
        place = ["--folder", str(tmp_path / "crawl"), "--open-network", "127.0.0.0/8", "--set", servers]
        pace = ["--min-delay", "0.3", "--delay-factor", "0", "--workers", "1", "--scope", "any", "--quiet"]
        command = [sys.executable, "-m", "lycosa.cli.main", "crawl", "--serve", *web.seeds, *place, *pace]
        crawl = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert crawl.stderr
            link = next(line for line in crawl.stderr if "token=" in line).split()[-1]
            page = opened(browser.new_page(), said)
            page.goto(link)
            pages = page.locator(".tiles b").first
            expect(page.locator(".state.good").first).to_contain_text("running", timeout=60_000)
            expect(pages).to_have_text(re.compile(r"^[1-9][\d,]*$"), timeout=60_000)
            before = pages.text_content() or ""
            expect(pages).not_to_have_text(before, timeout=60_000)
            expect(page.locator("[data-plot=rate] canvas")).to_be_visible()
            expect(page.locator("[data-plot=rate]")).to_have_attribute("aria-label", re.compile(r"pages/s \d"))
            expect(page.get_by_role("table", name=re.compile("Workers"))).to_be_visible(timeout=60_000)
            check_orders_take_effect(page, web.seeds[0])
            page.close()
        finally:
            crawl.terminate()
            crawl.communicate(timeout=60)
    assert [line for line in said if "ERR_" not in line] == []


def check_orders_take_effect(page: Page, seed: str) -> None:
    """Nothing is loaded anew: what came of an order is seen where it was given."""
    page.get_by_role("searchbox", name="Host or URL").fill(urlsplit(seed).hostname or "")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Block this host").click()
    expect(page.get_by_text("In force: blocked: nothing is asked for")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("the operator, who blocked it")).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="lycosa", exact=True).click()
    page.get_by_role("textbox", name="Reason").fill("a storm")
    page.get_by_role("button", name="Pause the crawl").click()
    expect(page.locator(".state.warn").first).to_contain_text("paused: a storm", timeout=60_000)


def test_a_host_and_a_url_are_opened_by_keyboard(page: Page, world: World) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the content")).to_be_focused()
    page.get_by_role("searchbox", name="Host or URL").focus()
    page.keyboard.type("a.test")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("a.test")
    page.get_by_role("searchbox", name="Host or URL").fill(world.url("/one"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("It was visited, and its page is kept.")).to_be_visible()


def test_a_script_in_a_title_is_shown_and_not_run(page: Page, world: World) -> None:
    page.goto("/host?name=a.test")
    expect(page.get_by_role("link").filter(has_text="<script>alert(1)</script>")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('main script').length") == 0


def test_a_page_is_found_by_its_words(page: Page, world: World) -> None:
    index(world)
    page.get_by_role("searchbox", name="Search pages").fill("quick fox")
    page.keyboard.press("Enter")
    expect(page.locator("main mark").filter(has_text="fox").first).to_be_visible()
    page.get_by_role("searchbox", name="Words").fill("安装")
    page.keyboard.press("Enter")
    expect(page.locator("main mark").filter(has_text="安装").first).to_be_visible()
    page.get_by_role("heading", level=2).get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(world.url("/zh"))


def test_the_first_search_goes_on_by_itself_until_there_is_something_to_show(
    browser: Browser, world: World, tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_WAIT_SECONDS", 0)
    with served(tables_of(world, tmp_path / "crawl")) as visitor:
        page = opened(browser.new_page(), said)
        page.goto(f"http://127.0.0.1:{visitor.port}/search?q=fox&token={visitor.token}")
        expect(page.get_by_text("The index is being brought up to date")).to_be_visible()
        monkeypatch.undo()
        expect(page.locator("main mark").filter(has_text="fox").first).to_be_visible(timeout=60_000)
        expect(page.locator("main[data-unfinished]")).to_have_count(0, timeout=60_000)
        page.close()
    assert said == []


def test_a_host_is_blocked_and_the_crawl_paused_by_buttons(page: Page, world: World) -> None:
    page.goto("/host?name=a.test")
    page.get_by_role("button", name="Block this host").click()
    orders = page.get_by_role("table", name="The last orders")
    expect(orders).to_contain_text("a.test: block")
    page.goto("/")
    page.get_by_role("textbox", name="Reason").fill("a <b>storm</b>")
    page.get_by_role("button", name="Pause the crawl").click()
    expect(page.get_by_role("button", name="Resume the crawl")).to_be_visible()
    expect(orders).to_contain_text("pause: a <b>storm</b>")
    assert [each.order for each in pending(world.folder)] == [
        SetPolicy("a.test", is_blocked=True),
        PauseCrawl("a <b>storm</b>"),
    ]


def test_no_page_is_wider_than_a_phone(page: Page, world: World) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    for name, path in pages_of(world).items():
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_keeps_people_from_using_a_page(page: Page, world: World, scheme: Any) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    axe = lzma.decompress(AXE.read_bytes()).decode()
    pages = pages_of(world)
    # In the dark only colours differ.
    for name in pages if scheme == "light" else ("overview", "url", "graph", "report"):
        page.goto(pages[name])
        page.evaluate(axe)
        found = page.evaluate("axe.run({resultTypes: ['violations']}).then((result) => result.violations)")
        serious = [each for each in found if each["impact"] in ("serious", "critical")]
        assert serious == [], f"{name}: " + json.dumps(serious, indent=1)[:4000]
