"""Which worker visits a host next: by a ring, evenly over all of them, or from the region that is nearest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lycosa.frontier.host import NOBODY, Host
from lycosa.frontier.records import HostRecord
from lycosa.frontier.rules import FrontierRules
from lycosa.model import Settlement
from lycosa.policy.balance import Balance
from lycosa.policy.region import RegionRules, nearest_region
from lycosa.policy.ring import Ring

# As if it had taken so long, where no connection came about.
UNREACHED_SECONDS = 60.0


class Assignment:
    """Chooses among workers, which may come and go. Those at `home` are of the machine that has the host's queue.

    By the ring a host stays at home, so that nothing but its settlements goes over the network. While nobody of its
    region is there, anybody visits a host: better from afar than not at all.
    """

    def __init__(self, rules: FrontierRules, home: Sequence[int]) -> None:
        self._is_balanced = rules.assignment == "balanced"
        self._measures = rules.region_by == "connect time"
        self._rules = RegionRules(rules.region_rules)
        self._region_of: dict[int, str] = dict.fromkeys(home, "")
        self._balance = Balance(home)
        self._rings: dict[str, Ring] = {}
        self.change(home, dict.fromkeys(home, rules.region))

    @property
    def takes_turns(self) -> bool:
        """Whether a host's worker is chosen anew for every visit."""
        return self._is_balanced

    @property
    def workers(self) -> list[int]:
        return list(self._region_of)

    def change(self, home: Sequence[int], region_of: Mapping[int, str]) -> None:
        """These are the workers from now on, and where they stand."""
        for worker in set(region_of) - set(self._balance.clients):
            self._balance.join(worker)
        for worker in set(self._balance.clients) - set(region_of):
            self._balance.leave(worker)
        self._region_of = dict(sorted(region_of.items()))
        self._rings = {region: Ring(self._within(region)) for region in set(region_of.values()) if region}
        self._rings[""] = Ring(home)

    def choose(self, host: Host, load: Callable[[int], int]) -> None:
        """Give a host that has no worker one."""
        if host.owner != NOBODY and host.owner in self._region_of:
            return
        region = self._region(host.record)
        if self._is_balanced:
            host.owner, host.times = self._balance.choose(host.domain, load, self._within(region))
        else:
            host.owner = self._rings[region].owner(host.record.name)

    def asked(self, host: Host, by: int, settlement: Settlement | None) -> None:
        """A worker asked a host: who is next may be chosen anew."""
        if self._measures and settlement:
            self._measure(host, self._region_of.get(by, ""), settlement.connect_seconds)
        if self._is_balanced:
            host.owner = NOBODY

    def _region(self, record: HostRecord) -> str:
        region = self._rules.of(record.name) or record.nearest
        return region if region in self._rings else ""

    def _within(self, region: str) -> list[int]:
        return [worker for worker, its in self._region_of.items() if its == region] if region else list(self._region_of)

    def _measure(self, host: Host, region: str, seconds: float) -> None:
        record = host.record
        before = record.measured.get(region)
        if not seconds and not before and record.failures:
            seconds = UNREACHED_SECONDS
        if seconds and region:
            record.measured[region] = (before + seconds) / 2 if before else seconds
        nearest = nearest_region(record.measured, record.nearest, [name for name in self._rings if name])
        if nearest != record.nearest:
            record.nearest, host.owner = nearest, NOBODY
