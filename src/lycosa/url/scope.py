"""Which URLs belong to a crawl: by host or registered domain of its seeds, and by the operator's patterns.

Patterns are RE2: matching takes time linear in the URL, whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Literal

import re2

from lycosa.errors import SettingsError
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


class Scope:
    """The extent of a crawl. Seeds are always in scope."""

    def __init__(
        self,
        seeds: Iterable[ParsedUrl],
        reach: Reach = "domain",
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> None:
        seeds = list(seeds)
        self._reach = reach
        self._seed_urls = frozenset(seed.url for seed in seeds)
        hosts = frozenset(seed.host for seed in seeds)
        self._places = hosts if reach == "host" else frozenset(map(registered_domain, hosts))
        self._include = _any_of(include, "include")
        self._exclude = _any_of(exclude, "exclude")

    def verdict(self, url: str, host: str, domain: str) -> Verdict:
        """What the crawl makes of a canonical URL on this host and registered domain."""
        if url in self._seed_urls:
            return _IN_SCOPE
        if self._is_elsewhere(host, domain):
            return Verdict.OUT_OF_SCOPE
        if self._exclude is not None and self._exclude.search(url.encode()):
            return Verdict.EXCLUDED
        if self._include is not None and not self._include.search(url.encode()):
            return Verdict.NOT_INCLUDED
        return _IN_SCOPE

    def verdict_on_host(self, host: str, domain: str) -> Verdict | None:
        """What the crawl makes of every URL of a host; None if that depends on the URL."""
        if self._is_elsewhere(host, domain):
            return Verdict.OUT_OF_SCOPE  # a seed is on none of these
        return _IN_SCOPE if self._exclude is None and self._include is None else None

    def _is_elsewhere(self, host: str, domain: str) -> bool:
        return self._reach != "any" and (host if self._reach == "host" else domain) not in self._places


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
