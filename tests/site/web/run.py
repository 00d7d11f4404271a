"""Crawls made-up sites with the real command and tells what it found of them and what it wasted.

`python -m tests.site.web.run` crawls all of them, `… run NAME…` some, `… run --walk` compares each with its own truth.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import urlsplit

from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect

from ...crawl.command import start
from .alike_good import ALIKE_GOOD
from .endless import ENDLESS
from .fourth_endless import FOURTH_ENDLESS
from .fourth_good import FOURTH_GOOD
from .further_good import FURTHER_GOOD
from .good import GOOD, HARD
from .server import ServedWeb, served
from .site import Site
from .unseen_endless import UNSEEN_ENDLESS
from .unseen_good import UNSEEN_GOOD
from .walk import walk

WITHOUT_END = {**ENDLESS, **UNSEEN_ENDLESS, **FOURTH_ENDLESS}
SITES: dict[str, Callable[[], Site]] = {
    **GOOD,
    **HARD,
    **UNSEEN_GOOD,
    **FURTHER_GOOD,
    **FOURTH_GOOD,
    **ALIKE_GOOD,
    **WITHOUT_END,
}
MIN_RECALL = 0.99
MAX_WASTE, MAX_WASTE_SHARE = 300, 0.1
# A crawl that takes this long will not end by itself; one that takes so many pages more than the good ones neither.
MAX_SECONDS = 240.0
MAX_OTHER_PAGES, MAX_ENDLESS_PAGES = 5_000, 2_000
_STOP_SECONDS = 60.0


@dataclass(frozen=True)
class Result:
    """What a crawl of a site came to."""

    name: str
    found: int
    total: int
    wasted: int
    requests: int
    has_ended: bool
    exit_code: int
    seconds: float
    said: str = ""
    # What has no end is left out, and the command says so by its exit code.
    expected_exits: tuple[int, ...] = (0,)

    @property
    def recall(self) -> float:
        """The share of the good pages that were kept."""
        return self.found / self.total

    @property
    def faults(self) -> list[str]:
        """What is not as it must be."""
        is_wasteful = self.wasted > MAX_WASTE and self.wasted > MAX_WASTE_SHARE * self.requests
        return [
            *(["recall"] if self.recall < MIN_RECALL else []),
            *(["waste"] if is_wasteful else []),
            *(["no end"] if not self.has_ended else []),
            *([f"exit {self.exit_code}"] if self.has_ended and self.exit_code not in self.expected_exits else []),
        ]

    def row(self) -> str:
        """One line of the table."""
        return (
            f"{self.name:28}{self.found:6} /{self.total:5}{self.recall:8.1%}{self.wasted:8}{self.requests:9}"
            f"{'yes' if self.has_ended else 'NO':>7}{self.exit_code:6}{self.seconds:8.1f}  {', '.join(self.faults)}"
        )


HEAD = f"{'site':28}{'found':>6} /{'total':>5}{'recall':>8}{'endless':>8}{'requests':>9}{'ended':>7}{'exit':>6}{'s':>8}"


def crawl_site(name: str, folder: Path, workers: int = 1) -> Result:
    """Serve a site and crawl it until the crawl ends, or is taken for endless."""
    # What an earlier crawl found would count.
    folder.mkdir(parents=True)
    began_at = time.monotonic()
    with served(SITES[name]()) as web:
        settings = {
            "scope": "domain",
            "workers": workers,
            "max_depth": 100_000,
            "max_pages": web.site.total + (MAX_ENDLESS_PAGES if name in WITHOUT_END else MAX_OTHER_PAGES),
            "durability": "process",
            "seen_capacity": 100_000,
            "report": False,
            **web.site.settings,
        }
        with start(web, folder, *web.seeds, **settings) as running:
            try:
                running.process.wait(MAX_SECONDS)
            except subprocess.TimeoutExpired:
                running.signal(signal.SIGINT)
            ended = running.end(_STOP_SECONDS)
        seconds = time.monotonic() - began_at
        return Result(
            name=name,
            found=len(kept_pages(web.site, folder)),
            total=web.site.total,
            wasted=wasted(web),
            requests=len(web.asked),
            # One that came to its limit of pages counts as finished, but has not ended by itself.
            has_ended=ended.summary.get("ending") == "finished" and not ended.summary["queued"],
            exit_code=ended.exit_code,
            seconds=seconds,
            said=ended.said[-2000:],
            expected_exits=(0, 3) if web.site.endless else (0,),
        )


def kept_pages(site: Site, folder: Path) -> set[str]:
    """The good pages that the crawl has as pages, under whatever URL."""
    with connect(CrawlFolder(folder)) as tables:
        rows = tables.execute("select url from pages where outcome in ('stored', 'duplicate')").fetchall()
    pages = (site.good_page(without_port(url)) for (url,) in rows)
    return {page for page in pages if page is not None}


def wasted(web: ServedWeb) -> int:
    """The requests for what is endless, and those for a page that was asked for before, under whatever URL."""
    known: set[str] = set()
    waste = 0
    for url in web.asked:
        plain = web.site.plain(url)
        waste += web.site.is_endless(url) or plain in known
        known.add(plain)
    return waste


def without_port(url: str) -> str:
    """The URL as the site writes it."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.hostname or "").geturl()


