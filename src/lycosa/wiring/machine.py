"""What this machine lets a crawl have: worker processes, and open requests of each."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from lycosa.settings import Settings

# An open request with TLS, its handle, its lease and its task; a quarter of the memory is for those.
CONNECTION_BYTES, MEMORY_SHARE = 128 * 1024, 4
# Descriptors that are kept for files, name servers and the like: this many, or an eighth.
KEPT_DESCRIPTORS = 128
_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def worker_count(settings: Settings) -> int:
    """How many worker processes a crawl has: as set, or one per core that this process may use."""
    return settings.workers or len(os.sched_getaffinity(0))


def connection_count(settings: Settings) -> int:
    """How many requests a worker may have open: as set, or as many as this process has room for."""
    if settings.connections:
        return settings.connections
    descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if descriptors == resource.RLIM_INFINITY:
        descriptors = sys.maxsize
    return connections_within(settings, descriptors, memory_bytes() // worker_count(settings))


def connections_within(settings: Settings, descriptors: int, memory: int) -> int:
    """How many requests may be open, with so many descriptors and so much memory: at most one per active host."""
    free = descriptors - max(KEPT_DESCRIPTORS, descriptors // 8)
    return max(1, min(settings.max_active_hosts, free, memory // MEMORY_SHARE // CONNECTION_BYTES))


def memory_bytes() -> int:
    """The memory of this machine, or of the container that this process is in."""
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for path in _CGROUP_LIMITS:
        try:
            limits.append(int(path.read_text()))
        except (OSError, ValueError):
            # There is no such file, or it says that there is no limit.
            continue
    return min(limits)


def raise_descriptor_limit() -> None:
    """Have as many descriptors as the operator allows, not only as many as programs are given at first."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
