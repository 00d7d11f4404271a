"""Which region visits a host, as the operator said. What was measured is judged where the record of the host is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lycosa.errors import SettingsError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")


class RegionRules:
    """Names of hosts, or ends of them (`example.org`, `de`), with a region each; the longest that fits holds."""

    def __init__(self, rules: Mapping[str, str]) -> None:
        self._rules = {end.strip(".").lower(): checked(region) for end, region in rules.items()}

    def of(self, host: str) -> str:
        """The region that a host is bound to; empty if to none."""
        while self._rules:
            if region := self._rules.get(host):
                return region
            _, dot, host = host.partition(".")
            if not dot:
                break
        return ""


def checked(region: str) -> str:
    """The name of a region, if it is one."""
    if not _NAME.fullmatch(region):
        raise SettingsError(f"region: {region!r} is no name of a region (small letters, digits and '-')")
    return region


# A host moves to another region only if that is so much nearer; else it would go to and fro.
CLEARLY_NEARER = 0.7


def nearest_region(measured: Mapping[str, float], now_at: str, regions: Iterable[str]) -> str:
    """Which of the regions should have a host: each asks it once, then the one that connects fastest."""
    here = sorted(regions)
    if untried := next((region for region in here if region not in measured), ""):
        return untried
    best = min(here, key=lambda region: measured[region], default="")
    is_settled = best and now_at in here and measured[best] >= CLEARLY_NEARER * measured[now_at]
    return now_at if is_settled else best
