"""What a made-up site is, and what its pages are made of.

A site is a function from a host and a path to an answer. It knows which of its pages must be found and which of its
URLs belong to the part without an end; of crawlers it knows nothing. URLs are written without a port: the server adds
its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from .words import paragraphs, proper, text

HTML = ("Content-Type", "text/html; charset=utf-8")
ROBOTS = "User-agent: *\nDisallow: /internal/\n"
STATIC = ("about", "contact", "imprint", "help", "terms", "privacy")


class Answer(NamedTuple):
    """What a server says to a request."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class At(NamedTuple):
    """What is asked for: the host, the path, and the query as pairs."""

    host: str
    path: str
    query: dict[str, str]
    target: str

    @property
    def number(self) -> int:
        """The page of a list, from 1."""
        return int(self.query.get("page", "1"))


Answering: TypeAlias = Callable[[At], Answer | None]


@dataclass(frozen=True)
class Site:
    """A made-up site; hosts under `wild` exist whatever their name."""

    name: str
    answer: Callable[[str, str], Answer]
    seeds: tuple[str, ...]
    total: int
    good: re.Pattern[str]
    endless: re.Pattern[str] | None = None
    # The URL of the same page without what changes nothing, such as a session id.
    plain: Callable[[str], str] = str
    # The proper URL of what a page shows that has another name which nobody can tell from its URL.
    shown: Callable[[str], str] = str
    hosts: frozenset[str] = frozenset()
    wild: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def good_page(self, url: str) -> str | None:
        """The page that must be found and that this URL shows."""
        place = self.shown(self.plain(url)).partition("://")[2]
        return place if self.good.fullmatch(place) else None

    def is_endless(self, url: str) -> bool:
        """Whether the URL belongs to what has no end."""
        return self.endless is not None and self.endless.fullmatch(url.partition("://")[2]) is not None

    def has_host(self, name: str) -> bool:
        """Whether the name exists."""
        return name in self.hosts or bool(self.wild and name.endswith(f".{self.wild}"))


def make_site(
    frame: Frame,
    answer: Answering,
    *,
    good: str,
    total: int,
    endless: str | None = None,
    robots: str = ROBOTS,
    hosts: Sequence[str] = (),
    **more: Any,
) -> Site:
    """A site whose patterns are those of targets, on any host, or of hosts with their targets."""

    def answer_all(host: str, target: str) -> Answer:
        path, _, query = target.partition("?")
        if path == "/robots.txt":
            return Answer(200, (("Content-Type", "text/plain"),), robots.encode())
        at = At(host, path, dict(parse_qsl(query, keep_blank_values=True)), target)
        return answer(at) or frame.static(at) or frame.missing()

    return Site(
        name=frame.name,
        answer=answer_all,
        seeds=more.pop("seeds", (f"http://{frame.host}/",)),
        good=re.compile(_on_any_host(good)),
        endless=re.compile(_on_any_host(endless)) if endless else None,
        total=total,
        hosts=frozenset((frame.host, *hosts)),
        **more,
    )


def _on_any_host(pattern: str) -> str:
    return "|".join(f"[^/]+{each}" if each.startswith("/") else each for each in pattern.split(" | "))


