"""A made-up site on loopback: the server and the DNS server of the simulated web, on a thread of their own.

Sites write URLs without a port; here each gets the port on which it is served.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import uvloop

from lycosa.simweb.http import Ask, Reply, make_reply
from lycosa.simweb.web import Listening, Loopback

from .site import Site

_START_SECONDS = 10
_HOST = re.compile(rb"//(?:[a-z0-9-]+\.)+test(?![a-z0-9.:-])")


class ServedWeb:
    """A site that is being served, and what was asked of it."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.loopback = Loopback(Listening())

    async def start(self) -> None:
        """Listen on any free ports."""
        await self.loopback.start(lambda port: self, self._addresses)

    @property
    def dns_address(self) -> str:
        """Where the names of the site resolve, as `address:port`."""
        return f"127.0.0.1:{self.loopback.dns_port}"

    @property
    def seeds(self) -> list[str]:
        """The seeds of the site with their port."""
        return [self._with_port(seed.encode()).decode() for seed in self.site.seeds]

    @property
    def asked(self) -> list[str]:
        """The URL of every request so far, without the port."""
        return [f"http://{request.host}{request.path}" for request in self.loopback.log.requests]

    def answer(self, ask: Ask) -> Reply:
        """The answer to a request, for the server."""
        status, headers, body = self.site.answer(ask.name, ask.target)
        fields = [(name, self._with_port(value.encode()).decode()) for name, value in headers]
        return make_reply(status, self._with_port(body), fields)

    def _with_port(self, text: bytes) -> bytes:
        return _HOST.sub(b"\\g<0>:%d" % self.loopback.port, text)

    def _addresses(self, name: str) -> Sequence[str] | None:
        return ("127.0.0.1",) if self.site.has_host(name) else None


@contextmanager
def served(site: Site) -> Iterator[ServedWeb]:
    """The site, served until the end of the context."""
    loop = uvloop.new_event_loop()
    web = ServedWeb(site)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(web.start(), loop).result(_START_SECONDS)
        yield web
        asyncio.run_coroutine_threadsafe(web.loopback.close(), loop).result(_START_SECONDS)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_START_SECONDS)
        loop.close()
