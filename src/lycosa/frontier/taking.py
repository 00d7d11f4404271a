"""Which leases a worker is given: of the hosts whose turn it is, each time the next that may be asked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import replace

from lycosa.frontier.backlog import Backlog
from lycosa.frontier.host import Host
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.leases import LeaseTable
from lycosa.frontier.poison import readable_history
from lycosa.frontier.queue import Spot
from lycosa.frontier.ranking import Ranking
from lycosa.frontier.records import HostRecord, Lane, site_version
from lycosa.frontier.revisits import Revisits
from lycosa.frontier.rules import WAITING_RANK, robots_target
from lycosa.frontier.tables import HISTORY, SITES, Tables
from lycosa.model import Kind, Lease, Target, Validators, origin_of
from lycosa.policy.kin import is_evidence, kin_of
from lycosa.policy.politeness import CIRCUIT_FAILURES

# Versions of sites kept in memory, about 150 bytes each; others are looked up.
MAX_VERSIONS = 50_000
# Leases of one call from which on each host is given one only: a message should not take long to make or to read.
MAX_TOGETHER = 512
# What one look at a host passes over because it is poisoned or set aside.
MAX_PASSED_OVER = 256
# What is leased though the page limit is reached: a page that is kept is whole.
_WHATEVER_THE_LIMIT = (Kind.REQUISITE, Kind.ROBOTS)
# Until an operator takes a block back: the end of the year 9998.
FAR_AWAY = 253_370_764_800.0
# Hosts that wait for the budget look again one after the other, but not later than after so many visits.
MAX_UNPAID = 64


class PageLimit(Protocol):
    """How many pages may be fetched in all."""

    def is_reached(self, pages: int, leased: int) -> bool:
        """With so many pages fetched and leased here, whether no more can be had."""

    def may_lease(self, pages: int, leased: int) -> bool:
        """Whether one more page may be leased here and now."""


class PagesAtMost:
    """The page limit of a crawl that has one scheduler; 0 for none."""

    def __init__(self, max_pages: int) -> None:
        self._max_pages = max_pages

    def is_reached(self, pages: int, leased: int) -> bool:
        return 0 < self._max_pages <= pages + leased

    def may_lease(self, pages: int, leased: int) -> bool:
        return not self.is_reached(pages, leased)


class SiteVersions:
    """Which version of the notes on a domain is in the table: a worker that has another one asks for them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._versions: OrderedDict[str, int] = OrderedDict()

    async def load(self, domains: Iterable[str]) -> None:
        missing = list({domain for domain in domains if domain not in self._versions})
        if missing:
            rows = await self._tables.get(SITES, [domain.encode() for domain in missing])
            for domain, raw in zip(missing, rows, strict=True):
                self.note(domain, site_version(raw))

    async def of(self, domain: str) -> int:
        if domain not in self._versions:
            await self.load([domain])
        return self._versions[domain]

    def note(self, domain: str, version: int) -> None:
        self._versions[domain] = version
        if len(self._versions) > MAX_VERSIONS:
            self._versions.popitem(last=False)


