"""From raw hrefs to decided links, most of them without parsing: the hot path of a page.

Nine links in ten have been met before: navigation, footers, popular pages. Each decision is one immutable object,
kept where its href means the same again, so that meeting it again costs a look-up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from lycosa.settings import Settings
from lycosa.site_rules import MAX_HOSTS, NO_RULES, SiteTable, host_of
from lycosa.url.canonical import (
    DEFAULT_LIMITS,
    WEB,
    Origin,
    ParsedUrl,
    Rejection,
    UrlLimits,
    encode_query,
    parse,
    read_origin,
    serialise,
)
from lycosa.url.domain import registered_domain
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.rules import SAFE_RULES, CanonicalRules, dedup_key, key_of
from lycosa.url.scope import Scope, Verdict


class KnownLink(msgspec.Struct, frozen=True, gc=False):
    """A link that leads to a URL, with all that is decided about that URL."""

    url: str
    origin: str
    host: str
    domain: str
    fingerprint: bytes
    verdict: Verdict
    in_scope: bool


class Rejected(msgspec.Struct, frozen=True, gc=False):
    """A link that leads to nothing this crawler would fetch. One object per reason."""

    reason: Rejection


_REJECTED = {reason: Rejected(reason) for reason in Rejection}
_SAME_PAGE = _REJECTED[Rejection.SAME_PAGE]
_IN_SCOPE = Verdict.IN_SCOPE
_FOREIGN = _REJECTED[Rejection.SCHEME]

Link = KnownLink | Rejected
Renaming = Callable[[KnownLink], KnownLink]


class OriginFacts(NamedTuple):
    """What the URLs of one origin have in common. No verdict: it depends on the URL."""

    origin: str
    host: str
    domain: str
    verdict: Verdict | None
    key_origin: str  # with which their keys begin
    host_mark: bytes  # with which their fingerprints begin


class LinkPolicy:
    """How a link is decided: limits, dedup rules, scope and fingerprint, composed."""

    def __init__(
        self,
        scope: Scope,
        fingerprinter: Fingerprinter,
        *,
        rules: CanonicalRules = SAFE_RULES,
        limits: UrlLimits = DEFAULT_LIMITS,
        sites: SiteTable = NO_RULES,
    ) -> None:
        self._sites = sites
        self._has_own_rules = sites.says("drop")
        self._rules_with = lru_cache(MAX_HOSTS)(rules.and_drop)
        self.limits = limits
        self.rules = rules
        self.secret = fingerprinter.secret
        self._scope = scope
        self._fingerprinter = fingerprinter

    @classmethod
    def from_settings(cls, settings: Settings, seeds: Iterable[ParsedUrl], fingerprinter: Fingerprinter) -> LinkPolicy:
        """How links are decided in a crawl with these settings and seeds."""
        sites = SiteTable(settings.site)
        scope = Scope(seeds, settings.scope, include=settings.include, exclude=settings.exclude, sites=sites)
        limits = UrlLimits(settings.max_url_length, settings.max_path_depth, schemes=WEB.union(settings.schemes))
        rules = CanonicalRules.from_names(settings.url_rules)
        return cls(scope, fingerprinter, rules=rules, limits=limits, sites=sites)

    def decide(self, href: str, base: str | None = None) -> Link:
        """What a link with this href on a page with this base leads to."""
        if base is not None and clean(href)[:1] in ("", "#"):
            return _SAME_PAGE
        return self.follow(href, base)

    def follow(self, href: str, base: str | None) -> Link:
        """What an href that is not of its own page leads to."""
        parsed = self.read(href, base)
        return self.judge(parsed) if isinstance(parsed, ParsedUrl) else _REJECTED[parsed]

    def read(self, href: str, base: str | None) -> ParsedUrl | Rejection:
        """The URL that an href names. Only a local file leads to another one: what came from a network must not."""
        parsed = parse(href, base, self.limits)
        if isinstance(parsed, ParsedUrl) and parsed.scheme == "file" and not (base or "").startswith("file:"):
            return Rejection.SCHEME
        return parsed

    def key(self, origin: str, tail: str) -> str:
        """The dedup key of a URL in fetch form, by its origin and the rest of it."""
        return key_of(origin, tail, self._rules_of(host_of(origin)) if self._has_own_rules else self.rules)

    def _rules_of(self, host: str) -> CanonicalRules:
        """The dedup rules of a host: those of the crawl, and which variables make no other page there."""
        own = self._sites.of_host(host).drop
        return self._rules_with(tuple(own)) if own else self.rules

    def fingerprint(self, key: str) -> bytes:
        """What stands for a dedup key in the seen set."""
        return self._fingerprinter.fingerprint(key)

    def judge(self, parsed: ParsedUrl) -> KnownLink:
        """All that is decided about a URL."""
        domain = registered_domain(parsed.host)
        verdict = self._scope.verdict(parsed.url, parsed.host, domain)
        key = dedup_key(parsed, self._rules_of(parsed.host) if self._has_own_rules else self.rules)
        return KnownLink(
            parsed.url,
            parsed.origin,
            parsed.host,
            domain,
            self._fingerprinter.fingerprint(key),
            verdict,
            verdict is _IN_SCOPE,
        )

    def is_excluded(self, url: str, host: str) -> bool:
        """Whether the operator wants a URL left alone, whatever it is fetched for."""
        return self._scope.is_excluded(url, host)

    def verdict(self, url: str, host: str, domain: str) -> Verdict:
        """Whether a URL in fetch form belongs to the crawl."""
        return self._scope.verdict(url, host, domain)

    def facts(self, origin: str) -> OriginFacts | tuple[()] | None:
        """What an origin, as it was written, says of all its URLs: () if they lead nowhere, None if nothing."""
        read = read_origin(origin)
        if not isinstance(read, Origin):
            return None if read is None else ()
        if self._has_own_rules and self._sites.of_host(read.host).drop:
            return None  # each by itself: the compiled pass knows one set of dedup rules
        domain = registered_domain(read.host)
        verdict = self._scope.verdict_on_host(read.host, domain)
        key_origin = self.key(read.text, "/").removesuffix("/")
        host_mark = self._fingerprinter.host_mark(key_origin)
        return OriginFacts(read.text, read.host, domain, verdict, key_origin, host_mark)


_CONTROLS_AND_SPACE = "".join(map(chr, range(0x21)))
_TABS_AND_NEWLINES = str.maketrans("", "", "\t\n\r")


def clean(href: str) -> str:
    """An href without what the URL standard ignores in it: spaces and controls around, tabs and newlines anywhere."""
    if href.isprintable():  # nearly always, and 20 times quicker than to translate
        return href.strip(" ")
    return href.strip(_CONTROLS_AND_SPACE).translate(_TABS_AND_NEWLINES)


class _Page:
    """Where the hrefs of one page are looked up, and what they are resolved against."""

    __slots__ = ("base", "directory", "directory_links", "document", "origin_links")

    def __init__(
        self, base: str, document: str, directory: str, origin_links: dict[str, Link], directory_links: dict[str, Link]
    ) -> None:
        self.base = base
        self.document = document
        self.directory = directory
        self.origin_links = origin_links
        self.directory_links = directory_links


_MAX_MEMO_CHARS = 2048
_HTTP = re.compile("https?:(//)?", re.IGNORECASE)
# A relative path without dot segments, escapes or anything else that resolving could change.
_PLAIN = re.compile(r"[\w~-]+(?:[./][\w~-]+)*/?(?:\?[\w=&.-]+)?(?:#.*)?", re.ASCII)


class LinkMemo:
    """Decides all links of a page at once, remembering at most `max_links` decisions (about 400 bytes each).

    Absolute hrefs are remembered once for all pages, those that begin with `/` by origin, others by directory.
    When half the room is used, what has not been met since the last time is forgotten. Not for use by two threads.
    """

    def __init__(self, policy: LinkPolicy, *, max_links: int = 100_000) -> None:
        self._policy = policy
        self._follow = policy.follow
        # What is longer is no base (`parse`), whatever its neighbours led to.
        self._max_base = min(policy.limits.max_length or _MAX_MEMO_CHARS, _MAX_MEMO_CHARS)
        self._max_young = max(1, max_links // 2)
        self._max_table = max(1, max_links // 8)
        self._kept = 0
        self._shared: dict[str, Link] = {}
        self._old_shared: dict[str, Link] = {}
        self._tables: dict[str, dict[str, Link]] = {}
        self._old_tables: dict[str, dict[str, Link]] = {}

    def resolve_all(self, base_url: str, hrefs: Sequence[str], encoding: str = "utf-8") -> list[Link]:
        """The links of a page in the order of its hrefs; `base_url` is the page's URL, or its `<base>` resolved."""
        if not encoding.lower().startswith("utf"):
            hrefs = [encode_query(href, encoding) for href in hrefs]
        page = self._open(base_url)
        if page is None:
            return [self._policy.decide(href, base_url) for href in hrefs]
        # An href stands in one table only, so the order of look-ups is a matter of speed.
        shared = self._shared.get
        of_origin = page.origin_links.get
        of_directory = page.directory_links.get
        miss = self._miss
        return [of_origin(href) or shared(href) or of_directory(href) or miss(href, page) for href in hrefs]

    def resolve(self, base_url: str, href: str, encoding: str = "utf-8") -> Link:
        """One link of a page."""
        return self.resolve_all(base_url, (href,), encoding)[0]

    def _open(self, base_url: str) -> _Page | None:
        if self._kept > self._max_young:
            self._turn()
        base = serialise(base_url) if len(base_url) <= self._max_base else Rejection.TOO_LONG
        if isinstance(base, Rejection) or len(base) > self._max_base or not base.startswith(("http://", "https://")):
            return None
        document = base.partition("#")[0].partition("?")[0]
        origin = base[: base.index("/", 8)]
        directory = document[: document.rindex("/") + 1]
        return _Page(base, document, directory[len(origin) :], self._table(origin), self._table(directory))

    def _table(self, place: str) -> dict[str, Link]:
        table = self._tables.get(place)
        if table is None:
            table = self._tables[place] = self._old_tables.pop(place, {})
            self._kept += 1 + len(table)
        return table

    def _miss(self, href: str, page: _Page) -> Link:
        if len(href) > _MAX_MEMO_CHARS:
            return self._policy.decide(href, page.base)
        text = clean(href)
        if text[:1] in ("", "#"):
            return self._keep(self._shared, href, _SAME_PAGE)
        if text[0] == "?":
            return self._absolute(page.document + text)
        if text[0] in "/\\":
            return self._keep(page.origin_links, href, self._follow(href, page.base))
        if text[:4].lower() == "http" and (scheme := _HTTP.match(text)):
            # `http:x` is relative on an http page only, and `http:?q` to the very page: rare, so not kept.
            return self._absolute(href) if scheme[1] else self._follow(href, page.base)
        if _PLAIN.fullmatch(text) and (link := self._relative(text, page)):
            return self._keep(page.directory_links, href, link)
        link = self._follow(href, page.base)
        return self._keep(self._shared if link is _FOREIGN else page.directory_links, href, link)

    def _relative(self, text: str, page: _Page) -> Link | None:
        """A plain path below the page's directory: most sites also link to it from their root."""
        path = page.directory + text.partition("#")[0]
        if path.startswith("//"):
            return None
        return page.origin_links.get(path) or self._keep(page.origin_links, path, self._follow(path, page.base))

    def _absolute(self, href: str) -> Link:
        if link := self._shared.get(href):
            return link
        return self._keep(self._shared, href, self._old_shared.get(href) or self._elsewhere(href))

    def _elsewhere(self, href: str) -> Link:
        """An absolute URL: its own site may have linked to the same path before."""
        path_at = href.find("/", 8)
        table = self._tables.get(href[:path_at]) if path_at > 0 else None
        known = table.get(href[path_at:].partition("#")[0]) if table and href[path_at : path_at + 2] != "//" else None
        return known or self._follow(href, None)

    def _keep(self, table: dict[str, Link], href: str, link: Link) -> Link:
        if len(table) >= self._max_table and table is not self._shared:
            table.clear()
        table[href] = link
        self._kept += 1
        if self._kept > self._max_young:
            self._turn()
        return link

    def _turn(self) -> None:
        """Make what is remembered the old generation, and forget the old one."""
        self._old_shared, self._shared = self._shared, {}
        self._old_tables, self._tables = self._tables, {}
        self._kept = 0
