"""A simulated web that is running: its server, its DNS server, its log and its truth in one object.

`SimWeb` serves a plan. Knows how the parts are put together, and nothing of what they do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from .dns import DnsServer, Lookup, Query
from .http import Ask, Reply
from .layout import Layout, PageRef, PageVersion
from .log import LoggedRequest, RequestLog
from .names import address_of, origin_of
from .plan import WebPlan
from .planned import PlannedSite
from .server import Behaviour, ServedSite, SimServer, loopback_socket
from .truth import Truth, truth_of


@dataclass(frozen=True, slots=True)
class Listening:
    """Where and how a simulated web listens; port 0 takes any free one."""

    port: int = 0
    dns_port: int = 0
    dns_ttl_seconds: int = 60
    log_file: Path | None = None
    is_log_kept: bool = True


class Loopback:
    """The server, the DNS server and the log of one web, started and ended together."""

    def __init__(self, listening: Listening) -> None:
        self.listening = listening
        self.log = RequestLog(is_kept=listening.is_log_kept)
        self.port = 0
        self.dns_port = 0
        self._server: SimServer | None = None
        self._dns: DnsServer | None = None

    async def start(self, site_on: Callable[[int], ServedSite], lookup: Lookup) -> None:
        """Serve the site, which is made when its port is known."""
        try:
            await self._start(site_on, lookup)
        except BaseException:
            await self.close()
            raise

    async def _start(self, site_on: Callable[[int], ServedSite], lookup: Lookup) -> None:
        if self.listening.log_file is not None:
            self.log.open(self.listening.log_file)
        listener = loopback_socket(self.listening.port)
        self.port = listener.getsockname()[1]
        self._server = SimServer(site_on(self.port), self.log)
        await self._server.start(listener)
        self._dns = DnsServer(
            lookup, ttl_seconds=self.listening.dns_ttl_seconds, is_log_kept=self.listening.is_log_kept
        )
        self.dns_port = await self._dns.start(self.listening.dns_port)

    async def close(self) -> None:
        """End all connections and close the log."""
        if self._dns is not None:
            self._dns.close()
        try:
            if self._server is not None:
                await self._server.close()
        finally:
            self.log.close()

    @property
    def dns_queries(self) -> list[Query]:
        """Every question the DNS server was asked."""
        return self._dns.queries if self._dns is not None else []


class SimWeb:
    """A planned web on loopback: `async with SimWeb(plan) as web: ...`."""

    def __init__(
        self,
        plan: WebPlan,
        listening: Listening = Listening(),
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.plan = plan
        self.layout = Layout(plan)
        self.started_at = clock()
        self._clock = clock
        self._loopback = Loopback(listening)
        self._behaviours: dict[int, Behaviour] = {}

    async def __aenter__(self) -> Self:
        await self._loopback.start(self._make_site, self._addresses)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._loopback.close()

    @property
    def port(self) -> int:
        """The port of every host."""
        return self._loopback.port

    @property
    def dns_address(self) -> str:
        """Where the names of this web resolve, as `address:port`."""
        return f"127.0.0.1:{self._loopback.dns_port}"

    @property
    def seeds(self) -> tuple[str, ...]:
        """The URLs from which every host can be reached."""
        return seeds_of(self.layout, self.port)

    @property
    def requests(self) -> list[LoggedRequest]:
        """Every request so far, in the order of arrival."""
        return self._loopback.log.requests

    @property
    def request_count(self) -> int:
        """How many requests there were, also where the log keeps none of them."""
        return self._loopback.log.count

    def describe(self) -> str:
        """What there is, in a few words."""
        return f"{self.plan.hosts:,} hosts x {self.plan.pages_per_host:,} pages"

    @property
    def dns_queries(self) -> list[Query]:
        """Every question the DNS server was asked."""
        return self._loopback.dns_queries

    def truth(self) -> Truth:
        """All pages, and what should be found of them."""
        return truth_of(self.layout, self.port, self.seeds)

    def url(self, host: int, page: int = 0) -> str:
        """The URL of a page by its numbers."""
        return url_of(self.layout, self.port, PageRef(host, page))

    def version(self, url: str) -> PageVersion | None:
        """Which version of the page is served now, and since and until when."""
        parts = urlsplit(url)
        host = self.layout.names.host_named(parts.hostname or "")
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        ref = self.layout.page_at(host, path) if host is not None else None
        return self.layout.version(ref, self._elapsed_seconds()) if ref is not None else None

    def behave_host(self, host: int, behaviour: Behaviour) -> None:
        """Let a host answer every request by a behaviour instead of by the plan."""
        self._behaviours[host] = behaviour

    def _make_site(self, port: int) -> PlannedSite:
        site = PlannedSite(self.layout, port, self._elapsed_seconds, self.started_at)
        site.behaviours = self._behaviours
        return site

    def _elapsed_seconds(self) -> float:
        return self._clock() - self.started_at

    def _addresses(self, name: str) -> Sequence[str] | None:
        host = self.layout.names.host_named(name)
        return (address_of(host),) if host is not None else None


def reply_to(plan: WebPlan, url: str) -> Reply:
    """The answer a web of this plan would give for a URL, without serving it."""
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError(f"{url!r} is no URL of a simulated web (http://HOST:PORT/PATH)")
    plan = replace(plan, is_prerendered=False)
    site = PlannedSite(Layout(plan), parts.port or 80, lambda: 0.0, time.time())
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    answer = site.answer(Ask("GET", parts.hostname, path, {}, is_last=True))
    assert isinstance(answer, Reply), "a plan alone has no behaviours"
    return answer


def seeds_of(layout: Layout, port: int) -> tuple[str, ...]:
    """The home page of host 0, from which every host can be reached."""
    return (url_of(layout, port, PageRef(0, 0)),)


def url_of(layout: Layout, port: int, ref: PageRef) -> str:
    """The URL of a page as served on a port."""
    return origin_of(layout.host(ref.host).name, port) + layout.path(ref)
