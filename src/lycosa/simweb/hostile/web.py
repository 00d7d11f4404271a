"""Good sites and traps in one web: every good page must be found, and little be spent on the traps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from ..http import Ask, Reply, make_reply
from ..log import LoggedRequest
from ..names import address_of, origin_of
from ..server import Behaviour
from ..web import Listening, Loopback
from .registry import BEHAVIOURS
from .traps import TRAPS, Trap, babble, html

_BAD = ".bad.test"


class HostileWeb:
    """`async with HostileWeb(traps=("calendar",)) as web: ...`: good sites, and the named traps linked from them.

    `bad_hosts` are hosts that answer everything but robots.txt by a named behaviour; they are linked as well.
    """

    def __init__(
        self,
        *,
        good_sites: int = 20,
        good_pages: int = 25,
        traps: Sequence[str] = tuple(TRAPS),
        bad_hosts: Sequence[str] = (),
        listening: Listening = Listening(),  # noqa: B008 - a frozen value
    ) -> None:
        self.traps = [TRAPS[name] for name in traps]
        self._loopback = Loopback(listening)
        self._good_sites = good_sites
        self._good_pages = good_pages
        self._bad = {f"{name}{_BAD}": BEHAVIOURS[name].behave for name in bad_hosts}

    async def __aenter__(self) -> Self:
        await self._loopback.start(lambda port: self, self._addresses)
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
    def requests(self) -> list[LoggedRequest]:
        """Every request so far, in the order of arrival."""
        return self._loopback.log.requests

    @property
    def request_count(self) -> int:
        """How many requests were answered so far, or are being answered."""
        return self._loopback.log.count

    def describe(self) -> str:
        """What there is, in a few words and then host by host."""
        traps = [f"  {trap.domain:<40} {trap.says}" for trap in self.traps]
        bad = [f"  {host:<40} {BEHAVIOURS[host.removesuffix(_BAD)].says}" for host in self._bad]
        return "\n".join((*traps, *bad, f"{self._good_sites} good sites, {len(traps)} traps, {len(bad)} bad hosts"))

    @property
    def seeds(self) -> list[str]:
        """The home page of the first good site, or the traps themselves where there is none."""
        if self._good_sites:
            return [self.url(_good_host(0))]
        return self._doors()

    @property
    def good_urls(self) -> set[str]:
        """Every page of the good sites."""
        return {
            self.url(_good_host(site), _good_path(page))
            for site in range(self._good_sites)
            for page in range(self._good_pages)
        }

    def url(self, host: str, path: str = "/") -> str:
        """The URL, with this web's port, of a path on a host."""
        return origin_of(host, self.port) + path

    def wanted_urls(self, trap: Trap) -> set[str]:
        """What is worth finding of a trap, on its first host."""
        return {self.url(trap.domain, path) for path in trap.wanted}

    def asked_of(self, trap: Trap) -> list[LoggedRequest]:
        """The requests for pages of a trap, robots.txt left out."""
        return [each for each in self.requests if trap.has_host(each.host) and each.path != "/robots.txt"]

    def found(self) -> set[str]:
        """The URL of every request so far."""
        return {self.url(request.host, request.path) for request in self.requests}

    def shares(self) -> Counter[str]:
        """How many requests each trap took; "good" for those of the good sites."""
        shares: Counter[str] = Counter()
        for request in self.requests:
            owner = next((trap.name for trap in self.traps if trap.has_host(request.host)), "good")
            shares[owner] += 1
        return shares

    def answer(self, ask: Ask) -> Reply | Behaviour:
        """The answer to a request, for the server."""
        if ask.target == "/robots.txt" and not any(trap.has_host(ask.name) for trap in self.traps):
            return make_reply(404)
        if behaviour := self._bad.get(ask.name):
            return behaviour
        for trap in self.traps:
            if trap.has_host(ask.name):
                return trap.answer(ask)
        return self._good(ask)

    def _good(self, ask: Ask) -> Reply:
        hosts = {_good_host(site): site for site in range(self._good_sites)}
        paths = {_good_path(page): page for page in range(self._good_pages)}
        site, page = hosts.get(ask.name), paths.get(urlsplit(ask.target).path)
        if site is None or page is None or "?" in ask.target:
            return make_reply(404)
        links = [_good_path(each) for each in {page + 1, page * 2 + 1, page * 2 + 2} if each < self._good_pages]
        if page == 0:
            links += [self.url(_good_host((site * 2 + step) % self._good_sites)) for step in (1, 2)]
            doors = self._doors()
            links += doors[site :: self._good_sites]
        body = html(f"Site {site}, page {page}", links, babble(f"{site}/{page}"))
        return make_reply(200, body.encode(), {"Content-Type": "text/html; charset=utf-8"})

    def _doors(self) -> list[str]:
        return [self.url(host) for host in (*(trap.domain for trap in self.traps), *self._bad)]

    def _addresses(self, name: str) -> Sequence[str] | None:
        known = [*(_good_host(site) for site in range(self._good_sites)), *self._bad]
        if name in known:
            return (address_of(known.index(name)),)
        for number, trap in enumerate(self.traps):
            if trap.has_host(name):
                # A farm of a million names stands behind one address.
                return (address_of(10_000 + number),)
        return None


def _good_host(site: int) -> str:
    return f"good{site:02}.test"


def _good_path(page: int) -> str:
    return f"/page-{page}" if page else "/"
