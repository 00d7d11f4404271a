"""The folder of one crawl: where things lie, and who holds it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from lycosa.errors import FolderInUse, SettingsError
from lycosa.store.files import OPEN, worker_of

WARC = ".warc.gz"
PARQUET = ".parquet"
JOURNAL = ".journal"
# How long the workers of a dead parent are waited for; a worker at start needs a moment to notice.
ORPHAN_SECONDS = 10.0


class Lock:
    """The right to write to a folder, held until `release` or the end of the last process that has the descriptor."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def release(self) -> None:
        os.close(self.fd)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class CrawlFolder:
    """The layout of a crawl's folder. Making one touches nothing; `create` does."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.settings = self.path / "lycosa.toml"
        self.frontier = self.path / "frontier"
        self.warc = self.path / "warc"
        self.pages = self.path / "pages"
        self.links = self.path / "links"
        self.report = self.path / "report.html"
        self._lock = self.path / "lock"

    def __repr__(self) -> str:
        return f"CrawlFolder({str(self.path)!r})"

    @property
    def exists(self) -> bool:
        """Whether a crawl has begun here."""
        return self.settings.is_file() or self.pages.is_dir()

    def create(self) -> None:
        """Make the folder and its parts; those there already stay as they are."""
        try:
            for part in (self.frontier, self.warc, self.pages, self.links):
                part.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{self.path}: cannot be made a crawl's folder: {error.strerror}") from error

    def lock(self) -> Lock:
        """Hold the folder against other crawls; raises `FolderInUse` naming the process that has it.

        The descriptor is inherited: while a worker of a dead parent still runs, the folder stays held. Such a worker
        leaves as soon as it looks up, so it is waited for.
        """
        try:
            fd = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise SettingsError(f"{self.path}: cannot be locked: {error.strerror}") from error
        give_up_at = time.monotonic() + ORPHAN_SECONDS
        while not _try_lock(fd):
            holder = os.pread(fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            if _is_running(holder) or time.monotonic() > give_up_at:
                os.close(fd)
                raise FolderInUse(f"{self.path}: another crawl (process {holder}) is using this folder")
            time.sleep(0.02)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        os.set_inheritable(fd, True)
        return Lock(fd)

    def disk_bytes(self) -> int:
        """What the crawl takes on disk."""
        return sum(_file_bytes(self.path))

    def free_bytes(self) -> int:
        """What is left on the disk for an ordinary user."""
        space = os.statvfs(self.path)
        return space.f_bavail * space.f_frsize

    def warc_files(self) -> list[Path]:
        """The closed WARC files, oldest name first."""
        return sorted(self.warc.glob(f"*{WARC}"))

    def open_warcs(self, worker: int | None = None) -> list[Path]:
        """WARC files being written, or left behind by a crash; of one worker or of all."""
        return _made_by(worker, self.warc, WARC + OPEN)

    def journals(self, worker: int | None = None) -> list[Path]:
        """Journals being written, or left behind by a crash; of one worker or of all."""
        return _made_by(worker, self.pages, JOURNAL + OPEN)

    def open_parts(self, worker: int | None = None) -> list[Path]:
        """Parquet files that are not complete; of one worker or of all."""
        return _made_by(worker, self.pages, PARQUET + OPEN) + _made_by(worker, self.links, PARQUET + OPEN)

    def warc_path(self, file: str) -> Path:
        """Where a WARC file lies now: under its name, or under its open name while it is written."""
        path = self.warc / file
        return path if path.exists() else path.with_name(file + OPEN)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


def _is_running(process: str) -> bool:
    """Whether this process is there and not dead already; one that cannot be told counts as there."""
    if not process.isdigit():
        return True
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _made_by(worker: int | None, folder: Path, suffix: str) -> list[Path]:
    return [
        path
        for path in sorted(folder.glob(f"*{suffix}"))
        if (maker := worker_of(path.name)) is not None and worker in (None, maker)
    ]


def _file_bytes(folder: Path) -> Iterator[int]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    yield from _file_bytes(Path(entry.path))
                else:
                    # Blocks, not length: RocksDB keeps sparse and preallocated files.
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
            except FileNotFoundError:
                # Renamed or compacted away while we looked.
                continue
