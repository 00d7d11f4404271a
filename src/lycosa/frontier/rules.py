"""The choices that every frontier follows, and the few decisions all implementations share."""

from __future__ import annotations

from typing import Literal

import msgspec

from lycosa.model import Kind, OutcomeKind, Settlement, Target
from lycosa.policy.politeness import Pace, backoff_seconds, delay_seconds, is_host_trouble
from lycosa.policy.priority import Order


class FrontierRules(msgspec.Struct, frozen=True):
    """What the operator chose."""

    pace: Pace = Pace()
    order: Order = "breadth"
    max_pages: int = 0
    lease_seconds: float = 180.0
    retry_pauses: tuple[float, ...] = (300.0, 3600.0, 86_400.0)
    max_active_hosts: int = 10_000
    seen: Literal["exact", "bloom"] = "exact"
    seen_capacity: int = 10_000_000
    seen_error: float = 0.01
    durability: Literal["power", "process"] = "power"
    workers: int = 1


class Pause(msgspec.Struct, frozen=True):
    """What a settled visit means for its host."""

    seconds: float
    failures: int


def pause_after(pace: Pace, settlement: Settlement, failures: int, crawl_delay_seconds: float) -> Pause:
    """How long the host rests after this visit, and how many failures in a row it now has."""
    delay = delay_seconds(pace, settlement.fetch_seconds, crawl_delay_seconds)
    is_failure = settlement.outcome is OutcomeKind.FAILED
    failures = failures + 1 if is_host_trouble(settlement.status, is_failure=is_failure) else 0
    return Pause(backoff_seconds(pace, failures, delay, settlement.retry_after_seconds), failures)


def robots_target(origin: str, host: str) -> Target:
    """The request for an origin's robots.txt. It has no fingerprint: it is asked for again and again."""
    return Target(url=f"{origin}/robots.txt", host=host, fingerprint=b"", kind=Kind.ROBOTS, priority=10, origin=origin)


def host_of_origin(origin: str) -> str:
    """The host part of `scheme://host[:port]`."""
    authority = origin.partition("://")[2]
    return authority[: authority.index("]") + 1] if authority.startswith("[") else authority.partition(":")[0]
