"""How a crawl is doing at this moment, in a small file of its folder: `lycosa crawl` writes it, others read it.

So a dashboard costs a crawl nothing but this file, and its server may be another process, started at any time.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from lycosa.crawl.session import Ending, Session
from lycosa.figures import Durations, FilterFigures, WorkerStanding
from lycosa.observe.progress import Times
from lycosa.observe.tally import Tally
from lycosa.ports import Counts
from lycosa.store.folder import CrawlFolder

SECONDS_BETWEEN = 1.0
MAX_SAMPLES = 300
MAX_REASONS = 20


class Sample(msgspec.Struct, array_like=True, frozen=True):
    """A crawl at one moment, for plots."""

    at: float
    pages: int
    queued: int
    leased: int
    delayed: int
    hosts: int
    failed: int
    fetched_bytes: int

    @staticmethod
    def of(counts: Counts, at: float) -> Sample:
        failed = counts.failed + counts.crashed
        return Sample(
            at,
            counts.pages,
            counts.queued,
            counts.leased,
            counts.delayed,
            counts.hosts,
            failed,
            counts.fetched_bytes,
        )


class Live(msgspec.Struct, frozen=True):
    """A crawl at one moment, as the process tells that runs it. `ending` is empty while it runs."""

    at: float
    started_at: float
    process: int
    counts: Counts
    pages_per_second: float
    pages: int  # of this run
    statuses: dict[int, int]
    reasons: list[Times]
    restarts: int
    paused: str
    waits_until: float  # 0: it has something to do
    workers: list[WorkerStanding]
    durations: dict[str, Durations]
    course: list[Sample]
    ending: str = ""
    known_filter: FilterFigures | None = None


class Samples:
    """Samples from the beginning until now, thinned out as they become many."""

    def __init__(self) -> None:
        self.kept: list[Sample] = []
        self._gap_seconds = 0.0

    def add(self, sample: Sample) -> None:
        """Take in what may be one more of them."""
        if self.kept and sample.at - self.kept[-1].at < self._gap_seconds:
            return
        self.kept.append(sample)
        if len(self.kept) >= MAX_SAMPLES:
            seconds = self.kept[-1].at - self.kept[0].at
            self.kept = self.kept[::2]
            self._gap_seconds = seconds / len(self.kept) * 0.99


class LiveFile:
    """Keeps the file up to date while a crawl runs; `async with` it."""

    def __init__(self, session: Session, tally: Tally) -> None:
        self._session = session
        self._tally = tally
        self._samples = Samples()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> LiveFile:
        self._task = asyncio.create_task(self._write_forever())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task
        self._task.cancel()
        await asyncio.wait([self._task])

    async def end(self, ending: Ending) -> None:
        """Say how the crawl ended."""
        await self._write(ending.value)

    async def _write_forever(self) -> None:
        while True:
            await self._write("")
            await asyncio.sleep(SECONDS_BETWEEN)

    async def _write(self, ending: str) -> None:
        raw, path = msgspec.json.encode(self._live(ending)), self._session.folder.live
        # Nothing depends on it: where the disk takes no more, others will say so.
        with suppress(OSError):
            await asyncio.to_thread(_replace, path, raw)

    def _live(self, ending: str) -> Live:
        session, tally, now = self._session, self._tally, time.time()
        counts = session.counts()
        self._samples.add(Sample.of(counts, now))
        return Live(
            at=now,
            started_at=now - tally.seconds(),
            process=os.getpid(),
            counts=counts,
            pages_per_second=tally.rate(),
            pages=tally.pages,
            statuses=dict(tally.statuses.most_common(MAX_REASONS)),
            reasons=[
                Times(reason.code, reason.detail, times) for reason, times in tally.reasons.most_common(MAX_REASONS)
            ],
            restarts=session.restarts,
            paused=session.paused,
            waits_until=session.waits_until() or 0.0,
            workers=session.standings(),
            durations=session.durations(),
            course=self._samples.kept,
            ending=ending,
            known_filter=session.filter_figures(),
        )


def read_live(folder: CrawlFolder) -> Live | None:
    """What a crawl told last of itself; None if it told nothing that can be read."""
    try:
        return msgspec.json.decode(folder.live.read_bytes(), type=Live)
    except (OSError, msgspec.DecodeError):
        return None


def _replace(path: Path, raw: bytes) -> None:
    """Whole or not at all for whoever reads; it need not outlive the machine's power."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(raw)
    fresh.replace(path)
