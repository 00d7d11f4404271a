"""What a rendered page costs: a made-up application, crawled with a browser and, for comparison, without.

.venv/bin/python bench/render.py [PAGES]
"""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

from lycosa import Crawler
from lycosa.render.processes import processes_of
from lycosa.simweb import HandWeb
from lycosa.simweb.apps import put_shop


def cpu_seconds() -> float:
    """Of this process and of those that have ended, the browser among them."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def browser_bytes() -> int:
    """The memory of the browser that this process has at present."""
    groups = [int(note.read_text()) for note in Path(tempfile.gettempdir()).glob("lycosa-browser-*/pid")]
    return max((sum(each.own_bytes for each in processes_of(group)) for group in groups), default=0)


async def measure(pages: int, mode: str) -> None:
    """Crawl the same application once, and print what that took."""
    largest = 0
    async with HandWeb() as web:
        put_shop(web, "shop.test", items=pages, per_list=20)
        with tempfile.TemporaryDirectory() as folder:
            cpu, began, shown = cpu_seconds(), time.monotonic(), 0
            crawler = Crawler(
                [web.url("shop.test", f"/item/{number}") for number in range(1, pages + 1)],
                folder=Path(folder) / "crawl",
                render=mode,
                min_delay_seconds=0.0,
                delay_factor=0.0,
                open_networks=["127.0.0.0/8"],
                dns_servers=[web.dns_address],
            )
            async for _ in crawler:
                shown += 1
                if not shown % 10:
                    largest = max(largest, browser_bytes())
            cpu, seconds = cpu_seconds() - cpu, time.monotonic() - began
    print(f"{mode}: {shown} pages, {cpu / shown:.3f} CPU s a page, {seconds / shown:.3f} s a page, {largest >> 20} MiB")


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"{os.cpu_count()} cores")
    for wanted in ("never", "auto"):
        asyncio.run(measure(count, wanted))
