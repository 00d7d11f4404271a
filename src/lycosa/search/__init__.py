"""Full-text search over the pages of a crawl: an index that follows its tables, queries, ranking, snippets.

It knows tables and texts, and neither how pages come nor how results are shown (no HTTP here).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lycosa.errors import SettingsError

if TYPE_CHECKING:
    from lycosa.search.index import SearchIndex
    from lycosa.store.folder import CrawlFolder


class IndexInUse(SettingsError):
    """The index is being made, and there is nothing to search yet."""


def open_index(folder: CrawlFolder) -> SearchIndex:
    """The index of a crawl's folder, made where there is none; raises `SettingsError` if it cannot be had."""
    # tantivy takes a tenth of a second, which only those who search should pay.
    from lycosa.search.index import SearchIndex

    return SearchIndex(folder)
