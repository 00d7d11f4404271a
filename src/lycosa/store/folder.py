"""The folder of one crawl: where things lie, and who holds it."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from lycosa.errors import FolderInUse, SettingsError
from lycosa.store.files import OPEN, maker_of
from lycosa.url.canonical import SCHEMES, ParsedUrl, parse_seeds

WARC = ".warc.gz"
PARQUET = ".parquet"
JOURNAL = ".journal"
SEATS = "machines"
# How long the workers of a dead supervisor are waited for; a worker at start needs a moment to notice.
ORPHAN_SECONDS = 10.0
# What a lock file holds, padded: the number of the process, and in the next line why its crawl is paused.
LOCK_BYTES = 1024


class Lock:
    """The right to write to a folder, held until `release` or the end of the last process that has the descriptor."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def release(self) -> None:
        os.close(self.fd)

    def tell(self, paused: str = "") -> None:
        """Let others know who holds the folder, and why the crawl is paused.

        The file has its full length from the beginning: on a disk without room this still can be written.
        """
        lines = f"{os.getpid()}\n{' '.join(paused.split())}".encode()[: LOCK_BYTES - 1]
        os.pwrite(self.fd, lines.ljust(LOCK_BYTES - 1) + b"\n", 0)

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Away(Protocol):
    """Where files go once they are complete, if they do not stay."""

    def get_file(self, name: str, path: Path) -> None:
        """Bring a file back, whole or not at all; raises `FileNotFoundError`."""


