"""The choices that every frontier follows, and the decisions all implementations share. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from lycosa.model import (
    MAX_DOUBT,
    MAX_PRIORITY,
    MIN_PRIORITY,
    NO_REASON,
    History,
    Kind,
    Note,
    OutcomeKind,
    Reason,
    RobotsNews,
    Settlement,
    Target,
    origin_of,
)
from lycosa.policy.kin import is_evidence
from lycosa.policy.politeness import (
    CIRCUIT_FAILURES,
    HostAnswer,
    Pace,
    Standing,
    backoff_seconds,
    delay_seconds,
    is_host_trouble,
    own_delay,
    slowed_seconds,
    with_delay,
)
from lycosa.policy.priority import Order

# Links to many ports of one host must not make its record grow; a forgotten origin is asked again. More than can have
# lanes of their own (see `queue.py`): else what was just learnt of one would be forgotten for the others, for ever.
MAX_ORIGINS_PER_HOST = 32
# A visit to robots.txt that ended without any news of it (a crash of ours) is not repeated at once.
LOST_ROBOTS_SECONDS = 300.0
# A page of which so many workers died is not read again.
MAX_CRASHES = 2
# Ranks order the front queues: 0 for requisites, and for robots.txt asked on behalf of another host; then class 10 down
# to 1, behind them what is in doubt, and last what waits until nothing else is left.
_CLASSES = MAX_PRIORITY - MIN_PRIORITY + 1
RANKS = 1 + _CLASSES + MAX_DOUBT + 1
WAITING_RANK = RANKS - 1
FIRST_RANK, FIRST_CLASS_RANK, LAST_CLASS_RANK = 0, 1, _CLASSES
_LAST_CLASS = 1 + MAX_PRIORITY
# A member of an enumeration is found by a call: this is asked for every link.
_PAGE, _FIRST = Kind.PAGE, (Kind.ROBOTS, Kind.REQUISITE)


class FrontierRules(msgspec.Struct, frozen=True):
    """What the operator chose."""

    pace: Pace = Pace()
    order: Order = "breadth"
    max_pages: int = 0
    lease_seconds: float = 180.0
    retry_pauses: tuple[float, ...] = (300.0, 3600.0, 86_400.0)
    max_active_hosts: int = 10_000
    max_queued_per_host: int = 0
    seen: Literal["exact", "bloom"] = "exact"
    seen_capacity: int = 10_000_000
    seen_error: float = 0.01
    durability: Literal["power", "process"] = "power"
    workers: int = 1
    silence_seconds: float = 30.0
    assignment: Literal["ring", "balanced"] = "ring"
    region: str = ""  # of this machine
    region_rules: dict[str, str] = {}
    region_by: Literal["rules", "connect time"] = "rules"
    connections_per_host: dict[str, int] = {}  # of those that take more than one at a time
    is_continuous: bool = False  # pages are visited again as they are due, without an end
    pages_per_second: float = 0.0  # of such a crawl; 0: known pages about once a month, new ones at once
    min_revisit_seconds: float = 3600.0
    forget_seconds: float = 90 * 86_400.0  # from when a page was found gone
    delays: dict[str, float] = {}  # of hosts, or of all below a name, that have a pause of their own
    intervals: dict[str, float] = {}  # of places (`site_rules`): how soon their pages are visited again

    def pace_of(self, host: str) -> Pace:
        """How politely a host is asked."""
        return with_delay(self.pace, own_delay(self.delays, host)) if self.delays else self.pace

    @property
    def is_lending(self) -> bool:
        """Whether machines visit hosts of each other's partitions."""
        return self.assignment == "balanced" or bool(self.region or self.region_rules) or self.region_by != "rules"


class HostPause(msgspec.Struct, frozen=True):
    """What a settled visit means for its host."""

    seconds: float
    standing: Standing
    is_ban: bool = False
    has_failed: bool = False
    is_circuit: bool = False  # it has failed so often that it is left alone for long


