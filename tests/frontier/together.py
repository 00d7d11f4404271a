"""Two commands that crawl a simulated web together on one Redis, and what an audit of both says."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from lycosa.audit import AuditReport, Question, audit
from lycosa.frontier.redis.frontier import RedisFrontier
from lycosa.frontier.redis.view import open_redis_view
from lycosa.frontier.rules import FrontierRules
from lycosa.inspect.opened import folder_settings
from lycosa.simweb import LoggedRequest, Truth, WebPlan
from lycosa.store.folder import CrawlFolder

from ..crawl import evidence
from ..crawl.command import HANG_SECONDS, Ended, Running, start
from ..crawl.witness import WitnessedWeb
from .redis_servers import wait_until

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

    ends: dict[str, Ended]
    folders: list[Path]
    requests: list[LoggedRequest]
    truth: Truth
    killed_at: list[float]
    report: AuditReport

    def asked(self) -> Counter[str]:
        port = int(self.truth.seeds[0].split("/")[2].rpartition(":")[2])
        found = evidence.requested(self.requests, port)
        return Counter({url: times for url, times in found.items() if url in self.truth.pages})

    def assert_finished(self, *names: str) -> None:
        """These machines, or all, ended by themselves and say so."""
        for name in names or self.ends:
            end = self.ends[name]
            words = [line for line in end.said.splitlines() if not line.startswith("{")]
            assert (end.exit_code, end.summary.get("ending")) == (0, "finished"), (name, words)

    def assert_complete(self, extra: int = 0, delay_seconds: float = DELAY_SECONDS) -> None:
        asked = self.asked()
        assert sorted(url for url in self.truth.reachable if not asked[url]) == []
        assert sum(asked.values()) - len(asked) <= extra
        assert evidence.too_close(evidence.gaps(self.requests, self.killed_at), {}, delay_seconds) == []
        answered = {url for url in self.truth.reachable if self.truth.pages[url].status == 200}
        rows = [row for folder in self.folders for row in evidence.pages(folder)]
        assert answered <= {row["url"] for row in rows if row["outcome"] in evidence.KEPT}
        assert all(evidence.invalid_warcs(folder) == [] for folder in self.folders)
        # A machine that died may have kept a row that nobody settled: the page was visited once more.
        self.report.allowed |= {"extra": extra, "late": extra, "doubled": extra}
        assert self.report.is_clean(), self.report.as_json()


class Machines:
    """Machines that crawl one web, each under a name, in a folder of its own or all in one."""

    def __init__(
        self, space: Path, web: WitnessedWeb, address: str, *, one_folder: bool = False, **settings: Any
    ) -> None:
        self.web = web
        self.killed_at: list[float] = []
        self.ended: dict[str, Ended] = {}
        self._space = space
        self._has_one_folder = one_folder
        self._settings = {**SETTINGS, **settings, "frontier": address}
        self._running: dict[str, Running] = {}

    def __getitem__(self, name: str) -> Running:
        return self._running[name]

    @property
    def names(self) -> set[str]:
        return set(self._running)

    @property
    def folders(self) -> list[Path]:
        return list(dict.fromkeys(self._folder_of(name) for name in self._running))

    def _folder_of(self, name: str) -> Path:
        return self._space / ("together" if self._has_one_folder else name)

    def start(self, name: str, **settings: Any) -> Running:
        """Start a machine, or start it again."""
        folder, said_in = self._folder_of(name), self._space / name
        self._running[name] = start(
            self.web, folder, *self.web.seeds, said_in=said_in, **{**self._settings, **settings}
        )
        return self._running[name]

    def strike(self) -> None:
        """Something is killed now: requests on their way count from here."""
        self.killed_at.append(time.monotonic())

    def end(self, *names: str) -> None:
        """Wait for the end of these."""
        for name in names:
            # However slow the machine: ten thousand pages are more than a hang is waited for.
            patience = HANG_SECONDS + self.web.plan.hosts * self.web.plan.pages_per_host / 20
            self.ended[name] = self._running[name].end(patience)

    def wait_for_requests(self, per_host: float) -> None:
        """Return when the web was asked so often."""
        self.web.wait_for_requests(int(per_host * self.web.plan.hosts))

    def wait_for_all(self) -> None:
        """Return when every page has been asked for."""
        wanted = {url.partition("://")[2] for url in self.web.truth().reachable}
        port = f":{self.web.origin_port}"
        self.web.wait_for(lambda heard: wanted <= {each.host + port + each.path for each in heard})

    def kill(self) -> None:
        for each in self._running.values():
            each.__exit__()


Disturb = Callable[[Machines], None]


def crawl_together(
    space: Path,
    address: str,
    disturb: Disturb | None = None,
    web_plan: WebPlan = PLAN,
    own: Mapping[str, dict[str, Any]] | None = None,
    **settings: Any,
) -> Crawled:
    """Machines one and two with two workers each, and what an audit of both says.

    Whatever `disturb` does, machines that it leaves without an end are waited for. `own` are settings of one of them.
    """
    with WitnessedWeb(web_plan, space) as web:
        machines = Machines(space, web, address, **settings)
        try:

            def start() -> None:
                for name in ("one", "two"):
                    machines.start(name, **(own or {}).get(name, {}))

            asyncio.run(begin_together(address, start, machines=2))
            if disturb:
                machines.wait_for_requests(3)
                disturb(machines)
            machines.end(*(machines.names - {*machines.ended}))
        finally:
            machines.kill()
        requests, truth = web.requests, web.truth()
    return judged(space, machines, requests, truth, may_repeat=disturb is not None)


async def begin_together(address: str, start: Callable[[], None], machines: int) -> None:
    """Start commands of which none has anything to do before all of them take part.

    A machine that only holds all partitions leaves them when the others are there.
    """
    holder = RedisFrontier(address, FrontierRules(silence_seconds=SETTINGS["silence_seconds"]), fake_clock=time.time)
    await holder.begin()
    try:
        start()
        await asyncio.to_thread(wait_until, lambda: _machines_at(address) == machines + 1, HANG_SECONDS)
    finally:
        await holder.close()


def _machines_at(address: str) -> int:
    with closing(open_redis_view(address)) as view:
        return len(view.crew.machines) if view.crew else 0


def judged(
    space: Path, machines: Machines, requests: list[LoggedRequest], truth: Truth, *, may_repeat: bool
) -> Crawled:
    """What these machines did."""
    report = audited(space, machines.folders, requests, truth, may_repeat=may_repeat)
    return Crawled(machines.ended, machines.folders, requests, truth, machines.killed_at, report)


def save_evidence(space: Path, requests: list[LoggedRequest], truth: Truth) -> tuple[Path, Path]:
    """The server's log and the truth, as files for an audit."""
    log, truth_file = space / "requests.jsonl", space / "truth.json"
    log.write_bytes(b"".join(msgspec.json.encode(request) + b"\n" for request in requests))
    truth_file.write_bytes(truth.to_json())
    return log, truth_file


def audited(
    space: Path, folders: Sequence[Path], requests: list[LoggedRequest], truth: Truth, *, may_repeat: bool
) -> AuditReport:
    """What `lycosa audit` says, with the server's log and the truth."""
    log, truth_file = save_evidence(space, requests, truth)
    # What was on its way when something was killed is judged with more care than an audit can take.
    gap = 0.0 if may_repeat else None
    question = Question(log=log, truth=truth_file, host_gap_seconds=gap, has_links=True)
    return audit([CrawlFolder(folder) for folder in folders], folder_settings(CrawlFolder(folders[0])), question)
