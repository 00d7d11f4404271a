# mypy: ignore-errors
"""Crawlee on the benchmark's pages: `python crawlee_spider.py SEED MAX_PAGES`, items to items.jsonl.

ParselCrawler (lxml) is the faster of its HTML crawlers; the queue is in memory, so that no file is written per request.
Runs in an environment where Crawlee is installed; knows nothing of lycosa.
"""

import json
import logging
import sys
from typing import TextIO

import uvloop
from crawlee import ConcurrencySettings
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.storage_clients import MemoryStorageClient


async def crawl(seed: str, max_pages: int, items: TextIO) -> int:
    crawler = ParselCrawler(
        storage_client=MemoryStorageClient(),
        concurrency_settings=ConcurrencySettings(min_concurrency=20, desired_concurrency=50, max_concurrency=100),
        respect_robots_txt_file=True,
        max_request_retries=0,
        max_requests_per_crawl=max_pages,
        use_session_pool=False,
        configure_logging=False,
    )
    pages = 0

    @crawler.router.default_handler
    async def handle(context: ParselCrawlingContext) -> None:
        nonlocal pages
        pages += 1
        title = context.selector.xpath("//title/text()").get()
        links = await context.extract_links(strategy="all")
        await context.add_requests(links)
        items.write(json.dumps({"url": context.request.url, "title": title, "links": len(links)}) + "\n")

    await crawler.run([seed])
    return pages


def main() -> None:
    logging.basicConfig(level=logging.WARNING)
    with open("items.jsonl", "w", encoding="utf-8") as items:
        pages = uvloop.run(crawl(sys.argv[1], int(sys.argv[2]), items))
    print(json.dumps({"pages": pages}))


if __name__ == "__main__":
    main()
