"""Visits of simulated pages, recorded once, that every stage is measured on: leases and outcomes of a real crawl.

Everything is real but the network: a frontier in memory gives the leases, a visitor visits, and a fetcher answers with
rendered pages. Nothing here is measured.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from lycosa.clock import steady_clock
from lycosa.crawl.dispatcher import CentralDispatcher, LocalDispatcher
from lycosa.crawl.extraction import Extraction
from lycosa.crawl.logins import Logins
from lycosa.crawl.settlement import postponement_of, settlement_of
from lycosa.crawl.visit import Visitor
from lycosa.frontier.embedded import memory_frontier
from lycosa.frontier.rules import FrontierRules
from lycosa.hooks import Hooks
from lycosa.model import Kind, Lease, RequestParts, Response, Target
from lycosa.outcome import Deferred, Postponed, Stored
from lycosa.policy.politeness import Pace
from lycosa.ports import NoWatchdog
from lycosa.robots.cache import RobotsCache
from lycosa.settings import Settings
from lycosa.simweb import PageRef, WebPlan
from lycosa.simweb.layout import Layout
from lycosa.simweb.render import Renderer
from lycosa.simweb.robots import robots_text
from lycosa.simweb.web import url_of
from lycosa.site_rules import NO_RULES
from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.fingerprint import Fingerprinter
from lycosa.wiring.worker import digester, make_discovery, make_judge, page_parser

PORT = 80
SETTINGS = Settings(scope="any", min_delay_seconds=0.0, delay_factor=0.0)
FREE_PACE = Pace(min_delay_seconds=0.0, delay_factor=0.0)
AGENT = "lycosa"
KEY = bytes(16)
_FIRST_AT = 1_770_000_000.0
_LEASES = 32
# Of the pages of others: those about as large as the simulated ones.
_MIN_CHARACTERS, _MAX_CHARACTERS, _PAGES_PER_SET = 15_000, 60_000, 5


@dataclass(slots=True)
class Recording:
    """The visits of a crawl in their order: stored pages, and the answers for robots.txt."""

    dispatcher: LocalDispatcher
    seeds: list[Target]
    pages: list[tuple[Lease, Stored]] = field(default_factory=list)
    robots: list[Response] = field(default_factory=list)


class RecordedFetcher:
    """A `Fetcher` that renders what it is asked for."""

    is_cut_off = False

    def __init__(self, plan: WebPlan) -> None:
        self._layout = Layout(plan)
        self._renderer = Renderer(self._layout, PORT)
        self._fetched = 0

    def is_still_at(self, host: str, address: str) -> bool:
        return True

    async def address_of(self, host: str, usual: str) -> str:
        return usual

    def look_again(self, host: str) -> None: ...

    def hold(self, size_bytes: int) -> None: ...

    async def prefetch(self, hosts: Sequence[str]) -> None: ...

    async def close(self) -> None: ...

    async def fetch(
        self,
        url: str,
        *,
        address: str = "",
        headers: Sequence[tuple[str, str]] = (),
        max_body_bytes: int | None = None,
        parts: RequestParts | None = None,
    ) -> Response:
        """The page at this URL, or robots.txt, or a 404."""
        self._fetched += 1
        status, media, body = self._answer(url)
        head = f'HTTP/1.1 {status}\r\nServer: simweb\r\nContent-Type: {media}\r\nETag: "{self._fetched}"\r\n'
        head += f"Content-Length: {len(body)}\r\nConnection: keep-alive\r\n\r\n"
        lines = [line.partition(": ") for line in head.split("\r\n")[1:-2]]
        request = f"GET {urlsplit(url).path} HTTP/1.1\r\nHost: {urlsplit(url).hostname}\r\nAccept: */*\r\n\r\n"
        return Response(
            url, status, [(name.lower(), value) for name, _, value in lines], body, body, head.encode(),
            request.encode(), "127.1.0.1", "http/1.1", _FIRST_AT + self._fetched, 0.001,
        )  # fmt: skip

    def _answer(self, url: str) -> tuple[int, str, bytes]:
        parts = urlsplit(url)
        host = self._layout.names.host_named(parts.hostname or "")
        assert host is not None, "no link leads out of a simulated web"
        if parts.path == "/robots.txt":
            return 200, "text/plain", robots_text(self._layout.host(host), f"http://{parts.hostname}").encode()
        ref = self._layout.page_at(host, parts.path + (f"?{parts.query}" if parts.query else ""))
        if ref is None:
            return 404, "text/html", b"<title>404</title>"
        return 200, "text/html; charset=utf-8", b"".join(self._renderer.page(ref, 0))


async def record(plan: WebPlan, pages: int) -> Recording:
    """Crawl so many pages of the web."""
    layout, clock = Layout(plan), steady_clock()
    frontier = memory_frontier(FrontierRules(pace=FREE_PACE), clock)
    dispatcher = CentralDispatcher(frontier, clock, max_wait_seconds=0.0).window(0)
    seeds = [_target(url_of(layout, PORT, PageRef(host, 0))) for host in range(plan.hosts)]
    discovery = make_discovery(SETTINGS, [], KEY)
    judge = make_judge(SETTINGS, [], KEY, dispatcher)
    robots_cache, fetcher = RobotsCache(dispatcher, AGENT, 86_400.0, 3), RecordedFetcher(plan)
    visitor = Visitor(
        fetcher, robots_cache, judge, page_parser(SETTINGS), discovery, digester(SETTINGS), dispatcher,
        clock, max_redirects=5, max_requisites=0, watchdog=NoWatchdog(), spaces_addresses=False,
        extraction=Extraction(discovery, NO_RULES, Hooks()), hooks=Hooks(),
        logins=Logins(NO_RULES, Path(), fetcher, robots_cache, FREE_PACE, clock),
    )  # fmt: skip
    recording = Recording(dispatcher, seeds)
    await frontier.add(seeds)
    while len(recording.pages) < pages and (leases := await dispatcher.take(_LEASES)):
        for lease in leases:
            outcome = await visitor.visit(lease)
            learnt = judge.learn(lease, outcome)
            assert not isinstance(outcome, Deferred), "the network is always there"
            if isinstance(outcome, Postponed):
                await dispatcher.settle([postponement_of(lease, outcome)])
                continue
            settlement = settlement_of(lease, outcome, learnt)
            await dispatcher.settle([settlement])
            discovery.remembered.add(target.fingerprint for target in settlement.discovered)
            if isinstance(outcome, Stored):
                recording.pages.append((lease, outcome))
            elif lease.target.kind is Kind.ROBOTS and (response := getattr(outcome, "response", None)):
                recording.robots.append(response)
    del recording.pages[pages:]
    return recording


def recorded_pages(folder: Path) -> list[bytes]:
    """Pages of others, a few of each set in the folder; none if it is not there."""
    return [page for file in sorted(folder.glob("*/html.jsonl.xz")) for page in islice(_in(file), _PAGES_PER_SET)]


def _in(file: Path) -> Iterator[bytes]:
    with lzma.open(file, "rt", encoding="utf-8") as rows:
        for row in rows:
            html = json.loads(row)["html"]
            if _MIN_CHARACTERS < len(html) < _MAX_CHARACTERS:
                yield html.encode("utf-8", "replace")


def _target(url: str) -> Target:
    parsed = parse(url)
    assert isinstance(parsed, ParsedUrl)
    return Target(parsed.url, parsed.host, Fingerprinter(KEY).fingerprint(parsed.url))
