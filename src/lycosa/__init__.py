"""lycosa: a search-engine web crawler. `async for page in lycosa.Crawler(["https://example.org/"]): ...`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lycosa.library import CrawledPage, Crawler, MissedPage

__all__ = ["CrawledPage", "Crawler", "MissedPage"]


def __getattr__(name: str) -> Any:
    # Commands and workers import parts of this package; only who asks for the library pays for all of it.
    if name in __all__:
        from lycosa import library

        return getattr(library, name)
    raise AttributeError(f"module 'lycosa' has no attribute {name!r}")
