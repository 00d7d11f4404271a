"""Sites that are applications, crawled: every page of theirs is found and kept, and the others start no browser."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.simweb import HandWeb
from lycosa.simweb.apps import SHELL, put_shop
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import page_at, response_of_visit
from lycosa.wiring.worker import page_reader

from ..crawl import evidence
from ..crawl.conftest import HandCrawl

pytestmark = pytest.mark.usefixtures("browser_program")
WORDS = "Nobody who has seen the harbour in the morning forgets the colour of its boats, or the noise of the gulls. "
STATISTICS = "<script>window.q = window.q || []; q.push(['visit', Date.now()]);</script>"


TALKS = Path(__file__).parents[1] / "data" / "apps" / "talks.min.js"


def article(number: int, count: int) -> str:
    """An ordinary page, with an ordinary amount of script."""
    links = "".join(f'<a href="/page/{other}">Page {other}</a> ' for other in range(count))
    return (
        f"<!doctype html><html><head><title>Page {number}</title>{STATISTICS}<script src=/menu.js></script></head>"
        f"<body>{links}<p>{number}. {WORDS * (2 + number % 9)}</p></body></html>"
    )


async def test_an_application_is_crawled_whole_and_ordinary_pages_start_no_browser(
    web: HandWeb, crawl: HandCrawl
) -> None:
    titles = put_shop(web, "shop.test", items=6, per_list=4)
    for host in ("one.test", "two.test"):
        for number in range(20):
            web.page(f"http://{host}/page/{number}", article(number, 20))
    seeds = [web.url("shop.test"), web.url("one.test", "/page/0"), web.url("two.test", "/page/0")]
    await crawl(*seeds, render="auto")
    rows = {row["url"]: row for row in crawl.rows() if row["outcome"] in ("stored", "duplicate")}
    shop = {path: rows[web.url("shop.test", path)] for path in titles}
    assert {path: row["title"] for path, row in shop.items()} == titles
    assert {row["outcome"] for row in shop.values()} == {"stored"}, "what the browser shows is compared, not the shell"
    assert {row["rendered"] for row in shop.values()} == {"whole"}
    assert all("made by hand" in row["text"] for path, row in shop.items() if path.startswith("/item"))
    ordinary = [row for row in rows.values() if row["host"] != "shop.test"]
    assert len(ordinary) == 40
    assert [row["url"] for row in ordinary if row["rendered"]] == []
    # The page itself once, its script once for all of them, its data for each.
    paths = [request.path for request in web.requests if request.host == "shop.test"]
    assert [paths.count(path) for path in titles] == [1] * len(titles)
    assert paths.count("/assets/app.js") == 1
    assert all(paths.count(f"/api/item/{number}.json") == 1 for number in range(1, 7))
    assert not [path for path in paths if path.startswith("/assets") and path != "/assets/app.js"]
    _is_kept_beside_the_response(crawl.folder, web.url("shop.test", "/item/2"))
    _is_read_again_after_a_crash(crawl, web.url("shop.test", "/item/2"))


def _is_kept_beside_the_response(folder: Path, url: str) -> None:
    version = page_at(CrawlFolder(folder), url)
    assert version
    response = response_of_visit(CrawlFolder(folder), version.visit)
    assert response
    assert response.rendering
    assert response.body.decode() == SHELL
    assert b"<h1>Basket number 2</h1>" in response.rendering.html
    kinds = evidence.record_kinds(folder)
    assert kinds[url] == ["response", "request", "conversion"]
    assert kinds[url.replace("/item/2", "/api/item/2.json")] == ["resource"]


def _is_read_again_after_a_crash(crawl: HandCrawl, url: str) -> None:
    from lycosa.inspect.opened import folder_settings

    folder = CrawlFolder(crawl.folder)
    settings = folder_settings(folder)
    version = page_at(folder, url)
    assert version
    response = response_of_visit(folder, version.visit)
    assert response
    page, links = page_reader(settings, folder)(version.visit, response)
    assert page.text == version.text
    assert [target.rpartition("/")[2] for target in links.targets] == ["1"]


async def test_a_rendered_page_is_shown_by_the_commands(
    web: HandWeb, crawl: HandCrawl, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    put_shop(web, "shop.test", items=1)
    web.page("http://plain.test/", "<p>" + WORDS)
    shop, plain = web.url("shop.test", "/item/1"), web.url("plain.test")
    await crawl(shop, plain, render="auto", max_depth=0)
    folder = ["--folder", str(crawl.folder)]
    assert main(["page", shop, "--rendered", *folder]) == 0
    assert b"<h1>Basket number 1</h1>" in capsysbinary.readouterr().out
    assert main(["page", plain, "--rendered", *folder]) == 2
    assert b"it was not rendered" in capsysbinary.readouterr().err
    assert main(["why", shop, *folder]) == 0
    assert b"empty element where scripts put the page" in capsysbinary.readouterr().out


async def test_an_application_built_with_vue_is_crawled_whole(web: HandWeb, crawl: HandCrawl) -> None:
    talks = [{"id": number, "title": f"Talk number {number}"} for number in range(1, 5)]
    data = {"Content-Type": "application/json"}
    shell = '<!doctype html><html><body><div id="app"></div><script src="/talks.js"></script></body></html>'
    web.page("http://talks.test/talks.js", TALKS.read_bytes(), headers={"Content-Type": "text/javascript"})
    web.page("http://talks.test/api/talks.json", json.dumps(talks), headers=data)
    for talk in talks:
        said = talk | {"summary": f"{WORDS}{talk['id']}"}
        web.page(f"http://talks.test/api/talk/{talk['id']}.json", json.dumps(said), headers=data)
        web.page(f"http://talks.test/talk/{talk['id']}", shell)
    await crawl(web.page("http://talks.test/", shell), render="auto")
    for talk in talks:
        row = crawl.row(web.url("talks.test", f"/talk/{talk['id']}"))
        assert (row["outcome"], row["rendered"], row["title"]) == ("stored", "whole", f"Talk {talk['id']}")
        assert f"{WORDS}{talk['id']}" in row["text"]
    assert [request.path for request in web.requests].count("/talks.js") == 1
