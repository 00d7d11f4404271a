"""Keeps an eye on one crawl for all who look at it, and on none while nobody does.

What the crawl tells of itself is read every second, which costs next to nothing. Its tables are looked at in a thread,
and the more that costs, the seldomer.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from math import ceil
from pathlib import Path

import msgspec

from lycosa.crawl.orders import pending
from lycosa.dashboard.glance import Glance, take_look
from lycosa.dashboard.orders import why_not
from lycosa.errors import LycosaError
from lycosa.figures import Durations, FilterFigures, Hits, WorkerStanding
from lycosa.observe.live import Live, Sample, Samples, read_live
from lycosa.observe.progress import Times
from lycosa.orders import Given
from lycosa.ports import Counts
from lycosa.store.folder import CrawlFolder
from lycosa.store.objects import ObjectPlace

SECONDS_BETWEEN = 1.0
# From one look at the tables to the next: at least so long, and so many times the CPU time of the last one.
MIN_LOOK_SECONDS, LOOK_SHARE = 4.0, 50.0
# Whoever told nothing for so long does not run any more, or cannot write.
SILENT_SECONDS = 10.0


class LiveMachine(msgspec.Struct, frozen=True):
    """What one process of the crawl told last of itself. `seat` is empty where there is but one."""

    seat: str
    live: Live
    is_running: bool


class Now(msgspec.Struct, frozen=True):
    """A crawl at this moment."""

    at: float
    counts: Counts
    pages_per_second: float
    machines: list[LiveMachine]
    course: list[Sample]
    look: Glance | None
    trouble: str  # why there is no newer look
    waiting: list[Given]  # orders that no crawl has obeyed yet
    may_order: bool

    @property
    def is_running(self) -> bool:
        """Whether anybody crawls."""
        status = self.look.status if self.look else None
        crew = bool(status and status.crew and status.crew.is_running)
        return any(each.is_running for each in self.machines) or crew or bool(status and status.process)

    @property
    def paused(self) -> str:
        """Why nothing new is begun; empty: it is."""
        live = next((each.live.paused for each in self.machines if each.is_running and each.live.paused), "")
        return live or (self.look.paused if self.look else "")

    @property
    def workers(self) -> list[tuple[str, WorkerStanding]]:
        """Those at work, each with its seat."""
        return [(each.seat, worker) for each in self.machines if each.is_running for worker in each.live.workers]

    @property
    def reasons(self) -> list[Times]:
        """Why visits of these runs gave nothing, the most frequent first."""
        times = Counter[tuple[str, str]]()
        for each in self.machines:
            for reason in each.live.reasons:
                times[reason.reason, reason.detail] += reason.times
        return [Times(*reason, count) for reason, count in times.most_common()]

    @property
    def caches(self) -> dict[str, Hits]:
        """The caches of all workers together."""
        sums: dict[str, Hits] = {}
        for _, worker in self.workers:
            for name, hits in worker.figures.caches.items():
                known = sums.get(name, Hits())
                sums[name] = Hits(known.asked + hits.asked, known.missed + hits.missed)
        return sums

    @property
    def known_filter(self) -> FilterFigures | None:
        """How good the filter of known URLs is; None if none was told of. On many machines there is none."""
        return next((each.live.known_filter for each in self.machines if each.live.known_filter), None)

    @property
    def durations(self) -> dict[str, Durations]:
        """What the frontier took for what it was asked for, on all machines together."""
        sums: dict[str, Durations] = {}
        for each in self.machines:
            for name, some in each.live.durations.items():
                known = sums.get(name, Durations())
                buckets = [one + other for one, other in zip(known.buckets, some.buckets, strict=True)]
                sums[name] = Durations(known.times + some.times, known.seconds + some.seconds, buckets)
        return sums


class Watch:
    """What is known of a crawl. `now` is never older than a second while somebody follows."""

    def __init__(self, place: Path | ObjectPlace, frontier: str | None) -> None:
        self.place = place
        self.frontier = frontier
        self.is_over: Callable[[], bool] = lambda: False
        self._look: Glance | None = None
        self._trouble = ""
        self._next_look_at = 0.0
        self._looking = asyncio.Lock()
        self._samples = Samples()

    @property
    def name(self) -> str:
        """Which crawl this is."""
        return str(self.frontier or self.place)

    async def now(self) -> Now:
        """The crawl as it is, its tables as they were not long ago."""
        await self._look_again()
        return await asyncio.to_thread(self._read)

    async def follow(self) -> AsyncIterator[Now]:
        """The crawl as it is, again and again, until all is over."""
        while not self.is_over():
            yield await self.now()
            await self.rest(SECONDS_BETWEEN)

    async def rest(self, seconds: float) -> None:
        """Wait, but no longer than all goes on."""
        for _ in range(ceil(seconds / SECONDS_BETWEEN)):
            if self.is_over():
                return
            await asyncio.sleep(SECONDS_BETWEEN)

    async def _look_again(self) -> None:
        if time.monotonic() < self._next_look_at and (self._look or self._trouble):
            return
        async with self._looking:
            if time.monotonic() < self._next_look_at:
                return
            began_at = time.process_time()
            try:
                self._look, self._trouble = await asyncio.to_thread(take_look, self.place, self.frontier), ""
            except LycosaError as error:
                self._trouble = str(error)
            cost = time.process_time() - began_at
            self._next_look_at = time.monotonic() + max(MIN_LOOK_SECONDS, LOOK_SHARE * cost)

    def _read(self) -> Now:
        now, look = time.time(), self._look
        machines = list(self._machines(now))
        newest = max((each.live for each in machines), key=lambda live: live.at, default=None)
        running = [each.live for each in machines if each.is_running]
        # Without a word from the crawl itself, its tables have to do.
        counts = newest.counts if newest else look.status.counts if look else Counts()
        if look and (newest is None or look.at > newest.at):
            counts = look.status.counts
        if not newest and look:
            self._samples.add(Sample.of(counts, look.at))
        course = newest.course if newest else self._samples.kept
        rate = sum(live.pages_per_second for live in running) if newest else _rate(course)
        may_order = look is not None and not why_not(self.place, look.settings)
        return Now(now, counts, rate, machines, course, look, self._trouble, self._waiting(), may_order)

    def _waiting(self) -> list[Given]:
        if not isinstance(self.place, Path) or self.frontier:
            return []
        return pending(CrawlFolder(self.place))

    def _machines(self, now: float) -> list[LiveMachine]:
        if not isinstance(self.place, Path) or self.frontier:
            return []
        whole = CrawlFolder(self.place)
        found = [(seat.seat, read_live(seat)) for seat in (whole, *whole.seats())]
        return [
            LiveMachine(seat, live, is_running=not live.ending and now - live.at < SILENT_SECONDS)
            for seat, live in found
            if live
        ]


def _rate(course: list[Sample]) -> float:
    if len(course) < 2 or course[-1].at <= course[-2].at:
        return 0.0
    return (course[-1].pages - course[-2].pages) / (course[-1].at - course[-2].at)
