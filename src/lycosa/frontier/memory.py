"""The frontier in plain dictionaries: for short crawls from a program, and the yardstick of the contract."""

from __future__ import annotations

import secrets
from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import count

import msgspec

from lycosa.clock import Clock, steady_clock
from lycosa.dedupe.memory import MemoryContentGroups
from lycosa.dedupe.signature import Signature
from lycosa.frontier.claims import Claims
from lycosa.frontier.rules import (
    FrontierRules,
    OriginState,
    again_after,
    history_of,
    host_of_origin,
    in_turn,
    is_in_trouble,
    learn,
    lost_robots,
    pause_after,
    rank_of,
    robots_target,
)
from lycosa.frontier.spacing import Place, Spacing
from lycosa.model import (
    History,
    Kind,
    Lease,
    OutcomeKind,
    Placement,
    RobotsNews,
    Settlement,
    SiteNews,
    Target,
    Validators,
    origin_of,
)
from lycosa.policy.balance import Balance, Choice, turn_of
from lycosa.policy.politeness import Standing, delay_seconds, slowed_seconds
from lycosa.policy.ring import Ring
from lycosa.ports import Counts
from lycosa.url.domain import registered_domain


class _Host:
    def __init__(self) -> None:
        self.queue: list[tuple[int, int, Target]] = []
        self.token = 0
        self.free_at = 0.0
        self.parked_until = 0.0  # waits for its robots.txt
        self.delay_seconds = 0.0
        self.crawl_delay_seconds = 0.0
        self.fetch_seconds = 0.0
        self.standing = Standing()
        self.address = ""
        self.origins: dict[str, OriginState] = {}
        self.choice: Choice | None = None  # who has it next, if that is chosen from visit to visit

    @property
    def due_at(self) -> float:
        return max(self.free_at, self.parked_until)


class _Held(msgspec.Struct):
    target: Target
    place: tuple[int, int] | None  # in its host's queue; None for a robots.txt asked for on the fly
    worker: int
    expires_at: float
    free_at_before: float
    spaced: Place


