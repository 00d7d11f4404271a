"""The process that owns the frontier and looks after the workers."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections import deque
from collections.abc import Coroutine, Iterator, Sequence, Set
from contextlib import contextmanager
from enum import Enum
from typing import IO, Any, TypeVar

import msgspec

from lycosa.build import (
    agree,
    begin_seconds,
    open_frontier,
    recover_folder,
    recover_siblings,
    seed_targets,
    worker_count,
    write_seeds,
    write_settings,
)
from lycosa.clock import steady_clock
from lycosa.crawl.dispatcher import CentralDispatcher, recognise
from lycosa.crawl.worker import STOP_SECONDS
from lycosa.errors import BackendLost, LycosaError, SettingsError, Shortage, lost
from lycosa.model import OutcomeKind, Settlement
from lycosa.observe.tally import Tally
from lycosa.ports import Counts, CrawlFrontier
from lycosa.process.forkserver import Forkserver, ForkserverLost, WorkerProcess
from lycosa.process.frames import Server, connect
from lycosa.process.messages import (
    AskRobots,
    AskSite,
    GiveBack,
    Leases,
    Lost,
    MayAskAt,
    Orders,
    Pause,
    Permission,
    Recognise,
    Recognised,
    Reply,
    Request,
    Robots,
    Settle,
    Settled,
    Site,
    Take,
)
from lycosa.process.shortage import ShortageWait
from lycosa.process.watchdog import Slot
from lycosa.settings import Settings
from lycosa.store.files import SyncFailed
from lycosa.store.folder import CrawlFolder
from lycosa.store.recover import Recovery
from lycosa.store.shipper import Shipper
from lycosa.url.canonical import ParsedUrl

logger = logging.getLogger(__name__)
T = TypeVar("T")

SEEDS_AT_ONCE = 1000
# A worker that dies this often within a minute has a cause that a restart does not mend.
MAX_DEATHS_PER_MINUTE = 20
# How much longer than it takes a worker to stop the parent waits for it.
STOP_GRACE_SECONDS = 3.0
# How long an object store may be away at the end of a crawl.
SHIPPING_PATIENCE_SECONDS = 600.0


class Ending(Enum):
    """How a crawl ended."""

    FINISHED = "finished"
    INCOMPLETE = "incomplete"
    STOPPED = "stopped"


class Supervisor:
    """Runs a crawl in a folder that the caller has locked."""

    def __init__(
        self,
        settings: Settings,
        folder: CrawlFolder,
        lock_fd: int,
        asked: Set[str] = frozenset(),
        shipper: Shipper | None = None,
    ) -> None:
        self._settings = settings
        self._asked = asked  # settings that the operator named, rather than found in the folder
        self._folder = folder
        self._shipper = shipper  # None: files stay in the folder
        self._is_shipping = False
        self._at_once = asyncio.Event()
        self._lock_fd = lock_fd
        self._clock = steady_clock()
        self._workers = worker_count(settings)
        self._processes: dict[int, WorkerProcess] = {}
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS_PER_MINUTE)
        # Per worker: how many leases it has, and when it last said anything.
        self._under_way = [0] * self._workers
        self._heard_at = [0.0] * self._workers
        self._slots = [Slot() for _ in range(self._workers)]
        self._frontier: CrawlFrontier | None = None
        self._dispatcher: CentralDispatcher | None = None
        self._last_counts = Counts()
        self._is_stopping = False
        self._stopping = asyncio.Event()
        self.paused = ""  # why nothing is dispatched, while the machine lacks something
        self.tally = Tally(self._clock)
        self.recovery: Recovery | None = None
        self.restarts = 0

    @property
    def settings(self) -> Settings:
        """Those in force."""
        return self._settings

    @property
    def workers(self) -> int:
        return self._workers

    def counts(self) -> Counts:
        """Where all known URLs are."""
        return self._frontier.counts() if self._frontier else self._last_counts

    def waits_until(self) -> float | None:
        """When a retry or back-off is due, if that is all that is left."""
        return self._frontier.idle_until() if self._frontier else None

    async def run(self, seeds: Sequence[ParsedUrl], *, revisit: bool = False) -> Ending:
        """Crawl until there is nothing left to do, or until `stop`. Finished means: all is where it should be."""
        ending = await self._crawl(seeds, revisit=revisit)
        if self._shipper and not await self._ship_rest(self._shipper):
            return Ending.STOPPED
        return ending

    async def _ship_rest(self, shipper: Shipper) -> bool:
        """Whether all has arrived in the object store; raises `BackendLost` when that cannot be waited for."""
        self._is_shipping = True
        arrival = asyncio.wrap_future(shipper.finish(0 if self._is_stopping else SHIPPING_PATIENCE_SECONDS))
        leaving = asyncio.create_task(self._at_once.wait())
        await asyncio.wait((arrival, leaving), return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if arrival.done():
            arrival.result()
        return arrival.done()

    async def _crawl(self, seeds: Sequence[ParsedUrl], *, revisit: bool) -> Ending:
        agreed = await self._unless_stopped(agree(self._settings, seeds, self._asked, self._folder.frontier))
        if agreed is None:
            return Ending.STOPPED
        self._settings, seeds = agreed
        patience = ShortageWait(self._folder.path)
        while True:
            try:
                return await self._run_once(seeds, revisit=revisit)
            except Shortage as shortage:
                if self._is_stopping:
                    raise
                self.paused = str(shortage)
            except BackendLost as error:
                if not self._is_stopping:
                    raise
                # It was waited for, until the operator did not want to any more.
                logger.warning("%s", error)
                return Ending.STOPPED
            logger.warning("%s; the crawl waits until this has passed", self.paused)
            await patience.wait(self._stopping)
            if self._stopping.is_set():
                return Ending.STOPPED
            logger.warning("the crawl goes on")
            self.paused = ""

    async def _run_once(self, seeds: Sequence[ParsedUrl], *, revisit: bool) -> Ending:
        """From opening what is on disk to closing it."""
        with self._disk():
            write_settings(self._folder, self._settings)
            write_seeds(self._folder, seeds)
            self.recovery = recover_folder(self._settings, self._folder)
            recover_siblings(self._settings, self._folder)
        if self._shipper:
            await asyncio.to_thread(self._shipper.start)
        frontier = await self._unless_stopped(
            open_frontier(self._settings, self._folder.frontier, self._workers, self._clock)
        )
        if frontier is None:
            return Ending.STOPPED
        self._frontier = frontier
        self._dispatcher = CentralDispatcher(
            frontier, self._clock, self._settings.max_wait_seconds, begin_seconds(self._settings)
        )
        self._dispatcher.on_settled = self.tally.add
        try:
            await self._plant(frontier, seeds, revisit=revisit)
            if self._is_stopping:
                return Ending.STOPPED
            with self._disk(), self._folder.log.open("ab") as log:
                await self._run_workers(log)
            is_finished = await frontier.is_finished()
            if is_finished:
                return Ending.FINISHED
            return Ending.STOPPED if self._is_stopping else Ending.INCOMPLETE
        finally:
            self._last_counts, self._frontier = frontier.counts(), None
            with self._disk():
                await frontier.close()

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """What something comes to that may have to wait for others; None if the operator did not want to."""
        working, stopping = asyncio.create_task(work), asyncio.create_task(self._stopping.wait())
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if working.done():
            return working.result()
        working.cancel()
        await asyncio.wait((working,))
        return None

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """A disk that takes no more is a lost backend."""
        try:
            yield
        except (OSError, SyncFailed) as error:
            if isinstance(error, SyncFailed):
                raise Shortage(f"{self._folder.path}: the disk lost what was written: {error}") from error
            raise lost(f"{self._folder.path}: cannot be written", error) from error

    async def _plant(self, frontier: CrawlFrontier, seeds: Sequence[ParsedUrl], *, revisit: bool) -> None:
        if revisit and await frontier.is_finished():
            await frontier.readmit()
        for start in range(0, len(seeds), SEEDS_AT_ONCE):
            some = list(seeds[start : start + SEEDS_AT_ONCE])
            await frontier.add(seed_targets(self._settings, some, frontier.crawl_key()))

    async def _run_workers(self, log: IO[bytes]) -> None:
        forkserver = Forkserver(log)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    group.create_task(self._look_after(number, forkserver))
        except* LycosaError as errors:
            # Of several, the one that may pass is the cause of the others.
            raise max(errors.exceptions, key=lambda error: isinstance(error, Shortage)) from None
        finally:
            self._kill_workers()
            await forkserver.close()

    def stop(self) -> None:
        """No new requests; what is under way is finished and kept. The second call stops at once."""
        if self._is_stopping:
            self._kill_workers()
            self._at_once.set()
        else:
            # A worker that hangs must not keep the crawl from ending.
            asyncio.get_running_loop().call_later(STOP_SECONDS + STOP_GRACE_SECONDS, self._kill_workers)
        self._is_stopping = True
        self._stopping.set()
        if self._shipper and self._is_shipping:
            self._shipper.finish(0)
        if self._dispatcher:
            self._dispatcher.close()
        if self._frontier:
            self._frontier.give_up()

    def _kill_workers(self) -> None:
        for process in self._processes.values():
            process.kill()

    async def _look_after(self, number: int, forkserver: Forkserver) -> None:
        """One worker, started again as often as it dies, until the crawl is over."""
        assert self._frontier is not None
        assert self._dispatcher is not None
        while True:
            exit_code = await self._run_worker(number, forkserver)
            culprit = self._slots[number].read()
            if culprit:
                await self._dispatcher.settle([_death_certificate(culprit, exit_code, self._settings)])
            await self._frontier.release(number)
            if exit_code == 0 and self._dispatcher.is_over:
                return
            with self._disk():
                await asyncio.to_thread(recover_folder, self._settings, self._folder, number)
            if self._is_stopping:
                return
            self._dispatcher.tell()
            self.restarts += 1
            if culprit:
                # It will not be read a third time, and its host rests.
                continue
            self._deaths.append(self._clock())
            if len(self._deaths) == MAX_DEATHS_PER_MINUTE and self._clock() - self._deaths[0] < 60:
                raise BackendLost(f"worker {number} keeps dying; {self._folder.log} says why")

    async def _run_worker(self, number: int, forkserver: Forkserver) -> int:
        ours, theirs = socket.socketpair()
        self._slots[number].write(0)
        server = Server(lambda request: self._serve(number, request))
        await connect(ours, server)
        try:
            with theirs:
                process = await forkserver.fork(theirs, self._slots[number].fd, self._lock_fd)
        except ForkserverLost:
            server.close()
            return -signal.SIGKILL
        self._processes[number] = process
        settings = msgspec.msgpack.encode(self._settings)
        assert self._frontier
        folder, seat = str(self._folder.path), self._folder.seat
        server.order(Orders(number, folder, seat, settings, self._frontier.crawl_key()))
        exited = asyncio.create_task(process.wait())
        watched = asyncio.create_task(self._watch(number, process))
        try:
            await asyncio.wait((exited, server.failed), return_when=asyncio.FIRST_COMPLETED)
            if server.failed.done():
                process.kill()
            exit_code = await exited
            # What it asked for just before its death may still be on the way: a lease given out after `release`
            # would keep a host waiting until it expires.
            await server.ended()
            if server.failed.done():
                server.failed.result()
            return exit_code
        finally:
            exited.cancel()
            watched.cancel()
            process.kill()
            server.close()

    async def _watch(self, number: int, process: WorkerProcess) -> None:
        """End a worker that says nothing for longer than its leases last: its hosts would wait for it for ever."""
        lease_seconds = self._settings.lease_seconds
        self._under_way[number], self._heard_at[number] = 0, self._clock()
        while True:
            await asyncio.sleep(max(lease_seconds / 4, 0.1))
            if self._under_way[number] and self._clock() - self._heard_at[number] > lease_seconds:
                process.kill()

    async def _serve(self, worker: int, request: Request) -> Reply:
        assert self._frontier is not None
        assert self._dispatcher is not None
        self._heard_at[worker] = self._clock()
        match request:
            case Take():
                leases = await self._dispatcher.take(worker, request.limit)
                self._under_way[worker] += len(leases)
                return Leases(leases)
            case Settle():
                self._under_way[worker] -= len(request.settlements)
                return Settled(await self._dispatcher.settle(request.settlements))
            case MayAskAt():
                is_granted = await self._dispatcher.may_ask_at(request.token, request.address)
                self._under_way[worker] -= not is_granted
                return Permission(is_granted)
            case GiveBack():
                self._under_way[worker] -= 1
                await self._dispatcher.give_back(request.token)
                return Permission(is_granted=False)
            case Recognise():
                return Recognised(
                    *await recognise(self._frontier, request.digest, request.url, request.token, request.signature)
                )
            case AskRobots():
                return Robots(await self._frontier.robots(request.origin))
            case AskSite():
                return Site(await self._frontier.site(request.domain))
            case Pause():
                self.paused = request.reason
                logger.warning("%s", f"{request.reason}; the crawl waits" if request.reason else "the crawl goes on")
                return Permission(is_granted=True)
            case Lost():
                kind = SettingsError if request.is_setting else Shortage if request.is_shortage else BackendLost
                raise kind(request.reason)


def _death_certificate(token: int, exit_code: int, settings: Settings) -> Settlement:
    """How the visit ended during whose reading a worker died."""
    if exit_code == -signal.SIGPROF:
        cause = f"reading it took more than {settings.parse_seconds:g} s of CPU time"
    else:
        cause = signal.strsignal(-exit_code) or f"signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
    return Settlement(token, OutcomeKind.CRASHED, reason=cause, was_fatal=True)
