"""What a machine remembers of the partitions: how each stood at its last answer, and when it has something to give."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from lycosa.errors import BackendLost
from lycosa.ports import Counts

_COUNTED = [field.name for field in msgspec.structs.fields(Counts)]


class PartitionState(msgspec.Struct, frozen=True, gc=False):
    """The counters of one partition, as the scripts keep them. A moment of -1 means: none."""

    changes: int = 0
    known: int = 0
    queued: int = 0
    leased: int = 0
    leased_pages: int = 0
    delayed: int = 0
    hosts: int = 0
    healthy: int = 0  # hosts with something queued and without trouble
    stored: int = 0
    unchanged: int = 0
    duplicate: int = 0
    moved: int = 0
    refused: int = 0
    failed: int = 0
    crashed: int = 0
    read: int = 0
    fetched_bytes: int = 0
    late: int = 0
    poisoned: int = 0
    dropped: int = 0
    granted: int = 0
    next_expiry: float = -1.0
    next_retry: float = -1.0
    idle_due: float = -1.0

    @property
    def used(self) -> int:
        """Of the page limit."""
        return self.stored + self.unchanged + self.duplicate + self.leased_pages


class Overview:
    """All partitions at their last answer. Other machines change them too, so what is old is looked at again."""

    def __init__(self, partitions: int) -> None:
        self.states = [PartitionState()] * partitions
        # When a worker's first host of a partition may be asked; -1 if there is none.
        self.heads: list[dict[int, float]] = [{} for _ in range(partitions)]
        self.looked_at = [float("-inf")] * partitions
        # When each of those was told: other machines give a worker hosts while its neighbours ask for theirs.
        self.told_at: list[dict[int, float]] = [{} for _ in range(partitions)]
        # How many changes each had when it last confirmed that they are safe.
        self.confirmed = [0] * partitions

    def note(self, partition: int, state: PartitionState, heads: Iterable[tuple[int, float]], looked_at: float) -> None:
        """A partition answered. Answers may overtake each other: the one with more changes is the later one."""
        if state.changes < self.states[partition].changes:
            return
        self.states[partition] = state
        for node, head in heads:
            self.heads[partition][node] = head
            self.told_at[partition][node] = max(looked_at, self.told_at[partition].get(node, looked_at))
        self.looked_at[partition] = max(looked_at, self.looked_at[partition])

    def confirm(self, partition: int, changes: int) -> None:
        """So many changes of a partition are safe."""
        self.confirmed[partition] = max(changes, self.confirmed[partition])

    def must_not_go_back(self, partition: int, known: int, found: int) -> None:
        """A partition in which a call found fewer changes than were confirmed before lost some of them."""
        if found < known:
            raise BackendLost(
                f"INCOMPLETE: partition {partition} went back in time by {known - found} changes: its "
                "server lost acknowledged work (a fail-over, or a restart without durable settings). The same command "
                "goes on with what is left"
            )

    def forget_heads(self) -> None:
        """Other workers look after the hosts now."""
        for heads in self.heads:
            heads.clear()

    def total(self, name: str) -> int:
        return sum(getattr(state, name) for state in self.states)

    def counts(self) -> Counts:
        """All partitions together."""
        return Counts(**{name: self.total(name) for name in _COUNTED})

    def first(self, name: str) -> list[float]:
        """The earliest of a moment that partitions have, if any has one."""
        moments = [moment for state in self.states if (moment := getattr(state, name)) >= 0]
        return [min(moments)] if moments else []

    def first_head(self, node: int) -> list[float]:
        """When the first host of a worker may be asked; now, where something is queued and nobody has looked."""
        pairs = zip(self.states, self.heads, strict=True)
        if any(state.queued and node not in heads for state, heads in pairs):
            return [0.0]
        moments = [heads[node] for heads in self.heads if heads.get(node, -1.0) >= 0]
        return [min(moments)] if moments else []

    def stale(self, partition: int, nodes: Iterable[int], fresh_since: float) -> list[int]:
        """Of these workers, those who have not heard of their hosts in a partition lately."""
        told_at = self.told_at[partition]
        return [node for node in nodes if told_at.get(node, float("-inf")) < fresh_since]

    def due(self, node: int, now: float, fresh_since: float) -> list[int]:
        """Partitions that may have something for this worker, the most urgent first; those not looked at lately too."""
        urgency: list[tuple[float, int]] = []
        for partition, state in enumerate(self.states):
            head = self.heads[partition].get(node)
            if head is None or self.told_at[partition][node] < fresh_since:
                urgency.append((0.0 if head is None else head, partition))
            elif 0 <= head <= now:
                urgency.append((head, partition))
            elif 0 <= state.next_expiry <= now or 0 <= state.next_retry <= now:
                urgency.append((now, partition))
        return [partition for _, partition in sorted(urgency)]
