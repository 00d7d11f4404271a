"""A web whose pages change at known rates, crawled for simulated weeks through the whole stack: requests over sockets,
a worker, files, RocksDB; only the clock is moved by hand, whenever nothing is under way.
"""

from __future__ import annotations

import asyncio
import shutil
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

from lycosa.crawl.dispatcher import CentralDispatcher
from lycosa.frontier.embedded import EmbeddedFrontier
from lycosa.settings import Settings, from_values
from lycosa.simweb import HandWeb
from lycosa.simweb.http import Ask, Reply, make_reply
from lycosa.store.folder import CrawlFolder
from lycosa.url.canonical import parse_seeds
from lycosa.wiring.crawl import open_frontier, seed_targets
from lycosa.wiring.worker import make_worker

DAY = 86_400.0
BEGIN = 1_800_000_000.0
_WORDS = ("spider", "web", "fox", "dog", "quick", "brown", "lazy", "jumps", "sees", "over", "again", "silk", "thread")


class SimulatedClock:
    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> float:
        return self.now


class MovingWeb(HandWeb):
    """Pages at `/p<n>` that change at moments which were drawn before; `/` leads to all of them.

    It may have a sitemap, which tells when each page changed last, or how important each is.
    """

    def __init__(
        self,
        clock: SimulatedClock,
        rates: Sequence[float],
        seconds: float,
        seed: int = 1,
        *,
        tells_changes: bool = False,
        has_feed: bool = False,
        lies: bool = False,
        priorities: Sequence[float] = (),
    ) -> None:
        super().__init__()
        self.clock = clock
        self._tells_changes, self._priorities, self._lies = tells_changes, priorities, lies
        if tells_changes or priorities or lies:
            self.robots("a.test", "User-agent: *\nSitemap: /sitemap.xml\n")
        random = Random(seed)
        self._changes = [_moments(random, rate, seconds) for rate in rates]
        self.served = [-1] * len(rates)
        self.seen_after: list[list[float]] = [[] for _ in rates]  # how old each change was when it was seen
        self.visits = 0
        links = "<a href='/feed.atom'></a>" if has_feed else ""
        links += "".join(f"<a href='/p{number}'></a>" for number in range(len(rates)))
        self.page("http://a.test/", f"<html><body><p>All pages.</p>{links}</body></html>")

    def version(self, number: int) -> int:
        return bisect_right(self._changes[number], self.clock.now)

    def sitemap(self) -> str:
        """What the site says of its pages now."""
        told = []
        for number in range(len(self.served)):
            at = _written(self.clock.now) if self._lies else self._changed_at(number)
            if at and (self._tells_changes or self._lies):
                told.append(f"<lastmod>{at}</lastmod>")
            if self._priorities:
                told.append(f"<priority>{self._priorities[number]}</priority>")
            told.append(f"<loc>{self.url('a.test', f'/p{number}')}</loc></url><url>")
        return f"<urlset><url>{''.join(told).removesuffix('<url>')}</urlset>"

    def feed(self) -> str:
        """The pages that have changed, in Atom."""
        told = "".join(
            f"<entry><link href='/p{number}'/><updated>{at}</updated></entry>"
            for number in range(len(self.served))
            if (at := self._changed_at(number))
        )
        return f"<feed xmlns='http://www.w3.org/2005/Atom'><title>News</title>{told}</feed>"

    def _changed_at(self, number: int) -> str:
        version = self.version(number)
        return _written(self._changes[number][version - 1]) if version else ""

    def answer(self, ask: Ask) -> Reply:
        if ask.target == "/sitemap.xml":
            self.visits += 1
            return make_reply(200, self.sitemap().encode(), {"Content-Type": "application/xml"})
        if ask.target == "/feed.atom":
            self.visits += 1
            return make_reply(200, self.feed().encode(), {"Content-Type": "application/atom+xml"})
        if not ask.target.startswith("/p"):
            self.visits += ask.target == "/"
            found = super().answer(ask)
            assert isinstance(found, Reply)
            return found
        number = int(ask.target[2:])
        version, before = self.version(number), self.served[number]
        self.visits += 1
        if 0 <= before < version:
            self.seen_after[number].append(self.clock.now - self._changes[number][before])
        self.served[number] = version
        etag = f'"{number}-{version}"'
        if ask.headers.get("if-none-match") == etag:
            return make_reply(304, b"", {"ETag": etag})
        random = Random(number * 1_000 + version)
        own = f"page {number} " + " ".join(random.choices(_WORDS, k=60)) + f" version {version}"
        body = f"<html><title>{number}</title><body><p>{own}</p></body></html>".encode()
        return make_reply(200, body, {"Content-Type": "text/html; charset=utf-8", "ETag": etag})

    def mean_age(self) -> float:
        """For how long our copies have not been the pages as they are: the truth."""
        ages = [
            self.clock.now - self._changes[number][served] if 0 <= served < self.version(number) else 0.0
            for number, served in enumerate(self.served)
        ]
        return sum(ages) / len(ages)

    def fresh_share(self, numbers: Sequence[int] | None = None) -> float:
        """The share of pages of which the newest version was fetched: the truth."""
        asked = range(len(self.served)) if numbers is None else numbers
        return sum(self.served[number] == self.version(number) for number in asked) / len(asked)


