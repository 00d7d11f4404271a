"""The choices that every frontier follows, and the decisions all implementations share. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from lycosa.model import MAX_PRIORITY, MIN_PRIORITY, History, Kind, OutcomeKind, RobotsNews, Settlement, Target
from lycosa.policy.politeness import (
    Answer,
    Pace,
    Standing,
    backoff_seconds,
    delay_seconds,
    is_host_trouble,
    slowed_seconds,
)
from lycosa.policy.priority import Order

# Links to many ports of one host must not make its record grow; a forgotten origin is asked again.
MAX_ORIGINS_PER_HOST = 16
# A visit to robots.txt that ended without any news of it (a crash of ours) is not repeated at once.
LOST_ROBOTS_SECONDS = 300.0
# A page of which so many workers died is not read again.
MAX_CRASHES = 2
# Ranks order the front queues: 0 for robots.txt asked on behalf of another host, then class 10 down to 1.
RANKS = MAX_PRIORITY - MIN_PRIORITY + 2


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


class Pause(msgspec.Struct, frozen=True):
    """What a settled visit means for its host."""

    seconds: float
    standing: Standing
    is_ban: bool = False


class OriginState(msgspec.Struct, array_like=True, gc=False):
    """What the frontier must know of an origin's robots.txt."""

    fetched_at: float
    expires_at: float
    is_pending: bool = False
    crawl_delay_seconds: float = 0.0


def rank_of(target: Target) -> int:
    """Where a target stands among those of its host: the smaller the sooner."""
    if target.kind is Kind.ROBOTS:
        # Before everything else: other hosts wait for it, and it needs no permission.
        return 0
    return 1 + MAX_PRIORITY - min(max(target.priority, MIN_PRIORITY), MAX_PRIORITY)


def in_turn(targets: Iterable[Target]) -> list[Target]:
    """Targets in the order in which queues with a limit take them: errands, for which there is always room; then each
    page once, however often it came."""
    errands, pages = list[Target](), dict[bytes, Target]()
    for target in targets:
        if target.fingerprint:
            pages.setdefault(target.fingerprint, target)
        else:
            errands.append(target)
    return errands + list(pages.values())


class Again(NamedTuple):
    """A target that is tried once more, and how long it waits for that at least."""

    target: Target
    pause_seconds: float


def again_after(settlement: Settlement, target: Target, pauses: Sequence[float], *, may_retry: bool) -> Again | None:
    """Whether a target is tried once more after this visit; None if that was its last."""
    if settlement.was_fatal:
        crashes = target.crashes + 1
        return Again(replace(target, crashes=crashes), 0.0) if crashes < MAX_CRASHES else None
    if not may_retry or target.attempt >= len(pauses):
        return None
    return Again(replace(target, attempt=target.attempt + 1), pauses[target.attempt])


def answer_of(settlement: Settlement) -> Answer:
    """What a visit says of its host."""
    if settlement.was_fatal:
        # One page may be an accident; a host that has many of them must not have a worker for each.
        return Answer.TROUBLE
    if settlement.outcome is not OutcomeKind.FAILED:
        return Answer.PAGE if settlement.outcome.is_page else Answer.OTHER
    if settlement.is_ban or settlement.status == 429:
        return Answer.BAN
    if settlement.status == 403:
        return Answer.REFUSED
    return Answer.TROUBLE if is_host_trouble(settlement.status, is_failure=True) else Answer.OTHER


def pause_after(pace: Pace, settlement: Settlement, standing: Standing, crawl_delay_seconds: float) -> Pause | None:
    """How long the host rests after this visit, and how we stand with it now.

    None when nothing was sent: that costs the host nothing. A failure before sending (DNS) is trouble all the same.
    """
    if not settlement.sent and settlement.outcome is not OutcomeKind.FAILED:
        return None
    answer = answer_of(settlement)
    now = standing.after(answer)
    delay = delay_seconds(pace, settlement.fetch_seconds, crawl_delay_seconds)
    rest = backoff_seconds(pace, now.failures, delay, settlement.retry_after_seconds)
    is_ban = now.failures > 0 and answer is not Answer.TROUBLE
    return Pause(max(rest, slowed_seconds(pace, delay, now.slowdown)), now, is_ban)


def robots_target(origin: str, host: str) -> Target:
    """The request for an origin's robots.txt. It has no fingerprint: it is asked for again and again."""
    return Target(url=f"{origin}/robots.txt", host=host, fingerprint=b"", kind=Kind.ROBOTS, priority=10, origin=origin)


def lost_robots(target: Target, now: float) -> RobotsNews:
    """The news when a robots.txt visit brought none: its origin waits, and is asked again later."""
    return RobotsNews(target.origin, 0.0, now + LOST_ROBOTS_SECONDS, b"", is_pending=True)


def learn(origins: dict[str, OriginState], news: RobotsNews) -> float:
    """Note what was learnt of an origin. Returns the Crawl-delay of its host: the longest any origin asks for."""
    before = origins.pop(news.origin, None)
    # While robots.txt cannot be read its last wish still holds.
    delay = before.crawl_delay_seconds if before and news.is_pending else news.crawl_delay_seconds
    origins[news.origin] = OriginState(news.fetched_at, news.expires_at, news.is_pending, delay)
    while len(origins) > MAX_ORIGINS_PER_HOST:
        del origins[next(iter(origins))]
    return max(state.crawl_delay_seconds for state in origins.values())


def is_in_trouble(failures: int, origins: dict[str, OriginState]) -> bool:
    """Whether a host's pause is a back-off rather than politeness."""
    return failures > 0 or any(state.is_pending for state in origins.values())


def history_of(target: Target, settlement: Settlement, visits: int, now: float, due: float | None) -> History:
    """The row of the crawl-history table that this visit leaves."""
    reason = settlement.reason
    if settlement.was_fatal:
        reason = f"killed its worker{'' if due else ' twice'}: {reason}"
    return History(
        url=target.url,
        outcome=settlement.outcome,
        visited_at=now,
        status=settlement.status,
        reason=reason,
        visits=visits,
        depth=target.depth,
        referrer=target.referrer,
        digest=settlement.digest,
        original=settlement.original,
        etag=settlement.etag,
        last_modified=settlement.last_modified,
        next_at=due or 0.0,
        group=settlement.group,
    )


def host_of_origin(origin: str) -> str:
    """The host part of `scheme://host[:port]`."""
    authority = origin.partition("://")[2]
    return authority[: authority.index("]") + 1] if authority.startswith("[") else authority.partition(":")[0]
