"""Where the supervisor gets its workers from: they are forked from one process that has imported everything already.

That process is forked from the command itself, before there is a thread or an open file: so it need not import again
what both need, and imports the rest while the frontier is being opened. Later ones are started as programs.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple, NoReturn

from lycosa.errors import LycosaError

FORK = b"fork"
BIRTH, DEATH = b"b", b"d"
# What happened, to whom, and the exit code of the dead.
NEWS = struct.Struct("=cqq")
# Threads are not forked: whoever needs numpy's finds none. Arrow's own pool keeps what it once had: 30 MB of a worker.
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}


class ForkserverLost(LycosaError):
    """The process that workers are forked from died; the next worker gets a new one."""


class ForkserverProcess(NamedTuple):
    """A forkserver that was forked from this process, and our end of the conversation with it."""

    pid: int
    control: socket.socket


def fork_forkserver(serve: Callable[[socket.socket], NoReturn]) -> ForkserverProcess | None:
    """A forkserver in a fork of this process, where `serve` runs; None if this process has threads already.

    Whatever is open now is open there too: call it before a folder is locked.
    """
    if sum(1 for _ in Path("/proc/self/task").iterdir()) > 1:
        return None
    ours, theirs = _conversation()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            os.setsid()  # Ctrl-C is the supervisor's to handle
            _fill_standard_streams()
            os.environ |= _ENVIRONMENT
            serve(theirs)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        os._exit(1)
    theirs.close()
    return ForkserverProcess(pid, ours)


def _fill_standard_streams() -> None:
    """Read from nowhere, and leave no number free that a descriptor could take and be written over."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    for stream in (1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.dup2(nowhere, stream)
    if nowhere > 2:
        os.close(nowhere)


def _conversation() -> tuple[socket.socket, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setblocking(False)
    return ours, theirs


class WorkerProcess:
    """A worker, as the supervisor sees it. It is the forkserver's child, so only the forkserver knows how it ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.exit_code: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def wait(self) -> int:
        """How it ended, when it has."""
        return await asyncio.shield(self.exit_code)

    def kill(self) -> None:
        """End it, if it has not ended by itself."""
        if not self.exit_code.done():
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Forkserver:
    """Makes workers; starts its process (`python -m PROGRAM FD`) with the first, and again whenever it was lost.

    `forked` is such a process that is there already.
    """

    def __init__(self, program: str, log: IO[bytes], forked: ForkserverProcess | None = None) -> None:
        self._program = program
        self._log = log
        self._forked = forked
        self._control: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._births: deque[asyncio.Future[WorkerProcess]] = deque()
        self._workers: dict[int, WorkerProcess] = {}
        self._one_start = asyncio.Lock()
        self._has_begun = False

    async def fork(self, end: socket.socket, slot_fd: int, lock_fd: int) -> WorkerProcess:
        """A new worker that holds this end of a conversation, its slot, and the lock. Raises `ForkserverLost`."""
        async with self._one_start:
            if self._control is None:
                self._listen(await self._start())
        assert self._control
        birth: asyncio.Future[WorkerProcess] = asyncio.get_running_loop().create_future()
        try:
            socket.send_fds(self._control, [FORK], [end.fileno(), slot_fd, lock_fd, self._log.fileno()])
        except OSError as error:
            self._lose()
            raise ForkserverLost("the process that workers are forked from is gone") from error
        self._births.append(birth)
        return await birth

    async def close(self) -> None:
        """Send it home. Workers that still live are nobody's from now on."""
        if self._control is not None:
            self._forget_control()
        if self._process is not None:
            await self._process.wait()
        if self._forked is not None:
            self._forked.control.close()
            await asyncio.to_thread(os.waitpid, self._forked.pid, 0)

    async def _start(self) -> socket.socket:
        if self._forked is not None and not self._has_begun:
            self._has_begun = True
            return self._forked.control
        ours, theirs = _conversation()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self._program,
                str(theirs.fileno()),
                pass_fds=(theirs.fileno(),),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=os.environ | _ENVIRONMENT,
                start_new_session=True,  # Ctrl-C is the supervisor's to handle
            )
        return ours

    def _listen(self, control: socket.socket) -> None:
        self._control = control
        asyncio.get_running_loop().add_reader(control, self._read_news)

    def _read_news(self) -> None:
        assert self._control
        try:
            news = self._control.recv(NEWS.size)
        except BlockingIOError:
            return
        except OSError:
            news = b""
        if not news:
            self._lose()
            return
        kind, pid, exit_code = NEWS.unpack(news)
        if kind == BIRTH:
            worker = self._workers[pid] = WorkerProcess(pid)
            birth = self._births.popleft()
            if birth.cancelled():
                worker.kill()
            else:
                birth.set_result(worker)
        elif pid in self._workers:
            self._workers.pop(pid).exit_code.set_result(exit_code)

    def _lose(self) -> None:
        """Without it nobody tells how workers end: end them, and begin anew."""
        self._forget_control()
        for worker in self._workers.values():
            worker.kill()
            worker.exit_code.set_result(-signal.SIGKILL)
        self._workers.clear()
        while self._births:
            if not (birth := self._births.popleft()).done():
                birth.set_exception(ForkserverLost("the process that workers are forked from is gone"))

    def _forget_control(self) -> None:
        assert self._control
        asyncio.get_running_loop().remove_reader(self._control)
        self._control.close()
        self._control = None
