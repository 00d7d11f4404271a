"""The scheduler: which target is visited next, by whom and when. The Mercator scheme over any store of tables.

A URL leaves its queue only in the atomic write that settles it, so a lease needs no record of its own: after a crash
everything that was leased is simply still queued. What is kept in memory is bounded by settings, never by the length
of the queue: the active hosts with the heads of their queues, a cache of host records, and the leases that are out.

Every verb runs under one lock: it reads what it needs, decides, changes memory, fills one batch, and hands that to the
store before anybody else has a turn. So memory and store tell the same story, and nobody sees one half of a change.
Waiting until the store has taken it in comes last, without the lock.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from itertools import count

from lycosa.clock import Clock
from lycosa.frontier.admission import Admission
from lycosa.frontier.arrivals import message_of
from lycosa.frontier.assignment import Assignment
from lycosa.frontier.backlog import Backlog
from lycosa.frontier.claims import Contents
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.leases import LeaseTable
from lycosa.frontier.obeying import Obeying
from lycosa.frontier.ranking import Classes, Ranking
from lycosa.frontier.records import FORMAT, State, decode_state, encode
from lycosa.frontier.revisits import Revisits
from lycosa.frontier.rules import FrontierRules, Which, host_of_origin, is_for_revisit
from lycosa.frontier.settling import Ended, Settling
from lycosa.frontier.spacing import Spacing
from lycosa.frontier.tables import META, Done, Tables
from lycosa.frontier.taking import PageLimit, SiteVersions, Taking
from lycosa.model import Lease, OutcomeKind, RobotsNews, Settlement, Target
from lycosa.orders import AddSeeds, Given, Pardon
from lycosa.ports import Counts

# A machine does not come back from a power cut sooner: shorter pauses need no fsync before the request.
REBOOT_SECONDS = 5.0
_TOKENS_PER_EPOCH = 32  # bits


async def read_state(tables: Tables, crawl: str = "", epoch: int = 0) -> State:
    """How these tables were left, for whoever takes them over; `epoch` is greater than before (0: the next one)."""
    (raw,) = await tables.get(META, [b"state"])
    state = decode_state(raw) if raw else State(crawl=crawl)
    state.epoch = epoch or state.epoch + 1
    return state


class Scheduler:
    """The verbs of `ports.Frontier` for the hosts of one set of tables. Not ready before `open`.

    Whoever waits for leases is told by `tell` when there may be some, before what freed them is durable.
    Of several schedulers in one crawl each has tokens of its own: those that leave `offset` when divided by `step`;
    and a `share` of the budget, until `share_out`; `beside`: whether others here have a host before a rank.
    `classes`: what decides or remembers in which class a URL waits; `moves`: what waits moves up.
    """

    def __init__(
        self,
        tables: Tables,
        rules: FrontierRules,
        clock: Clock,
        state: State,
        *,
        contents: Contents,
        limit: PageLimit,
        spacing: Spacing,
        workers: Sequence[int],
        tell: Callable[[], None] = lambda: None,
        offset: int = 0,
        step: int = 1,
        classes: Classes | None = None,
        moves: bool = True,
        share: float = 1.0,
        beside: Callable[[], Iterable[Callable[[int], bool]]] = tuple,
    ) -> None:
        self._tables = tables
        self._clock = clock
        self._state = state
        self._tell = tell
        self._lock = asyncio.Lock()
        tokens = count((state.epoch << _TOKENS_PER_EPOCH | 1) * step + offset, step)
        versions = SiteVersions(tables)
        self._hosts = hosts = HostTable(tables, rules, clock, state, spacing, Assignment(rules, workers), beside)
        self._backlog = backlog = Backlog(tables, rules, clock, state, hosts)
        self.leases = leases = LeaseTable(rules, state.epoch, tokens, hosts, spacing, contents)
        max_queued = rules.max_queued_per_host
        self._ranking = ranking = Ranking(tables, leases, classes, max_queued=max_queued, moves=moves)
        self._admission = admission = Admission(tables, max_queued, hosts, backlog, ranking)
        self._revisits = revisits = Revisits(tables, rules, clock, state, hosts, backlog, share)
        self._taking = Taking(tables, hosts, backlog, leases, limit, versions, ranking, revisits)
        self._obeying = Obeying(tables, clock, state, hosts, versions)
        self._settling = Settling(
            rules, hosts, backlog, leases, admission, versions, contents, ranking, tables, revisits
        )

    async def open(self) -> None:
        """Begin: from now on the tables are ours."""
        await self._hosts.open()
        await self._backlog.open()
        batch = HostBatch()
        batch.put(META, b"format", FORMAT.to_bytes(1))
        await self._write(batch)

    # ---- the four verbs

    async def add(self, targets: Sequence[Target]) -> int:
        async with self._lock:
            batch = HostBatch()
            targets, risen = self._ranking.arrived(targets)
            messages = []
            if self._admission.takes_all and not any(each.listing for each in targets):
                messages, targets = [message_of(targets)], []
            prepared = await self._admission.prepare(batch, targets, messages=messages)
            fresh = prepared.fresh
            joining = await self._admission.rising(batch, risen, fresh)
            if told := [each for each in targets if each.listing and each.fingerprint not in fresh]:
                await self._revisits.tell(batch, told, (), self._clock())
            added = await self._admission.take_in(batch, prepared, joining)
            added += await self._admission.add(batch, targets, fresh, joining)
            self._admission.join(batch, joining)
            written = self._write_any(batch)
        await written
        if batch:
            await self._tables.durable()
        return added

    async def take(self, worker: int, limit: int) -> list[Lease]:
        async with self._lock:
            now, batch = self._clock(), HostBatch()
            self.leases.end_late(batch, now)
            if self._state.paused:
                await self._write_any(batch)
                return []
            await self._hosts.wake(batch, now)
            await self._backlog.wake(batch, now)
            has_woken = await self._revisits.wake(batch, now) > 0 if self._taking.may_lease() else False
            # Written before anything else is read: who waits is looked up in the table.
            woken, batch = self._write_any(batch), HostBatch()
            await self._hosts.activate(batch, now, only_first=self._taking.is_completing)
            leases = await self._taking.take(batch, worker, limit, now)
            written = self._write_any(batch)
        await woken
        await written
        if has_woken:
            # They may be for another worker.
            self._tell()
        given = [held for lease in leases if (held := self.leases.get(lease.token))]
        if any(held.host.record.free_at - now > REBOOT_SECONDS for held in given):
            await self._tables.durable()
        return leases

    async def settle(self, settlements: Sequence[Settlement]) -> list[int]:
        async with self._lock:
            now, batch = self._clock(), HostBatch()
            ended: list[Ended] = []
            late: list[int] = []
            for settlement in settlements:
                if held := self.leases.end(settlement.token):
                    ended.append((held, settlement))
                else:
                    late.append(settlement.token)
            self._backlog.counts["late"] += len(late)
            await self._settling.settle(batch, ended, now)
            written = self._write(batch)
        await written
        # Whoever waits for these hosts need not wait for the disk: a power cut would only have a visit repeated.
        self._tell()
        if any(settlement.outcome is not OutcomeKind.REFUSED for settlement in settlements):
            # What was refused, or only looked at, is so again after a power cut.
            await self._tables.durable()
        return late

    async def may_ask_at(self, token: int, address: str) -> bool:
        async with self._lock:
            if not (held := self.leases.get(token)):
                return False
            if self.leases.may_ask_at(held, address, self._clock()):
                return True
        await self.give_back([token])
        return False

    async def give_back(self, tokens: Iterable[int]) -> None:
        async with self._lock:
            batch, now = HostBatch(), self._clock()
            for token in tokens:
                if held := self.leases.get(token):
                    self._revisits.pay_back(held.target)
                self.leases.take_back(batch, token, now)
            written = self._write_any(batch)
        await written

    def is_finished(self) -> bool:
        """Nothing is queued, leased or delayed here; or the page limit is reached, no lease is out, pages are whole."""
        if self.leases or self._state.paused or (self._revisits.is_on and self._taking.may_lease()):
            return False
        counts = self._backlog.counts
        return self._taking.is_over or counts["queued"] + counts["delayed"] == 0

    # ---- the rest of the interface

    async def release(self, worker: int, tokens: Container[int] | None = None) -> int:
        """Give back the leases of a worker that is gone: these, or all of them. Returns how many."""
        async with self._lock:
            its = [held.token for held in self.leases if held.worker == worker]
            gone = its if tokens is None else [token for token in its if token in tokens]
            written = self._let_go(gone)
        await written
        return len(gone)

    async def reassign(self, home: Sequence[int], region_of: Mapping[int, str]) -> None:
        """Other workers take part from now on. What those had who are gone is given back."""
        async with self._lock:
            written = self._let_go([held.token for held in self.leases if held.worker not in region_of])
            self._hosts.reassign(home, region_of)
        await written

    async def learn(self, news: RobotsNews) -> None:
        """A visit elsewhere brought news of a robots.txt of ours."""
        async with self._lock:
            batch = HostBatch()
            await self._hosts.load([host_of_origin(news.origin)], batch)
            self._settling.learn(batch, news, self._clock())
            written = self._write(batch)
        await written

    @property
    def paused(self) -> str:
        """Why an operator wants nothing begun; empty if nobody does."""
        return self._state.paused

    async def obey(self, given: Given, targets: Sequence[Target] = (), pardoned: int = 0) -> str:
        """Carry out an order, once; of `AddSeeds` the targets come with it. Returns what came of it."""
        if await self._obeying.is_obeyed(given):
            return ""
        match given.order:
            case AddSeeds():
                result = f"{await self.add(targets):,} were new"
            case Pardon():
                result = f"{pardoned:,} URLs are queued again"
            case _:
                result = ""
        async with self._lock:
            batch = HostBatch()
            result = await self._obeying.obey(batch, given, result)
            written = self._write(batch)
        await written
        await self._tables.durable()
        self._tell()
        return result

    async def readmit(
        self, rows: Iterable[tuple[bytes, bytes]], which: Which = is_for_revisit, *, is_lost: bool = False
    ) -> int:
        """Queue what was visited before once more, by its rows of the history. Returns how many.

        What is for a revisit in a crawl that goes on without an end is queued when it is due.
        """
        async with self._lock:
            batch = HostBatch()
            if self._revisits.is_on and which is is_for_revisit and not is_lost:
                queued = self._revisits.take_in(batch, rows, self._clock())
            else:
                free = await self._revisits.let_go(batch, rows)
                queued = await self._admission.readmit(batch, free, self._clock(), which, is_lost=is_lost)
            written = self._write(batch)
        await written
        return queued

    @property
    def is_whole(self) -> bool:
        """Whether all that was visited is queued, or rests until it is due: to be noted once it is."""
        return self._state.schedule is not None and self._state.schedule.is_whole

    @is_whole.setter
    def is_whole(self, is_whole: bool) -> None:
        if self._state.schedule:
            self._state.schedule.is_whole = is_whole

    def counts(self) -> Counts:
        self._backlog.counts.update(hosts=self._state.hosts, leased=len(self.leases))
        return Counts(**self._backlog.counts)

    def has_before(self, end: int) -> bool:
        """Whether some host has something before this rank, and is in no trouble."""
        return self._hosts.has_before(end)

    @property
    def used(self) -> int:
        """Of the page limit: pages, and leases that may turn out to be some."""
        return self._backlog.pages + self.leases.pages

    @property
    def was_withheld(self) -> bool:
        """Whether the page limit kept something back when leases were last asked for."""
        return self._taking.was_withheld

    def next_at(self, worker: int) -> float | None:
        """When there may be something to do for a worker, if only to end a lease."""
        oldest = self.leases.oldest()
        work_at = None if self._taking.is_over else self.next_work_at(worker)
        return _first(oldest.expires_at if oldest else None, work_at)

    def next_work_at(self, worker: int) -> float | None:
        """When there may be something to lease, if the page limit lets it."""
        if self._state.paused:
            return None
        hosts_at = self._hosts.next_at(worker, only_first=self._taking.is_completing)
        return _first(self._backlog.next_delayed_at, hosts_at, self._revisits.next_at())

    def idle_until(self) -> float | None:
        """When the next retry or back-off ends, if nothing else is left to do; None while there is work."""
        only_first = self._taking.is_completing
        if self.leases or self._revisits.is_on or self._state.paused:
            return None
        if not self._hosts.are_all_in_trouble(only_first=only_first):
            return None
        moment = _first(self._backlog.next_delayed_at, self._hosts.next_at(only_first=only_first))
        # Something is queued that no host knows of: its record was lost, and nothing will bring it back.
        is_stranded = moment is None and self._backlog.counts["queued"] > 0
        return math.inf if is_stranded else moment

    @property
    def state(self) -> State:
        """How things stand."""
        self._state.counts = self.counts()
        return self._state

    def share_out(self, pages: float, price: float) -> None:
        """Take our part of the budget for visits (see `Revisits.share_out`)."""
        self._revisits.share_out(pages, price)
        self._taking.stand_again()
        self._tell()

    async def close(self) -> None:
        """Write how things stand. The tables are the caller's to close."""
        async with self._lock:
            await self._write(HostBatch())

    # ---- writing

    def _let_go(self, tokens: Iterable[int]) -> Awaitable[None]:
        batch, now = HostBatch(), self._clock()
        for token in tokens:
            self.leases.let_go(batch, token, now)
        return self._write_any(batch)

    def _write_any(self, batch: HostBatch) -> Awaitable[None]:
        return self._write(batch) if batch else Done()

    def _write(self, batch: HostBatch) -> Awaitable[None]:
        """Hand a batch to the store. No await from a verb's last change of memory to here: nobody sees one half."""
        batch.put_hosts()
        self._backlog.counts["poisoned"] += self._hosts.poisoned
        self._hosts.poisoned = 0
        state = self._state
        state.changes += 1
        state.counts = self.counts()
        batch.put(META, b"state", encode(state))
        written = self._tables.write(batch)
        for host in batch.hosts.values():
            if not host.is_active:
                # Twenty thousand hosts are kept; with their blocks they would take 80 MB.
                host.queue.forget()
            elif not host.leased:
                host.queue.trim()
        self._hosts.trim()
        return written


def _first(*moments: float | None) -> float | None:
    return min((moment for moment in moments if moment is not None), default=None)
