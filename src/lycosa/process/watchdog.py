"""What a worker is reading: the supervisor knows even if it dies of it, and the kernel ends what takes too much.

Pages are read by parsers that are fast because they are not Python; what they do with a page made to hurt them nobody
can promise. So a worker says which page it reads before it does, and is killed by a timer it cannot miss.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable
from mmap import mmap
from struct import Struct
from typing import Protocol, Self

from lycosa.errors import TooMuchMemory

_TOKEN = Struct("=q")
# To look at one's own size costs 10 µs. A page below this would have to grow two thousandfold.
BIG_BODY_BYTES = 256 * 1024
_PAGE_BYTES = resource.getpagesize()


class Slot:
    """One number that the supervisor shares with a worker: the lease whose page is being read, 0 for none."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = os.memfd_create("lycosa-reading") if fd is None else fd
        if fd is None:
            os.ftruncate(self.fd, _TOKEN.size)
        self._memory = mmap(self.fd, _TOKEN.size)

    def read(self) -> int:
        token: int = _TOKEN.unpack_from(self._memory)[0]
        return token

    def write(self, token: int) -> None:
        _TOKEN.pack_into(self._memory, 0, token)

    def close(self) -> None:
        self._memory.close()
        os.close(self.fd)


class TimeLimit(Protocol):
    """Is told what is being read; whatever takes longer than it may ends the process, by SIGPROF."""

    def begin(self, token: int, /) -> None: ...

    def end(self) -> None: ...


class TimerPerPage:
    """With a timer for each page."""

    def __init__(self, slot: Slot, max_seconds: float) -> None:
        self._slot = slot
        self._max_seconds = max_seconds
        signal.signal(signal.SIGPROF, signal.SIG_DFL)

    def begin(self, token: int, /) -> None:
        self._slot.write(token)
        signal.setitimer(signal.ITIMER_PROF, self._max_seconds)

    def end(self) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        self._slot.write(0)


def _find_compiled_timer() -> Callable[[int, float], TimeLimit] | None:
    try:
        from lycosa.process._native import OneTimer as compiled
    except ImportError:  # not built: the kernel is asked twice for each page
        return None
    return compiled


compiled_timer = _find_compiled_timer()


def time_limit(slot: Slot, max_seconds: float) -> TimeLimit:
    """With one timer for all pages, which takes a quarter longer at most; or, where nothing is built, one for each."""
    return compiled_timer(slot.fd, max_seconds) if compiled_timer else TimerPerPage(slot, max_seconds)


class KernelWatchdog:
    """Tells what is read, and limits CPU time (by SIGPROF, which ends the process) and memory (by giving no more)."""

    def __init__(self, slot: Slot, max_seconds: float, max_bytes: int) -> None:
        self._time_limit = time_limit(slot, max_seconds)
        self._max_bytes = max_bytes
        self._is_bounded = False
        self._limits = resource.getrlimit(resource.RLIMIT_DATA)
        self._size = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)

    def __call__(self, token: int, body_bytes: int) -> Self:
        self._time_limit.begin(token)
        if body_bytes >= BIG_BODY_BYTES:
            self._bound()
        return self

    def __enter__(self) -> None:
        return

    def __exit__(self, *raised: object) -> None:
        self._time_limit.end()
        if self._is_bounded:
            self._is_bounded = False
            resource.setrlimit(resource.RLIMIT_DATA, self._limits)
            if MemoryError in raised[:1]:
                raise TooMuchMemory(f"{self._max_bytes >> 20} MiB")

    def _bound(self) -> None:
        own_bytes = int(os.pread(self._size, 256, 0).split()[5]) * _PAGE_BYTES
        soft, hard = self._limits
        wanted = own_bytes + self._max_bytes
        if soft == resource.RLIM_INFINITY or wanted < soft:
            self._is_bounded = True
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
