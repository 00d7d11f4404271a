"""Bringing the complete files of a crawl from this machine's spool to an object store.

What is being written stays in the spool until it is complete: there it is as safe as in any crawl's folder. A file
leaves the spool only after the store has it whole, so a crash or a store that is away costs time and nothing else.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

from lycosa.errors import BackendLost, LycosaError
from lycosa.store.files import OPEN, maker_of
from lycosa.store.folder import JOURNAL, PARQUET, WARC, CrawlFolder
from lycosa.store.objects import ObjectPlace, Objects

_log = logging.getLogger(__name__)
LOOK_SECONDS = 2.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 60.0


def spool_of(place: ObjectPlace) -> Path:
    """Where this machine keeps what is on its way to a place in an object store, unless told otherwise."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "lycosa" / place.bucket / place.prefix


class Shipper:
    """Ships what a seat's command has completed, and what others of this machine left, on a thread of its own."""

    def __init__(self, folder: CrawlFolder, objects: Objects) -> None:
        self._folder = folder
        self._objects = objects
        self._news = threading.Event()
        # How long trouble is waited out once nothing more will come; None while something may.
        self._patience_seconds: float | None = None
        self._done: Future[None] = Future()
        self.shipped_files = 0
        self.shipped_bytes = 0
        # Daemon: whoever stops at once does not wait for a file that is on its way.
        self._thread = threading.Thread(target=self._run, name="shipper", daemon=True)

    def start(self) -> None:
        """Begin with the small files that describe the crawl: so it is seen at once whether the store takes any."""
        for path in (self._folder.settings, self._folder.seeds):
            self._objects.put_text(path.name, path.read_text(encoding="utf-8"))
        self._begin()

    def _begin(self) -> None:
        # A crawl that waited for its disk starts once more.
        if self._thread.ident is None:
            self._thread.start()

    def finish(self, patience_seconds: float) -> Future[None]:
        """Done when all that is complete now has arrived; fails with `BackendLost` when trouble lasts too long."""
        self._patience_seconds = patience_seconds
        self._news.set()
        self._begin()
        return self._done

    def waiting(self) -> list[Path]:
        """The complete files that are still here."""
        return list(self._complete())

    def _run(self) -> None:
        try:
            self._ship_until_done()
            self._done.set_result(None)
        except BaseException as error:
            self._done.set_exception(error)

    def _ship_until_done(self) -> None:
        pause, well_at, has_tidied = FIRST_PAUSE_SECONDS, time.monotonic(), False
        while True:
            # Before looking: what is complete by the time of `finish` is in this round.
            is_last = self._patience_seconds is not None
            before = self.shipped_files
            try:
                if not has_tidied:
                    self._objects.forget_unfinished(self._folder.seat)
                    has_tidied = True
                self._ship_all()
            except LycosaError as error:
                if self.shipped_files > before:
                    pause, well_at = FIRST_PAUSE_SECONDS, time.monotonic()
                patience = self._patience_seconds
                if patience is not None and time.monotonic() - well_at >= patience:
                    raise BackendLost(
                        f"{error}; {len(self.waiting()):,} files wait in {self._folder.path}, the same command goes on"
                    ) from error
                _log.warning("%s; trying again in %g s, and nothing is lost", error, pause)
                self._rest(pause if patience is None else min(pause, max(well_at + patience - time.monotonic(), 0.01)))
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
                continue
            if is_last:
                return
            pause, well_at = FIRST_PAUSE_SECONDS, time.monotonic()
            self._rest(LOOK_SECONDS)

    def _rest(self, seconds: float) -> None:
        self._news.wait(seconds)
        self._news.clear()

    def _ship_all(self) -> None:
        for path in self._complete():
            self._ship(path)

    def _ship(self, path: Path) -> None:
        name = path.relative_to(self._folder.path).as_posix()
        try:
            size = path.stat().st_size
            there = self._objects.size(name)
            if there is None:
                self._objects.put_file(path, name)
                there = self._objects.size(name)
        except FileNotFoundError:
            return  # a command that took its seat again was quicker
        if there != size:
            # Nobody else makes this name, so what lies there came to harm. It stays as it is, and so does ours.
            raise BackendLost(f"{self._objects.place}/{name} has {there} bytes instead of {size}")
        path.unlink(missing_ok=True)
        self.shipped_files += 1
        self.shipped_bytes += size

    def _complete(self) -> Iterator[Path]:
        """WARC files first: a row that can be read should have its record beside it."""
        left = [seat.seat for seat in self._folder.siblings() if not seat.is_held()]
        seats = {self._folder.seat, *left}
        for place, end in (
            (self._folder.warc, WARC),
            (self._folder.links, PARQUET),
            (self._folder.items, PARQUET),
            (self._folder.pages, PARQUET),
        ):
            for path in sorted(place.glob(f"*{end}")):
                maker = maker_of(path.name)
                if maker and maker.seat in seats and not self._has_journal(path, end):
                    yield path

    def _has_journal(self, path: Path, end: str) -> bool:
        """Whether the rows of a part are still in a journal: after a crash it would be made again under its name."""
        return (self._folder.pages / (path.name.removesuffix(end) + JOURNAL + OPEN)).exists()
