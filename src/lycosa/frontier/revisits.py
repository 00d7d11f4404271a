"""Which visited URLs are visited again, and when: each rests until a visit is worth the price.

What a visit of each would be worth, whether that is enough, and until when it rests is the policy's affair
(`policy/freshness.py`, `policy/revisits.py`). Here what is believed is kept, in its row of the history; its moment
stands in a table of its own, in the order of the moments, where it survives whatever happens; and the budget is kept.
Who is woken joins the queue of its host like anybody else, which has paid for its visit by then: from there on
politeness alone decides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from math import floor, log2
from typing import NamedTuple

from msgspec.structs import replace

from lycosa.clock import Clock
from lycosa.frontier.backlog import Backlog
from lycosa.frontier.host import Host
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.listings import count_visit, odds_of, paced, told_of
from lycosa.frontier.poison import readable_history
from lycosa.frontier.records import HostRecord, Schedule, State, due_key, due_of, encode
from lycosa.frontier.rules import FrontierRules, host_of_origin, is_for_revisit, is_sitemap, visited_target
from lycosa.frontier.tables import HISTORY, REVISITS, Batch, Row, Tables
from lycosa.model import MAX_PRIORITY, Failure, History, Kind, OutcomeKind, Settlement, Target, origin_of
from lycosa.policy.freshness import Belief, Foresight, Price, RatePool, freshness, learnt, prior_of, value
from lycosa.policy.listing import list_interval
from lycosa.policy.priority import ORDINARY, SEED
from lycosa.policy.revisits import equal_share_of, interval_of, is_due, longest_wait, rest
from lycosa.site_rules import intervals_of

DAY = 86_400.0
# Of pages nobody knows anything of: about once in so long each changes, and is visited where no budget is set.
USUAL_SECONDS = 30 * DAY
# What is not used of the budget is kept for so long: hosts may rest, a crawl may be started again.
KEPT_SECONDS = 3600.0
# With other things queued, only what they leave for so long goes to pages that are not due.
SPARE_SECONDS = 5.0
# Pages that are compared, when some are woken: at least, and at most.
MIN_COMPARED, MAX_COMPARED = 8, 1_000
# So many are woken together that each costs little.
WAKE_SECONDS = 0.25
# Pages of a host that are woken and not visited yet: as many as its pauses let through in a minute.
MIN_WOKEN, WOKEN_SECONDS = 16, 60.0
# A page whose host has enough to do comes again when it is worth so much more, and not at once.
DEARER = 1.1
# Pages that are new count up to so many times those that are known.
MOST_NEW = 10
# Each class is worth so much more than the one below.
CLASS_WORTH = 1.3
# A sitemap of which it is not known how many pages it stands for.
SITEMAP_WEIGHT = 5.0
# A page that vanished is tried again after these; then it is gone, and after a time forgotten.
VANISHED_PAUSES = (DAY, 7 * DAY)
_VANISHED = frozenset({404, 410})
# What failed in another way, after all retries, is tried again after so long, times how often; then it is gone, too.
FAILED_SECONDS, MAX_FAILURES = 7 * DAY, 5
REFUSED_SECONDS = 30 * DAY
_ENOUGH = 0.999  # of a visit: so much of the budget pays for it, since moments are rounded
# Of several schedulers each has at least so much of the budget; by how much one is favoured, and how fast.
LEAST_SHARE, MOST_FAVOUR, FAVOUR_STEP = 1e-4, 20.0, 0.1
_SOON = 1.0
_LEAST_PRICE = 1e-9


class _Resting(NamedTuple):
    key: bytes
    past: History
    host: Host
    value: float
    goes_by_clock: bool  # its turn comes at its moment, whatever it is worth

    @property
    def fingerprint(self) -> bytes:
        return self.key[8:]


def is_gone(past: History) -> bool:
    """Whether a URL was tried so often in vain that it is taken for gone."""
    if past.outcome not in (OutcomeKind.FAILED, OutcomeKind.CRASHED):
        return False
    return past.failures > (len(VANISHED_PAUSES) if _has_vanished(past) else MAX_FAILURES)


def _has_vanished(past: History) -> bool:
    return past.status in _VANISHED or past.reason == Failure.SOFT_404


def favoured_pages(state: State) -> float:
    """What stands for a scheduler's part of a budget that several share: its pages, more if they are worth more."""
    favour = state.schedule.favour if state.schedule else 1.0
    return state.counts.known * favour