class OriginState(msgspec.Struct, array_like=True, omit_defaults=True, gc=False):
    """What the frontier must know of an origin's robots.txt."""

    fetched_at: float
    expires_at: float
    is_pending: bool = False
    crawl_delay_seconds: float = 0.0
    trouble: Reason = NO_REASON  # why its robots.txt could not be read, or why it rests
    rest_until: float = 0.0  # it failed again and again, while others of its host did not

    @property
    def closed_until(self) -> float:
        """When it may be asked again; 0 if it may be."""
        return max(self.expires_at, self.rest_until) if self.is_pending else self.rest_until


def rank_of(target: Target) -> int:
    """Where a target stands among those of its host: the smaller the sooner."""
    if target.kind is not _PAGE and target.kind in _FIRST:
        # Before everything else: other hosts wait for a robots.txt; and a page that is kept is whole before the next.
        return FIRST_RANK
    if target.deferred:
        return min(_CLASSES + target.deferred, WAITING_RANK)
    priority = target.priority
    if MIN_PRIORITY <= priority <= MAX_PRIORITY:
        return _LAST_CLASS - priority
    return _LAST_CLASS - min(max(priority, MIN_PRIORITY), MAX_PRIORITY)


def is_in_doubt(rank: int) -> bool:
    """Whether what has this rank goes behind whatever the pages before it may lead to."""
    return rank > _CLASSES


def is_last_first(rank: int, order: Order) -> bool:
    """Whether of this rank the newest is next.

    What is in doubt is looked at from both ends: what is near is worth more, so it comes first; and whether there is an
    end shows soonest where it is deepest.
    """
    return rank == _CLASSES + 2 if is_in_doubt(rank) else order == "depth"


class Again(NamedTuple):
    """A target that is tried once more, and how long it waits for that at least."""

    target: Target
    pause_seconds: float


def again_after(settlement: Settlement, target: Target, pauses: Sequence[float], *, may_retry: bool) -> Again | None:
    """Whether a target is tried once more after this visit; None if that was its last."""
    if settlement.was_fatal:
        crashes = target.crashes + 1
        once_more = replace(target, crashes=crashes, visits=target.visits + 1)
        return Again(once_more, 0.0) if crashes < MAX_CRASHES else None
    if not may_retry or target.attempt >= len(pauses):
        return None
    once_more = replace(target, attempt=target.attempt + 1, visits=target.visits + 1)
    return Again(once_more, pauses[target.attempt])


def answer_of(settlement: Settlement) -> HostAnswer:
    """What a visit says of its host."""
    if settlement.was_fatal:
        # One page may be an accident; a host that has many of them must not have a worker for each.
        return HostAnswer.TROUBLE
    if settlement.outcome is not OutcomeKind.FAILED:
        return HostAnswer.PAGE if settlement.outcome.is_page else HostAnswer.OTHER
    if settlement.is_ban or settlement.status == 429:
        return HostAnswer.BAN
    if settlement.status == 403:
        return HostAnswer.REFUSED
    return HostAnswer.TROUBLE if is_host_trouble(settlement.status, is_failure=True) else HostAnswer.OTHER


def pause_after(
    pace: Pace,
    settlement: Settlement,
    standing: Standing,
    crawl_delay_seconds: float,
    kin: int | None,
    given: Sequence[int],
    *,
    is_probe: bool = False,
) -> HostPause | None:
    """How long the host rests after this visit, and how we stand with it now.

    None when nothing was sent: that costs the host nothing. A failure before sending (DNS) is trouble all the same.
    `kin` is the kind of the URL that was asked, `given` are those that have given pages here. What a host answers to a
    URL that cannot exist says nothing of how we stand with it.
    """
    if not settlement.sent and settlement.outcome is not OutcomeKind.FAILED:
        return None
    answer = answer_of(settlement)
    # That nobody could be reached does not depend on the URL.
    evident = kin is None or not settlement.sent or is_evidence(kin, given)
    now = standing if is_probe else standing.after(answer, is_evidence=evident)
    delay = delay_seconds(pace, settlement.fetch_seconds, crawl_delay_seconds)
    rest = backoff_seconds(pace, now.failures, delay, settlement.retry_after_seconds)
    has_failed = answer in (HostAnswer.TROUBLE, HostAnswer.BAN, HostAnswer.REFUSED)
    return HostPause(
        max(rest, slowed_seconds(pace, delay, now.slowdown)),
        now,
        is_ban=now.failures > 0 and answer in (HostAnswer.BAN, HostAnswer.REFUSED) and now.failures > standing.failures,
        has_failed=has_failed,
        is_circuit=now.failures >= CIRCUIT_FAILURES,
    )


