"""What a page's browser asks for goes by the rules of visits: robots.txt and pauses of every host."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lycosa.simweb import HandWeb

from ..crawl import evidence
from ..crawl.conftest import HandCrawl

SCRIPT = {"Content-Type": "text/javascript"}
SAY = "document.getElementById('app').append({text!r});"


def say(text: str) -> str:
    return SAY.format(text=f"{text}. ")


@pytest.mark.usefixtures("browser_program")
async def test_the_browser_obeys_robots_and_pauses_of_every_host(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nDisallow: /closed")
    web.robots("cdn.test", "User-agent: *\nDisallow: /private")
    web.robots("broken.test", "", status=500)
    sources = {
        "/one.js": "one",
        "/two.js": "two",
        "/closed.js": "closed",
        web.url("cdn.test", "/open.js"): "open",
        web.url("cdn.test", "/private.js"): "private",
        web.url("broken.test", "/x.js"): "broken",
        web.url("nobody.test", "/x.js"): "nobody",
        web.url("ours.test", "/x.js"): "ours",
    }
    for source, text in sources.items():
        web.page(source if "://" in source else f"http://a.test{source}", say(text), headers=SCRIPT)
    web.redirect("http://a.test/three.js", web.url("cdn.test", "/moved.js"))
    web.page("http://cdn.test/moved.js", say("moved"), headers=SCRIPT)
    web.page("http://a.test/picture.png", b"x", headers={"Content-Type": "image/png"})
    scripts = "".join(f'<script src="{source}"></script>' for source in [*sources, "/three.js"])
    shell = f'<html><body><div id="app"></div><img src="/picture.png">{scripts}</body></html>'
    seed = web.page("http://a.test/", shell)
    other = web.page("http://a.test/other", shell)
    web.resolve("nobody.test")
    # What is for us alone to see is not shown to a page of somebody else.
    site = {"a.test": {"render": "auto"}, "ours.test": {"headers": {"X-Key": "secret"}}}
    await crawl(seed, other, site=site, min_delay_seconds=0.3, ip_delay_seconds=0.0, domain_delay_seconds=0.0)
    for url in (seed, other):
        assert sorted(crawl.row(url)["text"].replace(".", " ").split()) == ["moved", "one", "open", "two"]
    assert {(request.host, request.path) for request in web.requests} == {
        *(("a.test", path) for path in ("/robots.txt", "/", "/other", "/one.js", "/two.js", "/three.js")),
        *(("cdn.test", path) for path in ("/robots.txt", "/open.js", "/moved.js")),
        ("broken.test", "/robots.txt"),
    }
    for host in ("a.test", "cdn.test"):
        at = sorted(request.arrived_at for request in web.requests if request.host == host)
        assert min(later - earlier for earlier, later in pairwise(at)) >= 0.3, host
    assert evidence.invalid_warcs(crawl.folder) == []


async def test_without_a_browser_the_operator_is_told(web: HandWeb, crawl: HandCrawl) -> None:
    from lycosa.errors import SettingsError

    seed = web.page("http://a.test/", "<p>hello")
    with pytest.raises(SettingsError, match="no program"):
        await crawl(seed, render="auto", browser="/no/such/program")
