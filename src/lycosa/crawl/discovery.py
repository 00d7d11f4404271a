"""From what a visit found to targets: links, redirects, sitemaps. The hot path of a page after parsing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256
from itertools import repeat
from typing import NamedTuple

import msgspec

from lycosa.crawl.requisites import Requisites
from lycosa.figures import Hits
from lycosa.hooks import Request
from lycosa.model import Kind, Links, Listing, Page, RequestParts, Target, origin_of
from lycosa.page.sitemap import ORDINARY_PRIORITY, Sitemap, SitemapEntry, SitemapKind, entries_allowed
from lycosa.policy import priority
from lycosa.policy.listing import paces, weights
from lycosa.site_rules import NO_RULES, SiteTable
from lycosa.url.canonical import ANY_SCHEME, FETCHED, WEB, ParsedUrl, Rejection, parse
from lycosa.url.domain import registered_domain
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.links import FoundLinks, PageLinks, may_name_others
from lycosa.url.memo import KnownLink, LinkPolicy, Renaming, clean
from lycosa.url.scope import Verdict

_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# A site may keep its sitemaps with somebody else. It may as well name a stranger, who would get the requests.
MAX_SITEMAPS_ELSEWHERE = 3
MAX_NAMING_DOMAINS = 10_000
NOTHING_SAID = Listing()


class DiscoveryRules(msgspec.Struct, frozen=True):
    """How far links are followed."""

    max_depth: int
    max_links_per_domain: int
    order: priority.Order
    obey_nofollow: bool
    sitemaps: bool


class FoundOnPage(NamedTuple):
    """All links of a page as columns, and the new targets among them.

    Where the order wants to know: targets that were sent before and may move up by now, and the fingerprints of all
    other links that are followed. Where it is wanted: what the page shows, which is fetched whatever is followed.
    """

    links: Links
    new: list[Target]
    again: Sequence[Target] = ()
    others: bytes = b""
    requisites: Sequence[Target] = ()


class SitemapsElsewhere:
    """Sitemaps outside the scope that were followed, by the registered domain whose robots.txt led to them."""

    def __init__(self) -> None:
        self._followed: dict[str, set[bytes]] = {}

    def may_follow(self, named_by: str, fingerprint: bytes) -> bool:
        """Whether one more of them is followed for this domain; one that was is so again."""
        followed = self._followed.setdefault(named_by, set())
        if fingerprint not in followed:
            if len(followed) >= MAX_SITEMAPS_ELSEWHERE:
                return False
            followed.add(fingerprint)
        if len(self._followed) > MAX_NAMING_DOMAINS:
            del self._followed[next(iter(self._followed))]
        return True


class Discovery:
    """Decides what of a visit's findings becomes a target."""

    def __init__(
        self,
        policy: LinkPolicy,
        links: PageLinks,
        fingerprinter: Fingerprinter,
        rules: DiscoveryRules,
        sites: SiteTable = NO_RULES,
    ) -> None:
        self._sites = sites
        self._has_classes = sites.says("priority")
        self._policy = policy
        self._links = links
        self._fingerprinter = fingerprinter
        self._rules = rules
        self._sitemaps_elsewhere = SitemapsElsewhere()
        self.remembered = links.remembered
        self.requisites = Requisites(policy, fingerprinter, self.remembered)
        self.hits = Hits()  # links that need not be told to the frontier, since they were

    def of_page(self, target: Target, page: Page, renamed: Renaming | None = None) -> FoundOnPage:
        """What a page leads to, and shows; targets by the names they are known by."""
        found = self._followed(target, page, renamed)
        if not page.requisites:
            return found
        shown = self.requisites.of(target, self._base(target, page), page.requisites, page.charset or "utf-8")
        # An image that a page shows is a part of it, also where a link leads to it.
        new = [each for each in found.new if each.url not in shown.images]
        return found._replace(new=new, requisites=shown.targets)

    def _followed(self, target: Target, page: Page, renamed: Renaming | None) -> FoundOnPage:
        obeys_nofollow = self._rules.obey_nofollow
        found = self._links.decide(
            self._base(target, page),
            page.links,
            tuple(href for href in (page.canonical, page.refresh) if href),
            page.charset or "utf-8",
            renamed=renamed,
            is_followed=self.leads_on(target, page),
            obeys_nofollow=obeys_nofollow,
        )
        self.hits.asked += len(found.targets)
        self.hits.missed += len(found.fingerprints)
        links, targets = Links(found.targets, found.anchors, found.rels), self._targets(target, found)
        if self._rules.order != "best":
            return FoundOnPage(links, targets)
        remembered = self.remembered
        again = [each for each in targets if each.fingerprint in remembered]
        if again:
            targets = [each for each in targets if each.fingerprint not in remembered]
        return FoundOnPage(links, targets, again, found.others)

    def leads_on(self, target: Target, page: Page) -> bool:
        """Whether the links of a page are followed at all."""
        return target.depth < self._rules.max_depth and not (page.nofollow and self._rules.obey_nofollow)

    def of_requests(self, source: Target, requests: Iterable[Request]) -> list[Target]:
        """The targets that somebody asks for by name, whatever the scope; raises `ValueError` for what is no URL."""
        if source.depth >= self._rules.max_depth:
            return []
        return [self.of_request(each, source) for each in requests]

    def of_request(self, request: Request, source: Target | None = None) -> Target:
        """The target of a request; raises `ValueError` if nothing can be asked there."""
        parsed = parse(request.url, None, self._policy.limits)
        if not isinstance(parsed, ParsedUrl):
            raise ValueError(f"{request.url!r} cannot be fetched: {parsed.value}")
        link, parts = self._policy.judge(parsed), request.parts
        fingerprint = link.fingerprint
        if parts and (parts.method != "GET" or parts.body):
            # Another method, or another body, is another page.
            key = self._policy.key(link.origin, link.url[len(link.origin) :])
            fingerprint = self._fingerprinter.fingerprint(f"{key}#{parts.method} {sha256(parts.body).hexdigest()}")
        if source is None:
            return Target(link.url, link.host, fingerprint, priority=priority.SEED, request=parts)
        found = FoundLinks([], [], [], [link.url], [link.host], [fingerprint])
        (target,) = self._targets(source, found)
        return msgspec.structs.replace(target, request=parts)

    def of_urls(self, source: Target, urls: Iterable[str]) -> list[Target]:
        """The targets of URLs that a page has no links to, as far as they belong to the crawl."""
        if source.depth >= self._rules.max_depth:
            return []
        links = {link.fingerprint: link for url in urls if isinstance(link := self._policy.decide(url), KnownLink)}
        inside = [link for link in links.values() if link.in_scope]
        urls, hosts = [link.url for link in inside], [link.host for link in inside]
        marks = [link.fingerprint for link in inside]
        return self._targets(source, FoundLinks([], [], [], urls, hosts, marks))

    def closed_schemes(self, target: Target, page: Page) -> list[Target]:
        """What a page links to on hosts of the crawl by schemes that are not open to it, as far as it was not met."""
        # Nearly all pages end here.
        if not may_name_others(page.links):
            return []
        found: dict[bytes, Target] = {}
        for href in (link.href for link in page.links):
            named = _OTHER_SCHEME.match(clean(href)) if "://" in href else None
            parsed = parse(href, None, ANY_SCHEME) if named else Rejection.SCHEME
            if not isinstance(parsed, ParsedUrl) or parsed.scheme in WEB:
                continue
            if isinstance(self._policy.read(href, target.url), ParsedUrl):
                continue
            link = self._policy.judge(parsed)
            if (link.in_scope or parsed.scheme == "file") and link.fingerprint not in self.remembered:
                found[link.fingerprint] = Target(
                    link.url, link.host, link.fingerprint, depth=target.depth + 1, referrer=target.url
                )
        return list(found.values())

    def beyond(self, target: Target, links: Links) -> int:
        """How many links of a page are not followed since they lie deeper than is allowed."""
        if target.depth < self._rules.max_depth:
            return 0
        return self._links.count_new(target.url, list(dict.fromkeys(links.targets)))

    def of_redirect(self, target: Target, location: str, status: int = 302) -> tuple[str, list[Target]]:
        """Where a redirect leads, and the target it makes, if it makes one."""
        link = self._policy.decide(location, target.url)
        if not isinstance(link, KnownLink):
            return location, []
        request = _after_redirect(target, link, status)
        if request is not None and request.method != "GET" and link.origin != origin_of(target.url):
            return link.url, []  # what was said to one is not said to another
        if not link.in_scope and not self._may_leave(target, link):
            return link.url, []
        fingerprint = link.fingerprint
        if fingerprint == target.fingerprint and link.url != target.url:
            # The two count as one page, but only the second can be fetched.
            fingerprint = self._fingerprinter.fingerprint(f"{link.url}#moved")
        moved = msgspec.structs.replace(
            target,
            url=link.url,
            host=link.host,
            fingerprint=fingerprint,
            referrer=target.url,
            redirects=target.redirects + 1,
            attempt=0,
            visits=0,
            request=request,
            listing=None,
        )
        return link.url, [moved]

    def robots_elsewhere(self, target: Target, location: str) -> Target | None:
        """The robots.txt another one redirects to; it still speaks for the first origin (RFC 9309, 2.3.1.2)."""
        parsed = self._policy.read(location, target.url)
        if isinstance(parsed, Rejection) or parsed.url == target.url:
            return None
        return msgspec.structs.replace(target, url=parsed.url, host=parsed.host, redirects=target.redirects + 1)

    def of_robots(self, target: Target, sitemaps: Sequence[str]) -> list[Target]:
        """The sitemaps that a robots.txt names; what they list is one step away from the seeds."""
        if not self._rules.sitemaps or self._rules.max_depth < 1:
            return []
        links = (self._policy.decide(href, target.url) for href in sitemaps)
        named_by = self._domain(target.origin or target.url)
        return [
            Target(link.url, link.host, link.fingerprint, Kind.SITEMAP, priority.SITEMAP, referrer=target.url)
            for link in links
            if isinstance(link, KnownLink) and self._may_read(link, named_by)
        ]

    def of_sitemap(self, target: Target, sitemap: Sitemap) -> list[Target]:
        """What a sitemap lists: pages, the most important first and of those the newest, or further sitemaps."""
        # The origins whose robots.txt named this sitemap vouch for it: their pages may stand in it too.
        entries = entries_allowed(sitemap, target.url, (target.referrer,))
        is_index = sitemap.kind is SitemapKind.INDEX
        named_by = self._domain(target.referrer)
        targets = []
        listings = self._listings(entries)
        for entry, listing in sorted(zip(entries, listings, strict=True), key=_urgency):
            link = self._policy.decide(entry.loc)
            if not isinstance(link, KnownLink):
                continue
            if not (self._may_read(link, named_by) if is_index else link.in_scope):
                continue
            found = Target(
                link.url,
                link.host,
                link.fingerprint,
                Kind.SITEMAP if is_index else Kind.PAGE,
                priority.SITEMAP if is_index else self._listed_class(link.url, entry),
                target.depth + 1 if is_index else 1,
                target.referrer if is_index else target.url,
                listing=listing,
            )
            targets.append(found)
        return targets

    def of_feed(self, target: Target, feed: Sitemap) -> list[Target]:
        """What a feed that is a page says of pages of its own host; their links are found as on any page."""
        entries = [each for each in entries_allowed(feed, target.url) if each.lastmod_at]
        links = ((entry, self._policy.decide(entry.loc, target.url)) for entry in entries)
        return [
            Target(
                link.url,
                link.host,
                link.fingerprint,
                depth=target.depth + 1,
                referrer=target.url,
                listing=Listing(int(entry.lastmod_at or 0.0)),
            )
            for entry, link in links
            if isinstance(link, KnownLink) and link.in_scope and target.depth < self._rules.max_depth
        ]

    def _listings(self, entries: Sequence[SitemapEntry]) -> list[Listing | None]:
        """What a sitemap says of each of its URLs beside the others."""
        pace = paces([entry.changefreq for entry in entries])
        # In the order best it is cash that the priorities divide, and importance follows from that.
        is_ranked = self._rules.order == "best"
        told = [None if is_ranked else entry.priority for entry in entries]
        weight = weights(told, ORDINARY_PRIORITY)
        listings = (
            Listing(int(entry.lastmod_at or 0.0), round(100 * each_pace), round(100 * each_weight))
            for entry, each_pace, each_weight in zip(entries, pace, weight, strict=True)
        )
        return [None if each == NOTHING_SAID else each for each in listings]

    def _listed_class(self, url: str, entry: SitemapEntry) -> int:
        return self._sites.of(url).priority or priority.sitemap_class(self._rules.order, entry.priority)

    def _may_leave(self, target: Target, link: KnownLink) -> bool:
        """Whether a redirect may lead out of the scope: a seed's may, and a sitemap's within its own domain."""
        if target.kind is Kind.SITEMAP:
            return link.verdict is not Verdict.OUT_OF_SCOPE or link.domain == registered_domain(target.host)
        return not target.depth

    def _may_read(self, link: KnownLink, named_by: str) -> bool:
        """Whether a sitemap is read. Patterns are for pages; whose it is counts for every request."""
        if link.verdict is not Verdict.OUT_OF_SCOPE:
            return True
        return self._sitemaps_elsewhere.may_follow(named_by, link.fingerprint)

    @staticmethod
    def _domain(url: str) -> str:
        parsed = parse(url, None, FETCHED)
        return registered_domain(parsed.host) if isinstance(parsed, ParsedUrl) else ""

    def _base(self, target: Target, page: Page) -> str:
        if not page.base:
            return target.url
        parsed = parse(page.base, target.url, FETCHED)
        if not isinstance(parsed, ParsedUrl) or not (parsed.scheme in WEB or target.url.startswith(parsed.scheme)):
            return target.url
        return parsed.url

    def _targets(self, source: Target, found: FoundLinks) -> list[Target]:
        kinds, depths, referrers = repeat(Kind.PAGE), repeat(source.depth + 1), repeat(source.url)
        classes = self._classes(found)
        # A column at a time: hardly any bytecode is run for each link.
        targets = list(map(Target, found.urls, found.hosts, found.fingerprints, kinds, classes, depths, referrers))
        return targets if len(targets) <= self._rules.max_links_per_domain else self._limited(source, targets)

    def _classes(self, found: FoundLinks) -> Iterable[int]:
        if self._has_classes:
            return [self._sites.of(url).priority or priority.ORDINARY for url in found.urls]
        return repeat(priority.ORDINARY)

    def _limited(self, source: Target, targets: list[Target]) -> list[Target]:
        """The targets without those that are too many on one foreign domain."""
        foreign: Counter[str] = Counter()
        kept = []
        for target in targets:
            if target.host != source.host:
                domain = registered_domain(target.host)
                foreign[domain] += 1
                if foreign[domain] > self._rules.max_links_per_domain:
                    continue
            kept.append(target)
        return kept


def _after_redirect(target: Target, link: KnownLink, status: int) -> RequestParts | None:
    """What is asked where a redirect leads: the same if it says so, else just the page; elsewhere with no headers."""
    parts = target.request
    if parts is None:
        return None
    if status not in (307, 308):
        parts = msgspec.structs.replace(parts, method="GET", body=b"")
    if link.origin != origin_of(target.url):
        parts = msgspec.structs.replace(parts, headers=())
    return None if parts == RequestParts() else parts


def _urgency(listed: tuple[SitemapEntry, Listing | None]) -> tuple[float, float]:
    """Smaller is sooner. A site can only set its own pages in order: priorities of others are not compared."""
    entry = listed[0]
    return -(ORDINARY_PRIORITY if entry.priority is None else entry.priority), -(entry.lastmod_at or 0.0)
