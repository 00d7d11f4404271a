"""Who takes part: lycosa and the other crawlers, each as the command that crawls one web into a folder.

Only this file and the scripts in `peers/` know how a crawler is started; what it is measured by is the same for all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lycosa.bench.install import Cache

Hosts = Literal["many", "one"]
_SCRIPTS = Path(__file__).parent / "peers"
# On top of the pages of a web, for whoever must be told when to stop: a crawl of all of it ends by itself.
_MORE_PAGES = 1_000


@dataclass(frozen=True, slots=True)
class Job:
    """One crawl to do: of all pages of a web, or of so many of far more."""

    seed: str
    pages: int
    folder: Path
    is_part: bool = False
    page_bytes: float = 0.0  # in the mean

    @property
    def max_pages(self) -> int:
        """Where a crawler stops that cannot be relied on to stop by itself."""
        return self.pages if self.is_part else self.pages + _MORE_PAGES


@dataclass(frozen=True, slots=True)
class Launch:
    """A command with what it needs of its surroundings."""

    command: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contestant:
    """A crawler: on how many hosts it is run, what it does with a page, and how it is started."""

    name: str
    hosts: Hosts
    does: str
    launch: Callable[[Job], Launch]
    missing: str = ""  # how to install it, if it is not there
    workers: int = 0  # none: as many as it likes


def lycosa_on(hosts: Hosts, workers: int = 0, settings: tuple[str, ...] = ()) -> Contestant:
    """Lycosa with everything on and without delays."""

    def launch(job: Job) -> Launch:
        changes = [word for change in ("durability=power", "report=false", *settings) for word in ("--set", change)]
        command = [sys.executable, "-m", "lycosa.cli.main", "crawl", job.seed, "--folder", str(job.folder / "crawl")]
        command += ["--scope", "any", "--min-delay", "0", "--delay-factor", "0", "--open-network", "127.0.0.0/8"]
        command += ["--workers", str(workers), *changes, "--json"]
        if job.is_part:
            command += ["--max-pages", str(job.pages)]
        # The crawl must be of this very package, installed or not.
        home = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
        return Launch(command, {"PYTHONPATH": path})

    does = "robots, links, text, duplicates, WARC, Parquet, synced frontier"
    return Contestant("lycosa", hosts, does, launch, workers=workers)


def peers(cache: Cache, names: tuple[str, ...]) -> list[Contestant]:
    """The other crawlers of these names, installed or not."""
    return [_PEERS[name](cache) for name in names]


def _scrapy(cache: Cache) -> Contestant:
    def launch(job: Job) -> Launch:
        return Launch([str(cache.python), str(_SCRIPTS / "scrapy_spider.py"), job.seed, str(job.max_pages)])

    return Contestant("scrapy", "many", "robots, links, title to JSONL", launch, cache.missing_module("scrapy"))


def _crawlee(cache: Cache) -> Contestant:
    def launch(job: Job) -> Launch:
        return Launch([str(cache.python), str(_SCRIPTS / "crawlee_spider.py"), job.seed, str(job.max_pages)])

    return Contestant("crawlee", "many", "robots, links, title to JSONL", launch, cache.missing_module("crawlee"))


def _wget2(cache: Cache) -> Contestant:
    def launch(job: Job) -> Launch:
        # --level=0 is without end; pictures and styles are left out, as the others leave them out.
        command = [cache.wget2 or "wget2", "--recursive", "--level=0", "--max-threads=8", "--quiet", "--no-config"]
        command += ["--ignore-tags=img,link", "--user-agent=bench-wget2", f"--directory-prefix={job.folder}", job.seed]
        if job.is_part:
            # It counts no pages, only bytes.
            command.insert(1, f"--quota={job.pages * job.page_bytes:.0f}")
        return Launch(command, {"LD_LIBRARY_PATH": cache.wget2_libraries})

    return Contestant("wget2", "one", "robots, links, one file per page", launch, cache.missing_wget2())


def _spider_rs(cache: Cache) -> Contestant:
    def launch(job: Job) -> Launch:
        command = ["node", str(_SCRIPTS / "spider_rs.js"), job.seed, str(job.max_pages)]
        return Launch(command, {"NODE_PATH": str(cache.node_modules)})

    return Contestant("spider-rs", "one", "robots, links; pages are dropped", launch, cache.missing_spider_rs())


_PEERS: dict[str, Callable[[Cache], Contestant]] = {
    "scrapy": _scrapy,
    "crawlee": _crawlee,
    "wget2": _wget2,
    "spider-rs": _spider_rs,
}
PEER_NAMES = tuple(_PEERS)
