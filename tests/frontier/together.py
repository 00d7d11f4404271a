"""Two commands that crawl a simulated web together on one Redis, and what an audit of both says."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from lycosa.audit import Question, Report, audit
from lycosa.cli.show import folder_settings
from lycosa.simweb import LoggedRequest, Truth, WebPlan
from lycosa.store.folder import CrawlFolder

from ..crawl import evidence
from ..crawl.command import Ended, Running, start
from ..crawl.witness import WitnessedWeb

DELAY_SECONDS = 0.15
CONNECTIONS = 8
SETTINGS: dict[str, Any] = {
    "workers": 2,
    "connections": CONNECTIONS,
    "min_delay_seconds": DELAY_SECONDS,
    "max_backoff_seconds": 1.0,
    "circuit_seconds": 1.0,
    "max_wait_seconds": 60.0,
    # Longer than any test: however slow the machine, nobody is taken for dead who is not.
    "silence_seconds": 600.0,
}


def plan(hosts: int, pages_per_host: int) -> WebPlan:
    return WebPlan.named(
        "clean",
        hosts=hosts,
        pages_per_host=pages_per_host,
        crawl_delay_share=0.0,
        slow_host_share=0.0,
        changes_per_day=(0.0,),
        is_prerendered=True,
    )


PLAN = plan(16, 8)


@dataclass
class Crawled:
    """What two machines did together."""

    ends: list[Ended]
    folders: list[Path]
    requests: list[LoggedRequest]
    truth: Truth
    killed_at: list[float]
    report: Report

    def asked(self) -> Counter[str]:
        port = int(self.truth.seeds[0].split("/")[2].rpartition(":")[2])
        found = evidence.requested(self.requests, port)
        return Counter({url: times for url, times in found.items() if url in self.truth.pages})

    def assert_complete(self, extra: int = 0, delay_seconds: float = DELAY_SECONDS) -> None:
        asked = self.asked()
        assert sorted(url for url in self.truth.reachable if not asked[url]) == []
        assert sum(asked.values()) - len(asked) <= extra
        assert evidence.too_close(evidence.gaps(self.requests, self.killed_at), {}, delay_seconds) == []
        answered = {url for url in self.truth.reachable if self.truth.pages[url].status == 200}
        rows = [row for folder in self.folders for row in evidence.pages(folder)]
        assert answered <= {row["url"] for row in rows if row["outcome"] in evidence.KEPT}
        assert all(evidence.invalid_warcs(folder) == [] for folder in self.folders)
        self.report.allowed |= {"extra": extra, "late": extra}
        assert self.report.is_clean(), self.report.as_json()


Disturb = Callable[[list[Running], WitnessedWeb], None]


def crawl_together(
    space: Path, address: str, disturb: Disturb | None = None, web_plan: WebPlan = PLAN, **settings: Any
) -> Crawled:
    """Two machines with two workers each, and what an audit of both says."""
    folders = [space / "one", space / "two"]
    killed_at: list[float] = []
    with WitnessedWeb(web_plan, space) as web:
        chosen = {**SETTINGS, **settings, "frontier": address}
        running = [start(web, folder, *web.seeds, **chosen) for folder in folders]
        try:
            if disturb:
                web.wait_for_requests(web_plan.hosts * 3)
                killed_at.append(time.monotonic())
                disturb(running, web)
                for place, folder in enumerate(folders):
                    if running[place].process.poll() is not None:
                        running[place] = start(web, folder, *web.seeds, **chosen)
            ends = [each.end() for each in running]
        finally:
            for each in running:
                each.__exit__()
        requests, truth = web.requests, web.truth()
    report = audited(space, folders, requests, truth, may_repeat=disturb is not None)
    return Crawled(ends, folders, requests, truth, killed_at, report)


def audited(
    space: Path, folders: Sequence[Path], requests: list[LoggedRequest], truth: Truth, *, may_repeat: bool
) -> Report:
    """What `lycosa audit` says, with the server's log and the truth."""
    log, truth_file = space / "requests.jsonl", space / "truth.json"
    log.write_bytes(b"".join(msgspec.json.encode(request) + b"\n" for request in requests))
    truth_file.write_bytes(truth.to_json())
    # What was on its way when something was killed is judged with more care than an audit can take.
    gap = 0.0 if may_repeat else None
    question = Question(log=log, truth=truth_file, host_gap_seconds=gap, has_links=True)
    return audit([CrawlFolder(folder) for folder in folders], folder_settings(CrawlFolder(folders[0])), question)


def assert_both_finished(ends: Sequence[Ended]) -> None:
    words = [[line for line in end.said.splitlines() if not line.startswith("{")] for end in ends]
    assert [(end.exit_code, end.summary.get("ending")) for end in ends] == [(0, "finished")] * 2, words