def crawl_sites(names: Sequence[str], folder: Path, *, workers: int = 1, jobs: int = 1) -> Iterable[Result]:
    """The results of some sites, as they come in."""
    # A fork would inherit the threads of a server.
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), max_tasks_per_child=1)
    try:
        waiting = [pool.submit(crawl_site, name, folder / name, workers) for name in names]
        for each in as_completed(waiting):
            yield each.result()
    finally:
        pool.shutdown(cancel_futures=True)


def check_truth(names: Sequence[str]) -> bool:
    """Whether all good pages of each site can be found by links, and no more of them than it says."""
    is_right = True
    for name in names:
        site = SITES[name]()
        walked = walk(site)
        is_same = len(walked.good) == site.total and not walked.missing
        is_right &= is_same
        print(f"{name:28}{len(walked.good):6} /{site.total:5}{walked.asked:8} asked{walked.depth:6} deep", end="")
        print("" if is_same else f"  WRONG {walked.missing[:2]}", flush=True)
    return is_right


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.site.web.run", description=__doc__)
    parser.add_argument(
        "names", nargs="*", help="sites, or good, hard, endless, unseen-good, unseen-endless (default: all)"
    )
    parser.add_argument("--workers", type=int, default=1, help="worker processes of each crawl")
    parser.add_argument("--jobs", type=int, default=2, help="crawls at the same time")
    parser.add_argument(
        "--folder", type=Path, help="where the crawls are kept, each in a new folder (default: nowhere)"
    )
    parser.add_argument("--walk", action="store_true", help="crawl nothing: follow all links and compare the totals")
    options = parser.parse_args()
    groups = {
        "good": GOOD,
        "unseen-good": UNSEEN_GOOD,
        "hard": HARD,
        "endless": ENDLESS,
        "unseen-endless": UNSEEN_ENDLESS,
        "further-good": FURTHER_GOOD,
        "fourth-good": FOURTH_GOOD,
        "fourth-endless": FOURTH_ENDLESS,
        "alike-good": ALIKE_GOOD,
    }
    names = [name for each in options.names or groups for name in groups.get(each, {each: None})]
    if unknown := [name for name in names if name not in SITES]:
        parser.error(f"there is no site {unknown[0]!r}; there are {', '.join(SITES)}")
    if options.walk:
        return 0 if check_truth(names) else 1
    with tempfile.TemporaryDirectory() as spare:
        folder = options.folder or Path(spare)
        print(HEAD, flush=True)
        bad = 0
        for result in crawl_sites(names, folder, workers=options.workers, jobs=options.jobs):
            print(result.row(), flush=True)
            bad += bool(result.faults) and result.name not in HARD
    print(f"{len(names)} sites, {bad} with faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
