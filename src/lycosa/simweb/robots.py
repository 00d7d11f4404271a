"""The robots.txt and the sitemaps of a planned host, as text and bytes.

Knows the rules as an author writes them; whether a page is allowed is the layout's decision, and a test
holds the two against each other with a parser of robots.txt that is not ours.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from .layout import Layout, PageRef, SimHost

URLS_PER_SITEMAP = 1000
_SITEMAP_PATH = re.compile(r"/sitemap-([0-9]{1,9})\.xml\.gz$")


def robots_text(host: SimHost, origin: str) -> str:
    """The rules of a host that has some."""
    lines = [
        f"# {host.name}",
        "User-agent: greedybot",
        "Disallow: /",
        "",
        "User-agent: *",
        "Disallow: /private/",
        "Allow: /private/press/",
        "Disallow: /*/drafts/",
    ]
    if host.crawl_delay_seconds:
        lines.append(f"Crawl-delay: {host.crawl_delay_seconds:g}")
    if host.has_sitemap:
        lines += ["", f"Sitemap: {origin}/sitemap.xml"]
    return "\n".join(lines) + "\n"


class Sitemaps:
    """The sitemaps of a layout's hosts: one file for some hosts, an index of compressed files for others."""

    def __init__(self, layout: Layout, modified_at: Callable[[PageRef], float]) -> None:
        self._layout = layout
        self._modified_at = modified_at

    def file(self, host: SimHost, path: str, origin: str) -> bytes | None:
        """The bytes of the host's sitemap file at this path."""
        if not host.has_sitemap:
            return None
        pages = self._layout.plan.pages_per_host
        if path == "/sitemap.xml":
            return (
                _index(range(-(-pages // URLS_PER_SITEMAP)), origin)
                if host.has_sitemap_index or pages > URLS_PER_SITEMAP
                else self._urls(host, range(pages), origin)
            )
        if (match := _SITEMAP_PATH.match(path)) and int(match[1]) * URLS_PER_SITEMAP < pages:
            first = int(match[1]) * URLS_PER_SITEMAP
            numbers = range(first, min(first + URLS_PER_SITEMAP, pages))
            return gzip.compress(self._urls(host, numbers, origin), 6, mtime=0)
        return None

    def _urls(self, host: SimHost, numbers: Iterable[int], origin: str) -> bytes:
        refs = (PageRef(host.number, number) for number in numbers)
        rows = [self._row(ref, origin) for ref in refs if self._layout.is_in_sitemap(ref)]
        return f'{_XML}<urlset xmlns="{_SCHEMA}">\n{"".join(rows)}</urlset>\n'.encode()

    def _row(self, ref: PageRef, origin: str) -> str:
        day = datetime.fromtimestamp(self._modified_at(ref), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        priority = max(0.1, round(1 - 0.9 * ref.page / self._layout.plan.pages_per_host, 1))
        location = escape(origin + self._layout.path(ref))
        return f"<url><loc>{location}</loc><lastmod>{day}</lastmod><priority>{priority}</priority></url>\n"


def _index(numbers: Iterable[int], origin: str) -> bytes:
    rows = [f"<sitemap><loc>{origin}/sitemap-{number}.xml.gz</loc></sitemap>\n" for number in numbers]
    return f'{_XML}<sitemapindex xmlns="{_SCHEMA}">\n{"".join(rows)}</sitemapindex>\n'.encode()


_XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"
