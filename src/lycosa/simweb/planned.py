"""The site of a plan: finds the page for a request and has its answer ready the next time.

Knows how pages become HTTP answers (statuses, validators, compression); decides nothing about the web itself.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from math import inf, isinf

from .http import Ask, Reply, accepts_gzip, is_unchanged, make_reply
from .layout import STATUS_OF, Layout, PageKind, PageRef, RobotsAnswer, SimHost
from .names import origin_of
from .render import Renderer
from .robots import Sitemaps, robots_text
from .server import Behaviour
from .traps import trap_page

_MAX_READY = 20_000
_FIRST_MODIFIED_AT = datetime(2024, 1, 1, tzinfo=UTC).timestamp()
_FIRST_MODIFIED_SECONDS = 300 * 86_400
_HTML = "text/html; charset=utf-8"
_GIF = bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")


@dataclass(slots=True)
class _Ready:
    """An answer and its variants, good until a moment of the web's own time."""

    reply: Reply
    etag: str | None = None
    last_modified: str | None = None
    compressed: Reply | None = None
    expires_after: float = inf


class PlannedSite:
    """Answers for every host of a plan; a host with a behaviour of its own answers by that alone."""

    def __init__(self, layout: Layout, port: int, elapsed_seconds: Callable[[], float], started_at: float) -> None:
        self.behaviours: dict[int, Behaviour] = {}
        self._layout = layout
        self._port = port
        self._elapsed_seconds = elapsed_seconds
        self._started_at = started_at
        self._renderer = Renderer(layout, port)
        self._sitemaps = Sitemaps(layout, self.modified_at)
        self._ready: dict[tuple[int, str], _Ready] = {}
        self._host_for = lru_cache(maxsize=1 << 16)(self._find_host)
        plan = layout.plan
        self._max_ready = max(_MAX_READY, plan.hosts * plan.pages_per_host) if plan.is_prerendered else _MAX_READY
        if plan.is_prerendered:
            self._render_all()

    def answer(self, ask: Ask) -> Reply | Behaviour:
        """The answer to a request."""
        host = self._host_for(ask.name, ask.local_address)
        if host is None:
            return make_reply(404, b"no such host in this web\n", {"Content-Type": "text/plain"})
        if self.behaviours and (behaviour := self.behaviours.get(host.number)):
            return behaviour
        ready = self._ready.get((host.number, ask.target))
        if ready is None or ready.expires_after <= self._elapsed_seconds():
            ready = self._prepare(host, ask.target)
        if ready.etag is None:
            return ready.reply
        if is_unchanged(ask, ready.etag, ready.last_modified):
            return make_reply(304, b"", _validators(ready), delay_seconds=host.latency_seconds)
        return _compressed(ready, host) if host.is_gzipped and accepts_gzip(ask) else ready.reply

    def modified_at(self, ref: PageRef) -> float:
        """When the page as it is now was last changed."""
        changed_after = self._layout.version(ref, self._elapsed_seconds()).changed_after
        if not isinf(changed_after):
            return self._started_at + changed_after
        age = self._layout.draws.fraction("first-modified", *self._layout.content_of(ref))
        return _FIRST_MODIFIED_AT + age * _FIRST_MODIFIED_SECONDS

    def _render_all(self) -> None:
        for number in range(self._layout.plan.hosts):
            host = self._layout.host(number)
            for page in range(self._layout.plan.pages_per_host):
                self._prepare(host, self._layout.path(PageRef(number, page)))

    def _find_host(self, name: str, local_address: str) -> SimHost | None:
        names = self._layout.names
        for number in (names.host_named(name), names.host_at(name), names.host_at(local_address)):
            if number is not None:
                return self._layout.host(number)
        return None

    def _prepare(self, host: SimHost, target: str) -> _Ready:
        ready = self._make(host, target)
        self._ready.pop((host.number, target), None)
        if len(self._ready) >= self._max_ready:
            del self._ready[next(iter(self._ready))]
        self._ready[host.number, target] = ready
        return ready

    def _make(self, host: SimHost, target: str) -> _Ready:
        if (ref := self._layout.page_at(host.number, target)) is not None:
            return self._page(host, ref)
        if (hop := self._layout.hop_at(host.number, target)) is not None:
            return _Ready(self._redirect(host, *hop))
        if target == "/robots.txt":
            return _Ready(self._robots(host))
        return self._file(host, target)

    def _page(self, host: SimHost, ref: PageRef) -> _Ready:
        kind = self._layout.kind(ref)
        if kind is PageKind.REDIRECT:
            return _Ready(self._redirect(host, ref, 0))
        if kind in STATUS_OF:
            return _Ready(self._error(host, STATUS_OF[kind]))
        version = self._layout.version(ref, self._elapsed_seconds())
        etag = f'"{self._layout.draws.number("etag", *self._layout.content_of(ref), ref.page, version.number):016x}"'
        content_type = f"text/html; charset={host.encoding}" if host.is_encoding_in_header else "text/html"
        modified = format_datetime(datetime.fromtimestamp(self.modified_at(ref), UTC), usegmt=True)
        headers = {"Content-Type": content_type, "ETag": etag, "Last-Modified": modified}
        body = self._renderer.page(ref, version.number)
        reply = make_reply(200, body, headers, delay_seconds=host.latency_seconds)
        return _Ready(reply, etag, modified, expires_after=version.next_change_after)

    def _redirect(self, host: SimHost, ref: PageRef, hop: int) -> Reply:
        to, path = self._layout.next_hop(ref, hop)
        is_short = to.host == host.number and self._layout.draws.happens(0.3, "short-location", *ref, hop)
        origin = "" if is_short else origin_of(self._layout.host(to.host).name, self._port)
        status = self._layout.redirect(ref).status
        return make_reply(status, b"", {"Location": origin + path}, delay_seconds=host.latency_seconds)

    def _error(self, host: SimHost, status: int) -> Reply:
        headers = {"Content-Type": _HTML}
        if status in (429, 503):
            headers["Retry-After"] = str(self._layout.plan.retry_after_seconds)
        body = f"<!doctype html><title>{status}</title><h1>{status}</h1>\n".encode()
        return make_reply(status, body, headers, delay_seconds=host.latency_seconds)

    def _robots(self, host: SimHost) -> Reply:
        match host.robots:
            case RobotsAnswer.MISSING:
                return self._error(host, 404)
            case RobotsAnswer.BROKEN:
                return self._error(host, 503)
            case RobotsAnswer.RULES:
                text = robots_text(host, origin_of(host.name, self._port))
                headers = {"Content-Type": "text/plain; charset=utf-8"}
                return make_reply(200, text.encode(), headers, delay_seconds=host.latency_seconds)

    def _file(self, host: SimHost, target: str) -> _Ready:
        """Whatever is neither a page nor robots.txt: sitemaps, the insides of traps, pictures and styles."""
        kind, body = "text/css", b"body { max-width: 60em }\n" if target == "/style.css" else None
        if body is None and target.startswith("/img/"):
            kind, body = "image/gif", _GIF
        if body is None and (trap := trap_page(host, target)) is not None:
            kind, body = _HTML, trap.encode()
        if body is None and (sitemap := self._sitemaps.file(host, target, origin_of(host.name, self._port))):
            kind, body = "application/gzip" if target.endswith(".gz") else "application/xml", sitemap
            # The dates in a sitemap move with its pages: never served again without a look.
            reply = make_reply(200, body, {"Content-Type": kind}, delay_seconds=host.latency_seconds)
            return _Ready(reply, expires_after=-inf)
        if body is None:
            return _Ready(self._error(host, 404))
        return _Ready(make_reply(200, body, {"Content-Type": kind}, delay_seconds=host.latency_seconds))


def _validators(ready: _Ready) -> dict[str, str]:
    return {"ETag": ready.etag or "", "Last-Modified": ready.last_modified or ""}


def _compressed(ready: _Ready, host: SimHost) -> Reply:
    if ready.compressed is None:
        body = gzip.compress(b"".join(ready.reply.body), 5, mtime=0)
        content_type = f"text/html; charset={host.encoding}" if host.is_encoding_in_header else "text/html"
        headers = {"Content-Type": content_type, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        ready.compressed = make_reply(200, body, {**headers, **_validators(ready)}, delay_seconds=host.latency_seconds)
    return ready.compressed
