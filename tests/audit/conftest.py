"""One clean crawl with its server's log and truth, copied for every test that spoils it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from lycosa import Crawler
from lycosa.audit import AuditReport, Question, audit
from lycosa.frontier.rocks.database import Database
from lycosa.inspect.opened import folder_settings
from lycosa.simweb import Listening, LoggedRequest, SimWeb, WebPlan, read_log
from lycosa.store.folder import CrawlFolder

PLAN = WebPlan.named("mixed", seed=4, hosts=8, pages_per_host=8)


class Evidence:
    """A crawl's folder, the server's log and the truth: everything an audit looks at, free to be spoilt."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.folder = CrawlFolder(place / "crawl")
        self.log = place / "requests.jsonl"
        self.truth = place / "truth.json"

    def audit(self, *, own_log: bool = False, **question: object) -> AuditReport:
        log = None if own_log else self.log
        asked = Question(log=log, truth=self.truth, has_links=True)._replace(**question)  # type: ignore[arg-type]
        return audit([self.folder], folder_settings(self.folder), asked)

    def requests(self) -> list[LoggedRequest]:
        return list(read_log(self.log))

    def rewrite_log(self, change: Callable[[list[LoggedRequest]], list[LoggedRequest]]) -> None:
        lines = [msgspec.json.encode(request) + b"\n" for request in change(self.requests())]
        self.log.write_bytes(b"".join(lines))

    def change_frontier(self, change: Callable[[Database], None]) -> None:
        with closing(Database(self.folder.frontier)) as database:
            change(database)


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A crawl that went well."""
    evidence = Evidence(tmp_path_factory.mktemp("audited"))
    asyncio.run(_crawl(evidence))
    return evidence


async def _crawl(evidence: Evidence) -> None:
    async with SimWeb(PLAN, Listening(log_file=evidence.log)) as web:
        evidence.truth.write_bytes(web.truth().to_json())
        crawler = Crawler(
            web.seeds,
            folder=evidence.folder.path,
            scope="any",
            min_delay_seconds=0.02,
            delay_factor=0.0,
            retry_after_seconds=(),
            max_backoff_seconds=0.0,
            circuit_seconds=0.0,
            max_wait_seconds=1.0,
            open_networks=["127.0.0.0/8"],
            dns_servers=[web.dns_address],
            durability="process",
            seen_capacity=10_000,
        )
        await crawler.run()


@pytest.fixture
def evidence(clean: Evidence, tmp_path: Path) -> Evidence:
    """The same, to be spoilt."""
    shutil.copytree(clean.place, tmp_path / "copy")
    return Evidence(tmp_path / "copy")
