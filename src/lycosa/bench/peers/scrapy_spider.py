# mypy: ignore-errors
"""Scrapy on the benchmark's pages: `python scrapy_spider.py SEED MAX_PAGES`, items to items.jsonl.

The settings are those of Scrapy's own advice for broad crawls (no cookies, no retries, little logging, a queue per
slot, breadth first), without delays and without the parts that a crawl of clean pages has no use for. Runs in an
environment where Scrapy is installed; knows nothing of lycosa.
"""

import json
import sys

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors.lxmlhtml import LxmlLinkExtractor

SETTINGS = {
    "ROBOTSTXT_OBEY": True,
    "USER_AGENT": "bench-scrapy",
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS": 100,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    "AUTOTHROTTLE_ENABLED": False,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "COOKIES_ENABLED": False,
    "RETRY_ENABLED": False,
    "REFERER_ENABLED": False,
    "HTTPPROXY_ENABLED": False,
    "COMPRESSION_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOGSTATS_INTERVAL": 0,
    "MEMUSAGE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "FEEDS": {"items.jsonl": {"format": "jsonlines"}},
}


class BenchSpider(scrapy.Spider):
    """Follows every link of every page; an item is the page's URL, title and number of links."""

    name = "bench"
    start_urls: list[str] = []  # noqa: RUF012 - set from the command line
    extractor = LxmlLinkExtractor()
    pages = 0

    def parse(self, response):
        BenchSpider.pages += 1
        links = self.extractor.extract_links(response)
        title = response.xpath("//title/text()").get()
        yield {"url": response.url, "status": response.status, "title": title, "links": len(links)}
        for link in links:
            yield scrapy.Request(link.url)


def main() -> None:
    seed, max_pages = sys.argv[1], int(sys.argv[2])
    BenchSpider.start_urls = [seed]
    process = CrawlerProcess({**SETTINGS, "CLOSESPIDER_PAGECOUNT": max_pages})
    process.crawl(BenchSpider)
    process.start()
    print(json.dumps({"pages": BenchSpider.pages}))


if __name__ == "__main__":
    main()
