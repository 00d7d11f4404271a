"""The program that becomes the browser: it ties it to whoever started it, and takes every network from it.

Run as a file, by a Python that loads nothing else: `launcher.py PIDFILE PROGRAM ARGUMENT…`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000


def main() -> None:
    """Never returns: the browser takes the place of this process."""
    note, program, *arguments = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        sys.exit(1)  # whoever started it was gone before that counted
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)  # whoever waits for its pages must be able to serve it
    _leave_the_network(libc)
    with open(note, "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    os.execv(program, [program, *arguments])  # noqa: S606 - by its path, as it was found


def _leave_the_network(libc: ctypes.CDLL) -> None:
    """Into a network of its own, without a device. Where the kernel does not let us, the browser's switches remain."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWNET) == 0 or user == 0 or libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
        return
    for file, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{file}", "w", encoding="ascii") as stream:
            stream.write(text)


if __name__ == "__main__":
    main()
