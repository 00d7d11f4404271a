"""The robots rules a worker goes by: read once per origin, kept as long as the frontier says they hold."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import msgspec

from lycosa.errors import AddressRefused, NoSuchName, VisitError
from lycosa.figures import Hits
from lycosa.model import (
    NO_REASON,
    Failure,
    Lease,
    Note,
    Reason,
    Refusal,
    Response,
    RobotsNews,
    origin_of,
)
from lycosa.outcome import Refused
from lycosa.ports import Dispatcher
from lycosa.robots.match import RobotsMatcher
from lycosa.robots.parse import DISALLOW_ALL, RobotsRules, escape_pattern, path_and_query
from lycosa.robots.usage import NO_USAGE, Usage, usage_in
from lycosa.robots.verdict import NAME_RETRY_SECONDS, RobotsKind, RobotsRecord, reliable_status, robots_verdict
from lycosa.site_rules import host_of

# What is kept ready is bounded by its rules, about 200 bytes each; an origin counts as a few more.
MAX_RULES = 100_000
RULES_PER_ORIGIN = 10
# A redirected robots.txt waits for its turn on another host; should it get lost, it is asked for again.
REDIRECT_WAIT_SECONDS = 900.0
# Rules must outlive the pause before the request they are for: a host that asks for a day between two requests, or
# a short `robots_cache_seconds`, would otherwise have its robots.txt read again and again and never a page.
MIN_HOLD_SECONDS = 1.0
_NOT_WHOLE = {"time": Failure.TIMEOUT, "disconnect": Failure.RESET, "coding": Failure.CODING}


# What an operator may overrule for a host: there may be no address, or none that is open, all the same.
_BY_ROBOTS = frozenset({Refusal.ROBOTS, Refusal.ROBOTS_UNREACHABLE})


class Ruling(msgspec.Struct, frozen=True, array_like=True):
    """A robots record, and whether the origin may be connected to at all."""

    record: RobotsRecord
    is_address_refused: bool = False
    # Not asked for, since nothing of its site is worth a request.
    left_for: Refusal | None = None
    trouble: Reason = NO_REASON  # why robots.txt could not be read


class _Entry(NamedTuple):
    fetched_at: float
    matcher: RobotsMatcher
    refused: Refused  # how a visit ends where the matcher says no
    usages: list[tuple[RobotsMatcher, Usage]]  # each holds where its matcher says no
    weight: int


_decode = msgspec.msgpack.Decoder(Ruling).decode
_encode = msgspec.msgpack.Encoder().encode


class RobotsCache:
    """Answers whether a target may be fetched, and turns what a robots.txt fetch gave into news for the frontier."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        agent: str,
        cache_seconds: float,
        tries: int,
        ignored: frozenset[str] = frozenset(),
    ) -> None:
        self._ignored = ignored  # hosts whose robots.txt is read and not obeyed
        self._dispatcher = dispatcher
        self._agent = agent
        self._cache_seconds = cache_seconds
        self._tries = tries
        self.hits = Hits()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._weight = 0

    async def refusal(self, lease: Lease) -> Refused | None:
        """Why this target may not be fetched; None if it may."""
        url = lease.target.url
        entry = await self._entry(lease)
        if lease.target.host in self._ignored and entry.refused.reason in _BY_ROBOTS:
            return None
        return None if entry.matcher.allows(path_and_query(url)) else entry.refused

    async def usage(self, lease: Lease) -> Usage:
        """What robots.txt says of the use of this target."""
        usage, path = NO_USAGE, path_and_query(lease.target.url)
        for matcher, stated in (await self._entry(lease)).usages:
            if not matcher.allows(path):
                usage |= stated
        return usage

    async def previous(self, origin: str) -> RobotsRecord | None:
        """What was in force before."""
        raw = await self._dispatcher.robots(origin)
        return _decode(raw).record if raw else None

    def answered(
        self, origin: str, response: Response, previous: RobotsRecord | None, now: float
    ) -> tuple[RobotsNews, tuple[str, ...]]:
        """The news in an HTTP answer, and the sitemaps it names."""
        status = reliable_status(response)
        record = robots_verdict(status, response.body, self._agent, now, previous, cache_seconds=self._cache_seconds)
        trouble = NO_REASON
        if record.failures:
            trouble = Reason(Failure.STATUS, str(status)) if status else Reason(_NOT_WHOLE[response.truncated])
        return self._news(origin, Ruling(record, trouble=trouble)), record.rules.sitemaps

    def unanswered(self, lease: Lease, error: VisitError, previous: RobotsRecord | None, now: float) -> RobotsNews:
        """The news when there was no answer."""
        target = lease.target
        if isinstance(error, AddressRefused):
            record = RobotsRecord(RobotsKind.DISALLOW_ALL, DISALLOW_ALL, now, now + self._cache_seconds)
            return self._news(target.origin, Ruling(record, is_address_refused=True))
        # Whoever answered with a redirect has a name, and so has a host that was found at an address before.
        is_name_unknown = isinstance(error, NoSuchName) and not target.redirects and not lease.address
        record = robots_verdict(None, b"", self._agent, now, previous, is_name_unknown=is_name_unknown)
        trouble = error.in_short
        if target.redirects:
            # Not this origin's fault: whose it is, is told.
            trouble = Reason(error.reason, f"{target.host}: {trouble.detail}" if trouble.detail else target.host)
        tries = min(self._tries, len(NAME_RETRY_SECONDS)) if is_name_unknown else self._tries
        return self._news(target.origin, Ruling(record, trouble=trouble), tries)

    def left(self, origin: str, refusal: Refusal, now: float) -> RobotsNews:
        """It was not asked for, since nothing behind it is worth a request."""
        record = RobotsRecord(RobotsKind.DISALLOW_ALL, DISALLOW_ALL, now, now + self._cache_seconds)
        return self._news(origin, Ruling(record, left_for=refusal))

    def gave_up(self, origin: str, now: float) -> RobotsNews:
        """Too many redirects: as if there were no robots.txt (RFC 9309, 2.3.1.2)."""
        return self._news(origin, Ruling(robots_verdict(404, b"", self._agent, now)))

    @staticmethod
    def redirected(origin: str, host: str, now: float) -> RobotsNews:
        """The answer is to be had from another host: the origin's targets wait for it."""
        trouble = Reason(Note.ROBOTS_REDIRECTED, host)
        return RobotsNews(origin, 0.0, now + REDIRECT_WAIT_SECONDS, b"", is_pending=True, trouble=trouble)

    def _news(self, origin: str, ruling: Ruling, tries: int | None = None) -> RobotsNews:
        """The news of a ruling: pending while it may yet become another, by so many tries as a URL has if not told."""
        record = ruling.record
        tries = self._tries if tries is None else tries
        crawl_delay_seconds = record.rules.crawl_delay_seconds or 0.0
        return RobotsNews(
            origin,
            record.fetched_at,
            max(record.expires_at, record.fetched_at + 2 * crawl_delay_seconds + MIN_HOLD_SECONDS),
            _encode(ruling),
            crawl_delay_seconds=crawl_delay_seconds,
            is_pending=record.kind is RobotsKind.DISALLOW_ALL
            and 0 < record.failures <= tries
            and host_of(origin) not in self._ignored,
            trouble=ruling.trouble,
        )

    async def _entry(self, lease: Lease) -> _Entry:
        origin = origin_of(lease.target.url)
        entry = self._entries.get(origin)
        self.hits.asked += 1
        if entry is None or entry.fetched_at != lease.robots_at:
            self.hits.missed += 1
            entry = await self._fetch_entry(origin)
        return entry

    async def _fetch_entry(self, origin: str) -> _Entry:
        raw = await self._dispatcher.robots(origin)
        assert raw, "no page is leased before its origin's robots.txt was read"
        # Nothing is awaited from here on: another visit may have fetched the same entry, and its weight counts once.
        ruling = _decode(raw)
        rules = ruling.record.rules
        weight = len(rules.rules) + RULES_PER_ORIGIN
        usages = [_usage_rule(statement) for _, statement in rules.usages]
        entry = _Entry(ruling.record.fetched_at, RobotsMatcher(rules), _refused_by(ruling), usages, weight)
        self._forget(origin)
        self._entries[origin] = entry
        self._weight += weight
        while self._weight > MAX_RULES and len(self._entries) > 1:
            self._forget(next(iter(self._entries)))
        return entry

    def _forget(self, origin: str) -> None:
        if entry := self._entries.pop(origin, None):
            self._weight -= entry.weight


def _usage_rule(statement: str) -> tuple[RobotsMatcher, Usage]:
    """A usage preference, and the paths it is for: those it begins with a pattern of, else all."""
    pattern, space, rest = statement.partition(" ")
    if not space or not pattern.startswith(("/", "*")):
        pattern, rest = "/", statement
    return RobotsMatcher(RobotsRules(rules=((False, escape_pattern(pattern)),))), usage_in(rest)


def _refused_by(ruling: Ruling) -> Refused:
    """How the visit of a target ends that this ruling forbids."""
    if ruling.is_address_refused:
        return Refused(Refusal.ADDRESS)
    if ruling.left_for:
        return Refused(ruling.left_for)
    if ruling.record.kind is not RobotsKind.DISALLOW_ALL:
        return Refused(Refusal.ROBOTS)
    if ruling.trouble.code == Refusal.NAME:
        return Refused(Refusal.NAME)
    return Refused(Refusal.ROBOTS_UNREACHABLE, str(ruling.trouble))
