"""The nouns: values that pass between the parts. No behaviour beyond what a value knows of itself."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import NamedTuple

import msgspec

MIN_PRIORITY, MAX_PRIORITY = 1, 10
# How far a target is deferred: behind those of its host that are in less doubt, from 1 to here; until nothing else is
# left anywhere; and, after another look, until then for the last time.
MAX_DOUBT, WAITS, WAITS_LAST = 3, 4, 5


class Kind(IntEnum):
    """What a target is fetched for."""

    PAGE = 0
    ROBOTS = 1
    SITEMAP = 2
    PROBE = 3  # a URL that cannot exist: what does its host answer?
    REQUISITE = 4  # what a browser loads by itself to show a page that is kept


class Refusal(StrEnum):
    """Why a target was not requested. Codes are kept for good: how they are told to people stands elsewhere."""

    ROBOTS = "robots"
    ROBOTS_UNREACHABLE = "robots-unreachable"
    NAME = "name"
    ADDRESS = "address"
    VARIANT = "variant"
    MIRROR = "mirror"
    ENDLESS = "endless"
    BARREN = "barren"
    ALIKE = "alike"
    HOOK = "hook-refused"
    LOGOUT = "logout"
    SCHEME = "scheme"
    ROOTS = "outside-roots"


class Failure(StrEnum):
    """Why a request gave no page."""

    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    SLOW = "too-slow"
    RESET = "reset"
    PROTOCOL = "protocol"
    HEADERS = "headers-too-large"
    CODING = "content-coding"
    STATUS = "status"
    BANNED = "banned"
    NO_LOCATION = "redirect-without-location"
    REDIRECTS = "too-many-redirects"
    ADDRESS = "address-refused"
    SOFT_404 = "soft-404"
    LOGIN = "login"


class Crash(StrEnum):
    """How our own code failed on a page."""

    CRASHED = "crashed"
    HOOK = "hook"
    MEMORY = "memory-limit"
    CPU = "cpu-limit"
    KILLED = "killed"  # the worker, by a signal
    EXITED = "exited"  # the worker, by itself


class Note(StrEnum):
    """What else is to be told of a visit, or of an origin that is not asked."""

    MOVED = "moved"
    PROBE = "probe"
    REQUISITE = "requisite"
    ROBOTS_REDIRECTS = "robots-redirects"
    ROBOTS_REDIRECTED = "robots-redirected"  # to another host, whose turn is waited for
    ROBOTS_LOST = "robots-lost"
    ROBOTS_PENDING = "robots-pending"
    ORIGIN_RESTS = "origin-rests"
    SITEMAP_NESTING = "sitemap-nesting"
    SITEMAP_DAMAGED = "sitemap-damaged"
    SITEMAP_CUT = "sitemap-cut"
    SITEMAP_EMPTY = "sitemap-empty"
    SITEMAP_UNKNOWN = "sitemap-unknown"
    CODING_DAMAGED = "coding-damaged"  # of a page that is kept as far as it could be read


class RenderCause(StrEnum):
    """Why a page was given to a browser, or was not although it looked like one that needs it."""

    ALWAYS = "always"
    EMPTY_ROOT = "empty-root"
    NOSCRIPT = "noscript"
    NO_TEXT = "no-text"
    SCRIPTS = "mostly-scripts"
    LEARNT = "learnt"
    STATIC = "learnt-static"  # not given: the browser brought nothing for others like it


class RenderEnd(StrEnum):
    """How it went. The page is read as the browser shows it where that brought something, else as it was fetched."""

    WHOLE = "whole"
    NOTHING_NEW = "nothing-new"
    REQUESTS = "render-requests"
    TIME = "render-time"
    MEMORY = "render-memory"
    CRASHED = "render-crashed"
    LEFT = "left"
    NO_PLACE = "no-place"


class Reason(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Why something ended as it did: a code of the sets above, and what a neighbour or a counter had to add.

    Decisions are made by the code alone. One of another version may be a word that is not known here.
    """

    code: str = ""
    detail: str = ""

    def __bool__(self) -> bool:
        return bool(self.code)

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}" if self.detail else self.code