def has_changed(past: History, settlement: Settlement) -> bool | None:
    """Whether a page was another than at the visit before; None if that is not known."""
    match settlement.outcome:
        case OutcomeKind.UNCHANGED:
            return False
        case OutcomeKind.STORED | OutcomeKind.DUPLICATE:
            return True if settlement.changed > 0.0 else None
        case OutcomeKind.READ:
            return past.digest != settlement.digest if past.digest and settlement.digest else None
        case OutcomeKind.MOVED if past.outcome is OutcomeKind.MOVED:
            return past.detail != settlement.reason.detail
        case OutcomeKind.MOVED:
            return True if past.outcome.is_page else None
        case _:
            return None


def weight_of(target: Target) -> float:
    """The importance of a page beside others, as its class tells, and beside others of its site, as that says."""
    if target.kind is Kind.SITEMAP:
        return SITEMAP_WEIGHT
    listed = target.listing.weight / 100.0 if target.listing else 1.0
    return listed * CLASS_WORTH ** (target.priority - ORDINARY)


def belief_of(past: History, prior: Belief) -> Belief:
    """What is believed of a page's changes."""
    return Belief(past.rate_shape, past.rate_scale) if past.rate_shape else prior


def prior_in(record: HostRecord, schedule: Schedule | None, past: History | None = None) -> Belief:
    """What is believed of a page of a host before it was visited twice: as of its like there, and everywhere.

    At first what its site says of how often it changes counts a little, too.
    """
    everywhere = RatePool(schedule.rates, schedule.rated) if schedule else RatePool()
    prior = prior_of(RatePool(record.rates, record.rated).mean(everywhere.mean(1.0 / USUAL_SECONDS)))
    return paced(prior, past.listing, past.visits) if past else prior


