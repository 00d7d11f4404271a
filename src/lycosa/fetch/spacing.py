"""The last word on when a request goes out: exact to the millisecond among the requests of one process.

The frontier spaces leases; between a lease and its request lies whatever else this process was busy with.
"""

from __future__ import annotations

import asyncio
import time
from math import inf

from lycosa.site_rules import NO_RULES, SiteTable
from lycosa.url.domain import registered_domain

MIN_KEPT = 10_000
# The loop's timers count milliseconds, and may be half of one early.
TIMER_SECONDS = 0.001


class RequestSpacing:
    """Requests to one registered domain, and to one address, leave one after the other with a pause between."""

    def __init__(
        self,
        *,
        domain_gap_seconds: float,
        address_gap_seconds: float,
        sites: SiteTable = NO_RULES,
    ) -> None:
        self._sites = sites
        self._domain_gap = domain_gap_seconds
        self._address_gap = address_gap_seconds
        self._free_at: dict[str, float] = {}
        self._prune_at = MIN_KEPT
        self.is_wanted = self._domain_gap > 0 or self._address_gap > 0

    async def wait(self, host: str, address: str) -> None:
        """Return when neither has been asked for long enough."""
        names = registered_domain(host), address
        while True:
            left = max(self._free_at.get(name, 0.0) for name in names) - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(left + TIMER_SECONDS)

    def note(self, host: str, address: str) -> None:
        """A request has just gone out."""
        now, own = time.monotonic(), self._sites.of_host(host).delay_seconds
        # Where the operator chose a shorter pause for a host, its domain and its address take it too.
        longest = inf if own is None else own
        self._free_at[registered_domain(host)] = now + min(self._domain_gap, longest)
        self._free_at[address] = now + min(self._address_gap, longest)
        if len(self._free_at) > self._prune_at:
            self._free_at = {name: moment for name, moment in self._free_at.items() if moment > now}
            self._prune_at = max(MIN_KEPT, 2 * len(self._free_at))
