"""How a visit can end: a closed set. One place (`worker.settlement_of`) turns an outcome into frontier state."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lycosa.model import (
    NO_REASON,
    Crash,
    Failure,
    Items,
    Links,
    Page,
    PageDigest,
    Placement,
    Reason,
    Refusal,
    Response,
    RobotsNews,
    Target,
)

NO_LINKS = Links([], [], [])


class Stored(msgspec.Struct, frozen=True):
    """A page whose content was not kept before."""

    response: Response
    page: Page
    links: Links
    discovered: list[Target]
    digest: bytes
    page_digest: PageDigest
    placement: Placement
    usage: str = ""
    beyond: int = 0  # links that lie deeper than is allowed
    items: Items = ()
    others: bytes = b""  # fingerprints of the links that are followed and not discovered here (`FoundOnPage`)
    changed: float = 0.0  # how much of the text is another than at the visit before; 0: there was none, or unknown
    closed: list[Target] = []  # what it links to by schemes that are not open to the crawl
    told: Sequence[Target] = ()  # of a feed: pages of its host, with what it says of them
    relevance: float = 0.0  # to the topic of the crawl
    on_topic: bool = False


class Duplicate(msgspec.Struct, frozen=True):
    """A page whose content is kept under another URL already."""

    response: Response
    page: Page
    links: Links
    discovered: list[Target]
    digest: bytes
    page_digest: PageDigest
    placement: Placement
    original: str
    usage: str = ""
    beyond: int = 0
    items: Items = ()
    others: bytes = b""
    changed: float = 0.0
    closed: list[Target] = []
    told: Sequence[Target] = ()
    relevance: float = 0.0
    on_topic: bool = False


def duplicate_of(original: str, stored: Stored) -> Duplicate:
    """What would be stored, had its content not been kept before."""
    return Duplicate(**msgspec.structs.asdict(stored), original=original)


class Unchanged(msgspec.Struct, frozen=True):
    """Nothing changed since the last visit: the server says so, or the bytes, or the text, are what they were."""

    response: Response
    discovered: list[Target] = []
    digest: bytes = b""  # of bytes that changed, though the text did not
    told: Sequence[Target] = ()  # as of what is stored


class Moved(msgspec.Struct, frozen=True):
    """A redirect: its target is a discovered URL like any other."""

    response: Response
    to: str
    discovered: list[Target]
    robots: RobotsNews | None = None


class Read(msgspec.Struct, frozen=True):
    """A robots.txt or a sitemap: rules and targets, not a page."""

    response: Response | None
    discovered: list[Target]
    robots: RobotsNews | None = None
    note: Reason = NO_REASON
    digest: bytes = b""  # of a sitemap
    listed: int = 0  # by a sitemap


class Refused(msgspec.Struct, frozen=True):
    """No request was sent, for this reason."""

    reason: Refusal
    detail: str = ""
    # The same page under the name by which it is known, if it is to be had.
    discovered: list[Target] = []
    robots: RobotsNews | None = None


class Failed(msgspec.Struct, frozen=True):
    """A request gave no page, for this reason."""

    reason: Failure
    detail: str = ""
    response: Response | None = None
    sent: bool = True


class Crashed(msgspec.Struct, frozen=True):
    """Our own code failed on this page; the crawl goes on."""

    reason: Crash
    detail: str = ""


class Postponed(msgspec.Struct, frozen=True):
    """Nothing is sent for now: the target goes on waiting, this far behind others (see `Target.deferred`)."""

    deferred: int
    # The same page under the name by which it is known, if it is to be had.
    discovered: list[Target] = []


class Deferred(msgspec.Struct, frozen=True):
    """Nothing must be sent now: the lease is back in the frontier, and nothing has happened."""


Settled = Stored | Duplicate | Unchanged | Moved | Read | Refused | Failed | Crashed
Outcome = Settled | Postponed | Deferred


def urls_found(outcome: Settled) -> list[Target]:
    """The targets a visit discovered."""
    match outcome:
        case Stored() | Duplicate() | Unchanged() | Moved() | Read() | Refused():
            return outcome.discovered
        case _:
            return []


def response_of(outcome: Settled) -> Response | None:
    """The response a visit got, if it got one."""
    match outcome:
        case Refused() | Crashed():
            return None
        case _:
            return outcome.response
