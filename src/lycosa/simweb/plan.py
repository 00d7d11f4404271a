"""The plan of a simulated web: one seed number, its size, and the share of each special thing.

A plan is a value. It knows nothing of names, pages or servers: equal plans give equal webs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

LANGUAGES = ("en", "de", "fr", "es", "ru", "zh", "zh-Hant", "ja", "ko")


@dataclass(frozen=True, slots=True)
class WebPlan:
    """What a simulated web consists of; the defaults are the profile `mixed`.

    Shares are parts of 1: of all hosts, or of the pages of a host that have no children in its link tree.
    """

    seed: int = 1
    hosts: int = 50
    pages_per_host: int = 20

    # The shape of a page and of the link graph.
    min_page_bytes: int = 10_000
    max_page_bytes: int = 60_000
    min_links: int = 12
    max_links: int = 60
    is_link_count_exact: bool = False
    foreign_link_share: float = 0.2
    nofollow_share: float = 0.03
    # Of the links beyond those that hold a web together: they lead to any page of any host, each as likely as the
    # others. If there are any, some paths have queries, and links are written with what makes no other page of them:
    # variables in another order, tracking variables, fragments.
    strewn_link_share: float = 0.0
    languages: tuple[str, ...] = LANGUAGES
    # How many topics there are; a host is given to one of them, half of its pages are about that and a quarter about
    # another. So many of the links that a page about a topic draws lead to pages about the same.
    topics: int = 0
    topic_link_share: float = 0.4

    # Of hosts.
    shared_domain_share: float = 0.1
    www_share: float = 0.3
    legacy_encoding_share: float = 0.3
    gzip_share: float = 0.5
    base_element_share: float = 0.05
    sitemap_share: float = 0.6
    robots_missing_share: float = 0.1
    robots_broken_share: float = 0.0
    crawl_delay_share: float = 0.05
    crawl_delay_seconds: float = 2.0
    slow_host_share: float = 0.05
    slow_seconds: float = 0.5
    latency_seconds: float = 0.0
    trap_host_share: float = 0.0
    # Without names, hosts go by their loopback addresses and nobody needs the web's own DNS server.
    is_named: bool = True

    # Of pages.
    disallowed_share: float = 0.05
    redirect_share: float = 0.05
    missing_share: float = 0.02
    gone_share: float = 0.01
    broken_share: float = 0.01
    unavailable_share: float = 0.005
    throttled_share: float = 0.005
    retry_after_seconds: int = 1
    copy_share: float = 0.04
    near_copy_share: float = 0.04
    unfollowed_share: float = 0.01
    orphan_share: float = 0.01
    noindex_share: float = 0.01

    # How much of the room around its links a page gives to prose; the rest is markup without links or words.
    prose_share: float = 1.0

    # Pages change by Poisson processes; a page draws its rate from these. `day_seconds` shortens the day.
    changes_per_day: tuple[float, ...] = (0.0, 0.0, 1 / 90, 1 / 30, 1 / 7, 1.0)
    day_seconds: float = 86_400.0

    # Render every page before the first request; for benchmarks, where the server must cost next to nothing.
    is_prerendered: bool = False

    def __post_init__(self) -> None:
        if self.hosts < 1 or self.pages_per_host < 1:
            raise ValueError(f"a web needs a host and a page, not {self.hosts} x {self.pages_per_host}")
        if unknown := set(self.languages) - set(LANGUAGES):
            raise ValueError(f"languages: no words for {sorted(unknown)} (known: {', '.join(LANGUAGES)})")

    @classmethod
    def named(cls, profile: str = "mixed", **knobs: Any) -> WebPlan:
        """The plan of a named profile, with some of its knobs turned."""
        if profile not in PROFILES:
            raise ValueError(f"profile: no such profile {profile!r} ({', '.join(PROFILES)})")
        return cls(**{**PROFILES[profile], **knobs})

    def as_mapping(self) -> dict[str, Any]:
        """The plan as plain values, from which `WebPlan(**...)` makes an equal one."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


_NO_SPECIAL_PAGES: Mapping[str, Any] = MappingProxyType(
    {
        "missing_share": 0.0,
        "gone_share": 0.0,
        "broken_share": 0.0,
        "unavailable_share": 0.0,
        "throttled_share": 0.0,
        "copy_share": 0.0,
        "near_copy_share": 0.0,
        "unfollowed_share": 0.0,
        "orphan_share": 0.0,
        "noindex_share": 0.0,
    }
)
_PLAIN_HOSTS: Mapping[str, Any] = MappingProxyType(
    {
        "shared_domain_share": 0.0,
        "legacy_encoding_share": 0.0,
        "base_element_share": 0.0,
        "robots_missing_share": 0.0,
        "crawl_delay_share": 0.0,
        "slow_host_share": 0.0,
        "gzip_share": 0.0,
        "nofollow_share": 0.0,
        "changes_per_day": (0.0,),
    }
)

_BENCH: Mapping[str, Any] = MappingProxyType(
    {
        **_NO_SPECIAL_PAGES,
        **_PLAIN_HOSTS,
        "hosts": 200,
        "pages_per_host": 50,
        "min_page_bytes": 28_000,
        "max_page_bytes": 28_000,
        "min_links": 53,
        "max_links": 53,
        "is_link_count_exact": True,
        "disallowed_share": 0.0,
        "redirect_share": 0.0,
        "sitemap_share": 0.0,
        "languages": ("en",),
        # Of 406 real pages of 15 to 60 KB the median has 14 % text, 7 % scripts and styles and 430 elements.
        "prose_share": 0.15,
        "is_prerendered": True,
    }
)

PROFILES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "clean": {**_NO_SPECIAL_PAGES, **_PLAIN_HOSTS},
        "mixed": {},
        "traps": {"trap_host_share": 0.2},
        "bench": _BENCH,
        # Far more pages than anybody fetches: of the links of a page few have been met before.
        "strewn": {**_BENCH, "pages_per_host": 10_000, "strewn_link_share": 1.0, "is_prerendered": False},
        # Of 16 topics each is that of 5 % of the pages; what is about one is reached through what is not, too.
        "topics": {
            **_NO_SPECIAL_PAGES,
            **_PLAIN_HOSTS,
            "hosts": 60,
            "pages_per_host": 50,
            "topics": 16,
            "languages": ("en",),
            "min_page_bytes": 4_000,
            "max_page_bytes": 10_000,
            "max_links": 30,
            "disallowed_share": 0.0,
            "redirect_share": 0.0,
            "sitemap_share": 0.0,
        },
    }
)
