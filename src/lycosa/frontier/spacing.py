"""How far requests to one registered domain, and to one address, stand apart.

Knows when each was last asked, and keeps only what was asked lately. The pauses of hosts are kept elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from lycosa.policy.politeness import Pace
from lycosa.url.domain import registered_domain

# Between a lease and its request lies the worker's own haste, up to some hundredths of a second; two workers differ.
ADDRESS_MARGIN = 1.1
MIN_KEPT = 10_000
NEVER = float("-inf")


def shortest_by_domain(delays: Mapping[str, float]) -> dict[str, float]:
    """The shortest pause that was chosen for any host of a registered domain."""
    shortest: dict[str, float] = {}
    for host, delay in delays.items():
        domain = registered_domain(host)
        shortest[domain] = min(delay, shortest.get(domain, delay))
    return shortest


class LastRequest(NamedTuple):
    """The last request to a domain or an address: when, under which lease, and (of a domain) where."""

    at: float
    token: int
    address: str = ""


class Place(NamedTuple):
    """Where a lease leads."""

    domain: str
    address: str
    token: int


class Spacing:
    """When each domain and address may be asked again.

    A domain that is asked at the address where it was asked last, or at one that is not known yet, waits as long as a
    host does: many names of one domain on one server are one server. After a restart (`begun_at`) everything counts as
    asked in that moment, since nobody knows what was. Several of them may share their `addresses`.
    """

    def __init__(
        self,
        pace: Pace,
        begun_at: float = NEVER,
        addresses: dict[str, LastRequest] | None = None,
        delays: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        # Where the operator chose a shorter pause for a host, its domain and its address take it too.
        self._own = shortest_by_domain(delays)
        self._host_gap = pace.min_delay_seconds
        self._domain_gap = pace.domain_gap_seconds
        self._address_gap = pace.address_gap_seconds * ADDRESS_MARGIN
        self._longest_gap = max(self._host_gap, self._address_gap)
        gaps = (self._domain_gap, self._address_gap, *self._own.values())
        self.shortest_gap = min((gap for gap in gaps if gap), default=0.0)
        self._unknown = LastRequest(begun_at, 0)
        self._domains: dict[str, LastRequest] = {}
        self._addresses = {} if addresses is None else addresses
        self._prune_at = MIN_KEPT

    def free_at(self, domain: str, address: str) -> float:
        """When the next request may go to this domain at this address; '' if that is not known."""
        moment = NEVER
        if self._domain_gap:
            last = self._domains.get(domain, self._unknown)
            is_elsewhere = address and last.address and address != last.address
            gap = self._domain_gap if is_elsewhere else self._host_gap
            moment = last.at + self._at_most(gap, domain)
        if address and self._address_gap:
            gap = self._at_most(self._address_gap, domain)
            moment = max(moment, self._addresses.get(address, self._unknown).at + gap)
        return moment

    def _at_most(self, gap: float, domain: str) -> float:
        return min(gap, self._own.get(domain, gap)) if self._own else gap

    def note(self, place: Place, now: float) -> None:
        """A request goes out now."""
        domain, address, token = place
        if self._domain_gap:
            self._domains[domain] = LastRequest(now, token, address)
        if address and self._address_gap:
            self._addresses[address] = LastRequest(now, token)
        if len(self._domains) + len(self._addresses) > self._prune_at:
            self._prune(now)

    def undo(self, place: Place) -> None:
        """Nothing was sent under this lease. What was asked before it is long enough ago, or it had not been given."""
        domain, address, token = place
        if (last := self._domains.get(domain)) and last.token == token:
            del self._domains[domain]
        self._undo_address(address, token)

    def may_ask_at(self, place: Place, address: str, now: float) -> Place | None:
        """The host of a lease is at this address, so the request goes there now; None if it may not yet."""
        if not self._address_gap:
            return place
        last = self._addresses.get(address, self._unknown)
        if last.token != place.token and last.at + self._at_most(self._address_gap, place.domain) > now:
            return None
        self._undo_address(place.address, place.token)
        moved = place._replace(address=address)
        self.note(moved, now)
        return moved

    def hold(self, address: str, until: float) -> None:
        """Somebody else asks at an address: it is not free before then."""
        self._addresses[address] = LastRequest(until - self._address_gap, 0)

    def _undo_address(self, address: str, token: int) -> None:
        if (last := self._addresses.get(address)) and last.token == token:
            del self._addresses[address]

    def _prune(self, now: float) -> None:
        for table in (self._domains, self._addresses):
            for name in [name for name, last in table.items() if last.at + self._longest_gap < now]:
                del table[name]
        self._prune_at = max(MIN_KEPT, 2 * (len(self._domains) + len(self._addresses)))
