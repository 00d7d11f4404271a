"""A crawl from lock to close, once for the command and for programs.

Knows the order of things and what is waited for. Which frontier it is, who visits and how pages are read again is
given to it (see `Parts`): `wiring/` chooses.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from enum import Enum
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from lycosa.clock import Clock, steady_clock
from lycosa.crawl.dispatcher import CentralDispatcher
from lycosa.crawl.mending import Mending
from lycosa.crawl.orders import obey_pending
from lycosa.crawl.restart import (
    check_whole,
    hold_folder,
    joining,
    note_begun,
    note_planted,
    seeds_to_plant,
    settings_before,
    write_seeds,
    write_settings,
)
from lycosa.crawl.shortage import ShortageWait
from lycosa.crawl.widening import Follow, Reach, Widening, note_reach, reach_before
from lycosa.errors import BackendLost, FolderInUse, Shortage, lost
from lycosa.figures import Durations, FilterFigures, WorkerStanding
from lycosa.model import Settlement, Target
from lycosa.page.installation import what_is_missing
from lycosa.ports import Counts, CrawlFrontier
from lycosa.settings import Settings
from lycosa.site_rules import warnings_of
from lycosa.store.files import SyncFailed
from lycosa.store.folder import CrawlFolder, Lock
from lycosa.store.objects import Objects
from lycosa.store.recover import Parse, Recovery, recover
from lycosa.store.shipper import Shipper
from lycosa.url.canonical import ParsedUrl

logger = logging.getLogger(__name__)
T = TypeVar("T")

SEEDS_AT_ONCE = 1000
# How often new orders are looked for.
ORDERS_SECONDS = 1.0
# How long an object store may be away at the end of a crawl.
SHIPPING_SECONDS = 600.0

NO_CONTACT = """\
!! This crawl tells nobody whom to write to: its user agent is the default one. Sites that mind it can only block it.
!! Name yourself: --user-agent "mybot/1.0 (+https://example.org/bot)", or user_agent = … in the settings."""


class Ending(Enum):
    """How a crawl ended."""

    FINISHED = "finished"
    INCOMPLETE = "incomplete"
    STOPPED = "stopped"


class Workers(Protocol):
    """Those who visit, from one opening of the frontier to its closing."""

    @property
    def restarts(self) -> int:
        """How often one of them died and was replaced."""

    def standings(self) -> list[WorkerStanding]:
        """How each of them is doing, as far as they tell."""

    async def work(self, frontier: CrawlFrontier, dispatcher: CentralDispatcher) -> None:
        """Visit until the dispatcher says that it is over. Raises `BackendLost`."""

    def stop(self) -> None:
        """What is under way may end, but must not keep the crawl from ending. The second call ends it at once."""


class Parts(Protocol):
    """What a session is made of."""

    def worker_count(self, settings: Settings) -> int: ...

    async def agree(
        self, settings: Settings, seeds: Sequence[ParsedUrl], asked: Set[str], folder: Path
    ) -> tuple[Settings, list[ParsedUrl]]:
        """The settings and seeds by which all machines of a crawl go."""

    async def open_frontier(self, settings: Settings, folder: Path, workers: int, clock: Clock) -> CrawlFrontier: ...

    def begin_seconds(self, settings: Settings) -> float:
        """Within which time a visit must begin after its lease was given."""

    def seed_targets(self, settings: Settings, seeds: Sequence[ParsedUrl], crawl_key: bytes) -> list[Target]: ...

    def reader(self, settings: Settings, folder: CrawlFolder) -> Parse:
        """Reads pages again, exactly as visits read them."""

    def follower(self, settings: Settings, folder: CrawlFolder, crawl_key: bytes) -> Follow:
        """Finds targets on pages that were stored before, by these settings."""

    def make_workers(self, session: Session, lock: Lock) -> Workers: ...


class Session:
    """One run of a crawl in its folder. `with` holds the folder; `run` crawls."""

    def __init__(
        self,
        parts: Parts,
        folder: CrawlFolder,
        settings_for: Callable[[CrawlFolder], Settings],
        *,
        asked: Set[str] = frozenset(),
        objects: Objects | None = None,
        on_settled: Callable[[Sequence[Settlement]], None] = lambda settlements: None,
    ) -> None:
        self._parts = parts
        self._settings_for = settings_for  # a seat in a folder may have settings of its own
        self._asked = asked  # settings that the operator named, rather than found in the folder
        self._objects = objects  # where files go; None: they stay in the folder
        self._shipper: Shipper | None = None
        self._is_shipping = False
        self._on_settled = on_settled
        self._clock = steady_clock()
        self._lock: Lock | None = None
        self._workers: Workers | None = None
        self._frontier: CrawlFrontier | None = None
        self._dispatcher: CentralDispatcher | None = None
        self._last_counts = Counts()
        self._last_filter: FilterFigures | None = None
        self._earlier_restarts = 0
        self._stopping = asyncio.Event()
        self._at_once = asyncio.Event()
        self.folder = folder
        self.settings = settings_for(folder)
        self._paused = ""
        self._ordered_pause = ""
        self._mending: Mending | None = None
        self._recovered = Recovery()
        self.troubles: list[str] = []  # what was found wrong with the folder, as sentences

    def __enter__(self) -> Self:
        self.folder, self._lock = hold_folder(self.folder, self.settings)
        self.settings = self._settings_for(self.folder)
        try:
            check_whole(self.folder, self.settings)
        except BaseException:
            self._lock.release()
            raise
        self._shipper = Shipper(self.folder, self._objects) if self._objects else None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._lock
        self._lock.release()

    @property
    def workers(self) -> int:
        return self._parts.worker_count(self.settings)

    @property
    def restarts(self) -> int:
        """How often a worker died and was replaced."""
        return self._earlier_restarts + (self._workers.restarts if self._workers else 0)

    @property
    def paused(self) -> str:
        """Why nothing is dispatched, while the machine lacks something; `status` can tell it, too."""
        return self._paused

    @paused.setter
    def paused(self, reason: str) -> None:
        self._paused = reason
        if self._lock:
            # It is told where there is room for it already; if even that fails, the crawl has worse troubles.
            with suppress(OSError):
                self._lock.tell(reason)

    def standings(self) -> list[WorkerStanding]:
        """How the workers are doing; none while none is at work."""
        return self._workers.standings() if self._workers else []

    def durations(self) -> dict[str, Durations]:
        """How long the frontier took for what it was asked for, since the workers were started."""
        if self._dispatcher is None:
            return {}
        own = self._frontier.durations if self._frontier else {}
        return {"take": self._dispatcher.taking, "settle": self._dispatcher.settling, **own}

    def filter_figures(self) -> FilterFigures | None:
        """How well new URLs are told from known ones; None where no filter does it."""
        return self._frontier.filter_figures() if self._frontier else self._last_filter

    def counts(self) -> Counts:
        """Where all known URLs are."""
        return self._frontier.counts() if self._frontier else self._last_counts

    def waits_until(self) -> float | None:
        """When a retry or back-off is due, if that is all that is left."""
        return self._frontier.idle_until() if self._frontier else None

    async def run(self, seeds: Sequence[ParsedUrl], *, revisit: bool = False) -> Ending:
        """Crawl until there is nothing left to do, or until `stop`. Finished means: all is where it should be."""
        if missing := what_is_missing():
            logger.warning("%s", missing)
        if not _has_contact(self.settings) and not _is_at_home(self.settings, seeds or self.folder.read_seeds()):
            logger.warning("%s", NO_CONTACT)
        hosts = {seed.host for seed in seeds or self.folder.read_seeds()} if self.settings.site else set()
        for warning in warnings_of(self.settings.site, hosts):
            logger.warning("%s", warning)
        ending = await self._crawl(seeds, revisit=revisit)
        if self._shipper and not await self._ship_rest(self._shipper):
            return Ending.STOPPED
        return ending

    def stop(self) -> None:
        """No new requests; what is under way is finished and kept. The second call stops at once."""
        if self._stopping.is_set():
            self._at_once.set()
        self._stopping.set()
        if self._shipper and self._is_shipping:
            self._shipper.finish(0)
        if self._workers:
            self._workers.stop()
        if self._dispatcher:
            self._dispatcher.close()
        if self._mending:
            self._mending.stop()
        if self._frontier:
            self._frontier.give_up()

    async def _crawl(self, seeds: Sequence[ParsedUrl], *, revisit: bool) -> Ending:
        agreed = await self._unless_stopped(self._parts.agree(self.settings, seeds, self._asked, self.folder.frontier))
        if agreed is None:
            return Ending.STOPPED
        self.settings, seeds = agreed
        shortage_wait = ShortageWait(self.folder.path)
        while True:
            try:
                return await self._run_once(seeds, revisit=revisit)
            except Shortage as shortage:
                if self._stopping.is_set():
                    raise
                self.paused = str(shortage)
            except BackendLost as error:
                if not self._stopping.is_set():
                    raise
                # It was waited for, until the operator did not want to any more.
                logger.warning("%s", error)
                return Ending.STOPPED
            logger.warning("%s; the crawl waits until this has passed", self.paused)
            await shortage_wait.wait(self._stopping)
            if self._stopping.is_set():
                return Ending.STOPPED
            logger.warning("the crawl goes on")
            self.paused = ""

    async def _run_once(self, seeds: Sequence[ParsedUrl], *, revisit: bool) -> Ending:
        """From opening what is on disk to closing it."""
        with self.disk():
            joined, before = self._joined(seeds), reach_before(self.folder)
            note_begun(self.folder)
            write_settings(self.folder, self.settings)
            write_seeds(self.folder, seeds)
            await asyncio.to_thread(self._recover_siblings)
        if self._shipper:
            # Before files leave: those that are not in order are made anew from others.
            with self.disk():
                self._recovered = await asyncio.to_thread(self._recover, self.folder)
            await asyncio.to_thread(self._shipper.start)
        settings, folder = self.settings, self.folder
        frontier = await self._unless_stopped(
            self._parts.open_frontier(settings, folder.frontier, self.workers, self._clock)
        )
        if frontier is None:
            return Ending.STOPPED
        self._frontier = frontier
        self._mending = mending = self._make_mending(frontier)
        obeying: asyncio.Task[None] | None = None
        try:
            with self.disk():
                await mending.begin()
            if joined:
                logger.warning("%s; %s pages so far", joined, f"{frontier.counts().pages:,}")
            await self._plant(frontier, revisit=revisit)
            self._widen(mending, before)
            obeying = asyncio.create_task(self._obey_forever(frontier))
            while not self._stopping.is_set():
                await self._visit(frontier, self._new_dispatcher(frontier))
                # What was lost may be found to be so only after all else was visited.
                with self.disk():
                    if not await mending.finish():
                        break
            return await self._ending(frontier, mending)
        finally:
            if obeying:
                obeying.cancel()
            self._last_counts, self._last_filter = frontier.counts(), frontier.filter_figures()
            self._frontier = None
            await mending.close()
            self._recovered, self._mending = self.recovery, None
            with self.disk():
                await frontier.close()

    def _joined(self, seeds: Sequence[ParsedUrl]) -> str:
        """Which crawl further seeds join, and by which settings; empty if there are none, or no crawl."""
        # Not a list to look in: of 200,000 seeds each would be compared with each.
        known = dict.fromkeys(seed.url for seed in self.folder.read_seeds())
        new = [seed.url for seed in seeds if seed.url not in known]
        before = settings_before(self.folder)
        if not known or not new or before is None or self.folder.seat:
            return ""
        return joining(self.folder, new, list(known), before, self.settings)

    def _widen(self, mending: Mending, before: Reach | None) -> None:
        """Take in what an earlier run left out, if its settings were others."""
        if self.settings.frontier != "rocks":
            return
        folder, now = self.folder, Reach.of(self.settings, self.folder.read_seeds())
        if before is None or not (changes := before.changes_to(now)):
            note_reach(folder, now)
            return
        widening = Widening(folder, before, now)

        def done(taken_in: int) -> None:
            note_reach(folder, now)
            gone = (
                f"; of {widening.lost:,} pages the records are gone: --revisit --once asks for them"
                if widening.lost
                else ""
            )
            logger.warning(
                "%s: %s URLs that were left out before are taken in%s",
                changes,
                f"{taken_in:,}",
                gone if widening.lost else "",
            )

        assert self._frontier
        mending.widen(widening, partial(self._parts.follower, self.settings, folder, self._frontier.crawl_key()), done)

    async def _ending(self, frontier: CrawlFrontier, mending: Mending) -> Ending:
        if not await frontier.is_finished():
            return Ending.STOPPED if self._stopping.is_set() else Ending.INCOMPLETE
        if mending.missing:
            self._say(f"{mending.missing:,} rows of earlier visits are missing, and nobody knows which")
            return Ending.INCOMPLETE
        return Ending.FINISHED

    def _new_dispatcher(self, frontier: CrawlFrontier) -> CentralDispatcher:
        begin_seconds = self._parts.begin_seconds(self.settings)
        dispatcher = CentralDispatcher(frontier, self._clock, self.settings.max_wait_seconds, begin_seconds)
        dispatcher.on_settled = self._on_settled
        self._dispatcher = dispatcher
        return dispatcher

    async def _plant(self, frontier: CrawlFrontier, *, revisit: bool) -> None:
        """Seeds that were not planted, or of which that is not known, since an earlier run ended before its time."""
        if self.settings.continuous or (revisit and await frontier.is_finished()):
            await frontier.readmit()
        seeds = seeds_to_plant(self.folder)
        for start in range(0, len(seeds), SEEDS_AT_ONCE):
            some = seeds[start : start + SEEDS_AT_ONCE]
            await frontier.add(self._parts.seed_targets(self.settings, some, frontier.crawl_key()))
        if self.settings.frontier != "memory":
            with self.disk():
                note_planted(self.folder)

    async def _obey_forever(self, frontier: CrawlFrontier) -> None:
        """Carry out what operators want of this crawl, as it comes."""
        plant = partial(self._plant_more, frontier.crawl_key())
        while True:
            # A disk or a frontier that is lost is told by whoever needs it to go on.
            with suppress(OSError, BackendLost):
                for given, result in await obey_pending(self.folder, frontier, plant):
                    logger.warning("an order%s: %s", f" of {given.by}" if given.by else "", result)
                self._note_pause(frontier.paused)
            await asyncio.sleep(ORDERS_SECONDS)

    def _plant_more(self, crawl_key: bytes, seeds: Sequence[ParsedUrl]) -> list[Target]:
        with self.disk():
            write_seeds(self.folder, seeds)
        return self._parts.seed_targets(self.settings, seeds, crawl_key)

    def _note_pause(self, reason: str) -> None:
        """Tell whoever looks that an operator paused the crawl, or that it goes on."""
        was, self._ordered_pause = self._ordered_pause, reason
        if reason != was and self.paused in ("", was):
            self.paused = reason

    async def _visit(self, frontier: CrawlFrontier, dispatcher: CentralDispatcher) -> None:
        assert self._lock
        self._workers = self._parts.make_workers(self, self._lock)
        try:
            await self._workers.work(frontier, dispatcher)
        finally:
            self._earlier_restarts += self._workers.restarts
            self._workers = None

    # ---- the folder

    async def recover(self, worker: int) -> None:
        """Put in order, beside the crawl, what a worker left behind that is gone."""
        assert self._mending
        await self._mending.recover(worker)

    @property
    def recovery(self) -> Recovery:
        """What was put in order of what earlier runs, and dead workers, had left."""
        return self._recovered.and_then(self._mending.recovery) if self._mending else self._recovered

    def _make_mending(self, frontier: CrawlFrontier) -> Mending:
        parse = partial(self._parts.reader, self.settings, self.folder)
        return Mending(self.folder, self.settings, frontier, parse, self._say, self._clock())

    def _say(self, sentence: str) -> None:
        """Tell the operator at once, and whoever sums up the crawl."""
        logger.warning("%s", sentence)
        self.troubles.append(sentence)

    def _recover(self, folder: CrawlFolder) -> Recovery:
        return recover(folder, self.settings, self._parts.reader(self.settings, folder))

    def _recover_siblings(self) -> None:
        """Put in order what commands of this machine left behind that were not started again."""
        for sibling in self.folder.siblings():
            try:
                lock = sibling.lock(patience_seconds=0)
            except FolderInUse:
                continue  # it is at work
            with lock:
                self._recover(sibling)

    @contextmanager
    def disk(self) -> Iterator[None]:
        """A disk that takes no more is a lost backend."""
        try:
            yield
        except SyncFailed as error:
            raise Shortage(f"{self.folder.path}: the disk lost what was written: {error}") from error
        except OSError as error:
            raise lost(f"{self.folder.path}: cannot be written", error) from error

    async def _ship_rest(self, shipper: Shipper) -> bool:
        """Whether all has arrived in the object store; raises `BackendLost` when that cannot be waited for."""
        self._is_shipping = True
        arrival = asyncio.wrap_future(shipper.finish(0 if self._stopping.is_set() else SHIPPING_SECONDS))
        leaving = asyncio.create_task(self._at_once.wait())
        await asyncio.wait((arrival, leaving), return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if arrival.done():
            arrival.result()
        return arrival.done()

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What something comes to that may have to wait for others; None if the operator did not want to."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            if not working.done():
                working.cancel()
        await asyncio.wait((working,))
        return None if working.cancelled() else working.result()


def _has_contact(settings: Settings) -> bool:
    return settings.user_agent.strip() not in ("", Settings().user_agent)


def _is_at_home(settings: Settings, seeds: Sequence[ParsedUrl]) -> bool:
    """Whether nobody else can be reached: all seeds, or those who tell where they are, are on this machine."""
    places = settings.dns_servers or [seed.host for seed in seeds]
    return all(_is_loopback(place) for place in places)


def _is_loopback(place: str) -> bool:
    host = place[1:].partition("]")[0] if place.startswith("[") else place
    host = host.partition(":")[0] if host.count(":") == 1 else host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
