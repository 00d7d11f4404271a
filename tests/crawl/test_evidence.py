"""The checker must find planted faults before its silence counts for anything."""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from lycosa import Crawler
from lycosa.simweb import LoggedRequest, SimWeb, Truth, WebPlan

from . import evidence
from .judge import Verdict, judge

DELAY_SECONDS = 0.05


class Crawled:
    """A small crawl without faults, for faults to be planted in."""

    def __init__(self, truth: Truth, requests: list[LoggedRequest], folder: Path) -> None:
        self.truth = truth
        self.requests = requests
        self.folder = folder

    def judge(self) -> Verdict:
        return judge(self.truth, self.requests, self.folder, delay_seconds=DELAY_SECONDS)

    def page_request(self) -> LoggedRequest:
        return next(request for request in self.requests if request.path == "/")


async def crawl(folder: Path) -> Crawled:
    async with SimWeb(WebPlan.named("clean", hosts=4, pages_per_host=5)) as web:
        crawler = Crawler(
            list(web.seeds),
            folder=folder,
            open_networks=["127.0.0.0/8"],
            dns_servers=[web.dns_address],
            scope="any",
            min_delay_seconds=DELAY_SECONDS,
            delay_factor=0.0,
        )
        await crawler.run()
        return Crawled(web.truth(), list(web.requests), folder)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    return asyncio.run(crawl(tmp_path_factory.mktemp("template") / "c"))


@pytest.fixture
def crawled(template: Crawled, tmp_path: Path) -> Crawled:
    """A copy of one crawl, to be spoilt."""
    shutil.copytree(template.folder, tmp_path / "c")
    return Crawled(template.truth, deepcopy(template.requests), tmp_path / "c")


def test_a_crawl_without_faults_has_none(crawled: Crawled) -> None:
    verdict = crawled.judge()
    assert verdict.faults() == {}
    assert (verdict.extra_requests, verdict.extra_rows) == (0, 0)
    assert verdict.smallest_gap >= DELAY_SECONDS


def lose_a_request(crawled: Crawled) -> None:
    crawled.requests.remove(crawled.page_request())


def ask_for_what_is_closed(crawled: Crawled) -> None:
    request = crawled.page_request()
    request.path = "/private/closed.html"


def hurry(crawled: Crawled) -> None:
    own = [request for request in crawled.requests if request.host == crawled.page_request().host]
    own[-1].arrived_at = own[-2].arrived_at + DELAY_SECONDS * 0.9


def ask_twice_at_once(crawled: Crawled) -> None:
    own = [request for request in crawled.requests if request.host == crawled.page_request().host]
    own[-2].finished_at = own[-1].arrived_at + 1


def lose_a_row(crawled: Crawled) -> None:
    part = next((crawled.folder / "pages").glob("*.parquet"))
    table = pq.read_table(part)
    pq.write_table(table.slice(0, table.num_rows - 1), part)


def lose_all_records(crawled: Crawled) -> None:
    for path in (crawled.folder / "warc").glob("*.warc.gz"):
        path.unlink()


def cut_a_file(crawled: Crawled) -> None:
    path = next((crawled.folder / "warc").glob("*.warc.gz"))
    os.truncate(path, path.stat().st_size - 10)


def change_a_byte(crawled: Crawled) -> None:
    path = next((crawled.folder / "warc").glob("*.warc.gz"))
    content = gzip.decompress(path.read_bytes())
    place = content.index(b"<title>") + 10
    changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
    # One member per record, as it was.
    records = [b"WARC/1.1" + record for record in changed.split(b"WARC/1.1")[1:]]
    path.write_bytes(b"".join(gzip.compress(record) for record in records))


def leave_a_file_open(crawled: Crawled) -> None:
    (crawled.folder / "pages" / "lycosa-20260101T000000-w0-00000.journal.open").touch()


@pytest.mark.parametrize(
    ("plant", "fault"),
    [
        (lose_a_request, "lost"),
        (ask_for_what_is_closed, "unwanted"),
        (hurry, "too_close"),
        (ask_twice_at_once, "overlapping"),
        (lose_a_row, "not_kept"),
        (lose_all_records, "without_record"),
        (cut_a_file, "invalid"),
        (change_a_byte, "invalid"),
        (leave_a_file_open, "left_open"),
    ],
)
def test_a_planted_fault_is_found(crawled: Crawled, plant: Callable[[Crawled], None], fault: str) -> None:
    plant(crawled)
    assert fault in crawled.judge().faults()


def test_extra_requests_and_rows_are_counted(crawled: Crawled) -> None:
    crawled.requests.append(crawled.page_request())
    part = next((crawled.folder / "pages").glob("*.parquet"))
    table = pq.read_table(part)
    pq.write_table(table, part.with_name(f"copy-{part.name}"))
    verdict = crawled.judge()
    assert verdict.extra_requests == 1
    assert verdict.extra_rows == len(evidence.by_outcome(table.to_pylist())["stored"])


def test_what_a_killed_process_had_sent_counts_from_the_kill() -> None:
    sent = LoggedRequest(10.02, 0.0, "a", "/", 1)
    after = LoggedRequest(10.51, 0.0, "a", "/", 2, finished_at=10.6)
    assert evidence.gaps([sent, after])[0].seconds == pytest.approx(0.49)
    assert evidence.gaps([sent, after], [10.0])[0].seconds == pytest.approx(0.51)
