"""lycosa: a search-engine web crawler. `async for page in lycosa.Crawler(["https://example.org/"]): ...`"""

from lycosa.library import CrawledPage, Crawler

__all__ = ["CrawledPage", "Crawler"]
