"""The story of a visit, told by a web made by hand: what is asked for, what becomes of it, what is kept."""

from __future__ import annotations

import gzip
from itertools import count

import pytest

from lycosa.crawl import visit as crawler
from lycosa.simweb import HandWeb, ServedExchange

from .conftest import HandCrawl


def page(*hrefs: str, head: str = "", title: str = "t") -> str:
    links = "".join(f'<a href="{href}">to {href}</a>' for href in hrefs)
    return f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{links}</body></html>"


def paths(web: HandWeb, host: str = "a.test") -> list[str]:
    """What a host was asked for, in order, robots.txt left out."""
    return [request.path for request in web.requests if request.host == host and request.path != "/robots.txt"]


# ---- pages and their links


async def test_robots_txt_is_asked_for_first_and_once(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/x", "/y"))
    web.page("http://a.test/x", page(title="x"))
    web.page("http://a.test/y", page(title="y"))
    outcomes = await crawl(seed)
    assert outcomes == dict.fromkeys([seed, web.url("a.test", "/x"), web.url("a.test", "/y")], "stored")
    assert [request.path for request in web.requests] == ["/robots.txt", "/", "/x", "/y"]


async def test_who_slept_past_a_lease_sends_nothing_under_it(
    web: HandWeb, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = count()
    monkeypatch.setattr(crawler, "machine_clock", lambda: 0.0 if next(looks) % 2 else float("inf"))
    seed = web.page("http://a.test/", page("/1"))
    web.page("http://a.test/1", page(title="one"))
    assert await crawl(seed) == dict.fromkeys([seed, web.url("a.test", "/1")], "stored")
    assert next(looks) == 6, "every visit was put off once"
    assert len(web.requests) == 3


async def test_a_page_is_asked_for_once_however_often_it_is_linked(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/x", "/x#part", "./x", "/y/../x", f"http://A.test:{web.port}/x", "/z"))
    web.page("http://a.test/x", page("/", "/z", title="x"))
    web.page("http://a.test/z", page("/", "/x", title="z"))
    await crawl(seed)
    assert sorted(paths(web)) == ["/", "/x", "/z"]


async def test_links_resolve_against_the_base_of_a_page(web: HandWeb, crawl: HandCrawl) -> None:
    base = f'<base href="http://b.test:{web.port}/in/">'
    seed = web.page("http://a.test/", page("x", head=base + '<link rel=canonical href="c">'))
    web.page("http://b.test/in/x", page())
    web.page("http://b.test/in/c", page(title="c"))
    outcomes = await crawl(seed)
    assert outcomes[web.url("b.test", "/in/x")] == outcomes[web.url("b.test", "/in/c")] == "stored"
    assert paths(web) == ["/"]


async def test_a_canonical_url_and_a_meta_refresh_are_followed_like_links(web: HandWeb, crawl: HandCrawl) -> None:
    head = '<link rel="canonical" href="/canonical"><meta http-equiv="refresh" content="0; url=/refresh">'
    seed = web.page("http://a.test/", page(head=head))
    web.page("http://a.test/canonical", page(title="c"))
    web.page("http://a.test/refresh", page(title="r"))
    await crawl(seed)
    assert sorted(paths(web)) == ["/", "/canonical", "/refresh"]


async def test_pages_that_refresh_to_each_other_come_to_an_end(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page(head='<meta http-equiv="refresh" content="0; url=/b">'))
    web.page("http://a.test/b", page(head='<meta http-equiv="refresh" content="0; url=/">', title="b"))
    assert set((await crawl(seed)).values()) == {"stored"}
    assert paths(web) == ["/", "/b"]


@pytest.mark.parametrize(
    ("charset", "content_type", "head"),
    [
        ("utf-8", "text/html; charset=utf-8", ""),
        ("windows-1251", "text/html; charset=windows-1251", ""),
        ("shift_jis", "text/html", '<meta charset="shift_jis">'),
        ("utf-16", "text/html", ""),
    ],
)
async def test_text_is_read_in_the_encoding_of_its_page(
    web: HandWeb, crawl: HandCrawl, charset: str, content_type: str, head: str
) -> None:
    word = "日本語のページ" if charset == "shift_jis" else "Страница"
    body = f"<html><head>{head}<title>{word}</title></head><body><p>{word}".encode(charset)
    seed = web.page("http://a.test/", body, headers={"Content-Type": content_type})
    await crawl(seed)
    assert crawl.pages[seed].title == word
    assert word in crawl.pages[seed].text
    assert crawl.row(seed)["title"] == word


async def test_equal_content_is_kept_once_and_named_a_duplicate_elsewhere(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/one", web.url("b.test", "/two")))
    same = page("/more")
    one, two = web.page("http://a.test/one", same), web.page("http://b.test/two", same)
    web.page("http://a.test/more", page(title="more"))
    outcomes = await crawl(seed)
    assert sorted([outcomes[one], outcomes[two]]) == ["duplicate", "stored"]
    original, copy = (one, two) if outcomes[two] == "duplicate" else (two, one)
    assert crawl.row(copy)["original"] == original
    assert crawl.row(copy)["digest"] == crawl.row(original)["digest"]


async def test_a_body_past_the_limit_is_cut_kept_and_marked(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/x") + "x" * 50_000)
    web.page("http://a.test/x", page(title="x"))
    outcomes = await crawl(seed, max_body_bytes=10_000)
    assert outcomes == {seed: "stored", web.url("a.test", "/x"): "stored"}
    row = crawl.row(seed)
    assert (row["truncated"], row["body_bytes"]) == ("length", 10_000)


async def test_a_connection_lost_in_the_middle_of_a_page_leaves_what_came(web: HandWeb, crawl: HandCrawl) -> None:
    async def half(exchange: ServedExchange) -> None:
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
        exchange.send(page("/x").encode())
        exchange.close()

    seed = web.behave("http://a.test/", half)
    web.page("http://a.test/x", page(title="x"))
    outcomes = await crawl(seed)
    assert outcomes == {seed: "stored", web.url("a.test", "/x"): "stored"}
    assert crawl.row(seed)["truncated"] == "disconnect"


# ---- wishes of a site


async def test_a_disallowed_page_is_not_asked_for(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nDisallow: /private\nAllow: /private/press")
    seed = web.page("http://a.test/", page("/private/x", "/private/press"))
    web.page("http://a.test/private/x", page())
    web.page("http://a.test/private/press", page(title="p"))
    outcomes = await crawl(seed)
    assert outcomes[web.url("a.test", "/private/x")] == "refused"
    assert outcomes[web.url("a.test", "/private/press")] == "stored"
    assert paths(web) == ["/", "/private/press"]


async def test_nofollow_is_obeyed_in_links_meta_and_headers(web: HandWeb, crawl: HandCrawl) -> None:
    rel = '<a rel="nofollow noopener" href="/n">n</a><a href="/meta">m</a><a href="/header">h</a>'
    seed = web.page("http://a.test/", rel)
    web.page("http://a.test/meta", page("/n", head='<meta name="robots" content="nofollow">', title="m"))
    web.page("http://a.test/header", page("/n", title="h"), headers={"X-Robots-Tag": "nofollow"})
    web.page("http://a.test/n", page())
    await crawl(seed)
    assert paths(web) == ["/", "/meta", "/header"]
    crawl.folder = crawl.folder.with_name("disobedient")
    await crawl(seed, obey_nofollow=False)
    assert "/n" in paths(web)


async def test_a_noindex_page_gives_links_and_no_text(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/x") + "<p>secret words", headers={"X-Robots-Tag": "noindex"})
    web.page("http://a.test/x", page(title="x"))
    outcomes = await crawl(seed)
    assert outcomes[web.url("a.test", "/x")] == "stored"
    row = crawl.row(seed)
    assert row["noindex"]
    assert row["text"] == ""
    assert not crawl.row(web.url("a.test", "/x"))["noindex"]


async def test_what_a_site_wants_its_pages_used_for_is_kept(web: HandWeb, crawl: HandCrawl) -> None:
    web.robots("a.test", "User-agent: *\nContent-Signal: search=yes\nContent-Usage: /x train-ai=n")
    seed = web.page("http://a.test/", page("/x", "/meta", "/header"))
    x = web.page("http://a.test/x", page(title="x"))
    meta = web.page(
        "http://a.test/meta", page(head="<meta name=tdm-reservation content=1><meta name=robots content=noimageai>")
    )
    header = web.page(
        "http://a.test/header", page(title="h"), headers={"Content-Usage": "search=n", "X-Robots-Tag": "noarchive"}
    )
    await crawl(seed)
    assert {url: crawl.row(url)["usage"] for url in (seed, x, meta, header)} == {
        seed: "search=y",
        x: "ai=n, search=y",
        meta: "ai=n, ai-images=n, search=y",
        header: "archive=n, search=n",
    }


async def test_a_directive_for_another_robot_is_none_for_us(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/x"), headers={"X-Robots-Tag": "otherbot: noindex, nofollow"})
    web.page("http://a.test/x", page(title="x"))
    assert len(await crawl(seed)) == 2


# ---- redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_an_outcome_and_its_target_a_page(web: HandWeb, crawl: HandCrawl, status: int) -> None:
    seed = web.redirect("http://a.test/", "/x", status=status)
    to = web.page("http://a.test/x", page())
    assert await crawl(seed) == {seed: "moved", to: "stored"}
    assert crawl.row(seed)["status"] == status


async def test_a_redirect_to_another_host_obeys_that_hosts_robots(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.redirect("http://a.test/", f"http://b.test:{web.port}/closed")
    web.robots("b.test", "User-agent: *\nDisallow: /closed")
    web.page("http://b.test/closed", page())
    outcomes = await crawl(seed)
    assert outcomes == {seed: "moved", web.url("b.test", "/closed"): "refused"}
    assert paths(web, "b.test") == []


async def test_a_redirect_loop_ends_when_it_closes(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.redirect("http://a.test/", "/b")
    web.redirect("http://a.test/b", "/c")
    web.redirect("http://a.test/c", "/")
    assert set((await crawl(seed)).values()) == {"moved"}
    assert paths(web) == ["/", "/b", "/c"]


async def test_a_redirect_to_itself_is_not_followed(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.redirect("http://a.test/", "/")
    assert await crawl(seed) == {seed: "moved"}
    assert paths(web) == ["/"]


async def test_a_chain_of_redirects_is_given_up_after_the_limit(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.url("a.test", "/0")
    for hop in range(9):
        web.redirect(f"http://a.test/{hop}", f"/{hop + 1}")
    outcomes = await crawl(seed, max_redirects=3)
    assert paths(web) == ["/0", "/1", "/2", "/3"]
    assert outcomes[web.url("a.test", "/3")] == "failed"
    assert crawl.row(web.url("a.test", "/3"))["reason"] == "too-many-redirects"


async def test_a_redirect_without_a_location_fails(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", status=302)
    assert await crawl(seed) == {seed: "failed"}
    assert crawl.row(seed)["reason"] == "redirect-without-location"


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "javascript:alert(1)", "http://", "http://a.test:99999/", "/" + "x" * 5000]
)
async def test_a_location_that_leads_nowhere_ends_there(web: HandWeb, crawl: HandCrawl, location: str) -> None:
    seed = web.redirect("http://a.test/", location)
    assert await crawl(seed) == {seed: "moved"}
    assert len(web.requests) == 2


async def test_a_location_of_any_bytes_does_no_harm(web: HandWeb, crawl: HandCrawl) -> None:
    async def odd(exchange: ServedExchange) -> None:
        exchange.send(b"HTTP/1.1 301 Moved\r\nLocation: http://\xed\xa0\x80\xff\x80[/\r\nContent-Length: 0\r\n\r\n")

    seed = web.behave("http://a.test/", odd)
    assert await crawl(seed) == {seed: "moved"}


async def test_a_redirect_out_of_scope_is_followed_from_a_seed_only(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.redirect("http://a.test/", f"http://b.test:{web.port}/")
    web.page("http://b.test/", page())
    other = web.page("http://c.test/", page("/out"))
    web.redirect("http://c.test/out", f"http://d.test:{web.port}/")
    web.page("http://d.test/", page(title="d"))
    outcomes = await crawl(seed, other, scope="host")
    assert outcomes == {
        seed: "moved",
        web.url("b.test"): "stored",
        other: "stored",
        web.url("c.test", "/out"): "moved",
    }


# ---- errors and retries


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
async def test_what_a_client_error_denies_is_asked_for_once(web: HandWeb, crawl: HandCrawl, status: int) -> None:
    seed = web.page("http://a.test/", page("/x"), status=status)
    assert await crawl(seed, retry_after_seconds=(0.0, 0.0)) == {seed: "failed"}
    assert (crawl.row(seed)["reason"], crawl.row(seed)["status"]) == ("status", status)
    assert paths(web) == ["/"]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
async def test_trouble_that_may_pass_is_tried_again_as_often_as_set(
    web: HandWeb, crawl: HandCrawl, status: int
) -> None:
    seed = web.page("http://a.test/", status=status)
    assert await crawl(seed, retry_after_seconds=(0.0, 0.0)) == {seed: "failed"}
    assert paths(web) == ["/", "/", "/"]
    assert crawl.counts.failed == 1


async def test_a_page_that_recovers_is_stored(web: HandWeb, crawl: HandCrawl) -> None:
    async def first_broken(exchange: ServedExchange) -> None:
        web.page("http://a.test/", page("/x"))
        exchange.send(b'HTTP/1.1 500 Oops\r\nETag: "error"\r\nContent-Length: 0\r\n\r\n')

    seed = web.behave("http://a.test/", first_broken)
    web.page("http://a.test/x", page(title="x"))
    assert await crawl(seed, retry_after_seconds=(0.0,)) == {seed: "stored", web.url("a.test", "/x"): "stored"}
    assert paths(web) == ["/", "/", "/x"]


async def test_the_validators_of_an_error_are_not_asked_about(web: HandWeb, crawl: HandCrawl) -> None:
    asked: list[str] = []

    async def broken(exchange: ServedExchange) -> None:
        asked.append(exchange.ask.headers.get("if-none-match", ""))
        exchange.send(b'HTTP/1.1 500 Oops\r\nETag: "error"\r\nContent-Length: 0\r\n\r\n')

    seed = web.behave("http://a.test/", broken)
    await crawl(seed, retry_after_seconds=(0.0,))
    assert asked == ["", ""]


async def test_not_modified_without_having_asked_is_a_failure(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", status=304)
    assert await crawl(seed) == {seed: "failed"}
    assert crawl.counts.pages == 0


async def test_a_host_that_asks_for_time_gets_it(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/busy", "/x"))
    web.page("http://a.test/busy", status=503, headers={"Retry-After": "1"})
    web.page("http://a.test/x", page(title="x"))
    outcomes = await crawl(seed)
    assert outcomes[web.url("a.test", "/x")] == "stored"
    busy, after = (next(r for r in web.requests if r.path == path) for path in ("/busy", "/x"))
    assert after.arrived_at - busy.arrived_at >= 1.0


async def test_a_host_that_asks_for_time_gets_it_over_a_restart_too(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/busy", "/x"))
    web.page("http://a.test/busy", status=503, headers={"Retry-After": "2"})
    web.page("http://a.test/x", page(title="x"))
    await crawl(seed, max_wait_seconds=0.0)
    assert paths(web) == ["/", "/busy"]
    assert (await crawl(seed))[web.url("a.test", "/x")] == "stored"
    busy, after = (next(r for r in web.requests if r.path == path) for path in ("/busy", "/x"))
    assert after.arrived_at - busy.arrived_at >= 2.0


async def test_a_host_that_asks_for_more_time_than_there_is_leaves_the_crawl_incomplete(
    web: HandWeb, crawl: HandCrawl
) -> None:
    seed = web.page("http://a.test/", page("/busy", "/x"))
    web.page("http://a.test/busy", status=503, headers={"Retry-After": "3600"})
    web.page("http://a.test/x", page(title="x"))
    await crawl(seed, max_wait_seconds=1.0)
    assert paths(web) == ["/", "/busy"]
    assert crawl.counts.queued == 1


async def test_a_reset_connection_is_a_failure_of_its_own(web: HandWeb, crawl: HandCrawl) -> None:
    async def reset(exchange: ServedExchange) -> None:
        exchange.abort()

    seed = web.page("http://a.test/", page("/reset", "/x"))
    web.behave("http://a.test/reset", reset)
    web.page("http://a.test/x", page(title="x"))
    outcomes = await crawl(seed)
    assert outcomes[web.url("a.test", "/reset")] == "failed"
    assert outcomes[web.url("a.test", "/x")] == "stored"
    # libcurl repeats a request once, by itself, when a kept connection ends without a byte of an answer.
    assert crawl.requests("/reset") <= 2


async def test_a_host_whose_name_does_not_exist_is_closed(web: HandWeb, crawl: HandCrawl) -> None:
    nowhere = web.url("nowhere.test")
    seed = web.page("http://a.test/", page(nowhere))
    assert await crawl(seed) == {seed: "stored", nowhere: "refused"}
    assert crawl.row(nowhere)["reason"] == "name"


async def test_the_pages_of_a_host_out_of_reach_are_kept_while_tries_are_left(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page(web.url("nowhere.test")))
    assert await crawl(seed, retry_after_seconds=(1.0,), max_wait_seconds=0.0) == {seed: "stored"}
    assert crawl.counts.queued == 1


# ---- sitemaps


def sitemap(*urls: str) -> str:
    return f"<?xml version='1.0'?><urlset>{''.join(f'<url><loc>{url}</loc></url>' for url in urls)}</urlset>"


def index(*urls: str) -> str:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<?xml version='1.0'?><sitemapindex>{entries}</sitemapindex>"


async def test_sitemaps_are_read_through_an_index_plain_and_packed(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page())
    web.robots("a.test", "Sitemap: " + web.url("a.test", "/index.xml"))
    packed = gzip.compress(sitemap(web.url("a.test", "/packed")).encode())
    parts = [
        web.page("http://a.test/one.xml", sitemap(web.url("a.test", "/plain"))),
        web.page("http://a.test/two.xml.gz", packed, headers={"Content-Type": "application/gzip"}),
    ]
    web.page("http://a.test/index.xml", index(*parts))
    found = [web.page(f"http://a.test/{name}", page(title=name)) for name in ("plain", "packed")]
    outcomes = await crawl(seed)
    assert [outcomes[url] for url in found] == ["stored", "stored"]
    assert {outcomes[url] for url in [*parts, web.url("a.test", "/index.xml")]} == {"read"}


async def test_indexes_are_not_followed_for_ever(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page())
    web.robots("a.test", "Sitemap: " + web.url("a.test", "/0.xml"))
    for level in range(9):
        web.page(f"http://a.test/{level}.xml", index(web.url("a.test", f"/{level + 1}.xml")))
    await crawl(seed)
    assert [path for path in paths(web) if path.endswith(".xml")] == ["/0.xml", "/1.xml", "/2.xml", "/3.xml"]


async def test_a_sitemap_speaks_for_its_own_host_only(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page())
    web.robots("a.test", "Sitemap: /s.xml")
    web.page("http://a.test/s.xml", sitemap(web.url("a.test", "/own"), web.url("b.test", "/foreign")))
    web.page("http://a.test/own", page(title="own"))
    web.page("http://b.test/foreign", page())
    outcomes = await crawl(seed)
    assert outcomes[web.url("a.test", "/own")] == "stored"
    assert paths(web, "b.test") == []


async def test_a_disallowed_sitemap_and_what_is_disallowed_in_one_are_left_alone(
    web: HandWeb, crawl: HandCrawl
) -> None:
    seed = web.page("http://a.test/", page())
    web.robots("a.test", "User-agent: *\nDisallow: /no\nSitemap: /no.xml\nSitemap: /s.xml")
    web.page("http://a.test/s.xml", sitemap(web.url("a.test", "/no/x"), web.url("a.test", "/yes")))
    web.page("http://a.test/yes", page(title="yes"))
    await crawl(seed)
    assert sorted(paths(web)) == ["/", "/s.xml", "/yes"]


@pytest.mark.parametrize("body", [b"", b"not xml at all", b"\x1f\x8b broken gzip", b"<urlset><url><loc>"])
async def test_a_broken_sitemap_harms_nothing(web: HandWeb, crawl: HandCrawl, body: bytes) -> None:
    seed = web.page("http://a.test/", page())
    web.robots("a.test", "Sitemap: /s.xml")
    web.page("http://a.test/s.xml", body, headers={"Content-Type": "application/xml"})
    outcomes = await crawl(seed)
    assert outcomes == {seed: "stored", web.url("a.test", "/s.xml"): "read"}


# ---- how far


async def test_depth_is_counted_from_the_seeds(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/0", page("/1"))
    for number in range(1, 5):
        web.page(f"http://a.test/{number}", page(f"/{number + 1}", title=str(number)))
    await crawl(seed, max_depth=2)
    assert paths(web) == ["/0", "/1", "/2"]
    assert [crawl.row(web.url("a.test", f"/{number}"))["depth"] for number in range(3)] == [0, 1, 2]
    assert crawl.row(web.url("a.test", "/1"))["referrer"] == seed


async def test_depth_nought_means_the_seeds_alone(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/x"))
    web.robots("a.test", "Sitemap: /s.xml")
    web.page("http://a.test/s.xml", sitemap(web.url("a.test", "/x")))
    web.page("http://a.test/x", page(title="x"))
    await crawl(seed, max_depth=0)
    assert paths(web) == ["/"]


async def test_scope_host_domain_and_any(web: HandWeb, crawl: HandCrawl) -> None:
    hosts = ["a.test", "www.a.test", "b.test"]
    links = [web.url(host, "/x") for host in hosts]
    seed = web.page("http://a.test/", page(*links))
    for host in hosts:
        web.page(f"http://{host}/x", page(title=host))
    assert set(await crawl(seed, scope="host")) == {seed, links[0]}
    crawl.folder = crawl.folder.with_name("domain")
    assert set(await crawl(seed, scope="domain")) == {seed, links[0], links[1]}
    crawl.folder = crawl.folder.with_name("any")
    assert set(await crawl(seed, scope="any")) == {seed, *links}


async def test_exclude_goes_before_include_and_seeds_before_both(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/keep/1", "/keep/drop", "/other"))
    for path in ("/keep/1", "/keep/drop", "/other"):
        web.page(f"http://a.test{path}", page(title=path))
    await crawl(seed, include=["/keep/"], exclude=["drop$"])
    assert paths(web) == ["/", "/keep/1"]


async def test_depth_first_goes_down_before_it_goes_on(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/1", "/2"))
    for path in ("/1", "/2", "/1/1", "/2/1", "/1/2", "/2/2"):
        web.page(f"http://a.test{path}", page(*([f"{path}/1", f"{path}/2"] if len(path) == 2 else []), title=path))
    await crawl(seed, order="depth")
    order = paths(web)
    second = order.index("/1" if order[1] == "/2" else "/2")
    assert second == 4, order
    web.requests.clear()
    crawl.folder = crawl.folder.with_name("breadth")
    await crawl(seed, order="breadth")
    assert paths(web) == ["/", "/1", "/2", "/1/1", "/1/2", "/2/1", "/2/2"]


# ---- revisits


async def test_a_revisit_asks_for_changes_only(web: HandWeb, crawl: HandCrawl) -> None:
    asked: list[tuple[str, str]] = []

    async def dated(exchange: ServedExchange) -> None:
        headers = exchange.ask.headers
        asked.append((headers.get("if-none-match", ""), headers.get("if-modified-since", "")))
        if len(asked) == 1:
            date = b"Last-Modified: Wed, 01 Jan 2025 00:00:00 GMT\r\n"
            exchange.send(b'HTTP/1.1 200 OK\r\nETag: "1"\r\n' + date + b"Content-Length: 5\r\n\r\nhello")
        else:
            exchange.send(b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n')

    seed = web.behave("http://a.test/", dated)
    assert await crawl(seed) == {seed: "stored"}
    assert await crawl(seed) == {seed: "stored"}, "a crawl that is finished stays so"
    for times in (1, 2):
        assert await revisit(crawl, seed) == {seed: "unchanged"}
        assert asked[times] == ('"1"', "Wed, 01 Jan 2025 00:00:00 GMT")
    assert len(asked) == 3


async def test_a_revisit_notices_new_content_and_equal_content(web: HandWeb, crawl: HandCrawl) -> None:
    seed = web.page("http://a.test/", page("/x"))
    x = web.page("http://a.test/x", page(title="x"))
    await crawl(seed)
    web.page("http://a.test/x", page("/new", title="changed"))
    new = web.page("http://a.test/new", page(title="new"))
    outcomes = await revisit(crawl, seed)
    assert outcomes == {seed: "unchanged", x: "stored", new: "stored"}
    assert crawl.row(x)["title"] == "changed"
    first, second = (row for row in crawl.rows() if row["url"] == x)
    assert first["changed"] == 0
    assert 0 < second["changed"] <= 1


async def test_a_page_with_other_bytes_and_the_same_text_is_unchanged_and_its_links_are_followed(
    web: HandWeb, crawl: HandCrawl
) -> None:
    seed = web.page("http://a.test/", page("/x") + "<p>What the page says.</p><!-- 12:00 -->")
    web.page("http://a.test/x", page(title="x"))
    await crawl(seed)
    web.page("http://a.test/", page("/x") + "<p>What the page says.</p><a href='/new'></a><!-- 12:01 -->")
    new = web.page("http://a.test/new", page(title="new"))
    outcomes = await revisit(crawl, seed)
    assert outcomes[seed] == "unchanged"
    assert outcomes[new] == "stored"
    # What came is in the archive all the same.
    (row,) = (row for row in crawl.rows() if row["url"] == seed and row["outcome"] == "unchanged")
    assert row["warc_offset"] >= 0
    again = await revisit(crawl, seed)
    assert again[seed] == "unchanged"


async def revisit(crawl: HandCrawl, *seeds: str) -> dict[str, str]:
    """What `--revisit` does: every page is queued once more."""
    from lycosa.clock import steady_clock
    from lycosa.settings import from_values
    from lycosa.wiring.crawl import open_frontier

    from .conftest import hand_settings

    settings = from_values(hand_settings(crawl.web))
    frontier = await open_frontier(settings, crawl.folder / "frontier", 1, steady_clock())
    await frontier.readmit()
    await frontier.close()
    return await crawl(*seeds)
