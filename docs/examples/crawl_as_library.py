"""A crawl from a Python program: the titles of a site, and which pages link to which.

    python docs/examples/crawl_as_library.py https://example.org/

The crawl obeys robots.txt and pauses between requests like `lycosa crawl` does. Every setting is a keyword.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import lycosa


async def crawl(seeds: list[str], **settings: Any) -> dict[str, lycosa.CrawledPage]:
    """The first pages of a site, by URL."""
    pages = {}
    # As a context, so that everything is closed at its end, also after `break` or an error.
    async with lycosa.Crawler(seeds, **settings) as crawler:
        async for page in crawler:
            pages[page.url] = page
            print(f"{page.url}  {page.title}  ({len(page.links)} links)")
            if page.title == "The end":
                break
    return pages


if __name__ == "__main__":
    asyncio.run(crawl(sys.argv[1:], max_pages=20, scope="host"))
