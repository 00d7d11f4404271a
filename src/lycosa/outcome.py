"""How a visit can end: a closed set. One place (`worker.settlement_of`) turns an outcome into frontier state."""

from __future__ import annotations

import msgspec

from lycosa.model import (
    NO_REASON,
    Crash,
    Failure,
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


class Unchanged(msgspec.Struct, frozen=True):
    """The server says that nothing changed since the last visit."""

    response: Response


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
        case Stored() | Duplicate() | Moved() | Read() | Refused():
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