class Frame:
    """What the pages of a site share: its name, header, navigation and footer."""

    def __init__(self, name: str, sections: Mapping[str, str] | None = None, *, tongue: str = "english") -> None:
        self.name = name
        self.domain = f"{name}.test"
        self.host = f"www.{self.domain}"
        self.tongue = tongue
        self.sections = dict(sections or {})
        self.owner = proper(name)
        self._tagline = text(9, name, "tagline", tongue=tongue)
        self._footer = text(28, name, "footer", tongue=tongue)

    def navigation(self, more: str = "") -> str:
        """The header with its menu."""
        entries = {"Home": "/", **self.sections, **{word.capitalize(): f"/{word}" for word in STATIC[:3]}}
        menu = "".join(f"<li>{link(href, label)}</li>" for label, href in entries.items())
        return (
            f'<header><a class="logo" href="/">{self.owner}</a><p>{self._tagline}</p></header>\n'
            f"<nav><ul>{menu}</ul>{more}</nav>\n"
        )

    def footer(self) -> str:
        """The end of every page."""
        links = " ".join(link(f"/{word}", word.capitalize()) for word in STATIC)
        return f"<footer><p>{self._footer}</p><p>© {self.owner} {links}</p></footer>\n"

    def page(self, heading: str, main: str, *, head: str = "", more: str = "", status: int = 200) -> Answer:
        """An ordinary page."""
        body = f"{self.navigation(more)}<main><h1>{heading}</h1>\n{main}</main>\n{self.footer()}"
        return html(f"{heading} - {self.owner}", body, head=head, status=status)

    def static(self, at: At) -> Answer | None:
        """The pages that every site has."""
        if at.path[1:] in STATIC:
            return self.page(at.path[1:].capitalize(), paragraphs(90, self.name, "static", at.path, tongue=self.tongue))
        return None

    def missing(self) -> Answer:
        """What is said where there is no page."""
        return self.page("Not found", "<p>There is no such page here.</p>", status=404)


def html(heading: str, body: str, *, head: str = "", status: int = 200) -> Answer:
    """A page of nothing but its body."""
    start = f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{heading}</title>{head}</head>\n<body>\n'
    return Answer(status, (HTML,), f"{start}{body}</body></html>\n".encode())


def redirect(to: str, status: int = 302) -> Answer:
    """Somewhere else."""
    return Answer(status, (("Location", to),), b"")


def xml(body: str) -> Answer:
    """A sitemap."""
    return Answer(
        200, (("Content-Type", "application/xml"),), f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'.encode()
    )


def urlset(urls: Sequence[str]) -> Answer:
    """A sitemap of pages."""
    entries = "".join(f"<url><loc>{escape(url)}</loc></url>\n" for url in urls)
    return xml(f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n')


def sitemap_index(urls: Sequence[str]) -> Answer:
    """A sitemap of sitemaps."""
    entries = "".join(f"<sitemap><loc>{escape(url)}</loc></sitemap>\n" for url in urls)
    return xml(f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</sitemapindex>\n')


def link(href: str, words: str) -> str:
    """A link."""
    return f'<a href="{escape(href)}">{words}</a>'


def links(pairs: Sequence[tuple[str, str]]) -> str:
    """A list of links."""
    return "<ul>" + "".join(f"<li>{link(href, words)}</li>\n" for href, words in pairs) + "</ul>\n"


def pager(base: str, number: int, last: int, reach: int = 3) -> str:
    """Links to the pages of a list that are near, to the first and to the last; base ends before the number."""
    near = range(max(1, number - reach), min(last, number + reach) + 1)
    shown = sorted({1, *near, last})
    steps = [(f"{base}{number - 1}", "Previous")] if number > 1 else []
    steps += [(f"{base}{number + 1}", "Next")] if number < last else []
    return '<div class="pager">' + links(steps + [(f"{base}{each}", str(each)) for each in shown]) + "</div>\n"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table."""
    first = "".join(f"<th>{cell}</th>" for cell in head)
    rest = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f"<table><tr>{first}</tr>\n{rest}</table>\n"


def without(*names: str) -> Callable[[str], str]:
    """The URL without these variables of its query."""

    def plain(url: str) -> str:
        parts = urlsplit(url)
        kept = [each for each in parts.query.split("&") if each and each.partition("=")[0] not in names]
        return parts._replace(query="&".join(kept)).geturl()

    return plain


def match(pattern: str, path: str) -> tuple[str, ...] | None:
    """The groups of a pattern that is the whole path; the path itself where there are none."""
    found = re.fullmatch(pattern, path)
    return (found.groups(default="") or (found[0],)) if found else None