@dataclass(eq=False, repr=False)
class Taking:
    """Gives out leases. Reads ahead what they take, in as few looks as it can."""

    _tables: Tables
    _hosts: HostTable
    _backlog: Backlog
    _leases: LeaseTable
    _limit: PageLimit
    _versions: SiteVersions
    _ranking: Ranking
    _revisits: Revisits

    _withheld: list[Host] = field(default_factory=list)  # that were ready, but the page limit did not let them
    _unpaid: list[Host] = field(default_factory=list)  # the budget did not let them
    _owing: dict[str, Host] = field(default_factory=dict)  # by name: not since, either
    _open_ranks: int | None = None  # before which hosts are visited; asked once a call, too
    _is_dry: bool | None = None  # whether nothing is left but what waits for that; asked once a call, of all hosts
    was_withheld: bool = False  # something, when leases were last asked for

    def may_lease(self) -> bool:
        """Whether the page limit lets anything be leased."""
        return not self._limit.is_reached(self._backlog.pages, self._leases.pages)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is leased: the page limit is reached, and the pages have all that they need."""
        return not self.may_lease() and not self._backlog.counts["requisites_queued"]

    @property
    def is_completing(self) -> bool:
        """Whether nothing is leased but what kept pages need: the page limit is reached."""
        return not self.may_lease() and self._backlog.counts["requisites_queued"] > 0

    async def take(self, batch: HostBatch, worker: int, limit: int, now: float) -> list[Lease]:
        leases: list[Lease] = []
        hosts = 0
        self._is_dry = self._open_ranks = None
        if not limit or self.is_over:
            return leases
        likely = self._hosts.next_ready(worker, now, limit)
        await self._backlog.load_heads(likely, now)
        await self._versions.load(host.domain for host in likely)
        for host in self._hosts.ready(batch, worker, now):
            run = await self._run(batch, host, worker, now, MAX_TOGETHER - len(leases))
            leases += run
            hosts += bool(run)
            if hosts == limit or self.is_over:
                break
        # Only now: within the loop they would come again at once.
        may_lease = self.may_lease()
        for host in self._withheld:
            if may_lease or host.leased:
                self._hosts.stand_ready(host)
            else:
                self._hosts.hold_back(batch, host)
        self.was_withheld = bool(self._withheld)
        self._withheld.clear()
        for place, host in enumerate(self._unpaid):
            self._hosts.stand_ready(host, self._revisits.paid_at(1.0 + min(place, MAX_UNPAID)))
            self._owing[host.record.name] = host
        self._unpaid.clear()
        return leases

    def stand_again(self) -> None:
        """The budget is another one: those that wait until they can be paid stand ready, to see when that is."""
        for host in self._owing.values():
            if host.is_active and host.is_ready:
                host.standing = 0
                self._hosts.stand_ready(host)
        self._owing.clear()

    async def _run(self, batch: HostBatch, host: Host, worker: int, now: float, limit: int) -> list[Lease]:
        """The next of a host's queue, and those behind it that may be visited right after it; perhaps none."""
        if not (first := await self._lease(batch, host, worker, now)):
            return []
        leases, length = [first], min(self._hosts.run_length(host), len(host.leased) - 1 + limit)
        held = self._leases.get(first.token)
        if length <= len(host.leased) or not held or not held.spot or first.target.kind is Kind.ROBOTS:
            return leases
        lane = held.spot.lane
        await self._backlog.load_run(host, lane, length)
        while len(host.leased) < length and (more := await self._follow(batch, host, lane, worker, now)):
            leases.append(more)
        return leases

    def _is_early(self, rank: int, now: float) -> bool:
        """Whether a host whose best has this rank is to wait for others."""
        if rank == WAITING_RANK:
            return not self._dry(now)
        if self._open_ranks is None:
            self._open_ranks = self._hosts.open_ranks
        return rank >= self._open_ranks

    def _dry(self, now: float) -> bool:
        """Whether nothing is left but what waits for just that: giving out leases changes nothing of it."""
        if self._is_dry is None:
            self._is_dry = self._hosts.is_dry(now)
        return self._is_dry

    async def _follow(self, batch: HostBatch, host: Host, lane: Lane, worker: int, now: float) -> Lease | None:
        """The next of the same lane, if it needs nothing else before."""
        if host.next_lane_with_more(host.closed(now)) is not lane:
            return None
        if not (next_one := await self._first(batch, host, now)):
            return None
        spot, target = next_one
        state = host.record.origins.get(origin_of(target.url))
        if state is None or state.expires_at <= now or spot.lane is not lane:
            return None
        if target.kind is Kind.PAGE and not self._limit.may_lease(self._backlog.pages, self._leases.pages):
            return None
        if not self._revisits.may_lease(target, now):
            return None
        return await self._give(batch, host, target, spot, worker, now)

    async def _lease(self, batch: HostBatch, host: Host, worker: int, now: float) -> Lease | None:
        """The next of a host's queue, or a robots.txt; None if the host has nothing to give at present."""
        record = host.record
        if host.is_blocked:
            if not host.leased:
                self._hosts.park(batch, host, FAR_AWAY)
            return None
        if record.lanes and self._is_early(host.rank, now):
            if not host.leased:
                self._hosts.hold_back(batch, host)
            return None
        if not (first := await self._first(batch, host, now)):
            if host.leased:
                # What it does next is seen when the last of those ends.
                return None
            reopens_at = host.reopens_at(host.closed(now)) if record.queued else None
            if reopens_at:
                self._hosts.park(batch, host, reopens_at)
            else:
                self._hosts.go_on(batch, host, now)
            return None
        spot: Spot | None
        spot, target = first
        if target.kind not in _WHATEVER_THE_LIMIT and not self.may_lease():
            self._withheld.append(host)
            return None
        if target.kind is not Kind.ROBOTS:
            state = record.origins.get(origin_of(target.url))
            if state is None or state.expires_at <= now:
                if host.leased:
                    return None
                spot, target = None, robots_target(origin_of(target.url), target.host)
        if target.kind is Kind.PAGE and not self._limit.may_lease(self._backlog.pages, self._leases.pages):
            self._withheld.append(host)
            return None
        if not self._revisits.may_lease(target, now):
            self._unpaid.append(host)
            return None
        return await self._give(batch, host, target, spot, worker, now)

    async def _give(
        self, batch: HostBatch, host: Host, target: Target, spot: Spot | None, worker: int, now: float
    ) -> Lease:
        state = host.record.origins.get(origin_of(target.url)) if target.kind is not Kind.ROBOTS else None
        self._revisits.pay(host, target)
        self._owing.pop(host.record.name, None)
        validators, version = await self._validators(target), await self._versions.of(host.domain)
        held = self._leases.give(batch, host, target, spot, worker, now)
        return Lease(
            held.token,
            target,
            held.expires_at,
            state.fetched_at if state else 0.0,
            validators,
            host.record.address,
            version,
            at_once=self._hosts.may_follow_at_once(host),
        )

    async def _first(self, batch: HostBatch, host: Host, now: float) -> tuple[Spot, Target] | None:
        """The next of a host's queue that may be asked. What cannot be read, or must wait, leaves the queue."""
        backlog = self._backlog
        for _ in range(MAX_PASSED_OVER):
            if not (lane := host.next_lane_with_more(host.closed(now))):
                return None
            spot, target = await backlog.next_in(host, lane, is_last_first=backlog.takes_last(lane))
            if spot is None and host.leased:
                # Nothing is set aside while something beside it is given out.
                return None
            if spot is None:
                await backlog.drop_block(batch, host, lane)
            elif target is None:
                backlog.drop_entry(batch, host, spot)
            elif backlog.counts["moved_up"] and await self._ranking.is_copy(target):
                backlog.dequeue(batch, host, spot)
                backlog.counts["passed_over"] += 1
            elif due := _waits_until(host.record, target, now):
                backlog.dequeue(batch, host, spot)
                backlog.delay(batch, target, due)
            elif _is_doubtful(host.record, target):
                # Behind all others of its host: those tell whether it is in trouble.
                backlog.dequeue(batch, host, spot)
                backlog.enqueue(batch, [replace(target, deferred=1)])
            else:
                return spot, target
        return None

    async def _validators(self, target: Target) -> Validators | None:
        """What the last visit left to ask whether anything has changed."""
        if not target.visits:
            return None
        (raw,) = await self._tables.get(HISTORY, [target.fingerprint])
        past = readable_history(raw)
        return Validators(past.etag, past.last_modified, past.digest, past.text) if past else None


def _waits_until(record: HostRecord, target: Target, now: float) -> float:
    """Until when a target must leave its queue, since its origin has no lane of its own; 0 if it need not."""
    state = record.origins.get(origin_of(target.url))
    return state.closed_until if state and target.kind is not Kind.ROBOTS and state.closed_until > now else 0.0


def _is_doubtful(record: HostRecord, target: Target) -> bool:
    """Whether a host fails, gives pages otherwise, and a target is like those that fail rather than like those."""
    if not record.failing or not record.given or target.deferred or record.queued == 1:
        return False
    kin = kin_of(target.url, target.referrer)
    is_likely_to_fail = kin in record.failing or record.failures >= CIRCUIT_FAILURES - 1
    return target.kind is Kind.PAGE and is_likely_to_fail and not is_evidence(kin, record.given)
