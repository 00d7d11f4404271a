"""Content groups: texts that are 90 % alike. Decides what belongs together; where it is kept is `memory` or `rocks`.

A group is led by the first text that was like no other. A later text joins the most similar leader of those it shares a
band with, if it is at least `THRESHOLD` like it, or leads a group of its own. Only leaders are kept, so a site that
repeats itself costs nothing but its first page.

Whatever the order of arrival, the same texts stand together as long as texts that are both like a third are like each
other; only who leads, and so the name of the group, is decided by who came first. Where likeness is a chain (a like b,
b like c, a unlike c), order decides whether b stands with a or with c: the price of never going back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from lycosa.dedupe.comparison import GROUP_BYTES, Signature, similarity
from lycosa.model import Placement

THRESHOLD = 0.9
# Leaders that one band remembers. Where more share it, it tells little: boilerplate that a whole site has in common.
MAX_LEADERS_PER_BAND = 8
# Leaders that one text is compared with, those with the most bands in common first. 3 µs each.
MAX_COMPARED = 16


class Writes(NamedTuple):
    """What a new leader adds to the tables `bands` and `signatures`: keys and values."""

    bands: Sequence[tuple[bytes, bytes]] = ()
    signatures: Sequence[tuple[bytes, bytes]] = ()


class Plan(NamedTuple):
    """Where a text belongs, and what must be written to make it so."""

    placement: Placement
    writes: Writes


class ContentGroups(Protocol):
    """Puts texts into groups, one after the other. Asking again for the same text changes nothing."""

    def group_of(self, signatures: Sequence[Signature]) -> list[Placement]:
        """The groups of these texts, each seeing those before it. Kept on return."""

    def __len__(self) -> int:
        """How many groups there are, roughly where counting would be dear."""

    def close(self) -> None:
        """Let go of what is kept."""


class Shelves(Protocol):
    """The two tables, as `plan_of` reads them."""

    def leaders_of(self, bands: Sequence[bytes]) -> Sequence[bytes | None]:
        """For each band the groups whose leaders have it, their names in a row."""

    def sketches_of(self, groups: Sequence[bytes]) -> Sequence[bytes | None]:
        """The leaders' sketches."""


def plan_of(shelves: Shelves, signature: Signature) -> Plan:
    """Where a text belongs by what is on the shelves."""
    if not signature.digest:
        return Plan(Placement(b""), Writes())
    buckets = shelves.leaders_of(signature.bands)
    if best := _most_similar(shelves, signature.sketch, buckets):
        return Plan(Placement(best[1], similarity=best[0]), Writes())
    # Named by its words, so that a visit that is repeated after a crash leads the same group again.
    group = signature.digest[:GROUP_BYTES]
    added = [
        (band, (bucket or b"") + group)
        for band, bucket in zip(signature.bands, buckets, strict=True)
        if not bucket or len(bucket) < MAX_LEADERS_PER_BAND * GROUP_BYTES
    ]
    return Plan(Placement(group, is_first=True, similarity=1.0), Writes(added, [(group, signature.sketch)]))


def _most_similar(shelves: Shelves, sketch: bytes, buckets: Iterable[bytes | None]) -> tuple[float, bytes] | None:
    """How similar the most similar leader is, and its group; None if none is similar enough."""
    shared = Counter(
        bucket[place : place + GROUP_BYTES]
        for bucket in buckets
        if bucket
        for place in range(0, len(bucket), GROUP_BYTES)
    )
    if not shared:
        return None
    # Sorted, so that of equals it is always the same that counts.
    groups = sorted(shared, key=lambda group: (-shared[group], group))[:MAX_COMPARED]
    sketches = zip(groups, shelves.sketches_of(groups), strict=True)
    return max(
        ((likeness, group) for group, kept in sketches if kept and (likeness := similarity(sketch, kept)) >= THRESHOLD),
        default=None,
    )
