"""One host in memory: its durable record, its queue, and where it stands."""

from __future__ import annotations

from collections.abc import Collection

from lycosa.frontier.entries import mark_of, origin_under
from lycosa.frontier.queue import HostQueue
from lycosa.frontier.records import HostRecord, Lane
from lycosa.frontier.rules import FIRST_CLASS_RANK, LAST_CLASS_RANK, is_in_doubt
from lycosa.frontier.spacing import Place
from lycosa.url.domain import registered_domain

NOBODY = -1
NOWHERE = Place("", "", 0)


class Host:
    """A host with something queued is active, waits, or is parked. Leases of it that are out are all of one worker."""

    __slots__ = (
        "domain",
        "free_at_before",
        "is_active",
        "leased",
        "owner",
        "place",
        "queue",
        "record",
        "standing",
        "times",
        "turn",
        "was_asked",
        "worker",
    )

    def __init__(self, record: HostRecord) -> None:
        self.record = record
        self.queue = HostQueue(record)
        self.domain = registered_domain(record.name)
        self.owner = NOBODY  # the worker that visits it next; chosen when it is next ready
        self.times = 0  # how often that worker had had its domain
        self.is_active = False
        self.standing = 0  # its entry in its worker's heap; an older one says nothing any more
        self.turn = 0  # visits since it became active
        # Of the leases that are out: their tokens, who has them, where they lead, when the host was free before the
        # first of them, and whether anything was sent since.
        self.leased: set[int] = set()
        self.worker = NOBODY
        self.place = NOWHERE
        self.free_at_before = 0.0
        self.was_asked = False

    @property
    def is_ready(self) -> bool:
        """Whether it stands in its worker's heap."""
        return self.standing > 0

    @property
    def rank(self) -> int:
        """Of the best that is queued here, as far as the operator does not favour the host."""
        rank, policy = self.record.lanes[0].rank, self.record.policy
        if policy is None or not FIRST_CLASS_RANK <= rank <= LAST_CLASS_RANK:
            return rank
        return min(max(rank - policy.priority, FIRST_CLASS_RANK), LAST_CLASS_RANK)

    @property
    def is_blocked(self) -> bool:
        """Whether an operator wants nothing asked here."""
        return self.record.policy is not None and self.record.policy.is_blocked

    def is_in_trouble(self, now: float) -> bool:
        """Whether it rests because of failures, or since none of its origins may be asked; not of politeness."""
        return (
            self.record.failures > 0
            or self.is_blocked
            or (self.record.queued > 0 and self.reopens_at(self._shut(now)) is not None)
        )

    def closed(self, now: float) -> Collection[str]:
        """Marks of the origins that may not be asked at present."""
        origins = self.record.origins
        return [mark_of(name, self.record.name) for name, state in origins.items() if state.closed_until > now]

    def _shut(self, now: float) -> Collection[str]:
        """Marks of the origins that are closed, or were and have not been asked since."""
        origins = self.record.origins.items()
        return [mark_of(name, self.record.name) for name, its in origins if its.is_pending or its.rest_until > now]

    def has_other_lanes(self, origin: str) -> bool:
        """Whether something of another origin is queued."""
        mark = mark_of(origin, self.record.name)
        return any(lane.mark != mark for lane in self.record.lanes)

    def origins_with_lanes(self) -> Collection[str]:
        return {origin_under(lane.mark, self.record.name) for lane in self.record.lanes}

    def next_lane(self, closed: Collection[str]) -> Lane | None:
        """Where the next target comes from; None if all origins are closed."""
        for lane in self.record.lanes:
            if lane.mark not in closed:
                return lane
        return None

    def next_lane_with_more(self, closed: Collection[str]) -> Lane | None:
        """Where the next target comes from that is not given out yet."""
        if not self.leased:
            return self.next_lane(closed)
        may_bring_better = False  # something that is given out
        for lane in self.record.lanes:
            if lane.mark in closed:
                continue
            if self.queue.has_more(lane):
                return None if may_bring_better and is_in_doubt(lane.rank) else lane
            may_bring_better = True
        return None

    def reopens_at(self, closed: Collection[str]) -> float | None:
        """When the first of its closed origins may be asked again; None if there is something to do before that."""
        if not closed or self.next_lane(closed):
            return None
        origins = self.record.origins
        return min(
            (state.closed_until for name, state in origins.items() if mark_of(name, self.record.name) in closed),
            default=None,
        )

    def activate(self) -> None:
        self.is_active = True
        self.turn = 0

    def deactivate(self) -> None:
        assert not self.is_ready, "a host leaves memory only after a visit, when it stands in no heap"
        # Its blocks leave memory with the batch that is written next: until then the store may tell old ones.
        self.is_active = False
