"""The site of quotations, done as the how-tos say: their code is what runs here."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import lycosa
from lycosa.hooks import load_hooks
from lycosa.settings import from_values
from lycosa.simweb import HandWeb
from lycosa.simweb.quotes import LOGIN, PAGES, QUOTES, QUOTES_HOST, QuotesWeb, put_quotes

from .conftest import HandCrawl, hand_settings

DOCS = Path(__file__).parents[2] / "docs" / "how-to"
WANTED = [{"text": quote.text, "author": quote.author, "tags": list(quote.tags)} for quote in QUOTES]


def blocks(page: str, name: str) -> list[str]:
    """The pieces of code of a how-to that are called so."""
    text = (DOCS / f"from-{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```\w+ {name}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def lines_of(code: str) -> int:
    return sum(bool(line.strip()) for line in code.splitlines())


async def items_of(crawl: HandCrawl, seed: str, **settings: Any) -> list[Any]:
    await crawl(seed, **settings)
    pages = sorted(crawl.pages.values(), key=lambda page: page.fetched_at)
    return [item for page in pages for item in page.items]


def hooks_in(tmp_path: Path, name: str) -> str:
    (code,) = blocks("scrapy", name)
    path = tmp_path / f"{name}.py"
    path.write_text(code, encoding="utf-8")
    assert load_hooks(str(path))
    return str(path)


async def test_pages_with_a_next_link_by_rules_alone(web: HandWeb, crawl: HandCrawl) -> None:
    (rules,) = blocks("scrapy", "pages")
    seed = put_quotes(web)
    assert await items_of(crawl, seed, site=tomllib.loads(rules)["site"]) == WANTED
    # Nothing but these pages was asked for.
    assert len(web.requests) == PAGES + 1


async def test_a_page_for_each_author(web: HandWeb, crawl: HandCrawl) -> None:
    (rules,) = blocks("scrapy", "authors")
    items = await items_of(crawl, put_quotes(web), site=tomllib.loads(rules)["site"])
    assert sorted(item["name"] for item in items) == sorted({quote.author for quote in QUOTES})
    assert all(item["born"].endswith(", 1901") and "bread in spring" in item["life"] for item in items)


async def test_data_in_a_script(web: HandWeb, crawl: HandCrawl, tmp_path: Path) -> None:
    put_quotes(web)
    hooks, seed = hooks_in(tmp_path, "script"), web.url(QUOTES_HOST, "/js/")
    assert await items_of(crawl, seed, include=["/js/"], hooks=hooks) == WANTED


async def test_endless_scrolling(web: HandWeb, crawl: HandCrawl, tmp_path: Path) -> None:
    put_quotes(web)
    hooks, seed = hooks_in(tmp_path, "scroll"), web.url(QUOTES_HOST, "/api/quotes?page=1")
    assert await items_of(crawl, seed, hooks=hooks) == WANTED


async def test_a_form_is_posted_with_its_hidden_inputs(web: HandWeb, crawl: HandCrawl, tmp_path: Path) -> None:
    put_quotes(web)
    hooks, seed = hooks_in(tmp_path, "form"), web.url(QUOTES_HOST, "/search")
    items = await items_of(crawl, seed, hooks=hooks, include=["/search"])
    assert items == [{"text": quote.text} for quote in QUOTES if quote.author == "Ada Brook"]
    posted = [(request.path, request.status) for request in web.requests if request.method == "POST"]
    assert posted == [("/search", 200)], "the form stands on the answer as well"


async def test_a_login_by_rules_alone(web: HandWeb, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch) -> None:
    put_quotes(web)
    monkeypatch.setenv("QUOTES_USER", LOGIN[0])
    monkeypatch.setenv("QUOTES_PASSWORD", LOGIN[1])
    (rules,) = blocks("scrapy", "login")
    seed = web.url(QUOTES_HOST, "/members")
    assert await items_of(crawl, seed, site=tomllib.loads(rules)["site"]) == [{"said": "Welcome, reader"}]


async def test_the_site_can_be_served_to_follow_the_page(space: Path) -> None:
    async with QuotesWeb() as web:
        crawl = HandCrawl(web, space / "crawl")
        outcomes = await crawl(*web.seeds, scope="host")
        assert web.request_count == len(web.requests) > PAGES
    assert "failed" not in outcomes.values(), "no link leads nowhere"
    assert web.describe() == "35 quotations at quotes.toscrape.com"


@pytest.mark.parametrize(
    ("ours", "theirs"), [("pages", 0), ("authors", 1), ("script", 2), ("scroll", 3), ("login", 4), ("form", 5)]
)  # fmt: skip
def test_it_takes_fewer_lines_than_with_scrapy(ours: str, theirs: int) -> None:
    (code,) = blocks("scrapy", ours)
    assert lines_of(code) < lines_of(blocks("scrapy", "scrapy")[theirs])


@pytest.mark.parametrize(("ours", "theirs"), [("first", 0), ("kinds", 1)])
def test_it_takes_fewer_lines_than_with_crawlee(ours: str, theirs: int) -> None:
    (code,) = blocks("crawlee", ours)
    assert lines_of(code) < lines_of(blocks("crawlee", "crawlee")[theirs])


@pytest.mark.parametrize("page", ["scrapy", "crawlee"])
def test_the_code_of_others_is_python(page: str) -> None:
    codes = blocks(page, page)
    assert len(codes) == {"scrapy": 6, "crawlee": 2}[page]
    for code in codes:
        ast.parse(code)


@pytest.mark.parametrize(("name", "lines"), [("first", 10), ("kinds", 5)])
async def test_the_programs_for_those_who_know_crawlee_run(
    web: HandWeb, name: str, lines: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = put_quotes(web)

    class Nearby(lycosa.Crawler):
        """The same, of the copy that is on this machine."""

        def __init__(self, url: str, **settings: Any) -> None:
            assert url == f"http://{QUOTES_HOST}/"
            super().__init__(seed, **{**hand_settings(web), "scope": "domain", **settings})

    monkeypatch.setattr(lycosa, "Crawler", Nearby)
    (code,) = blocks("crawlee", name)
    names: dict[str, Any] = {}
    exec(compile(code.replace("asyncio.run(main())", ""), name, "exec"), names)
    await names["main"]()
    said = capsys.readouterr().out.splitlines()
    assert len(said) >= lines
    if name == "kinds":
        assert {"name": "Ada Brook", "born": "1901-03-09"} in map(ast.literal_eval, said)


def test_rules_of_the_how_to_on_sites_are_fine() -> None:
    text = (DOCS / "site-rules.md").read_text(encoding="utf-8")
    for code in re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        assert from_values(tomllib.loads(code)).site


def test_the_hooks_of_the_how_to_are_hooks(tmp_path: Path) -> None:
    text = (DOCS / "hooks.md").read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0]
    (tmp_path / "news.py").write_text(code)
    hooks = load_hooks(str(tmp_path / "news.py"))
    assert all([hooks.on_page, hooks.on_links, hooks.on_request, hooks.on_failure])
