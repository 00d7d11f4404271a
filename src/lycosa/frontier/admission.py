"""What joins the queues: targets nobody has found before, as far as their host's queue has room for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from lycosa.frontier.arrivals import Group, arriving, named_in, others_of
from lycosa.frontier.backlog import Backlog
from lycosa.frontier.host import Host
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.poison import readable_history
from lycosa.frontier.ranking import Ranking
from lycosa.frontier.records import encode
from lycosa.frontier.rules import Which, host_of_origin, rank_of, visited_target
from lycosa.frontier.tables import HISTORY, Tables
from lycosa.model import Refusal, Target, origin_of


class Arrivals(NamedTuple):
    """What a batch brings that is not known: the fingerprints of targets; and of messages all that is plain."""

    fresh: set[bytes]
    groups: list[Group]
    marks: list[bytes]
    others: list[Target]  # of messages, known or not


@dataclass(eq=False, repr=False)
class Admission:
    """First `prepare`, which reads; then `add`, as often as there is something; then, of all that is new, `join`."""

    _tables: Tables
    _max_queued: int  # per host; 0: any number
    _hosts: HostTable
    _backlog: Backlog
    _ranking: Ranking

    @property
    def takes_all(self) -> bool:
        """Whether targets are not looked at one by one, since queues have room for all and none has another class."""
        return not self._max_queued and not self._ranking.has_classes

    async def prepare(
        self,
        batch: HostBatch,
        targets: Iterable[Target],
        marked: Collection[bytes] = (),
        origins: Iterable[str] = (),
        messages: Sequence[bytes] = (),
    ) -> Arrivals:
        """Bring into memory what adding these takes, and what is new in messages, if all are taken.

        What is `marked` is for others to make known.
        """
        plain, others = named_in(messages)
        found = [*others_of(others), *targets]
        asked = list(dict.fromkeys([*plain, *(mark for target in found if (mark := target.fingerprint)), *marked]))
        known = await self._tables.known(asked) if asked else []
        fresh = {mark for mark, is_known in zip(asked, known, strict=True) if not is_known}
        aside = fresh.intersection(marked)
        fresh -= aside
        groups, marks = arriving(messages, fresh)
        fresh |= aside
        new = [target for target in found if not target.fingerprint or target.fingerprint in fresh]
        hosts = [*(group[0] for group in groups), *(target.host for target in new), *map(host_of_origin, origins)]
        await self._hosts.load(hosts, batch)
        await self._backlog.load_tails_of(group[:3] for group in groups)
        await self._backlog.load_tails(new)
        return Arrivals(fresh, groups, marks, found[: len(others)])

    async def take_in(self, batch: HostBatch, prepared: Arrivals, joining: list[Target]) -> int:
        """What is new in messages joins its queues. Returns how many there were."""
        batch.known.update(dict.fromkeys(prepared.marks, True))
        self._backlog.counts["known"] += len(prepared.marks)
        self._backlog.enqueue_groups(batch, prepared.groups)
        return len(prepared.marks) + await self.add(batch, prepared.others, prepared.fresh, joining)

    async def rising(self, batch: HostBatch, risen: Sequence[Target], fresh: set[bytes]) -> list[Target]:
        """Those that are to join their queues once more, further ahead; brings into memory what that takes."""
        if not risen or not (rising := await self._ranking.rising(risen, fresh)):
            return []
        await self._hosts.load([*{target.host: None for target in rising}], batch)
        if self._max_queued:
            rising = [each for each in rising if self._hosts.get(each.host).record.queued < self._max_queued]
        await self._backlog.load_tails(rising)
        self._backlog.counts["moved_up"] += len(rising)
        return rising

    async def add(self, batch: HostBatch, targets: Sequence[Target], fresh: set[bytes], joining: list[Target]) -> int:
        """What is new, and probes, which may come again and again, are to join. Returns how many were new."""
        if self._max_queued:
            return await self._add_within_limit(batch, targets, fresh)
        known, added = batch.known, 0
        for target in targets:
            if mark := target.fingerprint:
                if mark not in fresh:
                    continue
                fresh.discard(mark)
                known[mark] = True
                added += 1
                if target.promise:
                    self._ranking.note(target)
            joining.append(target)
        self._backlog.counts["known"] += added
        return added

    def join(self, batch: HostBatch, joining: Sequence[Target]) -> None:
        """Queue all of these, each host and each block of its queue once."""
        if joining:
            self._backlog.enqueue(batch, joining)

    async def _add_within_limit(self, batch: HostBatch, targets: Sequence[Target], fresh: set[bytes]) -> int:
        """One after the other, since each may take the place of another; probes first."""
        added = 0
        for target in sorted(targets, key=_is_page):
            if target.fingerprint:
                if target.fingerprint not in fresh:
                    continue
                if not await self._make_room(batch, self._hosts.get(target.host), target):
                    self._ranking.forget(target)
                    continue
                self.mark(batch, target.fingerprint, fresh)
                self._ranking.note(target)
                added += 1
            self._backlog.enqueue(batch, [target])
        return added

    def mark(self, batch: HostBatch, fingerprint: bytes, fresh: set[bytes]) -> None:
        """It is known from now on."""
        if fingerprint in fresh:
            fresh.discard(fingerprint)
            batch.known[fingerprint] = True
            self._backlog.counts["known"] += 1

    async def readmit(
        self, batch: HostBatch, rows: Iterable[tuple[bytes, bytes]], now: float, which: Which, *, is_lost: bool
    ) -> int:
        """Queue what was visited before once more, by its rows of the history. Returns how many.

        What got lost was not visited, as far as the counters go.
        """
        again: list[Target] = []
        closed: list[Target] = []
        for fingerprint, raw in rows:
            past = readable_history(raw)
            # One that is due already stands in a queue: asking twice must not fetch it twice.
            if past is None or past.next_at or not which(past):
                continue
            again.append(visited_target(past, fingerprint))
            if past.reason == Refusal.ADDRESS:
                closed.append(again[-1])
            if is_lost:
                self._backlog.counts[past.outcome.name.lower()] -= 1
                # Asked for whatever it is: there is nothing here that could be unchanged.
                past = replace(past, etag="", last_modified="", digest=b"", text=b"")
            batch.put(HISTORY, fingerprint, encode(replace(past, next_at=now)))
        await self._backlog.queue(batch, again)
        for target in closed:
            # What stands there for rules is that nobody may connect: the rules are to be asked for first.
            host = self._hosts.get(target.host)
            host.record.origins.pop(origin_of(target.url), None)
            batch.note(host)
        return len(again)

    async def _make_room(self, batch: HostBatch, host: Host, target: Target) -> bool:
        """Whether its host's queue takes a target: if it is full, only in the place of a less important one.

        What is dropped is forgotten, and may be found again. What is under way or was visited before is not dropped.
        """
        if host.record.queued < self._max_queued:
            return True
        counts = self._backlog.counts
        counts["dropped"] += 1
        host.record.dropped += 1
        batch.note(host)
        lane = host.queue.worst_lane()
        if rank_of(target) >= lane.rank:
            return False
        spot, last = await self._backlog.next_in(host, lane, is_last_first=not self._backlog.takes_last(lane))
        if spot is None or last is None or not last.fingerprint or last.visits:
            return False
        self._backlog.dequeue(batch, host, spot)
        if counts["moved_up"] and (self._ranking.is_elsewhere(last) or await self._ranking.is_copy(last)):
            counts["passed_over"] += 1
            return True
        self._ranking.forget(last)
        batch.known[last.fingerprint] = False
        counts["known"] -= 1
        return True


def _is_page(target: Target) -> bool:
    return bool(target.fingerprint)
