"""The processes of a browser, as the kernel tells of them: how much memory they take, and which takes most."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class BrowserProcess(NamedTuple):
    """One of them. `is_page`: it shows pages, and nothing else ends with it."""

    pid: int
    own_bytes: int
    is_page: bool


def processes_of(group: int) -> list[BrowserProcess]:
    """The processes of a process group; those that end meanwhile are left out."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # The name of a process may have blanks and brackets in it.
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                if int(fields[2]) != group or fields[0] == "Z":
                    continue
                resident, shared = map(int, (place / "statm").read_text().split()[1:3])
                is_page = b"--type=renderer" in (place / "cmdline").read_bytes()
                found.append(BrowserProcess(int(place.name), (resident - shared) * _PAGE_BYTES, is_page))
    return found


def end_largest_page(processes: list[BrowserProcess]) -> bool:
    """End the process of the page that takes most. Returns whether there is one."""
    pages = [each for each in processes if each.is_page]
    if not pages:
        return False
    with suppress(ProcessLookupError):
        os.kill(max(pages, key=lambda each: each.own_bytes).pid, signal.SIGKILL)
    return True


def end_all(group: int) -> None:
    """End a browser, whatever it is doing."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