def robots_target(origin: str, host: str) -> Target:
    """The request for an origin's robots.txt. It has no fingerprint: it is asked for again and again."""
    return Target(url=f"{origin}/robots.txt", host=host, fingerprint=b"", kind=Kind.ROBOTS, priority=10, origin=origin)


def lost_robots(target: Target, now: float) -> RobotsNews:
    """The news when a robots.txt visit brought none: its origin waits, and is asked again later."""
    lost = Reason(Note.ROBOTS_LOST)
    return RobotsNews(target.origin, 0.0, now + LOST_ROBOTS_SECONDS, b"", is_pending=True, trouble=lost)


def learn(origins: dict[str, OriginState], news: RobotsNews, queued: Collection[str] = ()) -> float:
    """Note what was learnt of an origin. Returns the Crawl-delay of its host: the longest any origin asks for.

    `queued` are those that have lanes of their own.
    """
    before = origins.pop(news.origin, None)
    rest_until = before.rest_until if before else 0.0
    # While robots.txt cannot be read its last wish still holds.
    delay = before.crawl_delay_seconds if before and news.is_pending else news.crawl_delay_seconds
    origins[news.origin] = OriginState(
        news.fetched_at, news.expires_at, news.is_pending, delay, news.trouble, rest_until
    )
    while len(origins) > MAX_ORIGINS_PER_HOST:
        # The one learnt of longest ago; of those nobody waits for, if there are any, and that may be asked again.
        others = (name for name in origins if name != news.origin)
        del origins[min(others, key=lambda name: (name in queued, origins[name].closed_until > 0))]
    return max(state.crawl_delay_seconds for state in origins.values())


def history_of(target: Target, settlement: Settlement, now: float, due: float | None) -> History:
    """The row of the crawl-history table that this visit leaves."""
    return History(
        url=target.url,
        outcome=settlement.outcome,
        visited_at=now,
        status=settlement.status,
        reason=settlement.reason.code,
        detail=settlement.reason.detail,
        visits=target.visits + 1,
        depth=target.depth,
        referrer=target.referrer,
        digest=settlement.digest,
        original=settlement.original,
        etag=settlement.etag,
        last_modified=settlement.last_modified,
        next_at=due or 0.0,
        group=settlement.group,
        request=target.request,
        text=settlement.text,
        kind=target.kind if target.kind is Kind.REQUISITE else Kind.PAGE,
        listing=target.listing,
        listed=settlement.listed,
    )


# Chooses among visited URLs by what is known of them.
Which = Callable[[History], bool]


def is_for_revisit(past: History) -> bool:
    """Whether a revisit asks for it: pages with their requisites, and what may be one by now."""
    is_requisite = past.outcome is OutcomeKind.READ and past.kind is Kind.REQUISITE
    return past.outcome.is_page or is_requisite or past.outcome in (OutcomeKind.FAILED, OutcomeKind.CRASHED)


def is_sitemap(past: History) -> bool:
    """Whether a visited URL is a sitemap: only those were named by a robots.txt."""
    return past.referrer.endswith("/robots.txt")


def visited_target(past: History, fingerprint: bytes) -> Target:
    """The target of a URL that was visited before."""
    return Target(
        past.url,
        host_of_origin(origin_of(past.url)),
        fingerprint,
        Kind.SITEMAP if is_sitemap(past) else past.kind,
        depth=past.depth,
        referrer=past.referrer,
        visits=past.visits,
        request=past.request,
    )


def host_of_origin(origin: str) -> str:
    """The host part of `scheme://host[:port]`."""
    authority = origin.partition("://")[2]
    return "".join(authority.partition("]")[:2]) if authority.startswith("[") else authority.partition(":")[0]
