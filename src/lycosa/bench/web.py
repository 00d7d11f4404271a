"""The pages that are crawled, and the count of who fetched what, from the server's own log."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, get_args

import msgspec

from lycosa.simweb import LoggedRequest, PageRef, SimWebProcess, WebPlan
from lycosa.simweb.layout import Layout
from lycosa.simweb.render import Renderer

_QUIET_SECONDS = 0.3
_MAX_QUIET_SECONDS = 10.0
_SAMPLE_PAGES = 100
PAGE_BYTES = 28_000
WebKind = Literal["navigation", "strewn"]
WEB_KINDS: tuple[WebKind, ...] = get_args(WebKind)
# A web of strewn links has so many times the pages that are fetched of it: links hardly ever meet.
_STREWN_SIZE = 200


@dataclass(frozen=True, slots=True)
class Served:
    """What the server saw during one run."""

    pages: int  # distinct pages of the web, answered in full
    requests: int  # everything that was asked for, robots.txt and repetitions included
    repeated: int  # pages asked for again
    robots: int


def many_hosts(hosts: int, pages: int, page_bytes: int = PAGE_BYTES, kind: WebKind = "navigation") -> WebPlan:
    """A web of which so many pages of each host are fetched: all of them, or a small part where links are strewn."""
    profile, size = ("strewn", _STREWN_SIZE) if kind == "strewn" else ("bench", 1)
    sizes = {"min_page_bytes": page_bytes, "max_page_bytes": page_bytes}
    return WebPlan.named(profile, hosts=hosts, pages_per_host=pages * size, is_named=False, **sizes)


def one_host(pages: int, page_bytes: int = PAGE_BYTES, kind: WebKind = "navigation") -> WebPlan:
    """A single big host, for crawlers that follow no links to others."""
    return many_hosts(1, pages, page_bytes, kind)


class BenchWeb:
    """A served web whose log is read in stretches: `begin`, let somebody crawl, `served`."""

    def __init__(self, plan: WebPlan, log_file: Path) -> None:
        self.plan = plan
        self._log_file = log_file
        self._process = SimWebProcess(plan, log_file=log_file)
        self._begun_at_byte = 0
        self._layout = Layout(plan)
        self.mean_page_bytes = _mean_bytes(self._layout)

    def __enter__(self) -> Self:
        self._process.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)

    @property
    def seed(self) -> str:
        """The URL from which every page can be reached."""
        return self._process.seeds[0]

    @property
    def is_part(self) -> bool:
        """Whether a small part of the pages is to be fetched."""
        return self._layout.is_strewn

    @property
    def size(self) -> int:
        """How many pages are to be fetched."""
        pages = self.plan.hosts * self.plan.pages_per_host
        return pages // _STREWN_SIZE if self.is_part else pages

    def begin(self) -> None:
        """Count from here."""
        self._begun_at_byte = self._quiet_size()

    def served(self) -> Served:
        """What was asked for since `begin`."""
        self._quiet_size()
        found: set[PageRef] = set()
        requests = repeated = robots = 0
        for request in self._requests():
            requests += 1
            robots += request.path == "/robots.txt"
            page = self._page_of(request)
            if page is not None and request.status == 200 and request.finished_at is not None:
                repeated += page in found
                found.add(page)
        return Served(len(found), requests, repeated, robots)

    def _page_of(self, request: LoggedRequest) -> PageRef | None:
        host = self._layout.names.host_named(request.host)
        return None if host is None else self._layout.page_at(host, request.path)

    def _requests(self) -> Iterator[LoggedRequest]:
        decode = msgspec.json.Decoder(LoggedRequest).decode
        with self._log_file.open("rb") as lines:
            lines.seek(self._begun_at_byte)
            for line in lines:
                yield decode(line)

    def _quiet_size(self) -> int:
        """The log's size once it grows no more: the end of a connection is noticed a little after the fact."""
        until = time.monotonic() + _MAX_QUIET_SECONDS
        size, is_quiet = self._size(), False
        while not is_quiet and time.monotonic() < until:
            time.sleep(_QUIET_SECONDS)
            before, size = size, self._size()
            is_quiet = size == before
        return size

    def _size(self) -> int:
        return self._log_file.stat().st_size


def _mean_bytes(layout: Layout) -> float:
    pages = layout.plan.pages_per_host
    size = layout.plan.hosts * pages
    refs = [PageRef(*divmod(number, pages)) for number in range(0, size, max(1, size // _SAMPLE_PAGES))]
    renderer = Renderer(layout, 65_535)
    return sum(len(piece) for ref in refs for piece in renderer.page(ref, 0)) / len(refs)
