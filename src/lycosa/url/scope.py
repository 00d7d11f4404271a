"""Which URLs belong to a crawl: by host or registered domain of its seeds, and by the operator's patterns.

Patterns are RE2: matching takes time linear in the URL, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import re2

from lycosa.errors import SettingsError
from lycosa.site_rules import MAX_HOSTS, NO_RULES, SiteRules, SiteTable
from lycosa.url.canonical import ParsedUrl
from lycosa.url.domain import registered_domain

Reach = Literal["host", "domain", "any"]


class Verdict(Enum):
    """Whether a URL belongs to the crawl, and if not, why."""

    IN_SCOPE = "it belongs to this crawl"
    OUT_OF_SCOPE = "it is on a host or domain that no seed is on"
    EXCLUDED = "it matches an exclude pattern"
    NOT_INCLUDED = "it matches no include pattern"


# In Python 3.11 reading a member of an Enum class costs as much as a whole look-up.
_IN_SCOPE = Verdict.IN_SCOPE


class _Extent(NamedTuple):
    """How far a crawl goes somewhere. The matchers are those of RE2; None where there are no patterns."""

    reach: Reach
    include: Any
    exclude: Any


class Scope:
    """The extent of a crawl. Seeds are always in scope."""

    def __init__(
        self,
        seeds: Iterable[ParsedUrl],
        reach: Reach = "domain",
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        sites: SiteTable = NO_RULES,
    ) -> None:
        seeds = list(seeds)
        self._seed_urls = frozenset(seed.url for seed in seeds)
        self._hosts = frozenset(seed.host for seed in seeds)
        self._domains = frozenset(map(registered_domain, self._hosts))
        self._extent = _Extent(reach, _any_of(include, "include"), _any_of(exclude, "exclude"))
        self._sites = sites
        self._has_own = any(map(sites.says, ("scope", "include", "exclude")))
        for host in {*sites.named_hosts("include"), *sites.named_hosts("exclude")}:
            self._own(sites.of_host(host))  # so that a pattern that is none is told at once
        self._extent_of = lru_cache(MAX_HOSTS)(lambda host: self._own(sites.of_host(host)))

    def verdict(self, url: str, host: str, domain: str) -> Verdict:
        """What the crawl makes of a canonical URL on this host and registered domain."""
        if url in self._seed_urls:
            return _IN_SCOPE
        extent = self._extent_of(host) if self._has_own else self._extent
        if self._is_elsewhere(extent.reach, host, domain):
            return Verdict.OUT_OF_SCOPE
        if extent.exclude is not None and extent.exclude.search(url.encode()):
            return Verdict.EXCLUDED
        if extent.include is not None and not extent.include.search(url.encode()):
            return Verdict.NOT_INCLUDED
        return _IN_SCOPE

    def is_excluded(self, url: str, host: str) -> bool:
        """Whether an exclude pattern speaks against a URL, wherever it is."""
        exclude = (self._extent_of(host) if self._has_own else self._extent).exclude
        return exclude is not None and bool(exclude.search(url.encode()))

    def verdict_on_host(self, host: str, domain: str) -> Verdict | None:
        """What the crawl makes of every URL of a host; None if that depends on the URL."""
        extent = self._extent_of(host) if self._has_own else self._extent
        if self._is_elsewhere(extent.reach, host, domain):
            return Verdict.OUT_OF_SCOPE  # a seed is on none of these
        return _IN_SCOPE if extent.exclude is None and extent.include is None else None

    def _is_elsewhere(self, reach: Reach, host: str, domain: str) -> bool:
        return reach != "any" and (host not in self._hosts if reach == "host" else domain not in self._domains)

    def _own(self, rules: SiteRules) -> _Extent:
        """How far the crawl goes on a host with these rules; what they leave open is as everywhere."""
        general = self._extent
        return _Extent(
            general.reach if rules.scope is None else rules.scope,
            general.include if rules.include is None else _any_of(rules.include, "include"),
            general.exclude if rules.exclude is None else _any_of(rules.exclude, "exclude"),
        )


def _any_of(patterns: Sequence[str], setting: str) -> Any:
    """One matcher for all patterns, or None where there are none."""
    if not patterns:
        return None
    for pattern in patterns:
        _compile(pattern, f"{setting}: the pattern {pattern!r}")
    # An alternation, not RE2::Set: a Set that runs out of memory says "no match", an alternation only gets slower.
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return _compile(joined, f"{setting}: the {len(patterns)} patterns taken together")


def _compile(pattern: str, what: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        detail = error.args[0] if error.args else "unknown error"
        detail = detail.decode(errors="replace") if isinstance(detail, bytes) else detail
        raise SettingsError(f"{what} is not RE2: {detail} (https://github.com/google/re2/wiki/Syntax)") from None
