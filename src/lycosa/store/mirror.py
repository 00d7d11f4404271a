"""A crawl in an object store as a folder to read: tables are copied here when it is opened, WARC files when needed.

Files in the store never change once they are there, so what is here already is kept for the next time.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lycosa.store.folder import PARQUET, WARC, CrawlFolder
from lycosa.store.objects import ObjectPlace, Objects


def copies_of(place: ObjectPlace) -> Path:
    """Where copies of a place in an object store are kept on this machine."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "lycosa" / place.bucket / place.prefix


class MirroredFolder(CrawlFolder):
    """The part of a crawl that has arrived in an object store. Only to read."""

    def __init__(self, objects: Objects) -> None:
        super().__init__(copies_of(objects.place), away=objects)
        self._objects = objects
        self.create()
        with self._alone():
            # Listed while nobody else copies: an older list would take newer copies away.
            self._sizes = objects.sizes()
            for path in (self.settings, self.seeds):
                if path.name in self._sizes:
                    objects.get_file(path.name, path)
            for folder, end in ((self.warc, WARC), (self.pages, PARQUET), (self.links, PARQUET), (self.items, PARQUET)):
                for path in folder.glob(f"*{end}"):
                    if f"{folder.name}/{path.name}" not in self._sizes:
                        path.unlink()
            self._bring(self.pages)
            self._bring(self.links)
            self._bring(self.items)

    @property
    def exists(self) -> bool:
        return bool(self._sizes)

    def warc_files(self) -> list[Path]:
        with self._alone():
            self._bring(self.warc)
        return super().warc_files()

    def disk_bytes(self) -> int:
        """What the crawl takes in the store."""
        return sum(self._sizes.values())

    def _bring(self, folder: Path) -> None:
        """Copy what is missing here of one of the folders."""
        for name, size in self._sizes.items():
            path = self.path / name
            if path.parent == folder and not (path.exists() and path.stat().st_size == size):
                self._objects.get_file(name, path)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other reader of this machine copies."""
        with (self.path / "copying").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