class Revisits:
    """Visited URLs until they are due. Changes go into the caller's batch; hosts must be in memory."""

    def __init__(
        self,
        tables: Tables,
        rules: FrontierRules,
        clock: Clock,
        state: State,
        hosts: HostTable,
        backlog: Backlog,
        share: float,
    ) -> None:
        self._tables = tables
        self._rules = rules
        self._clock = clock
        self._state = state
        self._hosts = hosts
        self._counts = backlog.counts
        self._backlog = backlog
        self._woken = Counter[str]()  # by host: not settled since
        self._awake = 0  # all of them
        self._from = b""  # nothing rests up to here
        self._look_at = 0.0  # before that nobody can be woken
        self._compared = MIN_COMPARED
        self._own_interval = intervals_of(rules.intervals)
        if self.is_on and state.schedule is None:
            state.schedule = Schedule(at=clock(), share=share)

    @property
    def is_on(self) -> bool:
        """Whether pages are woken."""
        return self._rules.is_continuous

    @property
    def is_kept(self) -> bool:
        """Whether it is kept when pages are due: from the first continuous crawl on, also while none runs."""
        return self._state.schedule is not None

    @property
    def _schedule(self) -> Schedule:
        assert self._state.schedule, "kept"
        return self._state.schedule

    # ---- the budget

    @property
    def rate(self) -> float:
        """Visits per second."""
        return self._rules.pages_per_second * self._schedule.share or max(self._counts["resting"], 1) / USUAL_SECONDS

    @property
    def is_charged(self) -> bool:
        """Whether new pages are paid for, too."""
        return self.is_on and self._rules.pages_per_second > 0

    def may_lease(self, target: Target, now: float) -> bool:
        """Whether the budget lets a target be visited now: what was visited before has paid already."""
        if not self.is_charged or target.visits or target.kind in (Kind.ROBOTS, Kind.PROBE, Kind.REQUISITE):
            return True
        self._refill(now)
        return self._schedule.left >= _ENOUGH

    def pay(self, host: Host, target: Target) -> None:
        """A target is about to be visited."""
        if self.is_charged and not target.visits and target.kind in (Kind.PAGE, Kind.SITEMAP):
            self._schedule.left -= 1.0
            self._note_price(value(self.prior(host.record), weight_of(target), longest_wait(self.equal_share)))

    def pay_back(self, target: Target) -> None:
        """It was not visited after all."""
        if self.is_charged and not target.visits and target.kind in (Kind.PAGE, Kind.SITEMAP):
            self._schedule.left += 1.0

    def share_out(self, pages: float, price: float) -> None:
        """Take our part of a budget that others have a part of, too: the sum of all favoured pages, and what a visit
        costs on the average. The budget goes where visits are worth more, until they cost the same everywhere.
        """
        schedule = self._schedule
        self._refill(self._clock())
        schedule.share = min(max(favoured_pages(self._state) / max(pages, 1.0), LEAST_SHARE), 1.0)
        # When something can be paid was foretold by the share before.
        self._look_at = 0.0
        if schedule.visits and price > 0.0:
            dearer = min(max(self.price / price, 1 / MOST_FAVOUR), MOST_FAVOUR) ** FAVOUR_STEP
            schedule.favour = min(max(schedule.favour * dearer, 1 / MOST_FAVOUR), MOST_FAVOUR)

    def paid_at(self, visits: float = 1.0) -> float:
        """When so many visits can be paid."""
        schedule = self._schedule
        return schedule.at + max(0.0, visits - schedule.left) / self.rate

    def _refill(self, now: float) -> None:
        schedule, rate = self._schedule, self.rate
        left = schedule.left + max(0.0, now - schedule.at) * rate
        schedule.left, schedule.at = min(left, max(rate * KEPT_SECONDS, 3.0)), now

    # ---- the price

    @property
    def price(self) -> float:
        """What a visit must be worth."""
        schedule = self._schedule
        if schedule.visits:
            return max(schedule.price, _LEAST_PRICE)
        return value(prior_in(HostRecord("", 0), schedule), 1.0, self.equal_share)

    def _note_price(self, worth: float) -> None:
        schedule = self._schedule
        price = Price(schedule.price, schedule.visits).visited(worth, self._counts["resting"])
        schedule.price, schedule.visits = price

    @property
    def equal_share(self) -> float:
        """How long each page would wait if all were visited equally often."""
        return equal_share_of(self._pages, self.rate, self._shortest)

    @property
    def _pages(self) -> int:
        """Those that share the budget: new ones, too, or else the first that were visited would have all of it.

        Some that are queued may wait for ever, so these count no more than so many times the others.
        """
        resting = self._counts["resting"]
        if not self.is_charged:
            return resting
        return resting + min(self._counts["queued"], MOST_NEW * (resting + 100))

    @property
    def _shortest(self) -> float:
        return self._rules.min_revisit_seconds

    # ---- what is believed

    def prior(self, record: HostRecord, past: History | None = None) -> Belief:
        return prior_in(record, self._state.schedule, past)

    def learn(
        self, host: Host, target: Target, past: History | None, row: History, settlement: Settlement, now: float
    ) -> History:
        """The row of a visit, with all that earlier ones had taught, and what this one teaches."""
        if past is None:
            return replace(row, weight=weight_of(target)) if self.is_kept and target.fingerprint else row
        has_failed = row.outcome in (OutcomeKind.FAILED, OutcomeKind.CRASHED)
        changed = has_changed(past, settlement)
        row = replace(
            row,
            changed_at=int(now) if changed else past.changed_at,
            changes=past.changes + bool(changed),
            failures=past.failures + 1 if has_failed else 0,
            weight=past.weight or weight_of(target),
            rate_shape=past.rate_shape,
            rate_scale=past.rate_scale,
            listing=past.listing,
            # A list that did not change is not read for what it lists.
            listed=row.listed or (past.listed if changed is False else 0),
        )
        if changed is None or past.failures:
            return row
        count_visit(host.record, past, changed=changed)
        after = self._believe(host.record, past, max(now - past.visited_at, 1.0), changed=changed)
        return replace(row, rate_shape=after.a, rate_scale=after.b)

    def _believe(self, record: HostRecord, past: History, elapsed: float, *, changed: bool) -> Belief:
        prior = self.prior(record, past)
        before = belief_of(past, prior)
        after = learnt(before, elapsed, changed, prior)
        if past.outcome.is_page:
            self._foresee(freshness(before, elapsed, odds_of(record, past)), changed=changed)
        known = before if past.rate_shape else None
        record.rates, record.rated = RatePool(record.rates, record.rated).learnt(known, after)
        if schedule := self._state.schedule:
            schedule.rates, schedule.rated = RatePool(schedule.rates, schedule.rated).learnt(known, after)
        return after

    def _foresee(self, chance: float, *, changed: bool) -> None:
        """Compare what was expected of a page with what a visit found."""
        if schedule := self._state.schedule:
            schedule.foresight = list(Foresight(*schedule.foresight).visited(chance, changed=changed))

    # ---- resting

    def settled(self, host: Host, target: Target) -> None:
        """A visit ended."""
        if target.visits and (left := self._woken[host.record.name]) > 0:
            self._awake -= 1
            self._woken[host.record.name] = left - 1
            if left == 1:
                del self._woken[host.record.name]

    def rest(self, batch: Batch, host: Host, fingerprint: bytes, row: History, now: float) -> History:
        """Until when a URL rests after a visit, if it is ever to be visited again; the row with that."""
        if not self.is_kept or (pause := self._pause(host.record, row)) is None:
            return row
        due, interval = pause
        return self._put(batch, fingerprint, replace(row, interval=round(interval)), now + max(due, _SOON))

    def _pause(self, record: HostRecord, row: History) -> tuple[float, float] | None:
        """How long a URL rests until it is looked at, and how long probably until it is visited; None: for good."""
        if row.kind is Kind.REQUISITE:
            # Of pages that change: their requisites have other names then, mostly.
            return None
        if is_gone(row):
            return self._rules.forget_seconds, 0.0
        match row.outcome:
            case OutcomeKind.FAILED | OutcomeKind.CRASHED:
                tries = max(row.failures, 1)
                seconds = VANISHED_PAUSES[tries - 1] if _has_vanished(row) else tries * FAILED_SECONDS
            case OutcomeKind.REFUSED if row.visits > 1:
                seconds = REFUSED_SECONDS
            case OutcomeKind.REFUSED:
                return None
            case OutcomeKind.READ if not is_sitemap(row):
                return None
            case _ if (own := self._own_interval(row.url)) is not None:
                return own, own
            case _ if row.listed:
                # What it lists may not have been visited yet.
                share = equal_share_of(max(self._pages, row.listed), self.rate, self._shortest)
                seconds = list_interval(row.listed, share, self._shortest)
            case _:
                belief, weight, odds = belief_of(row, self.prior(record, row)), row.weight or 1.0, odds_of(record, row)
                price, share = self.price, self.equal_share
                return (
                    rest(belief, weight, price, share, shortest=self._shortest, odds=odds),
                    interval_of(belief, weight, price, share, self._shortest, odds),
                )
        return seconds, seconds

    def _put(self, batch: Batch, fingerprint: bytes, row: History, due: float) -> History:
        key = due_key(due, int.from_bytes(fingerprint), 8)
        row = replace(row, next_at=due)
        batch.put(REVISITS, key, b"")
        batch.put(HISTORY, fingerprint, encode(row))
        self._counts["resting"] += 1
        if key <= self._from:
            self._from = key[:-1]
        self._look_at = min(self._look_at, due)
        return row

    def _remove(self, batch: Batch, key: bytes) -> None:
        batch.delete(REVISITS, key)
        self._counts["resting"] -= 1

    # ---- what lists say

    async def tell(self, batch: HostBatch, targets: Iterable[Target], visited: Container[bytes], now: float) -> None:
        """Lists say of these known URLs when they were modified: who may have changed since its visit is looked at.

        Nothing is told of those that were `visited` in this moment.
        """
        if not self.is_kept:
            return
        told = {each.fingerprint: each for each in targets if each.listing and each.fingerprint not in visited}
        rows = await self._tables.get(HISTORY, list(told)) if told else []
        pasts = {mark: past for mark, raw in zip(told, rows, strict=True) if (past := readable_history(raw))}
        changed = {
            mark: (past, row)
            for mark, past in pasts.items()
            if (listing := told[mark].listing) and (row := told_of(past, listing))
        }
        if not changed:
            return
        keys = {mark: due_key(past.next_at, int.from_bytes(mark), 8) for mark, (past, _) in changed.items()}
        found = await self._tables.get(REVISITS, list(keys.values()))
        await self._hosts.load({told[mark].host: None for mark in changed}, batch)
        for (mark, key), rests in zip(keys.items(), found, strict=True):
            past, row = changed[mark]
            batch.put(HISTORY, mark, encode(row))
            if rests is not None and row.is_told and (past.outcome.is_page or past.listed):
                self._look_sooner(batch, key, row, now)

    def _look_sooner(self, batch: HostBatch, key: bytes, row: History, now: float) -> None:
        """A page that may have changed, by what its site says, rests until a visit is worth the price by that.

        A list of which another list says so is read.
        """
        record = self._hosts.get(host_of_origin(origin_of(row.url))).record
        pause = 0.0 if row.listed else self._rest_of(record, row, self.price, now)
        due = max(now + max(pause, _SOON), row.visited_at + self._shortest)
        if due < row.next_at:
            self._remove(batch, key)
            self._put(batch, key[8:], row, due)

    # ---- taking in, and letting go of, what was visited without a schedule

    def take_in(self, batch: Batch, rows: Iterable[Row], now: float) -> int:
        """Have what was visited before rest until it is due, if it does not already. Returns how many."""
        taken = 0
        for fingerprint, raw in rows:
            past = readable_history(raw)
            if past is None or past.next_at or not (is_for_revisit(past) or is_sitemap(past)):
                continue
            target = visited_target(past, fingerprint)
            weight = past.weight or weight_of(replace(target, priority=ORDINARY if past.depth else SEED))
            host = HostRecord(host_of_origin(origin_of(past.url)), 0)
            pause = self._pause(host, replace(past, weight=weight))
            if pause:
                due = max(past.visited_at + pause[0], now + _SOON)
                self._put(batch, fingerprint, replace(past, weight=weight, interval=round(pause[1])), due)
                taken += 1
        return taken

    async def let_go(self, batch: Batch, rows: Iterable[Row]) -> list[Row]:
        """These rows of the history; what rested does so no longer."""
        rows = list(rows)
        if not self.is_kept or not rows:
            return rows
        pasts = [readable_history(raw) for _, raw in rows]
        keys = [
            due_key(past.next_at if past else 0.0, int.from_bytes(mark), 8)
            for (mark, _), past in zip(rows, pasts, strict=True)
        ]
        found = await self._tables.get(REVISITS, keys)
        free: list[Row] = []
        for row, past, key, rested in zip(rows, pasts, keys, found, strict=True):
            if past is None or rested is None:
                free.append(row)
                continue
            self._remove(batch, key)
            free.append((row[0], encode(replace(past, next_at=0.0))))
        return free

    # ---- waking

    async def wake(self, batch: HostBatch, now: float) -> int:
        """Queue what is due, as far as the budget goes; and if some of that is left over, what will be due next."""
        if not self.is_on or not self._counts["resting"] or now < self._look_at:
            return 0
        left_over = self._schedule.left
        self._refill(now)
        paid = int(self._schedule.left + 1.0 - _ENOUGH)
        if paid < 1:
            return 0
        # What came in since the last time was not offered to new pages yet.
        spare = int((left_over if self._has_new else self._schedule.left) + 1.0 - _ENOUGH - self._kept_back())
        rows = await self._tables.scan(REVISITS, self._from, min(max(self._compared, 2 * paid), MAX_COMPARED))
        resting = await self._look(batch, rows, now)
        woken = self._choose(batch, resting, paid, spare, now)
        self._schedule.left -= len(woken)
        await self._backlog.queue(batch, [self._queued(batch, each, now) for each in woken])
        moved = batch.tables.get(REVISITS, {})
        left = {key for key, _ in rows if moved.get(key, b"") is not None}
        if rows:
            stay = [*left, *(key for key, row in moved.items() if row is not None)]
            first, last = min(stay, default=b""), rows[-1][0]
            self._from = first[:-1] if b"" < first <= last else last
        if len(woken) == paid:
            self._look_at, self._compared = now + WAKE_SECONDS, MIN_COMPARED
        else:
            first_due = min((due_of(key) for key in left if due_of(key) > now), default=now + WOKEN_SECONDS)
            self._look_at = self._next_look([each for each in resting if each.key in left], first_due, now)
            # Perhaps those behind them are due, or may be visited early.
            is_short = len(woken) < spare or (rows and due_of(rows[-1][0]) <= now)
            self._compared = min(4 * self._compared, MAX_COMPARED) if is_short else MIN_COMPARED
        return len(woken)

    async def _look(self, batch: HostBatch, rows: Sequence[Row], now: float) -> list[_Resting]:
        """What rests under these keys, and what a visit of it is worth now. What is gone for long is forgotten."""
        marks = [key[8:] for key, _ in rows]
        pasts = [readable_history(raw) for raw in await self._tables.get(HISTORY, marks)] if marks else []
        found = ((key, past) for (key, _), past in zip(rows, pasts, strict=True) if past)
        known = [(key, past) for key, past in found if past.next_at == due_of(key)]
        for key in {key for key, _ in rows} - {key for key, _ in known}:
            # Of a row that was lost, or is another by now.
            self._remove(batch, key)
        await self._hosts.load({host_of_origin(origin_of(past.url)): None for _, past in known}, batch)
        resting = []
        for key, past in known:
            if is_gone(past):
                if due_of(key) <= now:
                    self._forget(batch, key)
                continue
            host = self._hosts.get(host_of_origin(origin_of(past.url)))
            belief = belief_of(past, self.prior(host.record, past))
            if goes_by_clock := self._goes_by_clock(past):
                worth = self.price if due_of(key) <= now else 0.0
            else:
                worth = value(belief, past.weight or 1.0, now - past.visited_at, odds_of(host.record, past))
            resting.append(_Resting(key, past, host, worth, goes_by_clock))
        return resting

    def _goes_by_clock(self, past: History) -> bool:
        """Whether a page is visited at its moment: nobody knows what would be found, or the operator has set it; or it
        is read for what it lists.
        """
        if past.failures or past.outcome is OutcomeKind.REFUSED or past.listed:
            return True
        return self._own_interval(past.url) is not None

    def _choose(
        self, batch: HostBatch, resting: Sequence[_Resting], paid: int, spare: int, now: float
    ) -> list[_Resting]:
        """The worthiest: those that are due; of the others as many as are to spare, which else would be lost."""
        price, share = self.price, self.equal_share
        chosen: list[_Resting] = []
        for each in sorted(resting, key=lambda one: -one.value):
            elapsed, has_slept = now - each.past.visited_at, due_of(each.key) <= now
            is_worth_it = is_due(each.value, price, elapsed, share, self._shortest)
            is_its_turn = has_slept if each.goes_by_clock else is_worth_it
            if len(chosen) < paid and (is_its_turn or (self._is_early(each, now) and len(chosen) < spare)):
                if not self._has_room(each.host):
                    # It waits until it is worth what others of its host are.
                    dearer = max(each.host.record.price, DEARER * each.value)
                    rested = self._rest_of(each.host.record, each.past, dearer, now)
                    self._sleep(batch, each, max(rested, WOKEN_SECONDS), now)
                    continue
                chosen.append(each)
                self._woken[each.host.record.name] += 1
                self._awake += 1
                if not each.goes_by_clock:
                    self._note_price(each.value)
                    self._note_host_price(batch, each)
            elif has_slept and not is_its_turn:
                # The price rose since it went to rest, or it rested for all of an equal share.
                self._sleep(batch, each, self._rest_of(each.host.record, each.past, price, now), now)
        return chosen

    def _rest_of(self, record: HostRecord, past: History, price: float, now: float) -> float:
        """For how long one that is looked at rests on."""
        belief, elapsed = belief_of(past, self.prior(record, past)), now - past.visited_at
        share, odds = self.equal_share, odds_of(record, past)
        return rest(belief, past.weight or 1.0, price, share, elapsed, self._shortest, odds)

    def _kept_back(self) -> float:
        """How much of the budget waits for what is queued."""
        return max(1.0, SPARE_SECONDS * self.rate) if self._has_new else 0.0

    @property
    def _has_new(self) -> bool:
        """Whether something is queued that was not woken."""
        return self._counts["queued"] > self._awake

    def _is_early(self, each: _Resting, now: float) -> bool:
        """Whether a page may be visited before it is due."""
        return each.value > 0.0 and now - each.past.visited_at >= self._shortest

    def _has_room(self, host: Host) -> bool:
        record = host.record
        if host.is_in_trouble(self._clock()):
            # One, to see whether it still is.
            return not self._woken[record.name]
        return self._woken[record.name] < max(MIN_WOKEN, WOKEN_SECONDS / max(record.delay_seconds, 0.01))

    def _note_host_price(self, batch: HostBatch, each: _Resting) -> None:
        record = each.host.record
        if self._woken[record.name] >= MIN_WOKEN or record.price:
            record.price = Price(record.price, 1.0 if record.price else 0.0).visited_in_host(each.value).now
            batch.note(each.host)

    def _sleep(self, batch: HostBatch, each: _Resting, seconds: float, now: float) -> None:
        self._remove(batch, each.key)
        self._put(batch, each.fingerprint, each.past, now + max(seconds, _SOON))

    def _queued(self, batch: HostBatch, each: _Resting, now: float) -> Target:
        self._remove(batch, each.key)
        # As of one that is queued: who asks for it once more finds it there.
        batch.put(HISTORY, each.fingerprint, encode(replace(each.past, next_at=now)))
        # Ordinary links are of the class below those that are worth the price.
        dearer = floor(log2(max(each.value / self.price, 0.1)))
        priority = min(max(ORDINARY + 1 + dearer, ORDINARY - 1), MAX_PRIORITY - 1)
        return replace(visited_target(each.past, each.fingerprint), priority=priority)

    def _forget(self, batch: HostBatch, key: bytes) -> None:
        """Nothing is known of a URL any more: it may be found again."""
        self._remove(batch, key)
        batch.delete(HISTORY, key[8:])
        batch.known[key[8:]] = False
        self._counts["known"] -= 1

    def _next_look(self, left: Sequence[_Resting], first_due: float, now: float) -> float:
        """When the next may be woken, if nothing else happens: as it is due, or as the budget has some to spare."""
        ready = min((max(each.past.visited_at + self._shortest, now) for each in left if each.value), default=first_due)
        spare_at = self.paid_at(1.0 + self._kept_back())
        return max(min(first_due, max(ready, spare_at)), now + WAKE_SECONDS)

    def next_at(self) -> float | None:
        """When something may be woken; None if nothing rests."""
        if not self.is_on or not self._counts["resting"]:
            return None
        return max(self.paid_at(), self._look_at)
