"""What a page's browser asks for: each request is answered by our fetcher, from what is at hand, or not at all."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from lycosa.errors import BackendLost, NoNetwork, VisitError
from lycosa.model import Response, origin_of
from lycosa.url.canonical import ParsedUrl, parse

# Of a URL with these headers the answer; raises what fetchers raise.
Fetch = Callable[[str, Sequence[tuple[str, str]]], Awaitable[Response]]
# Beside scripts, styles and data a page needs nothing to say what it says.
PLAIN_KINDS = frozenset({"script", "stylesheet", "xhr", "fetch"})
MEDIA_KINDS = frozenset({"image", "media", "font"})
# What all answers for one page may weigh together, once decoded.
MAX_PAGE_BYTES = 32 * 1024**2
# A page that asks for so much more than it is given does nothing else.
MAX_REFUSED = 1_000
MAX_JUMPS = 20
# Headers that are between two machines, or that we speak for ourselves; and those that make an answer depend on us.
_NOT_SENT = frozenset(
    {
        *("accept-encoding", "accept-language", "authorization", "connection", "content-length", "content-type"),
        *("cookie", "host", "if-modified-since", "if-none-match", "keep-alive", "origin-agent-cluster", "priority"),
        *("proxy-authorization", "proxy-connection", "purpose", "range", "te", "trailer", "transfer-encoding"),
        *("upgrade", "upgrade-insecure-requests", "user-agent"),
    }
)
_NOT_GIVEN = frozenset(
    {
        *("alt-svc", "clear-site-data", "connection", "content-disposition", "content-encoding", "content-length"),
        *("critical-ch", "keep-alive", "link", "nel", "refresh", "report-to", "reporting-endpoints", "set-cookie"),
        *("speculation-rules", "strict-transport-security", "trailer", "transfer-encoding", "upgrade"),
    }
)
MAX_SENT_HEADERS, MAX_SENT_BYTES = 20, 4096


class BrowserRequest(NamedTuple):
    """A request as the browser has it."""

    url: str
    method: str
    # What it is for: "page" (its own document, or another in its place), "frame", "script", "fetch", "image", …
    kind: str
    headers: dict[str, str]


class BrowserAnswer(NamedTuple):
    """What the browser gets."""

    status: int
    headers: dict[str, str]
    body: bytes


class SharedFiles:
    """Answers that hold for more than one page: scripts and styles are fetched once per worker. Bounded by bytes."""

    def __init__(self, max_bytes: int = 32 * 1024**2, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._files: OrderedDict[str, tuple[float, Response]] = OrderedDict()
        self._size = 0

    def find(self, url: str) -> Response | None:
        until, response = self._files.get(url, (0.0, None))
        if response is None or until <= self._clock():
            return None
        self._files.move_to_end(url)
        return response

    def keep(self, url: str, kind: str, response: Response) -> None:
        """Keep an answer as long as it says, or a script that does not say for an hour."""
        seconds = _fresh_seconds(response, otherwise=3600.0 if kind in ("script", "stylesheet") else 0.0)
        size = len(response.body)
        if response.status != 200 or response.truncated or not seconds or size > self._max_bytes // 4:
            return
        if old := self._files.pop(url, None):
            self._size -= len(old[1].body)
        self._files[url] = (self._clock() + seconds, response)
        self._size += size
        while self._size > self._max_bytes:
            self._size -= len(self._files.popitem(last=False)[1][1].body)


class PageRequests:
    """The requests of one page. `closing` is set when the page is to be ended for what it asks."""

    def __init__(
        self,
        page: Response,
        fetch: Fetch,
        permits: Callable[[ParsedUrl], Awaitable[bool]],
        shared: SharedFiles,
        *,
        max_requests: int,
        max_redirects: int,
        kinds: frozenset[str],
    ) -> None:
        self._page = page
        self._origin = origin_of(page.url)
        self._fetch_one = fetch
        self._permits = permits
        self._shared = shared
        self._max_requests = max_requests
        self._max_redirects = max_redirects
        self._kinds = kinds
        self._sent = self._refused = self._bytes = 0
        self._has_page = False
        self.open = 0
        self.is_too_much = False  # something was refused since there had been so many before
        self.is_flood = False
        self.is_short_of_time = False  # when its time was over it was still waiting for what it had asked for
        self.resources: list[Response] = []
        self.jumps: list[str] = []  # where the page wanted to lead whoever looks at it
        self.trouble: BackendLost | NoNetwork | None = None

    async def answer(self, asked: BrowserRequest) -> BrowserAnswer | None:
        """The answer to a request; None if there is none for it."""
        self.open += 1
        try:
            if asked.kind == "page":
                return self._document(asked)
            if asked.kind == "frame":
                # A page of its own, and reached by its link.
                return self._nothing()
            answer = await self._resource(asked)
        except VisitError:
            answer = None
        except (BackendLost, NoNetwork) as error:
            # Not of this page: whoever renders it is told.
            self.trouble = error
            answer = None
        finally:
            self.open -= 1
        if answer is None:
            self._nothing()
        return answer

    def _nothing(self) -> BrowserAnswer:
        """For a document: the browser stays where it is."""
        self._refused += 1
        self.is_flood = self._refused > MAX_REFUSED
        return BrowserAnswer(204, {}, b"")

    def _document(self, asked: BrowserRequest) -> BrowserAnswer:
        """The page that came already, once; whatever wants to be in its place is a link."""
        if not self._has_page:
            self._has_page = True
            return _given(self._page)
        if asked.url not in self.jumps and len(self.jumps) < MAX_JUMPS:
            self.jumps.append(asked.url)
        return self._nothing()

    async def _resource(self, asked: BrowserRequest) -> BrowserAnswer | None:
        if asked.method != "GET" or asked.kind not in self._kinds:
            return None
        headers = _sent(asked.headers)
        url = parse(asked.url)
        if not isinstance(url, ParsedUrl):
            return None
        # What depends on the page's own headers is for it alone.
        is_plain = all(name in ("accept", "origin", "referer") for name, _ in headers)
        # And what its own origin answers may be for those who are known there.
        name = f"{url.url}#own" if url.origin == self._origin else url.url
        if is_plain and (at_hand := self._shared.find(name)):
            return _given(at_hand)
        response = await self._fetch(url, headers)
        if response is None:
            return None
        if is_plain:
            self._shared.keep(name, asked.kind, response)
        return _given(response)

    async def _fetch(self, url: ParsedUrl, headers: Sequence[tuple[str, str]]) -> Response | None:
        origin = url.origin
        for _ in range(self._max_redirects + 1):
            if self._sent >= self._max_requests or self._bytes >= MAX_PAGE_BYTES:
                self.is_too_much = True
                return None
            # Counted before anything is awaited: what is asked for at the same time counts, too.
            self._sent += 1
            if not await self._permits(url):
                return None
            # Keys that a page sends along are for whom it sends them to.
            own = headers if url.origin == origin else [each for each in headers if each[0] == "accept"]
            response = await self._fetch_one(url.url, own)
            self._bytes += len(response.body)
            self.resources.append(response)
            to = parse(response.header("location"), url.url) if response.is_redirect else None
            if not isinstance(to, ParsedUrl):
                return response
            url = to
        return None


def _given(response: Response) -> BrowserAnswer:
    """A response as the browser gets it: decoded, and without what would make it ask or remember anything."""
    headers: dict[str, str] = {}
    for name, value in response.headers:
        if name not in _NOT_GIVEN:
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
    # Of a redirect to nowhere the browser must make nothing.
    return BrowserAnswer(502 if response.is_redirect else response.status, headers, response.body)


def _sent(headers: dict[str, str]) -> list[tuple[str, str]]:
    """The headers of a request that go along; how much a page may make us say has its bounds."""
    sent, size = list[tuple[str, str]](), 0
    for title, value in headers.items():
        name = title.lower()
        size += len(name) + len(value)
        if name in _NOT_SENT or name.startswith((":", "sec-")) or not (name + value).isprintable():
            continue
        if len(sent) >= MAX_SENT_HEADERS or size > MAX_SENT_BYTES:
            break
        sent.append((name, value))
    return sent


def _fresh_seconds(response: Response, otherwise: float) -> float:
    directives = {
        name.strip().lower(): value.strip(' "')
        for each in response.header("cache-control").split(",")
        for name, _, value in (each.partition("="),)
    }
    vary = response.header("vary").lower()
    if directives.keys() & {"no-store", "private"} or "*" in vary or "origin" in vary:
        return 0.0
    age = directives.get("max-age", "")
    return min(float(age), 86_400.0) if age.isdecimal() and len(age) < 12 else otherwise
