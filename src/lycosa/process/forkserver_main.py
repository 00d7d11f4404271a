"""The process that workers are forked from; `wiring/` has its program, since it knows what a worker is made of.

It has imported all that a worker needs, which takes a quarter of a second of CPU; a fork takes milliseconds, and
workers share its memory. It has no thread of its own, opens nothing, and leaves when the supervisor does.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import socket
import sys
from typing import NoReturn

from lycosa.process.forkserver import BIRTH, DEATH, FORK, NEWS
from lycosa.process.worker_main import MakeWorker, run

# What glibc is told, by the numbers it has for it: one arena for all threads (those of the tables hold what the others
# let go of), and what is large comes from the kernel and goes back there. Left to itself it learns from the first
# column that is let go of to keep the next; a worker had 74 MB for that, and no page takes longer without.
_ALLOCATION = {-8: 1, -3: 1024 * 1024, -1: 4 * 1024 * 1024}  # M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD


def serve_forks(control: socket.socket, make_worker: MakeWorker) -> NoReturn:
    """Fork a worker whenever asked to over this socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: _report_deaths(control))
    _keep_little()
    gc.freeze()
    while True:
        message, fds, _, _ = socket.recv_fds(control, len(FORK), 4)
        if message != FORK:
            os._exit(0)
        _fork(control, fds, make_worker)


def _keep_little() -> None:
    """Have workers hold no more memory than they use; other C libraries are left as they are."""
    tell = getattr(ctypes.CDLL(None), "mallopt", None)
    if tell is not None:
        for option, value in _ALLOCATION.items():
            tell(option, value)


def _fork(control: socket.socket, fds: list[int], make_worker: MakeWorker) -> None:
    # What this process says, and every worker, goes to the log of the crawl.
    log = fds.pop()
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)
    # A worker that dies at once must not be reported dead before it was reported born.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    pid = os.fork()
    if pid == 0:
        _become_worker(control, fds[0], fds[1], make_worker)
    for fd in fds:
        os.close(fd)
    control.send(NEWS.pack(BIRTH, pid, 0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _become_worker(control: socket.socket, fd: int, slot_fd: int, make_worker: MakeWorker) -> NoReturn:
    """The worker keeps the third descriptor too: with it the folder stays locked as long as anybody works in it."""
    control.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.setsid()
    # What hooks print is in the log at once: nobody flushes it when a worker ends.
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    try:
        run(fd, slot_fd, make_worker)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    sys.stderr.flush()
    os._exit(1)


def _report_deaths(control: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        try:
            control.send(NEWS.pack(DEATH, pid, os.waitstatus_to_exitcode(status)))
        except OSError:  # the supervisor is gone, and nobody else wants to know
            os._exit(0)