class CrawlFolder:
    """The layout of a crawl's folder. Making one touches nothing; `create` does.

    Several commands that share a frontier may share a folder too: each has a seat, that is, a folder of its own within
    (`home`) and a word in the names of its files. Without a seat the folder is seen as a whole.
    """

    def __init__(self, path: Path | str, seat: str = "", away: Away | None = None) -> None:
        self.path = Path(path)
        self.seat = seat
        self.away = away
        self.home = self.path / SEATS / seat if seat else self.path
        self.settings = self.path / "lycosa.toml"
        self.seeds = self.path / "seeds.txt"
        self.own_settings = self.home / "lycosa.toml"
        self.frontier = self.home / "frontier"
        self.log = self.home / "lycosa.log"
        self.warc = self.path / "warc"
        self.pages = self.path / "pages"
        self.links = self.path / "links"
        self.items = self.path / "items"
        self.orders = self.path / "orders"
        self.report = self.path / "report.html"
        self.logbook = self.home / "logbook.jsonl"
        self.live = self.home / "live.json"
        self.coverage = self.home / "coverage.json"
        self._lock = self.home / "lock"

    def __repr__(self) -> str:
        return f"CrawlFolder({str(self.path)!r}, {self.seat!r})"

    @property
    def whole(self) -> CrawlFolder:
        """The folder with the files of all seats."""
        return CrawlFolder(self.path, away=self.away)

    def seats(self) -> list[CrawlFolder]:
        """The folder as each of its seats has it."""
        return [CrawlFolder(self.path, home.name, self.away) for home in sorted((self.path / SEATS).glob("*"))]

    def siblings(self) -> list[CrawlFolder]:
        """The other seats of this machine."""
        machine = _machine_of(self.seat)
        return [other for other in self.seats() if machine == _machine_of(other.seat) and other.seat != self.seat]

    @property
    def exists(self) -> bool:
        """Whether a crawl has begun here."""
        return self.settings.is_file() or self.pages.is_dir()

    def read_seeds(self) -> list[ParsedUrl]:
        """The seeds of the crawl; none before it has begun. Raises `SettingsError` if they cannot be read."""
        try:
            text = self.seeds.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{self.seeds}: the seeds of this crawl cannot be read: {error}") from None
        if not (lines := text.splitlines()):
            raise SettingsError(f"{self.seeds}: the seeds of this crawl are gone; write them anew, one URL a line")
        if not text.endswith("\n"):
            # Half a URL may be one, too.
            raise SettingsError(
                f"{self.seeds}: the seeds of this crawl are cut off at {lines[-1]!r}; "
                "write them anew, one URL a line, with a line break at the end"
            )
        return parse_seeds(lines, SCHEMES)

    def has_pages(self) -> bool:
        """Whether anything was stored here."""
        return any(self.pages.glob("*")) or any(self.warc.glob("*"))

    def create(self) -> None:
        """Make the folder and its parts; those there already stay as they are."""
        try:
            for part in (self.frontier, self.warc, self.pages, self.links, self.items):
                part.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingsError(f"{self.path}: cannot be made a crawl's folder: {error.strerror}") from error

    def lock(self, patience_seconds: float = ORPHAN_SECONDS) -> Lock:
        """Hold the folder, or the seat, against other crawls; raises `FolderInUse` naming the process that has it.

        The descriptor is inherited: while a worker of a dead supervisor still runs, the folder stays held. Such a
        worker leaves as soon as it looks up, so it is waited for.
        """
        lock = self._own_lock(patience_seconds)
        # Of a crawl that wants the whole and one that wants a seat, the later sees the other.
        others = [self.whole] if self.seat else self.seats()
        if holder := next((process for each in others if (process := each._holder())), 0):
            lock.release()
            raise FolderInUse(f"{self.path}: another crawl (process {holder}) is using this folder")
        return lock

    def _own_lock(self, patience_seconds: float) -> Lock:
        try:
            fd = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise SettingsError(f"{self.path}: cannot be locked: {error.strerror}") from error
        give_up_at = time.monotonic() + patience_seconds
        while not _try_lock(fd):
            holder = _told(fd)[0] or "unknown"
            if _is_running(holder) or time.monotonic() > give_up_at:
                os.close(fd)
                raise FolderInUse(f"{self.path}: another crawl (process {holder}) is using this folder")
            time.sleep(0.02)
        lock = Lock(fd)
        os.ftruncate(fd, 0)
        lock.tell()
        os.set_inheritable(fd, True)
        return lock

    def running_process(self) -> int:
        """A process that crawls into this folder, whatever its seat; 0 if none does, -1 if it cannot be named."""
        return next((process for each in (self, *self.seats()) if (process := each._holder())), 0)

    def is_held(self) -> bool:
        """Whether a crawl has this seat, or the folder as a whole."""
        return self._holder() != 0

    def paused(self) -> str:
        """Why the crawl that holds this folder, or one of its seats, is paused; empty if it is not."""
        return next((why for each in (self, *self.seats()) if (why := each._paused())), "")

    def _paused(self) -> str:
        if not self.is_held():
            return ""
        with self._lock.open("rb") as file:
            return _told(file.fileno())[1]

    def _holder(self) -> int:
        """Asks for a shared lock and lets go at once: a crawl that starts in that very microsecond is refused."""
        try:
            fd = os.open(self._lock, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return 0
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _told(fd)[0]
            return int(holder) if holder.isdecimal() else -1
        finally:
            os.close(fd)
        return 0

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
        """WARC files being written, or left behind by a crash; of this seat's worker, or of all it has."""
        return self._made_by(worker, self.warc, WARC + OPEN)

    def journals(self, worker: int | None = None) -> list[Path]:
        """Journals being written, or left behind by a crash; of this seat's worker, or of all it has."""
        return self._made_by(worker, self.pages, JOURNAL + OPEN)

    def open_parts(self, worker: int | None = None) -> list[Path]:
        """Parquet files that are not complete; of this seat's worker, or of all it has."""
        places = (self.pages, self.links, self.items)
        return [path for place in places for path in self._made_by(worker, place, PARQUET + OPEN)]

    def warc_path(self, file: str) -> Path:
        """Where a WARC file lies now: under its name, or under its open name while it is written.

        One that has left for an object store is brought back.
        """
        path = self.warc / file
        if path.exists():
            return path
        writing = path.with_name(file + OPEN)
        if self.away and not writing.exists():
            self.away.get_file(f"{self.warc.name}/{file}", path)
            return path
        return writing

    def _made_by(self, worker: int | None, place: Path, suffix: str) -> list[Path]:
        return [
            path
            for path in sorted(place.glob(f"*{suffix}"))
            if (maker := maker_of(path.name)) and self.seat in ("", maker.seat) and worker in (None, maker.worker)
        ]


def take_seat(whole: CrawlFolder, machine: str) -> tuple[CrawlFolder, Lock]:
    """A seat in a folder, made and held: the first of this machine that is free, with what lies there, or a new one."""
    machine = re.sub("[^a-z0-9]+", "-", machine.lower()).strip("-") or "machine"
    while True:
        # In part drawn by lot: machines of one name, each with a disk of its own, may still meet in an object store.
        fresh = CrawlFolder(whole.path, f"{machine}-{secrets.token_hex(4)}", whole.away)
        for folder in (*(seat for seat in whole.seats() if _machine_of(seat.seat) == machine), fresh):
            folder.create()
            try:
                return folder, folder.lock()
            except FolderInUse:
                if whole.is_held():
                    raise
        # A sibling looked into the new seat before we held it.


def _machine_of(seat: str) -> str:
    return seat.rpartition("-")[0]


def _told(fd: int) -> tuple[str, str]:
    """Which process a lock file names, and why its crawl is paused."""
    process, _, paused = os.pread(fd, LOCK_BYTES, 0).decode("utf-8", "replace").partition("\n")
    return process.strip(), paused.strip()


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
