"""Those who visit, as processes: started, served, watched, and started again when they die."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from collections import deque
from typing import IO

import msgspec

from lycosa.clock import steady_clock
from lycosa.crawl.dispatcher import STOP_SECONDS, CentralDispatcher, recognise
from lycosa.crawl.session import Session
from lycosa.errors import BackendLost, LycosaError, SettingsError, Shortage
from lycosa.figures import WorkerFigures, WorkerStanding
from lycosa.model import Crash, OutcomeKind, Reason, Settlement
from lycosa.ports import CrawlFrontier
from lycosa.process.forkserver import Forkserver, ForkserverLost, ForkserverProcess, WorkerProcess
from lycosa.process.frames import CallServer, connect
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
    RobotsReply,
    Settle,
    Settled,
    SiteNotesReply,
    Take,
    Tell,
)
from lycosa.process.watchdog import Slot
from lycosa.settings import Settings
from lycosa.store.folder import Lock

logger = logging.getLogger(__name__)

# A worker that dies this often within a minute has a cause that a restart does not mend.
MAX_DEATHS_PER_MINUTE = 20
# How much longer than it takes a worker to stop it is waited for.
STOP_GRACE_SECONDS = 3.0


class Supervisor:
    """The worker processes of one session; `program` is the module that they are forked from, unless `forked` is."""

    def __init__(self, session: Session, lock: Lock, program: str, forked: ForkserverProcess | None = None) -> None:
        self._session = session
        self._lock_fd = lock.fd
        self._program = program
        self._forked = forked
        self._settings = session.settings
        self._folder = session.folder
        self._clock = steady_clock()
        workers = session.workers
        self._processes: dict[int, WorkerProcess] = {}
        self._deaths: deque[float] = deque(maxlen=MAX_DEATHS_PER_MINUTE)
        # Per worker: how many leases it has, and when it last said anything.
        self._under_way = [0] * workers
        self._heard_at = [0.0] * workers
        self._figures = [WorkerFigures()] * workers
        self._slots = [Slot() for _ in range(workers)]
        self._frontier: CrawlFrontier | None = None
        self._dispatcher: CentralDispatcher | None = None
        self._is_stopping = False
        self.restarts = 0

    async def work(self, frontier: CrawlFrontier, dispatcher: CentralDispatcher) -> None:
        """Visit until the dispatcher says that it is over. Raises `BackendLost`."""
        self._frontier, self._dispatcher = frontier, dispatcher
        # As in workers: links make many short-lived containers here, and no cycles worth looking for often. What is
        # here by now stays: without another look at it that is 5 to 12 % of what the frontier takes.
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        try:
            with self._session.disk(), self._folder.log.open("ab") as log:
                await self._run_workers(log)
        finally:
            for slot in self._slots:
                slot.close()

    def standings(self) -> list[WorkerStanding]:
        """How each of them is doing."""
        now = self._clock()
        return [
            WorkerStanding(
                number,
                self._processes[number].pid if number in self._processes else 0,
                self._under_way[number],
                max(0.0, now - self._heard_at[number]) if self._heard_at[number] else 0.0,
                self._figures[number],
            )
            for number in range(len(self._slots))
        ]

    def stop(self) -> None:
        """Workers end by themselves; one that hangs must not keep the crawl from ending. Twice: at once."""
        if self._is_stopping:
            self._kill_workers()
        else:
            asyncio.get_running_loop().call_later(STOP_SECONDS + STOP_GRACE_SECONDS, self._kill_workers)
        self._is_stopping = True

    async def _run_workers(self, log: IO[bytes]) -> None:
        forkserver = Forkserver(self._program, log, self._forked)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(len(self._slots)):
                    group.create_task(self._look_after(number, forkserver))
        except* LycosaError as errors:
            # Of several, the one that may pass is the cause of the others.
            raise max(errors.exceptions, key=lambda error: isinstance(error, Shortage)) from None
        finally:
            self._kill_workers()
            await forkserver.close()

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
            with self._session.disk():
                await self._session.recover(number)
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
        server = CallServer(lambda request: self._serve(number, request))
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
                self._under_way[worker] -= len(request.tokens)
                await self._dispatcher.give_back(request.tokens)
                return Permission(is_granted=False)
            case Recognise():
                return Recognised(
                    *await recognise(self._frontier, request.digest, request.url, request.token, request.signature)
                )
            case AskRobots():
                return RobotsReply(await self._frontier.robots(request.origin))
            case AskSite():
                return SiteNotesReply(await self._frontier.site(request.domain))
            case Pause():
                self._session.paused = request.reason
                logger.warning("%s", f"{request.reason}; the crawl waits" if request.reason else "the crawl goes on")
                return Permission(is_granted=True)
            case Tell():
                self._figures[worker] = request.figures
                return Permission(is_granted=True)
            case Lost():
                kind = SettingsError if request.is_setting else Shortage if request.is_shortage else BackendLost
                raise kind(request.reason)


def _death_certificate(token: int, exit_code: int, settings: Settings) -> Settlement:
    """How the visit ended during whose reading a worker died."""
    if exit_code == -signal.SIGPROF:
        cause = Reason(Crash.CPU, f"{settings.parse_seconds:g} s")
    elif exit_code < 0:
        cause = Reason(Crash.KILLED, signal.strsignal(-exit_code) or str(-exit_code))
    else:
        cause = Reason(Crash.EXITED, str(exit_code))
    return Settlement(token, OutcomeKind.CRASHED, reason=cause, was_fatal=True)
