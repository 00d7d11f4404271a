"""The commands, in the order in which --help shows them: run, look, one stage alone, try out.

Their options are in the file of each, which is imported only for those that are run.
"""

from __future__ import annotations

COMMANDS = {
    "crawl": "crawl from seed URLs, or go on with a crawl",
    "serve": "a crawl in the browser, live; /metrics for Prometheus",
    "status": "where a crawl stands: counters, queues, what it waits for",
    "why": "what became of a URL, and for which reason",
    "changes": "which pages are new, changed, unchanged or gone since a moment",
    "policy": "how a host is treated; and to have it treated otherwise, also while a crawl runs",
    "page": "read a page back, at any of its visits",
    "search": "find pages by their words",
    "index": "bring the search index up to date",
    "query": "SQL over pages, links, history and hosts",
    "audit": "check a crawl against its files and a server's log",
    "export": "write a crawl as jsonl, csv, parquet, wacz or a folder of pages",
    "graph": "the link graph: edges, degrees, the most linked pages",
    "fetch": "fetch one URL: status, headers, timings, address",
    "parse": "what is read out of a page: title, charset, links with verdicts, content, summaries",
    "shell": "a Python prompt with a page, its tree, links and selectors",
    "robots": "whether robots.txt lets a URL be fetched, and which rule decides",
    "urls": "show the canonical form of URLs, and how it comes about",
    "settings": "list all settings with their defaults",
    "simweb": "a simulated internet with known truth",
    "bench": "compare with other crawlers",
    "demo": "see it work in half a minute, without a network",
}
