"""The leases that are out: which host is visited under which token, by whom, until when.

They live in memory only. What is durable is that a host was leased, and when it is free again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from lycosa.frontier.claims import Contents
from lycosa.frontier.host import Host
from lycosa.frontier.hosts import HostBatch, HostTable
from lycosa.frontier.queue import Spot
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.spacing import Place, Spacing
from lycosa.model import Kind, Target
from lycosa.policy.politeness import delay_seconds, slowed_seconds


class Held(msgspec.Struct):
    """A lease that is out."""

    token: int
    host: Host
    target: Target
    spot: Spot | None  # in its queue; None for a robots.txt asked for on the fly
    worker: int
    expires_at: float

    @property
    def place(self) -> Place:
        return self.host.place


@dataclass(eq=False, repr=False)
class LeaseTable:
    """By their tokens, in the order they were given out, which is the order in which they expire."""

    _rules: FrontierRules
    _epoch: int
    _tokens: Iterator[int]
    _hosts: HostTable
    _spacing: Spacing
    _contents: Contents

    _held: OrderedDict[int, Held] = field(default_factory=OrderedDict)
    pages: int = 0  # how many of them may turn out to be pages
    _marks: set[bytes] = field(default_factory=set)  # of what is leased

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        return iter(self._held.values())

    def get(self, token: int) -> Held | None:
        return self._held.get(token)

    def has(self, fingerprint: bytes) -> bool:
        """Whether a URL is leased."""
        return fingerprint in self._marks

    def oldest(self) -> Held | None:
        return next(iter(self), None)

    def give(self, batch: HostBatch, host: Host, target: Target, spot: Spot | None, worker: int, now: float) -> Held:
        """Note a lease, and durably that its host is not free: the request may go out any moment."""
        record, token = host.record, next(self._tokens)
        held = Held(token, host, target, spot, worker, now + self._rules.lease_seconds)
        if not host.leased:
            host.worker, host.was_asked, host.free_at_before = worker, False, record.free_at
            host.place = Place(host.domain, record.address, token)
            self._spacing.note(host.place, now)
        self._held[token] = held
        self._marks.add(target.fingerprint)
        self.pages += target.kind is Kind.PAGE
        host.leased.add(token)
        if spot:
            host.queue.give(spot)
        pace = self._rules.pace_of(record.name)
        delay = delay_seconds(pace, record.fetch_seconds, record.asked_delay_seconds)
        record.delay_seconds = slowed_seconds(pace, delay, record.slowdown)
        record.free_at = now + record.delay_seconds
        record.leased_epoch = self._epoch
        batch.note(host)
        return held

    def end(self, token: int) -> Held | None:
        """Take a lease out; None if there is none."""
        held = self._held.pop(token, None)
        if held:
            self._contents.end(token)
            self._marks.discard(held.target.fingerprint)
            self.pages -= held.target.kind is Kind.PAGE
            held.host.leased.discard(token)
            if not held.host.leased:
                held.host.record.leased_epoch = 0
        return held

    def let_go(self, batch: HostBatch, token: int, now: float) -> None:
        """A lease ends without a settlement: its URL is still queued, its host rests as if it had been asked."""
        held = self.end(token)
        assert held, "only leases that are out are given back"
        self.ask(held.host, now + held.host.record.delay_seconds)
        self._hosts.asked(held.host, held.worker)
        self._spacing.note(held.place, now)
        self._put_back(held)
        self.go_on(batch, held.host, now)

    def take_back(self, batch: HostBatch, token: int, now: float) -> None:
        """Nothing was sent under a lease: as if it had not been."""
        if held := self.end(token):
            self.unask(held.host)
            self._put_back(held)
            self.go_on(batch, held.host, now)

    def ask(self, host: Host, free_at: float) -> None:
        """A request was sent, or may have been: the host is not free before then, whatever else ends."""
        host.was_asked = True
        host.free_at_before = host.record.free_at = max(host.free_at_before, free_at)

    def unask(self, host: Host) -> None:
        """Nothing was sent under a lease: its host is free when it was before."""
        host.record.free_at = host.free_at_before

    def go_on(self, batch: HostBatch, host: Host, now: float) -> None:
        """What a host does next of which a lease has ended."""
        if host.leased:
            self._hosts.top_up(batch, host)
            return
        if not host.was_asked:
            self._spacing.undo(host.place)
        self._hosts.go_on(batch, host, now)

    def _put_back(self, held: Held) -> None:
        if held.spot:
            held.host.queue.put_back(held.spot)

    def end_late(self, batch: HostBatch, now: float) -> None:
        """Let go of those that nobody settled in time."""
        while (oldest := self.oldest()) and oldest.expires_at <= now:
            self.let_go(batch, oldest.token, now)

    def may_ask_at(self, held: Held, address: str, now: float) -> bool:
        """The host of a lease is at this address: whether its request may go there now."""
        host = held.host
        host.record.address = address
        place = self._spacing.may_ask_at(host.place, address, now)
        host.place = place or host.place
        return place is not None

    def hold_address(self, token: int, address: str, until: float) -> None:
        """The host of a lease is at an address that is not to be asked before then."""
        if held := self.get(token):
            held.host.record.address = address
            self._spacing.hold(address, until)