class Month:
    """One crawl of a moving web."""

    def __init__(self, web: MovingWeb, space: Path, pages_per_day: float, **settings: object) -> None:
        self.web = web
        self.shares: list[tuple[float, float]] = []
        self._space, self._copies = space, 0
        self.folder = CrawlFolder(space / "crawl")
        values: Mapping[str, object] = {
            "min_delay_seconds": 0.0,
            "delay_factor": 0.0,
            "open_networks": ["127.0.0.0/8"],
            "dns_servers": [web.dns_address],
            "durability": "process",
            "seen_capacity": 10_000,
            "continuous": True,
            "pages_per_second": pages_per_day / DAY,
            "max_links": 10_000,
            "traps": False,
            "robots_cache_seconds": 1_000 * DAY,
            **settings,
        }
        self.settings: Settings = from_values(dict(values))

    async def open(self) -> None:
        self.frontier = await self._opened()

    async def _opened(self) -> EmbeddedFrontier:
        self.folder.create()
        frontier = await open_frontier(self.settings, self.folder.frontier, 1, self.web.clock)
        assert isinstance(frontier, EmbeddedFrontier)
        return frontier

    async def plant(self, paths: Sequence[str]) -> None:
        seeds = parse_seeds([self.web.url("a.test", path) for path in paths])
        await self.frontier.add(seed_targets(self.settings, seeds, self.frontier.crawl_key()))
        self.folder.seeds.write_text("".join(f"{seed.url}\n" for seed in seeds))

    async def go_on(self, seconds: float, step: float) -> None:
        """Crawl for so long, moving the clock by a step at least."""
        dispatcher = _JumpingDispatcher(self, self.web.clock.now + seconds, step)
        worker = make_worker(
            self.settings, self.folder, 0, dispatcher.window(0), self.frontier.crawl_key(), clock=self.web.clock
        )
        await worker.run()
        await worker.close()

    async def die(self) -> None:
        """Go on with the files of the frontier as they are in this moment, as after kill -9."""
        self._copies += 1
        copy = CrawlFolder(self._space / f"copy{self._copies}")
        shutil.copytree(self.folder.path, copy.path)
        dead, self.folder = self.frontier, copy
        self.frontier = await self._opened()
        await dead.close()

    def sample(self) -> None:
        self.shares.append((self.web.clock.now, self.web.fresh_share()))

    def mean_share(self, since: float) -> float:
        """Of fresh pages, over time."""
        spans = [
            (until - at, share)
            for (at, share), (until, _) in zip(self.shares, self.shares[1:], strict=False)
            if at >= BEGIN + since
        ]
        return sum(span * share for span, share in spans) / sum(span for span, _ in spans)


class _JumpingDispatcher(CentralDispatcher):
    """Moves the clock where others would wait."""

    def __init__(self, month: Month, until: float, step: float) -> None:
        super().__init__(month.frontier, month.web.clock, max_wait_seconds=1e12)
        self._month, self._until, self._step = month, until, step

    async def _wait(self, news: asyncio.Event, worker: int) -> None:
        if self.frontier.counts().leased:
            await super()._wait(news, worker)
            return
        clock, due = self._month.web.clock, self.frontier.next_at(worker)
        assert due is not None, "something rests"
        clock.now = max(clock.now + self._step, due)
        self._month.sample()
        if clock.now >= self._until:
            self.close()


def _written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


def _moments(random: Random, rate: float, seconds: float) -> list[float]:
    """When a page changes, from the begin on."""
    found: list[float] = []
    at = BEGIN
    while rate and len(found) < 100_000:
        at += random.expovariate(rate)
        if at > BEGIN + seconds:
            break
        found.append(at)
    return found
