"""What an answer to a request for robots.txt means, or its absence: a function of values and of `now`."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from lycosa.model import Response
from lycosa.robots.parse import ALLOW_ALL, DISALLOW_ALL, RobotsRules, parse_robots

CACHE_SECONDS = 86_400.0
FIRST_RETRY_SECONDS = 300.0
MAX_RETRY_SECONDS = 6 * 3600.0
# A name that has never led anywhere is looked for twice more, and soon: what a name server says while it starts, or
# while another takes its place, is over in seconds. Within one run, since a link to a name that nobody has would
# otherwise keep every crawl that finds it from its end.
NAME_RETRY_SECONDS = (5.0, 20.0)
LAST_COPY_AFTER_SECONDS = 12 * 3600.0


class RobotsKind(StrEnum):
    """Where the rules of a record come from."""

    RULES = "rules"
    ALLOW_ALL = "allow_all"
    DISALLOW_ALL = "disallow_all"
    LAST_COPY = "last_copy"


class RobotsRecord(msgspec.Struct, frozen=True, array_like=True):
    """What holds for an origin until `expires_at`; after that robots.txt is asked for again before any page."""

    kind: RobotsKind
    rules: RobotsRules
    fetched_at: float
    expires_at: float
    failures: int = 0
    failing_since_at: float | None = None
    # The last good copy while `rules` is something else, so that no record carries its rules twice.
    set_aside: RobotsRules | None = None

    @property
    def last_copy(self) -> RobotsRules | None:
        """The rules of the last robots.txt that could be read."""
        return self.rules if self.kind in {RobotsKind.RULES, RobotsKind.LAST_COPY} else self.set_aside


def reliable_status(response: Response) -> int | None:
    """The status to go by; None for rules that did not come whole: what is missing may be what forbids.

    What is past our own limit of size is another matter: it is left unread (RFC 9309, 2.5).
    """
    is_whole = response.truncated in ("", "length")
    return response.status if is_whole or not 200 <= response.status < 300 else None


def robots_verdict(
    status: int | None,
    body: bytes,
    agent: str,
    now: float,
    previous: RobotsRecord | None = None,
    *,
    cache_seconds: float = CACHE_SECONDS,
    is_name_unknown: bool = False,
) -> RobotsRecord:
    """What holds after this answer; `status` is None when there was none to rely on (DNS, TLS, network, timeout).

    `is_name_unknown`: there is no such name, as far as this crawl has ever heard.
    """
    expires_at = now + cache_seconds
    last_copy = previous.last_copy if previous else None
    if status is not None and 200 <= status < 300:
        return RobotsRecord(RobotsKind.RULES, parse_robots(body, agent), now, expires_at)
    if status == 304 and last_copy is not None:
        return RobotsRecord(RobotsKind.RULES, last_copy, now, expires_at)
    # 429 means too many requests, so less of them (Google; RFC 9309 leaves it open).
    if status is not None and 400 <= status < 500 and status != 429:
        return RobotsRecord(RobotsKind.ALLOW_ALL, ALLOW_ALL, now, expires_at, set_aside=last_copy)
    return _failed(now, previous, last_copy, is_name_unknown=is_name_unknown)


def _failed(
    now: float, previous: RobotsRecord | None, last_copy: RobotsRules | None, *, is_name_unknown: bool
) -> RobotsRecord:
    """No answer to rely on: everything is disallowed, then the last copy holds; never is everything allowed."""
    failures = previous.failures + 1 if previous else 1
    since_at = now
    if previous is not None and previous.failing_since_at is not None:
        since_at = previous.failing_since_at
    last_copy_at = since_at + LAST_COPY_AFTER_SECONDS
    expires_at = now + _retry_seconds(failures, is_name_unknown=is_name_unknown)
    if last_copy is None:
        return RobotsRecord(RobotsKind.DISALLOW_ALL, DISALLOW_ALL, now, expires_at, failures, since_at)
    if now >= last_copy_at:
        return RobotsRecord(RobotsKind.LAST_COPY, last_copy, now, expires_at, failures, since_at)
    expires_at = min(expires_at, last_copy_at)
    return RobotsRecord(RobotsKind.DISALLOW_ALL, DISALLOW_ALL, now, expires_at, failures, since_at, last_copy)


def _retry_seconds(failures: int, *, is_name_unknown: bool) -> float:
    if is_name_unknown and failures <= len(NAME_RETRY_SECONDS):
        return NAME_RETRY_SECONDS[failures - 1]
    # 2 ** 7 is already past the longest wait; an unbounded exponent would overflow after a year of failures.
    return min(FIRST_RETRY_SECONDS * 2.0 ** min(failures - 1, 7), MAX_RETRY_SECONDS)
