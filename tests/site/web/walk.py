"""A walk over a made-up site by its links alone, to know what can be found: no crawler, no network, no rules."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

from .site import Answer, Site

MAX_STEPS = 20_000


@dataclass
class Walked:
    """What a walk saw: the good pages, all URLs that it asked for, and how deep the deepest was."""

    good: set[str] = field(default_factory=set)
    asked: int = 0
    depth: int = 0
    missing: list[str] = field(default_factory=list)


def walk(site: Site) -> Walked:
    """Everything that links and sitemaps lead to outside of the endless part."""
    walked = Walked()
    queue = deque((url, 0) for url in starts(site))
    known = {site.plain(url) for url, _ in queue}
    while queue and walked.asked < MAX_STEPS:
        url, depth = queue.popleft()
        answer = ask(site, url)
        walked.asked += 1
        walked.depth = max(walked.depth, depth)
        if answer.status == 404:
            walked.missing.append(url)
        elif answer.status == 200 and (page := site.good_page(url)) is not None:
            walked.good.add(page)
        for found in leads(answer, url):
            host = urlsplit(found).hostname or ""
            if site.has_host(host) and not site.is_endless(found) and site.plain(found) not in known:
                known.add(site.plain(found))
                queue.append((found, depth + 1))
    return walked


def ask(site: Site, url: str) -> Answer:
    """The answer to a URL."""
    parts = urlsplit(url)
    return site.answer(parts.netloc, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def starts(site: Site) -> Iterator[str]:
    """The seeds, and the sitemaps that their hosts name."""
    yield from site.seeds
    for url in site.seeds:
        robots = ask(site, urljoin(url, "/robots.txt")).body.decode()
        yield from re.findall(r"(?m)^Sitemap: (.+)$", robots)


def leads(answer: Answer, url: str) -> list[str]:
    """The URLs that an answer leads to."""
    fields = dict(answer.headers)
    if "Location" in fields:
        return [urljoin(url, fields["Location"])]
    body = answer.body.decode()
    if fields["Content-Type"].endswith("xml"):
        return [unescape(found) for found in re.findall(r"<loc>(.+?)</loc>", body)]
    parser = _Links()
    parser.feed(body)
    return [urldefrag(urljoin(url, href)).url for href in parser.found]


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if tag == "a" and name == "href"]