NO_REASON = Reason()


class RequestParts(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What a target is asked beyond its URL, where that is more than usual."""

    method: str = "GET"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    tag: str = ""  # for whoever made the request


class Listing(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """What a sitemap or feed of its site says of a URL (see `policy.listing`)."""

    modified_at: int = 0  # 0: it does not say
    # In per cent: how much more often it changes, and how much more important it is, than others of the list.
    pace: int = 100
    weight: int = 100


class Target(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """A URL that may be visited, with what is known of it."""

    url: str
    host: str
    fingerprint: bytes
    kind: Kind = Kind.PAGE
    priority: int = 5
    depth: int = 0
    referrer: str = ""
    redirects: int = 0
    attempt: int = 0
    # For a robots.txt reached by redirect: the origin whose rules it gives.
    origin: str = ""
    # How many workers died while they read its page.
    crashes: int = 0
    # How often it was visited before.
    visits: int = 0
    # How far it went behind others of its host: not at all, by how doubtful it is, or until nothing else is left.
    deferred: int = 0
    request: RequestParts | None = None
    # Of a requisite: how many stylesheets lie between it and its page.
    steps: int = 0
    listing: Listing | None = None
    # In a crawl with a topic: what the link that led to it promises, in thousandths; 0: nobody rated it.
    promise: int = 0


class Validators(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What the last response offered for a conditional request."""

    etag: str = ""
    last_modified: str = ""
    digest: bytes = b""
    text: bytes = b""  # what its text was, in short (see `dedupe.comparison.text_mark`)


class Lease(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """The right to one request, until a time. The token fences off whoever overslept.

    Several of one host are visited one after the other, in the order in which they were given out.
    """

    token: int
    target: Target
    expires_at: float
    # `fetched_at` of the robots record in force: a worker that holds another version asks for this one.
    robots_at: float = 0.0
    validators: Validators | None = None
    # Where the host was found last; empty if it has not been looked for.
    address: str = ""
    # Version of the notes on its registered domain that the frontier has, 0 if none: a worker with older ones asks.
    site_at: int = 0
    # By `machine_clock`: whoever slept past it sends nothing, since the host may be somebody else's. 0: no such time.
    begin_by: float = 0.0
    # Of several leases of a host, the next visit may begin as soon as this one is over; else only if nothing was sent.
    at_once: bool = False


class OutcomeKind(IntEnum):
    """The names of the outcomes, as kept in tables and counters."""

    STORED = 0
    UNCHANGED = 1
    DUPLICATE = 2
    MOVED = 3
    REFUSED = 4
    FAILED = 5
    CRASHED = 6
    READ = 7  # robots.txt or a sitemap: rules and targets, not a page

    @property
    def is_page(self) -> bool:
        """Whether this counts towards `max_pages`."""
        return self <= OutcomeKind.DUPLICATE


class RobotsNews(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What a visit learnt of an origin's robots.txt. The record itself is opaque to the frontier."""

    origin: str
    fetched_at: float
    expires_at: float
    record: bytes
    crawl_delay_seconds: float = 0.0
    # True while robots.txt could not be read and another try is due: the origin's targets wait.
    is_pending: bool = False
    trouble: Reason = NO_REASON  # why it could not be read


class SiteNews(msgspec.Struct, frozen=True, array_like=True):
    """What visits learnt of a registered domain, in place of an older version. Opaque to the frontier."""

    domain: str
    version: int
    notes: bytes


class Settlement(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """How a visit ended, as the frontier needs to know it."""

    token: int
    outcome: OutcomeKind
    sent: bool = True
    started_at: float = 0.0
    fetch_seconds: float = 0.0
    status: int = 0
    reason: Reason = NO_REASON
    discovered: list[Target] = []
    retry_after_seconds: float = 0.0
    may_retry: bool = False
    digest: bytes = b""
    etag: str = ""
    last_modified: str = ""
    original: str = ""
    body_bytes: int = 0
    robots: RobotsNews | None = None
    address: str = ""
    # The answer was a challenge or a captcha: not the page but the host refuses us.
    is_ban: bool = False
    # The worker died while it read the page.
    was_fatal: bool = False
    group: bytes = b""
    site: SiteNews | None = None
    # Fingerprints under which pages of this host that were visited before are known from now on, too.
    known: list[bytes] = []
    connect_seconds: float = 0.0  # 0: a connection that was there was used, or there was none
    # Nothing was asked, and it is not over: the target goes on waiting, this far behind others (`Target.deferred`).
    deferred: int = 0
    left_out: list[tuple[Target, Reason]] = []  # targets that were found and refused at once, of the same domain
    beyond: int = 0  # links of this crawl that were not followed, since they lie deeper than is allowed
    # In the order best: fingerprints of further links that are followed, one after the other; and by how much its
    # content makes the page give more, or less, to all of them.
    others: bytes = b""
    worth: float = 1.0
    text: bytes = b""  # what the page's text is, in short
    changed: float = 0.0  # how much of the text is another than at the visit before; 0: nothing, or that is not known
    listed: int = 0  # of a sitemap or a feed: how many URLs it lists
    told: list[Target] = []  # of a feed that is a page: URLs of its host, most of them known, with what it says of them
    on_topic: bool = False
    found: bytes = b""  # of what it discovered, what is in short (see `frontier.arrivals`): it comes before the rest
    rested_seconds: float = 0.0  # for how long the host had not been asked by then: part of its pause is over


class Placement(NamedTuple):
    """Where a text stands among those met before. The group is empty for a text without words: it is like nothing."""

    group: bytes = b""
    is_first: bool = False
    similarity: float = 0.0


class History(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One row of the crawl-history table: what is known of a URL that has been visited or refused."""

    url: str
    outcome: OutcomeKind
    visited_at: float
    status: int = 0
    reason: str = ""  # the code
    detail: str = ""
    visits: int = 1
    depth: int = 0
    referrer: str = ""
    digest: bytes = b""
    original: str = ""
    etag: str = ""
    last_modified: str = ""
    next_at: float = 0.0  # when it is due again, 0 if never
    group: bytes = b""  # the pages whose texts are nearly the same
    request: RequestParts | None = None
    text: bytes = b""  # what its text was, in short
    # Moments and times from here on in whole seconds: they are kept for every page that is visited again.
    changed_at: int = 0  # when it was last seen changed, 0 if never
    changes: int = 0
    failures: int = 0  # visits in a row that gave no page, since it last gave one
    weight: float = 0.0  # its importance beside other pages, 0 if that was never asked
    rate_shape: float = 0.0  # what is believed of its rate of change (`policy.freshness.Belief`), 0: nothing yet
    rate_scale: float = 0.0
    interval: int = 0  # how long it is to wait between two visits
    kind: Kind = Kind.PAGE  # what it was fetched for; not kept of sitemaps, which their referrers tell
    listing: Listing | None = None  # what its site said of it last
    is_told: bool = False  # it said since the last visit that the page has changed
    listed: int = 0  # of a sitemap or a feed: how many URLs it lists


class RawLink(NamedTuple):
    """A link as the page wrote it."""

    href: str
    anchor: str
    rel: str


class Page(msgspec.Struct, frozen=True):
    """A parsed response. `links` are raw: the page does not know how URLs are resolved or filtered."""

    title: str
    description: str
    text: str
    links: list[RawLink]
    base: str = ""  # href of <base>, raw
    canonical: str = ""  # href of rel=canonical, raw
    refresh: str = ""  # URL of a meta refresh, raw
    language: str = ""  # declared by the page
    charset: str = ""
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    noai: bool = False
    noimageai: bool = False
    truncated: bool = False  # parse limits were reached
    content: str = ""  # the main text, without navigation and comments
    comments: str = ""
    headings: str = ""  # one a line
    author: str = ""
    published: str = ""  # a date, as precise as the page tells
    requisites: list[str] = []  # hrefs, raw, of what a browser loads by itself to show it, where that is wanted


class PageDigest(msgspec.Struct, frozen=True):
    """What a page's text is, in short. `signature` is as bytes: the frontier compares it, nobody else does."""

    language: str = ""
    signature: bytes = b""
    text_digest: bytes = b""
    summary: str = ""


class Rendering(msgspec.Struct, frozen=True):
    """What a browser made of a response."""

    cause: RenderCause
    end: RenderEnd | None = None  # None: it was not given to one
    html: bytes = b""  # its document in UTF-8; empty where the page is read as it was fetched
    resources: list[Response] = []  # what was fetched for it, but for what was at hand


class Response(msgspec.Struct, frozen=True):
    """One HTTP exchange that ended with a response. Header names are lower case; bodies are bytes."""

    url: str
    status: int
    headers: list[tuple[str, str]]
    body: bytes  # content codings removed
    raw_body: bytes  # as it came, after the transfer coding
    head: bytes  # status line and header lines as they came
    request_head: bytes
    address: str
    protocol: str  # "http/1.0", "http/1.1", "h2"
    started_at: float  # POSIX seconds
    seconds: float
    # Why the body is not whole: "length", "time", "disconnect"; or "coding": it came whole, but its coding is damaged.
    truncated: str = ""
    connect_seconds: float = 0.0  # 0: over a connection that was there
    request_body: bytes = b""
    rendering: Rendering | None = None
    block_digest: bytes = b""  # of head and body as their record has them, if it was found with that of the body

    def header(self, name: str) -> str:
        """The first value of a header, or an empty string."""
        for key, value in self.headers:
            if key == name:
                return value
        return ""

    @property
    def is_redirect(self) -> bool:
        return self.status in (301, 302, 303, 307, 308)


def origin_of(url: str) -> str:
    """`scheme://host[:port]` of a canonical URL."""
    path_at = url.find("/", 8)
    return url[:path_at] if path_at > 0 else url


class Visit(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """One row of the `pages` table: what one visit found. Text and links are kept apart (see the store)."""

    url: str
    host: str
    fetched_at: float
    outcome: OutcomeKind
    status: int = 0
    media_type: str = ""
    charset: str = ""
    language: str = ""
    title: str = ""
    description: str = ""
    summary: str = ""
    digest: str = ""
    text_digest: str = ""
    group_id: str = ""
    original: str = ""
    depth: int = 0
    referrer: str = ""
    priority: int = 0
    out_links: int = 0
    etag: str = ""
    last_modified: str = ""
    fetch_seconds: float = 0.0
    body_bytes: int = 0
    truncated: str = ""
    warc_file: str = ""
    warc_offset: int = -1
    warc_length: int = 0
    reason: str = ""  # the code
    detail: str = ""
    noindex: bool = False
    author: str = ""
    published: str = ""
    usage: str = ""  # what the site wants the page used for, and what not: "ai=n, search=y"
    rendered: str = ""  # how its rendering ended, if there was one (`RenderEnd`)
    render_cause: str = ""  # why there was one, or none (`RenderCause`)
    changed: float = 0.0  # how much of the text is another than at the visit before
    relevance: float = 0.0  # of the page to the topic of the crawl
    promise: float = 0.0  # what the link that led to it promised of that


class Texts(NamedTuple):
    """The texts of one page: all of it, its main content, what readers wrote below it, its headings."""

    text: str = ""
    content: str = ""
    comments: str = ""
    headings: str = ""


def texts_of(page: Page | None) -> Texts:
    """What the tables keep of a page's texts; of no page, nothing."""
    return Texts(page.text, page.content, page.comments, page.headings) if page else Texts()


# The records that a site's rules, or hooks, made of one page: JSON objects.
Items = tuple[str, ...]


class Links(NamedTuple):
    """The links of one page as columns of equal length: target, anchor text, rel."""

    targets: list[str]
    anchors: list[str]
    rels: list[str]
