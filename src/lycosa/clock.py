"""Time that never jumps: POSIX seconds at the start of the process, then the monotonic clock."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]


def machine_clock() -> float:
    """Seconds since the machine was started, sleep included: the same for all its processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def steady_clock() -> Clock:
    """A clock that reads as POSIX seconds and is not moved by whoever sets the machine's time."""
    offset = time.time() - time.monotonic()
    return lambda: time.monotonic() + offset
