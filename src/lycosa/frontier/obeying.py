"""What an order means for the hosts and the queue of one scheduler. Its effect and its record are one write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from lycosa.clock import Clock
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.records import HostPolicy, State, pack_site
from lycosa.frontier.tables import ORDERS, SITES, Tables
from lycosa.frontier.taking import SiteVersions
from lycosa.model import History, OutcomeKind, Refusal, SiteNews
from lycosa.orders import Given, Obeyed, Pardon, PauseCrawl, ResumeCrawl, SetPolicy
from lycosa.url.domain import registered_domain

_PARDONED = frozenset({Refusal.ENDLESS, Refusal.ALIKE, Refusal.BARREN})


def is_pardoned(host: str) -> Callable[[History], bool]:
    """Which URLs were refused on a host by the rules against what never ends."""

    def is_one(past: History) -> bool:
        on_host = past.url.partition("://")[2].partition("/")[0].partition(":")[0] == host
        return on_host and past.outcome is OutcomeKind.REFUSED and past.reason in _PARDONED

    return is_one


@dataclass(eq=False, repr=False)
class Obeying:
    """Carries out what concerns hosts and the crawl; what is to be visited is queued by whoever has the order."""

    _tables: Tables
    _clock: Clock
    _state: State
    _hosts: HostTable
    _versions: SiteVersions

    async def is_obeyed(self, given: Given) -> bool:
        """Whether this was done before: orders may come twice."""
        (raw,) = await self._tables.get(ORDERS, [given.id.encode()])
        return raw is not None

    async def obey(self, batch: HostBatch, given: Given, result: str = "") -> str:
        """Do what an order says, and record it. `result` is what others have done of it."""
        match given.order:
            case SetPolicy():
                result = await self._set_policy(batch, given.order)
            case PauseCrawl(reason):
                self._state.paused = reason or f"since {given.by or 'the operator'} said so"
                result = "nothing new is begun"
            case ResumeCrawl():
                self._state.paused, result = "", "the crawl goes on"
            case Pardon(host):
                await self._forget_site(batch, registered_domain(host))
        obeyed = Obeyed(given, self._clock(), result)
        batch.put(ORDERS, given.id.encode(), msgspec.json.encode(obeyed))
        return result

    async def _set_policy(self, batch: HostBatch, order: SetPolicy) -> str:
        await self._hosts.load([order.host], batch)
        host, now = self._hosts.get(order.host), self._clock()
        chosen = {name: value for name in HostPolicy.__struct_fields__ if (value := getattr(order, name)) is not None}
        policy = msgspec.structs.replace(host.record.policy or HostPolicy(), **chosen)
        was_blocked = host.is_blocked
        host.record.policy = None if policy == HostPolicy() else policy
        batch.note(host)
        if was_blocked and not host.is_blocked:
            self._hosts.unpark(batch, host, now)
        elif host.record.queued:
            # Its rank may be another.
            self._hosts.wait(batch, host)
        return ", ".join(f"{name} = {value}" for name, value in chosen.items()) or "nothing was asked for"

    async def _forget_site(self, batch: HostBatch, domain: str) -> None:
        """What was found of a site is found anew: workers hold the notes of an older version."""
        if version := await self._versions.of(domain):
            news = SiteNews(domain, version + 1, b"")
            batch.put(SITES, domain.encode(), pack_site(news))
            self._versions.note(domain, news.version)
