"""How politely a crawl goes, and whether it matters where its machines stand: the frontier and its workers ask."""

from __future__ import annotations

from lycosa.policy.politeness import Pace
from lycosa.settings import Settings


def pace_of(settings: Settings) -> Pace:
    """How politely a crawl goes."""
    return Pace(
        settings.min_delay_seconds,
        settings.max_delay_seconds,
        settings.delay_factor,
        settings.max_crawl_delay_seconds,
        settings.max_backoff_seconds,
        settings.circuit_seconds,
        settings.ip_delay_seconds,
        settings.domain_delay_seconds,
    )


def has_regions(settings: Settings) -> bool:
    """Whether it matters where a machine stands."""
    return bool(settings.region or settings.region_rules or settings.region_by != "rules")
