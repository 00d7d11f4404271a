"""Where the supervisor gets its workers from: they are forked from one process that has imported everything already."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import sys
from collections import deque
from contextlib import suppress
from typing import IO

from lycosa.errors import LycosaError

FORK = b"fork"
BIRTH, DEATH = b"b", b"d"
# What happened, to whom, and the exit code of the dead.
NEWS = struct.Struct("=cqq")


class ForkserverLost(LycosaError):
    """The process that workers are forked from died; the next worker gets a new one."""


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
    """Makes workers; starts its process (`python -m PROGRAM FD`) with the first, and again whenever it was lost."""

    def __init__(self, program: str, log: IO[bytes]) -> None:
        self._program = program
        self._log = log
        self._control: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._births: deque[asyncio.Future[WorkerProcess]] = deque()
        self._workers: dict[int, WorkerProcess] = {}
        self._one_start = asyncio.Lock()

    async def fork(self, end: socket.socket, slot_fd: int, lock_fd: int) -> WorkerProcess:
        """A new worker that holds this end of a conversation, its slot, and the lock. Raises `ForkserverLost`."""
        async with self._one_start:
            if self._control is None:
                await self._start()
        assert self._control
        birth: asyncio.Future[WorkerProcess] = asyncio.get_running_loop().create_future()
        try:
            socket.send_fds(self._control, [FORK], [end.fileno(), slot_fd, lock_fd])
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

    async def _start(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
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
                # Threads are not forked: whoever needs numpy's finds none.
                env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
                start_new_session=True,  # Ctrl-C is the supervisor's to handle
            )
        self._control = ours
        asyncio.get_running_loop().add_reader(ours, self._read_news)

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
