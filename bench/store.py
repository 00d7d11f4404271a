"""CPU per page of the store: WARC records, journal, tables; 28 KB pages with 53 links.

`python bench/store.py [PAGES]`
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa

from lycosa.model import Links, OutcomeKind, Page, Response, Visit
from lycosa.settings import Settings
from lycosa.store.files import AppendFile
from lycosa.store.folder import CrawlFolder
from lycosa.store.folder_store import FolderStore
from lycosa.store.repair import whole_bytes
from lycosa.store.tables import TablePart
from lycosa.store.warc import WarcWriter

PAGES = 4_000
GROUP = 32  # pages per sync, about what a worker settles at once
Sample = tuple[Visit, Response, Page, Links]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PAGES
    pa.set_cpu_count(1)
    samples = [sample(number, random.Random(number)) for number in range(min(count, 1_000))]
    pages = [samples[number % len(samples)] for number in range(count)]
    body = sum(len(each[1].raw_body) for each in samples) / len(samples)
    text = sum(len(each[2].text) for each in samples) / len(samples)
    print(f"{count} pages of {body:.0f} bytes, {text:.0f} of them text, {len(samples[0][3].targets)} links")
    with tempfile.TemporaryDirectory() as place:
        show("warc", count, lambda: warc(CrawlFolder(Path(place) / "warc"), pages))
        show("tables", count, lambda: tables(CrawlFolder(Path(place) / "tables"), pages))
        for durability in ("process", "power"):
            folder = CrawlFolder(Path(place) / durability)
            settings = Settings(durability=durability)
            show(f"store, {durability}", count, lambda: asyncio.run(store(folder, settings, pages)))  # noqa: B023
            print(f"    {folder.disk_bytes() / count:.0f} bytes of disk per page")
        show("repair, all of it", count, lambda: [whole_bytes(path) for path in folder.warc_files()])


def sample(number: int, draw: random.Random) -> Sample:
    """A page of about 28 KB as the parser would give it."""
    url = f"http://host{number % 200}.example/section/page-{number}.html"
    targets = [f"http://host{number % 200}.example/section/page-{draw.randrange(2_000)}.html" for _ in range(53)]
    anchors = [words(draw, 3) for _ in targets]
    text = words(draw, 1_000)
    items = "".join(
        '<li class="navigation__item navigation__item--level-2">'
        f'<a class="navigation__link" href="{target}">{anchor}</a></li>\n'
        for target, anchor in zip(targets, anchors, strict=True)
    )
    style = "".join(f'<div class="grid__cell grid__cell--{draw.randrange(12)}"></div>\n' for _ in range(240))
    body = f"<!doctype html><title>Page {number}</title><ul>{items}</ul>{style}<p>{text}</p>".encode()
    head = (
        "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Thu, 01 Jan 2026 00:00:00 GMT\r\nContent-Type: text/html; "
        f'charset=utf-8\r\nContent-Length: {len(body)}\r\nETag: "{number}"\r\nConnection: keep-alive\r\n\r\n'
    ).encode()
    request = f"GET /section/page-{number}.html HTTP/1.1\r\nHost: host{number % 200}.example\r\nAccept: */*\r\n\r\n"
    at = 1_770_000_000.0 + number
    response = Response(url, 200, [], body, body, head, request.encode(), "127.1.2.3", "http/1.1", at, 0.1)
    visit = Visit(
        url, url.split("/")[2], at, OutcomeKind.STORED, 200, "text/html", "utf-8", "en", f"Page {number}",
        digest="", text_digest=f"{number:032x}", depth=3, referrer=targets[0], priority=5,
        out_links=53, etag=f'"{number}"', fetch_seconds=0.1, body_bytes=len(body),
    )  # fmt: skip
    return visit, response, Page(visit.title, "", text, []), Links(targets, anchors, [""] * len(targets))


VOCABULARY = ["".join(random.Random(number).choices("etaoinshrdlucm", k=2 + number % 9)) for number in range(4_000)]
WEIGHTS = [1 / (rank + 3) for rank in range(len(VOCABULARY))]  # as words are used: few often, many rarely


def words(draw: random.Random, count: int) -> str:
    return " ".join(draw.choices(VOCABULARY, WEIGHTS, k=count))


def warc(folder: CrawlFolder, pages: Iterable[Sample]) -> None:
    folder.create()
    writer = WarcWriter(folder, 0, Settings(), time.time)
    for number, (visit, response, _, _) in enumerate(pages):
        writer._payloads.clear()  # the samples repeat; each is to be written in full
        writer.append(response, visit.fetched_at)
        if number % GROUP == 0:
            writer.stage()
            assert isinstance(writer._staged, AppendFile)
            writer._staged.flush()
    writer.finish()
    writer.commit()


def tables(folder: CrawlFolder, pages: Iterable[Sample]) -> None:
    folder.create()
    part = TablePart(folder, "part")
    for visit, _, page, links in pages:
        part.add(visit, page.text, links)
        if part.buffered_bytes > 32 * 1024 * 1024:
            part.write(part.take())
    part.write(part.take())
    part.finish()


async def store(folder: CrawlFolder, settings: Settings, pages: Iterable[Sample]) -> None:
    folder.create()
    keeper = FolderStore(folder, 0, settings)
    for number, (visit, response, page, links) in enumerate(pages):
        keeper._warc._payloads.clear()
        keeper.put(visit, response, page, links)
        if number % GROUP == 0:
            await keeper.sync()
    await keeper.close()


def show(name: str, count: int, work: Callable[[], object]) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"{name:20} {cpu / count * 1e6:7.1f} µs CPU per page, {wall / count * 1e6:7.1f} µs of time")


if __name__ == "__main__":
    main()
