"""What a visit that ended leaves in the tables: its history, its host's pause, a retry, what it found and learnt."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from lycosa.frontier.admission import Admission
from lycosa.frontier.arrivals import in_full, in_short
from lycosa.frontier.backlog import Backlog
from lycosa.frontier.claims import Contents
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.leases import Held, LeaseTable
from lycosa.frontier.listings import worth_a_look
from lycosa.frontier.poison import readable_history
from lycosa.frontier.ranking import Ranking
from lycosa.frontier.records import HostRecord, encode, pack_site
from lycosa.frontier.revisits import Revisits
from lycosa.frontier.rules import (
    FrontierRules,
    HostPause,
    again_after,
    history_of,
    host_of_origin,
    learn,
    lost_robots,
    pause_after,
)
from lycosa.frontier.tables import HISTORY, ROBOTS, SITES, Tables
from lycosa.frontier.taking import SiteVersions
from lycosa.model import NO_REASON, History, Kind, OutcomeKind, RobotsNews, Settlement, Target, origin_of
from lycosa.policy.kin import kin_of, remember
from lycosa.policy.politeness import Standing, delay_seconds, slowed_seconds

# Pages of a host whose kind is looked at: the first ones, then some.
SAMPLED_AT_FIRST, SAMPLED_EVERY = 8, 8

Ended = tuple[Held, Settlement]


@dataclass(eq=False, repr=False)
class Settling:
    """The one place that turns settlements into state."""

    _rules: FrontierRules
    _hosts: HostTable
    _backlog: Backlog
    _leases: LeaseTable
    _admission: Admission
    _versions: SiteVersions
    _contents: Contents
    _ranking: Ranking
    _tables: Tables
    _revisits: Revisits

    async def settle(self, batch: HostBatch, ended: list[Ended], now: float) -> None:
        ended, risen = self._ranked(ended)
        prepared = await self._admission.prepare(
            batch,
            [target for _, settlement in ended for target in settlement.discovered],
            [
                *(mark for _, settlement in ended for mark in settlement.known),
                *(target.fingerprint for _, settlement in ended for target, _ in settlement.left_out),
            ],
            [news.origin for held, settlement in ended if (news := _news_of(held, settlement, now))],
            [settlement.found for _, settlement in ended if settlement.found],
        )
        fresh = prepared.fresh
        await self._backlog.load_tails(
            replace(held.target, deferred=settlement.deferred) for held, settlement in ended if settlement.deferred
        )
        joining = await self._admission.rising(batch, risen, fresh)
        pasts = await self._pasts(ended)
        if told := worth_a_look(ended, fresh, pasts):
            await self._revisits.tell(batch, told, {held.target.fingerprint for held, _ in ended}, now)
        for held, _ in ended:
            # All of them first: what one discovered must not take the place of another.
            if held.spot:
                self._backlog.dequeue(batch, held.host, held.spot)
        await self._admission.take_in(batch, prepared, joining)
        for held, settlement in ended:
            past = pasts.get(held.target.fingerprint)
            await self._settle(batch, held, settlement, now, fresh, joining, past)
        self._admission.join(batch, joining)
        # Only now: each host once, by all that its visits brought.
        for host in {id(held.host): held.host for held, _ in ended}.values():
            self._leases.go_on(batch, host, now)

    def _ranked(self, ended: list[Ended]) -> tuple[list[Ended], list[Target]]:
        """The same with what they discovered in its classes, and what waits and has risen."""
        if self._admission.takes_all:
            # What lists say of known URLs is for revisits; all else need not be looked at.
            return [(held, in_full(each) if each.listed else in_short(each)) for held, each in ended], []
        ended = [(held, in_full(settlement)) for held, settlement in ended]
        ranked = [(held, *self._ranking.settled(held.target, settlement)) for held, settlement in ended]
        visited = {held.target.fingerprint for held, _ in ended}
        risen = [target for _, _, its in ranked for target in its if target.fingerprint not in visited]
        return [(held, settlement) for held, settlement, _ in ranked], risen

    async def _settle(
        self,
        batch: HostBatch,
        held: Held,
        settlement: Settlement,
        now: float,
        fresh: set[bytes],
        joining: list[Target],
        past: History | None,
    ) -> None:
        host, target, counts = held.host, held.target, self._backlog.counts
        if news := _news_of(held, settlement, now):
            self.learn(batch, news, now)
        if settlement.deferred:
            if held.spot:
                # Nothing was asked: it goes on waiting, further behind.
                joining.append(replace(target, deferred=settlement.deferred))
            self._unask(held)
            self._note_site(batch, settlement)
            await self._admission.add(batch, settlement.discovered, fresh, joining)
            return
        is_ban = self._rest(held, settlement, now)
        may_retry = settlement.may_retry or is_ban
        again = again_after(settlement, target, self._rules.retry_pauses, may_retry=may_retry) if held.spot else None
        due = now + again.pause_seconds if again else None
        if again:
            self._backlog.delay(batch, again.target, max(now + again.pause_seconds, host.record.free_at))
        else:
            counts[settlement.outcome.name.lower()] += 1
        if target.fingerprint:
            row = history_of(target, settlement, now, due)
            row = self._revisits.learn(host, target, past, row, settlement, now)
            if not again:
                row = self._revisits.rest(batch, host, target.fingerprint, row, now)
            batch.put(HISTORY, target.fingerprint, encode(row))
            self._revisits.settled(host, target)
        if settlement.outcome is OutcomeKind.STORED and settlement.digest:
            self._contents.keep(batch, settlement.digest, target.url)
        counts["fetched_bytes"] += settlement.body_bytes
        counts["requisites"] += target.kind is Kind.REQUISITE and settlement.outcome is OutcomeKind.READ
        counts["on_topic"] += settlement.on_topic
        self._note_site(batch, settlement)
        counts["beyond"] += settlement.beyond
        self._leave_out(batch, settlement, now, fresh)
        for mark in settlement.known:
            counts["aliases"] += mark in fresh
            self._admission.mark(batch, mark, fresh)
        if settlement.discovered:
            await self._admission.add(batch, settlement.discovered, fresh, joining)
        host.turn += 1

    async def _pasts(self, ended: list[Ended]) -> dict[bytes, History]:
        """What was known of those that were visited before."""
        marks = [held.target.fingerprint for held, _ in ended if held.target.visits and held.target.fingerprint]
        rows = await self._tables.get(HISTORY, marks) if marks else []
        return {mark: past for mark, raw in zip(marks, rows, strict=True) if (past := readable_history(raw))}

    def _leave_out(self, batch: HostBatch, settlement: Settlement, now: float, fresh: set[bytes]) -> None:
        """Targets that never wait: they are known, and why they were refused."""
        for target, reason in settlement.left_out:
            if target.fingerprint in fresh:
                self._admission.mark(batch, target.fingerprint, fresh)
                self._backlog.counts["refused"] += 1
                refused = Settlement(0, OutcomeKind.REFUSED, sent=False, reason=reason)
                batch.put(HISTORY, target.fingerprint, encode(history_of(target, refused, now, None)))

    def _note_site(self, batch: HostBatch, settlement: Settlement) -> None:
        if site := settlement.site:
            batch.put(SITES, site.domain.encode(), pack_site(site))
            self._versions.note(site.domain, site.version)

    def learn(self, batch: HostBatch, news: RobotsNews, now: float) -> None:
        """Note what was learnt of a robots.txt; its host is in memory."""
        host = self._hosts.get(host_of_origin(news.origin))
        host.record.crawl_delay_seconds = learn(host.record.origins, news, host.origins_with_lanes())
        if news.record:
            batch.put(ROBOTS, news.origin.encode(), news.record)
        batch.note(host)
        if not news.is_pending:
            self._hosts.unpark(batch, host, now)

    def _rest(self, held: Held, settlement: Settlement, now: float) -> bool:
        """The host's pause after this visit. Returns whether it told us to go away."""
        record, target = held.host.record, held.target
        standing = Standing(record.failures, record.refusals, record.slowdown)
        kin = kin_of(target.url, target.referrer) if _tells_kin(record, target, settlement) else None
        is_probe = target.kind is Kind.PROBE
        pace = self._rules.pace_of(record.name)
        pause = pause_after(
            pace, settlement, standing, record.asked_delay_seconds, kin, record.given, is_probe=is_probe
        )
        if pause is None:
            self._unask(held)
            return False
        held.host.record.unsent = 0
        if pause.is_circuit and held.host.has_other_lanes(origin_of(target.url)):
            pause = self._close_origin(held, settlement, pause, now)
        standing = pause.standing
        record.failures, record.refusals, record.slowdown = standing.failures, standing.refusals, standing.slowdown
        _note_kin(record, kin if target.kind is Kind.PAGE else None, settlement, has_failed=pause.has_failed)
        if pause.is_ban or not standing.failures:
            record.ban = settlement.reason if pause.is_ban else NO_REASON
        record.delay_seconds = pause.seconds
        # A pause begins with the answer: its page is read, synced and settled meanwhile.
        self._leases.ask(held.host, now + pause.seconds - min(settlement.rested_seconds, pause.seconds))
        record.fetch_seconds = settlement.fetch_seconds
        record.visits += 1
        record.pages += settlement.outcome.is_page
        record.address = settlement.address or record.address
        self._hosts.asked(held.host, held.worker, settlement)
        return pause.is_ban

    def _unask(self, held: Held) -> None:
        held.host.record.unsent += 1
        self._leases.unask(held.host)

    def _close_origin(self, held: Held, settlement: Settlement, pause: HostPause, now: float) -> HostPause:
        """One origin of several fails again and again: it rests, and the others of its host go on."""
        record = held.host.record
        pace = self._rules.pace_of(record.name)
        if state := record.origins.get(origin_of(held.target.url)):
            state.rest_until, state.trouble = now + pause.seconds, settlement.reason
        delay = delay_seconds(pace, settlement.fetch_seconds, record.asked_delay_seconds)
        seconds = slowed_seconds(pace, delay, pause.standing.slowdown)
        return replace(pause, seconds=seconds, standing=replace(pause.standing, failures=0))


