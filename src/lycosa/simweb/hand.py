"""A web made by hand, page by page, for small tests: the same server, log and DNS, no plan.

Knows only what a test put there; everything else is 404, and a name no page was put on does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from .dns import Query
from .http import Ask, Reply, is_unchanged, make_reply
from .log import LoggedRequest
from .names import address_of, origin_of
from .server import Behaviour
from .web import Listening, Loopback


@dataclass(frozen=True, slots=True)
class _Put:
    reply: Reply
    etag: str | None
    last_modified: str | None


class HandWeb:
    """`async with HandWeb() as web: web.page("http://a.test/x", "<p>hello")`; ports in given URLs are ignored."""

    def __init__(self, listening: Listening = Listening()) -> None:  # noqa: B008 - a frozen value
        self._loopback = Loopback(listening)
        self._answers: dict[tuple[str, str], _Put | Behaviour] = {}
        self._hosts: dict[str, Behaviour] = {}
        self._addresses: dict[str, tuple[str, ...] | None] = {}

    async def __aenter__(self) -> Self:
        await self._loopback.start(lambda port: self, self._lookup)
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
    def requested_urls(self) -> list[str]:
        """The URL of every request so far."""
        return [self.url(request.host, request.path) for request in self.requests]

    @property
    def dns_queries(self) -> list[Query]:
        """Every question the DNS server was asked."""
        return self._loopback.dns_queries

    def url(self, host: str, path: str = "/") -> str:
        """The URL, with this web's port, of a path on a host."""
        assert self.port, "the port is known once the web has started"
        return origin_of(host, self.port) + path

    def page(
        self,
        url: str,
        body: str | bytes = b"",
        *,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        delay_seconds: float = 0.0,
    ) -> str:
        """Put an answer at a URL; the URL with this web's port. An ETag or Last-Modified makes it conditional."""
        fields = dict(headers or {})
        names = {name.lower(): value for name, value in fields.items()}
        if "content-type" not in names:
            fields["Content-Type"] = "text/html; charset=utf-8"
        data = body.encode() if isinstance(body, str) else body
        reply = make_reply(status, data, fields, delay_seconds=delay_seconds)
        return self._put(url, _Put(reply, names.get("etag"), names.get("last-modified")))

    def robots(self, host: str, text: str | bytes, *, status: int = 200) -> str:
        """Put a robots.txt on a host; without, it answers 404."""
        return self.page(f"http://{host}/robots.txt", text, status=status, headers={"Content-Type": "text/plain"})

    def redirect(self, url: str, to: str, *, status: int = 301) -> str:
        """Put a redirect at a URL; `to` is sent as it is given."""
        return self.page(url, status=status, headers={"Location": to})

    def behave(self, url: str, behaviour: Behaviour) -> str:
        """Let a coroutine do what it likes with the connection of each request for a URL."""
        return self._put(url, behaviour)

    def behave_host(self, host: str, behaviour: Behaviour) -> None:
        """Let a coroutine answer whatever has no page of its own on a host."""
        self._know(host)
        self._hosts[host] = behaviour

    def resolve(self, host: str, *addresses: str) -> None:
        """Set the addresses of a name; with none, the name does not exist."""
        self._addresses[host] = addresses or None

    def addresses(self, host: str) -> tuple[str, ...]:
        """The addresses of a name."""
        self._know(host)
        return self._addresses[host] or ()

    def answer(self, ask: Ask) -> Reply | Behaviour:
        """The answer to a request, for the server."""
        put = self._answers.get((ask.name, ask.target)) or self._hosts.get(ask.name)
        if put is None:
            return make_reply(404, b"nothing was put here\n", {"Content-Type": "text/plain"})
        if not isinstance(put, _Put):
            return put
        if (put.etag or put.last_modified) and is_unchanged(ask, put.etag, put.last_modified):
            headers = {"ETag": put.etag, "Last-Modified": put.last_modified}
            return make_reply(304, b"", {name: value for name, value in headers.items() if value})
        return put.reply

    def _put(self, url: str, answer: _Put | Behaviour) -> str:
        parts = urlsplit(url)
        assert parts.hostname, f"{url!r} names no host"
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._know(parts.hostname)
        self._answers[parts.hostname, path] = answer
        return self.url(parts.hostname, path) if self.port else url

    def _know(self, host: str) -> None:
        self._addresses.setdefault(host, (address_of(len(self._addresses)),))

    def _lookup(self, name: str) -> Sequence[str] | None:
        return self._addresses.get(name)
