"""Files that only grow, names that come from us alone, and renames that survive a power cut."""

from __future__ import annotations

import os
import re
import secrets
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

# Carried by a file until it is complete.
OPEN = ".open"
_NAME = re.compile(r"lycosa-\d{8}T\d{6}-(?:([a-z0-9-]+)-)?w(\d+)-\d+\.")


class SyncFailed(Exception):
    """The disk did not take what the operating system had accepted. A second try would lie: the kernel forgets it."""


class AppendFile:
    """A new file that only grows: `append` and `stage` on one thread, `flush`, `sync` and `close` on another.

    What limits the buffer is the caller: it holds what was put since the last sync.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._pending: list[bytes] = []
        # The way from one thread to the other: appended here, taken there.
        self._staged: deque[bytes] = deque()
        self._rest = b""
        self._written = 0
        self._is_listed = False
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)

    def append(self, data: bytes) -> int:
        """Buffer bytes for the end of the file; returns their offset."""
        offset = self.size
        self._pending.append(data)
        self.size += len(data)
        return offset

    def stage(self) -> None:
        """Make everything appended so far part of the next `flush`."""
        if self._pending:
            self._staged.append(b"".join(self._pending))
            self._pending.clear()

    def flush(self) -> None:
        """Hand what is staged to the operating system. After an error (a full disk) the next call goes on."""
        while self._rest or self._staged:
            self._rest = self._rest or self._staged.popleft()
            # At an explicit offset: whatever half a failed write left there is written over.
            done = os.pwrite(self._fd, self._rest, self._written)
            self._written += done
            self._rest = self._rest[done:]

    def sync(self) -> None:
        """Make what was flushed survive a power cut; the first time the file's name too."""
        if self._fd < 0:
            return
        _fsync(self._fd, os.fdatasync)
        if not self._is_listed:
            sync_folder(self.path.parent)
            self._is_listed = True

    def close(self) -> None:
        """Let go of the file; a second time changes nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def sync_folder(path: Path) -> None:
    """Make names created, renamed or removed in a folder survive a power cut."""
    sync_file(path)


def sync_file(path: Path) -> None:
    """Make the content of a file written by someone else survive a power cut."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _fsync(fd, os.fsync)
    finally:
        os.close(fd)


def _fsync(fd: int, call: Callable[[int], None]) -> None:
    try:
        call(fd)
    except OSError as error:
        raise SyncFailed(error.strerror) from error


def publish(path: Path, *, durably: bool = True) -> None:
    """Give a complete `*.open` file its final name: it appears whole or not at all."""
    if durably:
        sync_file(path)
    path.rename(closed(path))
    if durably:
        sync_folder(path.parent)


def replace_file(path: Path, text: str, beside: Path, *, is_private: bool = False) -> None:
    """Write a small file whole or not at all, also if the power fails, by way of a folder on the same disk where
    nobody else writes.
    """
    fresh = beside / f"{path.name}.new"
    fresh.unlink(missing_ok=True)
    fresh.touch(0o600 if is_private else 0o666)
    fresh.write_text(text, encoding="utf-8", errors="replace")
    sync_file(fresh)
    fresh.replace(path)
    sync_folder(path.parent)


def closed(path: Path) -> Path:
    """The name of a file once it is complete."""
    return path.with_name(path.name.removesuffix(OPEN))


class FileNames:
    """Names made of time, seat, worker and a serial number, and of nothing that came from the web."""

    def __init__(self, seat: str, worker: int, clock: Callable[[], float]) -> None:
        self._maker = f"{seat}-w{worker}" if seat else f"w{worker}"
        self._clock = clock
        # Files of a seat may have left for an object store, so what is taken cannot be seen here.
        self._serial = secrets.randbelow(10**8) if seat else 0

    def new(self, is_taken: Callable[[str], bool]) -> str:
        """A name not used before, also when the clock stands still or goes back."""
        while True:
            moment = datetime.fromtimestamp(self._clock(), UTC).strftime("%Y%m%dT%H%M%S")
            name = f"lycosa-{moment}-{self._maker}-{self._serial:05d}"
            self._serial += 1
            if not is_taken(name):
                return name


class Maker(NamedTuple):
    """Who wrote a file. The seat is empty in a folder that one command has for itself."""

    seat: str
    worker: int


def maker_of(name: str) -> Maker | None:
    """Who made a file, or None if the name is not one of ours."""
    match = _NAME.match(name)
    return Maker(match[1] or "", int(match[2])) if match else None
