"""The process that workers are forked from: `python -m lycosa.process.forkserver_main FD`, started by the parent.

It has imported all that a worker needs, which takes half a second of CPU; a fork takes milliseconds, and workers share
its memory. It has no thread of its own, opens nothing, and leaves when its parent does.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from typing import NoReturn

from lycosa.process import worker_main as worker_process
from lycosa.process.forkserver import BIRTH, DEATH, FORK, NEWS


def main() -> None:
    control = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: _report_deaths(control))
    gc.freeze()
    while True:
        message, fds, _, _ = socket.recv_fds(control, len(FORK), 3)
        if message != FORK:
            os._exit(0)
        _bear(control, fds)


def _bear(control: socket.socket, fds: list[int]) -> None:
    # A worker that dies at once must not be reported dead before it was reported born.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    pid = os.fork()
    if pid == 0:
        _become_worker(control, fds[0], fds[1])
    for fd in fds:
        os.close(fd)
    control.send(NEWS.pack(BIRTH, pid, 0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _become_worker(control: socket.socket, fd: int, slot_fd: int) -> NoReturn:
    """The worker keeps the third descriptor too: with it the folder stays locked as long as anybody works in it."""
    control.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    os.setsid()
    try:
        worker_process.run(fd, slot_fd)
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
        except OSError:  # the parent is gone, and nobody else wants to know
            os._exit(0)


if __name__ == "__main__":
    main()
