"""A crawl in an object store as a folder to read: tables are copied here when it is opened, WARC files when needed.

Files in the store never change once they are there, so what is here already is kept for the next time.
"""

from __future__ import annotations

import os
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
        self._sizes = objects.sizes()
        self.create()
        for path in (self.settings, self.seeds):
            path.unlink(missing_ok=True)
            if path.name in self._sizes:
                objects.get_file(path.name, path)
        for folder, end in ((self.pages, PARQUET), (self.links, PARQUET)):
            self._bring(folder, end)

    @property
    def exists(self) -> bool:
        return bool(self._sizes)

    def warc_files(self) -> list[Path]:
        self._bring(self.warc, WARC)
        return super().warc_files()

    def disk_bytes(self) -> int:
        """What the crawl takes in the store."""
        return sum(self._sizes.values())

    def _bring(self, folder: Path, end: str) -> None:
        """Make a folder hold what the store has of it, and nothing else."""
        begin = f"{folder.name}/"
        wanted = {
            name.removeprefix(begin): size
            for name, size in self._sizes.items()
            if name.startswith(begin) and name.endswith(end)
        }
        for path in folder.iterdir():
            if path.name not in wanted:
                path.unlink()
        for name, size in wanted.items():
            path = folder / name
            if not path.exists() or path.stat().st_size != size:
                self._objects.get_file(begin + name, path)
