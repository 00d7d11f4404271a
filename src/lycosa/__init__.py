"""lycosa: a search-engine web crawler. `async for page in lycosa.Crawler(["https://example.org/"]): ...`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lycosa.hooks import FailedVisit, PageView, Request
    from lycosa.library import CrawledPage, Crawler, MissedPage
    from lycosa.site_rules import Field, SiteRules

__all__ = [
    "CrawledPage",
    "Crawler",
    "FailedVisit",
    "Field",
    "MissedPage",
    "PageView",
    "Request",
    "SiteRules",
]


def __getattr__(name: str) -> Any:
    # Commands and workers import parts of this package; only who asks for the library pays for all of it.
    if name in ("FailedVisit", "PageView", "Request"):
        from lycosa import hooks

        return getattr(hooks, name)
    if name in ("Field", "SiteRules"):
        from lycosa import site_rules

        return getattr(site_rules, name)
    if name in __all__:
        from lycosa import library

        return getattr(library, name)
    raise AttributeError(f"module 'lycosa' has no attribute {name!r}")
