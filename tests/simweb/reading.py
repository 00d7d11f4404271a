"""Reading pages and robots.txt without lycosa, as plainly as can be, to hold the truth against."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit


@dataclass
class Read:
    """What a page shows to a reader."""

    links: set[str] = field(default_factory=set)
    nofollow_links: set[str] = field(default_factory=set)
    anchors: int = 0
    canonical: str | None = None
    charset: str | None = None
    is_noindex: bool = False
    text: list[str] = field(default_factory=list)

    def words(self, language: str) -> list[str]:
        """The text in words; in characters where the language has no spaces."""
        text = " ".join(self.text)
        return list(text) if language in ("zh", "zh-Hant", "ja") else text.split()


class _Reader(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.base = url
        self.read = Read()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        match tag:
            case "base":
                self.base = urljoin(self.base, given["href"])
            case "a":
                self.read.anchors += 1
                links = self.read.nofollow_links if "nofollow" in given.get("rel", "") else self.read.links
                links.add(urldefrag(urljoin(self.base, given["href"])).url)
            case "link" if given["rel"] == "canonical":
                self.read.canonical = given["href"]
            case "meta" if "charset" in given:
                self.read.charset = given["charset"]
            case "meta" if given.get("name") == "robots":
                self.read.is_noindex = "noindex" in given["content"]

    def handle_data(self, data: str) -> None:
        self.read.text.append(data)


def read_page(url: str, html: str) -> Read:
    """The links, text and declarations of a page."""
    reader = _Reader(url)
    reader.feed(html)
    return reader.read


def allows(robots_txt: str, url: str) -> bool:
    """Whether the rules for every crawler let this URL be asked for (RFC 9309: the longest match decides)."""
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    matching = [(len(rule), is_allow) for is_allow, rule in _rules(robots_txt) if _matches(rule, path)]
    return max(matching, default=(0, True))[1]


def _rules(robots_txt: str) -> list[tuple[bool, str]]:
    rules, is_for_all = [], False
    for line in robots_txt.splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        match name.lower():
            case "user-agent":
                is_for_all = value == "*"
            case "allow" | "disallow" if is_for_all:
                rules.append((name.lower() == "allow", value))
    return rules


def _matches(rule: str, path: str) -> bool:
    return re.match(".*".join(map(re.escape, rule.split("*"))), path) is not None
