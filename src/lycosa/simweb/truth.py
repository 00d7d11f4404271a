"""What is true of a planned web: every page, its links, and what a correct crawler must ask for and keep.

Computed from the layout alone. It never sees a rendered page, so that reading pages can be checked against it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property

import msgspec

from .layout import STATUS_OF, Layout, Link, PageKind, PageRef, RobotsAnswer
from .names import origin_of
from .traps import TRAP_PREFIXES, trap_entries


class TruePage(msgspec.Struct, frozen=True, kw_only=True):
    """One URL of the web. `status` is the answer to a first request; links are absolute, without fragments."""

    url: str
    host: str
    kind: str
    status: int
    language: str
    encoding: str
    is_allowed: bool
    is_in_sitemap: bool = False
    is_indexable: bool = True
    changes_per_day: float = 0.0
    links: tuple[str, ...] = ()
    nofollow_links: tuple[str, ...] = ()
    redirects_to: str | None = None
    original: str | None = None


class Truth(msgspec.Struct, frozen=True, dict=True):
    """All of a web, as it should be found by a crawler of any scope and depth that starts at the seeds."""

    seeds: tuple[str, ...]
    pages: dict[str, TruePage]
    trap_prefixes: tuple[str, ...]

    @cached_property
    def reachable(self) -> frozenset[str]:
        """What a crawler that reads sitemaps must ask for: followed links, redirects, nothing disallowed.

        Traps have no end and are left out: requests under `trap_prefixes` are neither wanted nor wrong.
        """
        return self._walk(has_sitemaps=True)

    @cached_property
    def reachable_by_links(self) -> frozenset[str]:
        """What a crawler that reads no sitemaps must ask for."""
        return self._walk(has_sitemaps=False)

    @cached_property
    def storable(self) -> frozenset[str]:
        """The reachable URLs with a page to keep; of an exact group a crawler may keep one and note the others."""
        return frozenset(url for url in self.reachable if self.is_storable(url))

    @cached_property
    def exact_groups(self) -> tuple[frozenset[str], ...]:
        """The URLs with equal bytes, in groups of two and more."""
        return self._groups(PageKind.COPY)

    @cached_property
    def near_groups(self) -> tuple[frozenset[str], ...]:
        """Originals with the URLs that differ from them in a few words."""
        return self._groups(PageKind.NEAR_COPY)

    def is_storable(self, url: str) -> bool:
        """Whether the URL answers with a page that wants to be found."""
        return self.pages[url].status == 200 and self.pages[url].is_indexable

    def to_json(self) -> bytes:
        """The truth as one JSON object, with what follows from it."""
        return msgspec.json.encode(
            {
                "seeds": self.seeds,
                "reachable": sorted(self.reachable),
                "storable": sorted(self.storable),
                "exact_groups": sorted(map(sorted, self.exact_groups)),
                "near_groups": sorted(map(sorted, self.near_groups)),
                "trap_prefixes": self.trap_prefixes,
                "pages": list(self.pages.values()),
            }
        )

    def _groups(self, kind: PageKind) -> tuple[frozenset[str], ...]:
        groups: dict[str, set[str]] = {}
        for page in self.pages.values():
            if page.kind == kind.value and page.original is not None:
                groups.setdefault(page.original, {page.original}).add(page.url)
        return tuple(map(frozenset, groups.values()))

    def _walk(self, *, has_sitemaps: bool) -> frozenset[str]:
        asked: set[str] = set()
        waiting = deque(self.seeds)
        known = set(self.seeds)
        met_hosts: set[str] = set()
        while waiting:
            page = self.pages[waiting.popleft()]
            found = []
            if page.is_allowed:
                asked.add(page.url)
                found = [*page.links, *([page.redirects_to] if page.redirects_to else [])]
            # Even a disallowed URL makes its host's robots.txt known, and with it the sitemap.
            if has_sitemaps and page.host not in met_hosts:
                met_hosts.add(page.host)
                found += self._sitemap_urls.get(page.host, ())
            fresh = [url for url in dict.fromkeys(found) if url in self.pages and url not in known]
            known.update(fresh)
            waiting.extend(fresh)
        return frozenset(asked)

    @cached_property
    def _sitemap_urls(self) -> dict[str, list[str]]:
        urls: dict[str, list[str]] = {}
        for page in self.pages.values():
            if page.is_in_sitemap:
                urls.setdefault(page.host, []).append(page.url)
        return urls


def truth_of(layout: Layout, port: int, seeds: tuple[str, ...]) -> Truth:
    """The truth of a layout as served on a port."""
    hosts = [layout.host(number) for number in range(layout.plan.hosts)]
    teller = _Teller(layout, port)
    pages = {page.url: page for host in hosts for page in teller.pages_of(host.number)}
    traps = tuple(origin_of(host.name, port) + prefix for host in hosts if host.has_traps for prefix in TRAP_PREFIXES)
    return Truth(seeds, pages, traps)


class _Teller:
    """Turns the layout's answers about pages into true pages."""

    def __init__(self, layout: Layout, port: int) -> None:
        self._layout = layout
        self._port = port

    def pages_of(self, host: int) -> Iterator[TruePage]:
        for number in range(self._layout.plan.pages_per_host):
            ref = PageRef(host, number)
            if self._layout.kind(ref) is PageKind.REDIRECT:
                yield from self._redirects(ref)
            else:
                yield self._page(ref)

    def _page(self, ref: PageRef) -> TruePage:
        layout, host, kind = self._layout, self._layout.host(ref.host), self._layout.kind(ref)
        status = STATUS_OF.get(kind, 200)
        links = layout.links(ref) if status == 200 else ()
        original = layout.content_of(ref)
        traps = tuple(origin_of(host.name, self._port) + path for path in trap_entries(host, ref))
        return TruePage(
            url=self._url(ref),
            host=host.name,
            kind=kind.value,
            status=status,
            language=host.language,
            encoding=host.encoding,
            is_allowed=layout.is_allowed(ref),
            is_in_sitemap=layout.is_in_sitemap(ref),
            is_indexable=kind is not PageKind.NOINDEX,
            changes_per_day=layout.changes_per_day(ref) if status == 200 else 0.0,
            links=self._urls(links, nofollow=False) + traps,
            nofollow_links=self._urls(links, nofollow=True),
            original=self._url(original) if original != ref else None,
        )

    def _redirects(self, ref: PageRef) -> Iterator[TruePage]:
        """The redirect page and the hops between it and its end."""
        redirect, host = self._layout.redirect(ref), self._layout.host(ref.host)
        url = self._url(ref)
        for hop in range(redirect.hops):
            to, path = self._layout.next_hop(ref, hop)
            next_url = origin_of(self._layout.host(to.host).name, self._port) + path
            yield TruePage(
                url=url,
                host=host.name,
                kind=PageKind.REDIRECT.value,
                status=redirect.status,
                language=host.language,
                encoding=host.encoding,
                is_allowed=host.robots is not RobotsAnswer.BROKEN,
                redirects_to=next_url,
            )
            url = next_url

    def _urls(self, links: tuple[Link, ...], *, nofollow: bool) -> tuple[str, ...]:
        return tuple(self._url(link.to) for link in links if link.nofollow is nofollow)

    def _url(self, ref: PageRef) -> str:
        return origin_of(self._layout.host(ref.host).name, self._port) + self._layout.path(ref)