def _note_kin(record: HostRecord, kin: int | None, settlement: Settlement, *, has_failed: bool) -> None:
    """Which kinds of URLs give pages here, and which have failed since one did."""
    if settlement.outcome.is_page:
        record.failing = []
        if kin is not None and record.given[-1:] != [kin]:
            record.given = remember(kin, record.given)
    elif kin is not None and has_failed:
        record.failing = remember(kin, record.failing)


def _tells_kin(record: HostRecord, target: Target, settlement: Settlement) -> bool:
    """Whether the kind of a URL matters: if it failed; of pages a sample is enough, since each costs 10 µs."""
    if target.kind is Kind.REQUISITE:
        # A page that names files which are not there says nothing of its host.
        return settlement.outcome is OutcomeKind.FAILED
    if target.kind is not Kind.PAGE:
        return False
    is_sample = record.pages < SAMPLED_AT_FIRST or record.pages % SAMPLED_EVERY == 0 or record.failing
    return not settlement.outcome.is_page or bool(is_sample)


def _news_of(held: Held, settlement: Settlement, now: float) -> RobotsNews | None:
    """What a visit says of a robots.txt, if only that its own got lost."""
    if settlement.robots is None and held.target.kind is Kind.ROBOTS and held.spot is None:
        return lost_robots(held.target, now)
    return settlement.robots
