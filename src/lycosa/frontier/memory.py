"""The frontier in plain dictionaries: for short crawls from a program, and the yardstick of the contract."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from itertools import count

import msgspec

from lycosa.clock import Clock, steady_clock
from lycosa.frontier.claims import Claims
from lycosa.frontier.rules import FrontierRules, host_of_origin, pause_after, robots_target
from lycosa.model import (
    History,
    Kind,
    Lease,
    OutcomeKind,
    RobotsNews,
    Settlement,
    Target,
    Validators,
    origin_of,
)
from lycosa.policy.politeness import delay_seconds
from lycosa.policy.retry import retry_at
from lycosa.policy.ring import Ring
from lycosa.ports import Counts


class _Host:
    def __init__(self) -> None:
        self.queue: list[tuple[int, int, Target]] = []
        self.token = 0
        self.free_at = 0.0
        self.crawl_delay_seconds = 0.0
        self.fetch_seconds = 0.0
        self.failures = 0
        self.origins: dict[str, RobotsNews] = {}


class _Held(msgspec.Struct):
    target: Target
    worker: int
    expires_at: float
    free_at_before: float
    is_queued: bool


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
        self._contents: dict[bytes, bytes] = {}
        self._claims = Claims(self._contents.get)
        self._serial = count(1)
        self._ring = Ring(range(max(1, rules.workers)))
        self._counts = dict.fromkeys((field.name for field in msgspec.structs.fields(Counts)), 0)

    async def add(self, targets: Sequence[Target]) -> int:
        new = 0
        for target in targets:
            if target.fingerprint:
                if target.fingerprint in self._known:
                    continue
                self._known[target.fingerprint] = None
                new += 1
            self._enqueue(target)
        return new

    async def take(self, worker: int, limit: int) -> list[Lease]:
        now = self._clock()
        self._wake(now)
        leases: list[Lease] = []
        free = [(host.free_at, name) for name, host in self._hosts.items() if self._is_free(name, host, worker, now)]
        for _, name in sorted(free):
            if len(leases) == limit or not self._may_lease():
                break
            leases.append(self._lease(name, worker, now))
        return leases

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        late = []
        for settlement in settlements:
            held = self._leases.pop(settlement.token, None)
            self._claims.end(settlement.token)
            if held is None:
                late.append(settlement.token)
                self._counts["late"] += 1
            else:
                await self._settle(held, settlement, self._clock())
        return late

    async def is_finished(self) -> bool:
        if self._leases:
            return False
        if self.rules.max_pages and self.counts().pages >= self.rules.max_pages:
            return True
        return self._queued() == 0 and not self._delayed

    async def robots(self, origin: str) -> bytes:
        return self._robots.get(origin, b"")

    async def original_of(self, digest: bytes, url: str, token: int) -> str:
        return await self._claims.original_of(digest, url, token)

    async def release(self, worker: int) -> int:
        gone = [token for token, held in self._leases.items() if held.worker == worker]
        for token in gone:
            self._give_back(token, self._clock())
        return len(gone)

    def counts(self) -> Counts:
        where = {
            "known": len(self._known),
            "queued": self._queued(),
            "leased": len(self._leases),
            "delayed": len(self._delayed),
            "hosts": len(self._hosts),
        }
        return Counts(**(self._counts | where))

    def next_at(self, worker: int) -> float | None:
        moments = [held.expires_at for held in self._leases.values()] + [due for due, _, _ in self._delayed]
        moments += [
            max(host.free_at, self._pending_until(host))
            for name, host in self._hosts.items()
            if host.queue and not host.token and self._ring.owner(name) == worker
        ]
        return min(moments) if moments else None

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do; None while there is work."""
        waiting = [host for host in self._hosts.values() if host.queue]
        if self._leases or any(not host.failures and not self._pending_until(host) for host in waiting):
            return None
        dues = [due for due, _, _ in self._delayed] + [max(host.free_at, self._pending_until(host)) for host in waiting]
        return min(dues) if dues else None

    async def history(self, url_fingerprint: bytes) -> History | None:
        return self._known.get(url_fingerprint)

    async def readmit(self) -> int:
        """Queue every page visited before once more, for a revisit. Returns how many."""
        queued = 0
        for fingerprint, past in self._known.items():
            if past and past.outcome.is_page:
                host = host_of_origin(origin_of(past.url))
                self._enqueue(Target(past.url, host, fingerprint, depth=past.depth, referrer=past.referrer))
                queued += 1
        return queued

    def crawl_key(self) -> bytes:
        return b"memory"

    async def close(self) -> None:
        self._leases.clear()

    # ----

    def _enqueue(self, target: Target) -> None:
        serial = next(self._serial)
        host = self._hosts.setdefault(target.host, _Host())
        insort(host.queue, (-target.priority, -serial if self.rules.order == "depth" else serial, target))

    def _queued(self) -> int:
        return sum(len(host.queue) for host in self._hosts.values())

    def _may_lease(self) -> bool:
        pages = sum(held.target.kind is Kind.PAGE for held in self._leases.values())
        return not self.rules.max_pages or self.counts().pages + pages < self.rules.max_pages

    def _is_free(self, name: str, host: _Host, worker: int, now: float) -> bool:
        if not host.queue or host.token or host.free_at > now or self._ring.owner(name) != worker:
            return False
        return self._pending_until(host) <= now

    def _pending_until(self, host: _Host) -> float:
        """Until when the first target of a host waits for its origin's robots.txt."""
        target = host.queue[0][2]
        news = host.origins.get(origin_of(target.url))
        return news.expires_at if target.kind is not Kind.ROBOTS and news and news.is_pending else 0.0

    def _lease(self, name: str, worker: int, now: float) -> Lease:
        host = self._hosts[name]
        target, robots_at, is_queued = host.queue[0][2], 0.0, True
        if target.kind is not Kind.ROBOTS:
            news = host.origins.get(origin_of(target.url))
            if news is None or news.expires_at <= now:
                target, is_queued = robots_target(origin_of(target.url), name), False
            else:
                robots_at = news.fetched_at
        token = host.token = next(self._serial)
        expires_at = now + self.rules.lease_seconds
        self._leases[token] = _Held(target, worker, expires_at, host.free_at, is_queued)
        host.free_at = now + delay_seconds(self.rules.pace, host.fetch_seconds, host.crawl_delay_seconds)
        past = self._known.get(target.fingerprint)
        validators = Validators(past.etag, past.last_modified, past.digest) if past else None
        return Lease(token, target, expires_at, robots_at, validators)

    async def _settle(self, held: _Held, settlement: Settlement, now: float) -> None:
        target = held.target
        host = self._hosts[target.host]
        host.token = 0
        if settlement.robots and host_of_origin(settlement.robots.origin) == target.host:
            host.crawl_delay_seconds = settlement.robots.crawl_delay_seconds
        if settlement.sent or settlement.outcome is OutcomeKind.FAILED:
            pause = pause_after(self.rules.pace, settlement, host.failures, host.crawl_delay_seconds)
            host.failures, host.fetch_seconds = pause.failures, settlement.fetch_seconds
            host.free_at = now + pause.seconds
        else:
            host.free_at = held.free_at_before
        if held.is_queued:
            host.queue = [entry for entry in host.queue if entry[2] is not target]
        due = (
            retry_at(self.rules.retry_pauses, target.attempt, now) if settlement.may_retry and held.is_queued else None
        )
        if due is not None:
            later = msgspec.structs.replace(target, attempt=target.attempt + 1)
            insort(self._delayed, (max(due, host.free_at), next(self._serial), later))
        else:
            self._counts[settlement.outcome.name.lower()] += 1
        self._counts["fetched_bytes"] += settlement.body_bytes
        self._remember(target, settlement, now, due)
        await self.add(settlement.discovered)
        if news := settlement.robots:
            asker = self._hosts.setdefault(host_of_origin(news.origin), _Host())
            asker.origins[news.origin] = news
            asker.crawl_delay_seconds = news.crawl_delay_seconds
            if news.record:
                self._robots[news.origin] = news.record

    def _remember(self, target: Target, settlement: Settlement, now: float, due: float | None) -> None:
        if target.fingerprint:
            past = self._known.get(target.fingerprint)
            self._known[target.fingerprint] = History(
                url=target.url,
                outcome=settlement.outcome,
                visited_at=now,
                status=settlement.status,
                reason=settlement.reason,
                visits=past.visits + 1 if past else 1,
                depth=target.depth,
                referrer=target.referrer,
                digest=settlement.digest,
                original=settlement.original,
                etag=settlement.etag,
                last_modified=settlement.last_modified,
                next_at=due or 0.0,
            )
        if settlement.outcome is OutcomeKind.STORED and settlement.digest:
            self._contents[settlement.digest] = target.url.encode()

    def _wake(self, now: float) -> None:
        for token in [token for token, held in self._leases.items() if held.expires_at <= now]:
            self._give_back(token, now)
        while self._delayed and self._delayed[0][0] <= now:
            self._enqueue(self._delayed.pop(0)[2])

    def _give_back(self, token: int, now: float) -> None:
        held = self._leases.pop(token)
        self._claims.end(token)
        host = self._hosts[held.target.host]
        host.token = 0
        host.free_at = now + delay_seconds(self.rules.pace, host.fetch_seconds, host.crawl_delay_seconds)
