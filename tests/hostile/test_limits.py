"""The limits that stand between the web and this machine are what they are said to be."""

from __future__ import annotations

import pytest

from lycosa.crawl.visit import MAX_ROBOTS_REDIRECTS, MAX_SITEMAP_NESTING
from lycosa.fetch import coding, dns, head
from lycosa.page.sitemap import MAX_SITEMAP_BYTES, MAX_SITEMAP_ENTRIES
from lycosa.robots.parse import MAX_ROBOTS_BYTES
from lycosa.settings import Settings
from lycosa.url.canonical import Rejection, parse

LIMITS = {
    "max_body_bytes": 5 * 1024 * 1024,
    "connect_seconds": 10.0,
    "first_byte_seconds": 20.0,
    "idle_seconds": 20.0,
    "fetch_seconds": 60.0,
    "min_bytes_per_second": 1024,
    "max_header_lines": 256,
    "max_header_bytes": 64 * 1024,
    "max_header_line_bytes": 16 * 1024,
    "max_redirects": 5,
    "max_url_length": 2048,
    "max_path_depth": 20,
    "max_depth": 10_000,
    "max_links": 2_000,
    "max_links_per_domain": 300,
    "robots_cache_seconds": 86_400.0,
    "max_parse_depth": 512,
    "max_parse_nodes": 100_000,
    "retry_after_seconds": (300.0, 3600.0, 86_400.0),
}


@pytest.mark.row("L")
@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_has_its_default(name: str) -> None:
    assert getattr(Settings(), name) == LIMITS[name]


@pytest.mark.row("L")
def test_limits_that_no_setting_changes() -> None:
    assert (head.MAX_INTERIM, coding.MAX_CODINGS) == (10, 2)
    assert (MAX_ROBOTS_BYTES, MAX_ROBOTS_REDIRECTS) == (512 * 1024, 5)
    assert (MAX_SITEMAP_BYTES, MAX_SITEMAP_ENTRIES, MAX_SITEMAP_NESTING) == (50 * 1024 * 1024, 50_000, 3)
    assert (dns.MIN_TTL_SECONDS, dns.MAX_TTL_SECONDS, dns.NEGATIVE_SECONDS) == (60.0, 6 * 3600.0, 300.0)


@pytest.mark.row("L", "T4")
@pytest.mark.parametrize(
    ("path", "rejection"),
    [
        ("/a/a/a", Rejection.REPEATED),
        ("/a/b/a/b/a/b", Rejection.REPEATED),
        ("/x/a/b/c/a/b/c/a/b/c", Rejection.REPEATED),
        ("/" + "/".join("abcdefghijklmnopqrstuvwxyz"), Rejection.TOO_DEEP),
        ("/" + "x" * 2_100, Rejection.TOO_LONG),
    ],
)
def test_loops_depths_and_lengths_are_rejected(path: str, rejection: Rejection) -> None:
    assert parse(f"http://a.test{path}") is rejection
