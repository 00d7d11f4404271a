"""What robots.txt says of a URL that is no target: what a page's browser asks for, at its own origin or at another.

The frontier's record is used where it has one that holds. Else robots.txt is fetched here, and kept for this worker
only: the origin may be none that is crawled.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple

import msgspec

from lycosa.clock import Clock
from lycosa.errors import VisitError
from lycosa.ports import Dispatcher, Fetcher
from lycosa.robots.cache import Ruling
from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import FETCHED_ROBOTS_BYTES
from lycosa.robots.verdict import RobotsRecord, reliable_status, robots_verdict
from lycosa.url.canonical import ParsedUrl, Rejection, parse

MAX_ORIGINS = 2_000
# A record of the frontier is asked for anew after this time, in case it has another by then.
MAX_AGE_SECONDS = 600.0
MAX_REDIRECTS = 5


class Permit(NamedTuple):
    """Whether a URL may be asked for, and how long its host wants to be left alone between two requests."""

    is_given: bool
    crawl_delay_seconds: float = 0.0


class _Known(NamedTuple):
    matcher: RobotsMatcher
    record: RobotsRecord
    until: float


class RobotsElsewhere:
    """Answers for any URL; what cannot be found out forbids, as everywhere."""

    def __init__(
        self, dispatcher: Dispatcher, fetcher: Fetcher, agent: str, cache_seconds: float, clock: Clock
    ) -> None:
        self._dispatcher = dispatcher
        self._fetcher = fetcher
        self._agent = agent
        self._cache_seconds = cache_seconds
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        # Of several requests for an origin the first finds out, the others wait for that.
        self._asking: dict[str, asyncio.Lock] = {}

    async def permit(self, url: ParsedUrl) -> Permit:
        """Whether a request for this URL may be sent."""
        known = self._known.get(url.origin)
        if known is None or known.until <= self._clock():
            async with self._asking.setdefault(url.origin, asyncio.Lock()):
                known = self._known.get(url.origin)
                if known is None or known.until <= self._clock():
                    known = await self._find_out(url.origin)
            self._asking.pop(url.origin, None)
        self._known.move_to_end(url.origin)
        delay = known.record.rules.crawl_delay_seconds or 0.0
        return Permit(known.matcher.allows(url.path_and_query), delay)

    async def _find_out(self, origin: str) -> _Known:
        now = self._clock()
        if raw := await self._dispatcher.robots(origin):
            ruling = msgspec.msgpack.decode(raw, type=Ruling)
            # It may have expired meanwhile: the frontier asks for it again only where targets wait.
            if ruling.record.expires_at > now:
                until = min(now + MAX_AGE_SECONDS, ruling.record.expires_at)
                return self._keep(origin, ruling.record, until)
        previous = self._known.get(origin)
        record = await self._ask(origin, previous.record if previous else None)
        return self._keep(origin, record, record.expires_at)

    def _keep(self, origin: str, record: RobotsRecord, until: float) -> _Known:
        known = self._known[origin] = _Known(RobotsMatcher(record.rules), record, until)
        while len(self._known) > MAX_ORIGINS:
            self._known.popitem(last=False)
        return known

    async def _ask(self, origin: str, previous: RobotsRecord | None) -> RobotsRecord:
        url, status, body = f"{origin}/robots.txt", None, b""
        try:
            for _ in range(MAX_REDIRECTS + 1):
                response = await self._fetcher.fetch(url, max_body_bytes=FETCHED_ROBOTS_BYTES)
                location = response.header("location")
                if not (response.is_redirect and location):
                    status, body = reliable_status(response), response.body
                    break
                to = parse(location, url)
                if isinstance(to, Rejection):
                    status = 404
                    break
                url = to.url
            else:
                # As if there were none (RFC 9309, 2.3.1.2).
                status = 404
        except VisitError:
            status = None
        return robots_verdict(status, body, self._agent, self._clock(), previous, cache_seconds=self._cache_seconds)