class MemoryFrontier:
    """Implements `ports.Frontier` and `ports.Duplicates`; nothing survives the process."""

    def __init__(self, rules: FrontierRules, clock: Clock | None = None) -> None:
        self.rules = rules
        self._clock = clock or steady_clock()
        self._hosts: dict[str, _Host] = {}
        self._known: dict[bytes, History | None] = {}
        self._delayed: list[tuple[float, int, Target]] = []
        self._leases: dict[int, _Held] = {}
        self._robots: dict[str, bytes] = {}
        self._sites: dict[str, SiteNews] = {}
        self._contents: dict[bytes, bytes] = {}
        self._claims = Claims(self._contents.get, self._leases)
        self._groups = MemoryContentGroups()
        self._serial = count(1)
        self._spacing = Spacing(rules.pace)
        workers = range(max(1, rules.workers))
        self._ring = Ring(workers)
        self._balance = Balance(workers) if rules.assignment == "balanced" else None
        self._counts = dict.fromkeys((field.name for field in msgspec.structs.fields(Counts)), 0)
        self._key = secrets.token_bytes(16)

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        return self._add(targets)

    async def take(self, worker: int, limit: int) -> list[Lease]:
        now = self._clock()
        self._wake(now)
        free = [
            (turn_of(host.free_at, host.choice.times) if host.choice else host.free_at, name)
            for name, host in self._hosts.items()
            if host.queue and not host.token and host.due_at <= now and self._owner(name) == worker
        ]
        leases: list[Lease] = []
        for name in self._in_order(free):
            if len(leases) == limit or not self._may_lease():
                break
            if self._spaced_at(name) > now:
                continue
            if lease := self._lease(name, worker, now):
                leases.append(lease)
        return leases

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        late = []
        for settlement in settlements:
            if held := self._end_lease(settlement.token):
                self._settle(held, settlement, self._clock())
            else:
                late.append(settlement.token)
                self._counts["late"] += 1
        return late

    async def approach(self, token: int, address: str) -> bool:
        if not (held := self._leases.get(token)):
            return False
        host = self._hosts[held.target.host]
        host.address = address
        if place := self._spacing.approach(held.spaced, address, self._clock()):
            held.spaced = place
            return True
        await self.give_back(token)
        return False

    async def give_back(self, token: int) -> None:
        if held := self._leases.get(token):
            self._end_lease(token)
            self._unask(self._hosts[held.target.host], held)

    async def is_finished(self) -> bool:
        if self._leases:
            return False
        if self.rules.max_pages and self._pages() >= self.rules.max_pages:
            return True
        return self._counts["queued"] == 0 and not self._delayed

    # ---- the rest of the interface

    async def robots(self, origin: str) -> bytes:
        return self._robots.get(origin, b"")

    async def site(self, domain: str) -> bytes:
        news = self._sites.get(domain)
        return news.notes if news else b""

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        return await self._claims.original_of(digest, url, token)

    async def place(self, signature: bytes) -> Placement:
        return self._groups.place([Signature.from_bytes(signature)])[0]

    async def release(self, worker: int) -> int:
        gone = [token for token, held in self._leases.items() if held.worker == worker]
        for token in gone:
            self._give_back(token, self._clock())
        return len(gone)

    def counts(self) -> Counts:
        where = {
            "known": len(self._known),
            "leased": len(self._leases),
            "delayed": len(self._delayed),
            "hosts": len(self._hosts),
        }
        return Counts(**(self._counts | where))

    def next_at(self, worker: int) -> float | None:
        moments = [held.expires_at for held in self._leases.values()]
        if self._may_lease():
            moments += [due for due, _, _ in self._delayed]
            moments += [
                max(host.due_at, self._spaced_at(name))
                for name, host in self._hosts.items()
                if host.queue and not host.token and self._owner(name) == worker
            ]
        return min(moments, default=None)

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do; None while there is work."""
        waiting = [host for host in self._hosts.values() if host.queue]
        if self._leases or not all(is_in_trouble(host.standing.failures, host.origins) for host in waiting):
            return None
        return min([due for due, _, _ in self._delayed] + [host.due_at for host in waiting], default=None)

    async def history(self, url_fingerprint: bytes) -> History | None:
        return self._known.get(url_fingerprint)

    async def readmit(self) -> int:
        """Queue every page visited before once more, for a revisit. Returns how many."""
        queued = 0
        for fingerprint, past in sorted(self._known.items()):
            # One that is due already stands in a queue: asking twice must not fetch it twice.
            if past and past.outcome.is_page and not past.next_at:
                host = host_of_origin(origin_of(past.url))
                self._known[fingerprint] = msgspec.structs.replace(past, next_at=self._clock())
                self._enqueue(Target(past.url, host, fingerprint, depth=past.depth, referrer=past.referrer))
                queued += 1
        return queued

    def crawl_key(self) -> bytes:
        return self._key

    async def close(self) -> None:
        self._leases.clear()

    # ---- adding

    def _add(self, targets: Sequence[Target]) -> int:
        added = 0
        for target in in_turn(targets):
            if not target.fingerprint:
                self._enqueue(target)
            elif target.fingerprint not in self._known and self._make_room(target):
                self._known[target.fingerprint] = None
                self._enqueue(target)
                added += 1
        return added

    def _make_room(self, target: Target) -> bool:
        """Whether its host's queue takes a target: if it is full, only in the place of a less important one.

        What is dropped is forgotten, and may be found again. What is under way or was visited before is not dropped.
        """
        host = self._hosts.get(target.host)
        limit = self.rules.max_queued_per_host
        if host is None or not limit or len(host.queue) < limit:
            return True
        self._counts["dropped"] += 1
        *place, last = host.queue[-1]
        held = self._leases.get(host.token)
        is_under_way = held is not None and held.place == tuple(place)
        if rank_of(target) >= place[0] or is_under_way or self._known.get(last.fingerprint, True):
            return False
        host.queue.pop()
        self._counts["queued"] -= 1
        del self._known[last.fingerprint]
        return True

    def _enqueue(self, target: Target) -> None:
        serial = next(self._serial)
        host = self._hosts.setdefault(target.host, _Host())
        insort(host.queue, (rank_of(target), -serial if self.rules.order == "depth" else serial, target))
        self._counts["queued"] += 1
        if target.kind is Kind.ROBOTS:
            # It needs no permission, so it need not wait for this host's own robots.txt.
            host.parked_until = 0.0

    # ---- leasing

    def _pages(self) -> int:
        return self._counts["stored"] + self._counts["unchanged"] + self._counts["duplicate"]

    def _may_lease(self) -> bool:
        leased = sum(held.target.kind is Kind.PAGE for held in self._leases.values())
        return not self.rules.max_pages or self._pages() + leased < self.rules.max_pages

    def _in_order(self, free: list[tuple[float, str]]) -> list[str]:
        """Hosts that are free, by the moment since when."""
        return [name for _, name in sorted(free)]

    def _owner(self, name: str) -> int:
        """The worker that visits this host next."""
        if self._balance is None:
            return self._ring.owner(name)
        host = self._hosts[name]
        if host.choice is None:
            host.choice = self._balance.choose(registered_domain(name), self._load)
        return host.choice.client

    def _load(self, worker: int) -> int:
        return sum(bool(host.choice and host.choice.client == worker and host.queue) for host in self._hosts.values())

    def _spaced_at(self, name: str) -> float:
        return self._spacing.free_at(registered_domain(name), self._hosts[name].address)

    def _lease(self, name: str, worker: int, now: float) -> Lease | None:
        """The first of a host's queue, or its robots.txt; None if the host must wait for that."""
        host = self._hosts[name]
        rank, serial, target = host.queue[0]
        place: tuple[int, int] | None = (rank, serial)
        robots_at = 0.0
        if target.kind is not Kind.ROBOTS:
            state = host.origins.get(origin_of(target.url))
            if state is None or state.expires_at <= now:
                target, place = robots_target(origin_of(target.url), name), None
            elif state.is_pending:
                host.parked_until = state.expires_at
                return None
            else:
                robots_at = state.fetched_at
        token = host.token = next(self._serial)
        expires_at = now + self.rules.lease_seconds
        spaced = Place(registered_domain(name), host.address, token)
        self._spacing.note(spaced, now)
        self._leases[token] = _Held(target, place, worker, expires_at, host.free_at, spaced)
        delay = delay_seconds(self.rules.pace, host.fetch_seconds, host.crawl_delay_seconds)
        host.delay_seconds = slowed_seconds(self.rules.pace, delay, host.standing.slowdown)
        host.free_at = now + host.delay_seconds
        past = self._known.get(target.fingerprint)
        validators = Validators(past.etag, past.last_modified, past.digest) if past else None
        site = self._sites.get(registered_domain(name))
        return Lease(token, target, expires_at, robots_at, validators, host.address, site.version if site else 0)

    def _end_lease(self, token: int) -> _Held | None:
        if held := self._leases.pop(token, None):
            self._claims.end(token)
            self._hosts[held.target.host].token = 0
        return held

    def _give_back(self, token: int, now: float) -> None:
        """A lease ends without a settlement: its URL is still queued, its host rests as if it had been asked."""
        held = self._end_lease(token)
        assert held, "only leases that are out are given back"
        host = self._hosts[held.target.host]
        host.free_at = now + host.delay_seconds
        host.choice = None
        self._spacing.note(held.spaced, now)

    def _unask(self, host: _Host, held: _Held) -> None:
        """Nothing was sent, so nobody has been asked."""
        host.free_at = held.free_at_before
        self._spacing.undo(held.spaced)

    # ---- settling

    def _settle(self, held: _Held, settlement: Settlement, now: float) -> None:
        target = held.target
        host = self._hosts[target.host]
        news = settlement.robots
        if news is None and target.kind is Kind.ROBOTS and held.place is None:
            news = lost_robots(target, now)
        if news:
            self._learn_robots(news)
        pause = pause_after(self.rules.pace, settlement, host.standing, host.crawl_delay_seconds)
        if pause:
            host.standing, host.fetch_seconds = pause.standing, settlement.fetch_seconds
            host.delay_seconds, host.free_at = pause.seconds, now + pause.seconds
            host.choice = None
            host.address = settlement.address or host.address
        else:
            self._unask(host, held)
        if held.place:
            del host.queue[bisect_left(host.queue, held.place)]
            self._counts["queued"] -= 1
        may_retry = settlement.may_retry or bool(pause and pause.is_ban)
        again = again_after(settlement, target, self.rules.retry_pauses, may_retry=may_retry) if held.place else None
        due = now + again.pause_seconds if again else None
        if again:
            insort(self._delayed, (max(now + again.pause_seconds, host.free_at), next(self._serial), again.target))
        else:
            self._counts[settlement.outcome.name.lower()] += 1
        if target.fingerprint:
            past = self._known.get(target.fingerprint)
            visits = past.visits + 1 if past else 1
            self._known[target.fingerprint] = history_of(target, settlement, visits, now, due)
        if settlement.outcome is OutcomeKind.STORED and settlement.digest:
            self._contents[settlement.digest] = target.url.encode()
        self._counts["fetched_bytes"] += settlement.body_bytes
        if settlement.site:
            self._sites[settlement.site.domain] = settlement.site
        for fingerprint in settlement.known:
            self._known.setdefault(fingerprint, None)
        self._add(settlement.discovered)

    def _learn_robots(self, news: RobotsNews) -> None:
        host = self._hosts.setdefault(host_of_origin(news.origin), _Host())
        host.crawl_delay_seconds = learn(host.origins, news)
        if news.record:
            self._robots[news.origin] = news.record
        if not news.is_pending:
            host.parked_until = 0.0

    # ---- time

    def _wake(self, now: float) -> None:
        """Bring back what is due: leases nobody settled, retries."""
        for token in [token for token, held in self._leases.items() if held.expires_at <= now]:
            self._give_back(token, now)
        while self._delayed and self._delayed[0][0] <= now:
            self._enqueue(self._delayed.pop(0)[2])
