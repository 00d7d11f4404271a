"""The public sitemap suites: crawler-commons, Scrapy, StormCrawler.

Where we differ from a suite, the case stands in a table here with the reason; a case that begins to agree fails as
well.
"""

import base64
from typing import Any

import pytest

from lycosa.model import NO_REASON
from lycosa.page.sitemap import Sitemap, SitemapKind, entries_allowed, parse_sitemap, posix_seconds

from .. import suites

KINDS = {
    "XML": SitemapKind.URLSET,
    "INDEX": SitemapKind.INDEX,
    "TEXT": SitemapKind.TEXT,
    "RSS": SitemapKind.FEED,
    "ATOM": SitemapKind.FEED,
}

DIFFERS_FROM_CRAWLER_COMMONS = {
    34: "a sitemap speaks for its whole host, not only for its own folder",
    42: "a DTD is skipped; what stands outside of it is read",
    46: "the namespace is not checked; only the names are",
}


def cases(suite: str) -> list[dict[str, Any]]:
    return suites.load(f"conformance/sitemaps/{suite}")


def locs_of(case: dict[str, Any], sitemap: Sitemap) -> list[str]:
    is_filtered = case["strict"] and sitemap.kind is not SitemapKind.INDEX
    entries = entries_allowed(sitemap, case["url"]) if is_filtered else sitemap.entries
    # Two cases run with a URL filter that drops fragments, which we leave to the URL rules.
    return [entry.loc.partition("#")[0] for entry in entries]


def test_crawler_commons_agrees_but_for_the_listed_cases() -> None:
    loaded = cases("crawler-commons/cases.json")
    assert len(loaded) == 58
    disagreeing = set()
    for at, case in enumerate(loaded):
        sitemap = parse_sitemap(base64.b64decode(case["body_b64"]), case["url"])
        is_kind = case["type"] is None or sitemap.kind == KINDS[case["type"]]
        if not is_kind or locs_of(case, sitemap) != case["urls"]:
            disagreeing.add(at)
    assert disagreeing == set(DIFFERS_FROM_CRAWLER_COMMONS)


def test_scrapy_agrees() -> None:
    loaded = cases("scrapy/cases.json")
    assert len(loaded) == 11
    for case in loaded:
        xml = case["xml"]
        body = xml.encode() if isinstance(xml, str) else base64.b64decode(xml["__bytes__"])
        sitemap = parse_sitemap(body, "http://www.example.com/sitemap.xml")
        assert sitemap.kind == (SitemapKind.INDEX if case["type"] == "sitemapindex" else SitemapKind.URLSET)
        assert [(entry.loc, entry.lastmod_at) for entry in sitemap.entries] == [
            (item["loc"], posix_seconds(item.get("lastmod", ""))) for item in case["items"]
        ]


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("stormcrawler.sitemap.xml", SitemapKind.URLSET, 6),
        ("stormcrawler.sitemap.xml.gz", SitemapKind.URLSET, 6),
        ("stormcrawler.sitemap.index.xml", SitemapKind.INDEX, 4),
        ("stormcrawler.sitemap.extensions.all.xml", SitemapKind.URLSET, 7),
        ("stormcrawler.sitemap.extensions.image.xml", SitemapKind.URLSET, 7),
        ("stormcrawler.sitemap.extensions.links.xml", SitemapKind.URLSET, 6),
        ("stormcrawler.sitemap.extensions.mobile.xml", SitemapKind.URLSET, 6),
        ("stormcrawler.sitemap.extensions.news.xml", SitemapKind.URLSET, 6),
        ("stormcrawler.sitemap.extensions.video.xml", SitemapKind.URLSET, 6),
    ],
)
def test_extensions_add_no_pages_and_hide_none(name: str, kind: SitemapKind, count: int) -> None:
    body = suites.find(f"conformance/sitemaps/stormcrawler/{name}").read_bytes()
    sitemap = parse_sitemap(body, "https://stormcrawler.apache.org/sitemap.xml")
    assert (sitemap.kind, len(sitemap.entries), sitemap.trouble) == (kind, count, NO_REASON)
    assert all(entry.lastmod_at for entry in sitemap.entries)


def test_publication_dates_are_those_of_crawler_commons() -> None:
    body = suites.find("conformance/sitemaps/crawler-commons/rss/xmlRss_pubDate.xml").read_bytes()
    dates = [entry.lastmod_at for entry in parse_sitemap(body, "http://www.example.com/rss.xml").entries]
    assert dates == [1483619691.0, 1483619692.0, 1483619693.0, 1483619694.0, 1483623295.0, None, None]
