"""Content groups in memory: for tests, and for crawls that keep nothing."""

from __future__ import annotations

from collections.abc import Sequence

from lycosa.dedupe.comparison import Signature
from lycosa.dedupe.groups import Plan, plan_of
from lycosa.model import Placement


class MemoryContentGroups:
    """`ContentGroups` in two dictionaries; 1.5 KB for each group."""

    def __init__(self) -> None:
        self._bands: dict[bytes, bytes] = {}
        self._sketches: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        return len(self._sketches)

    def group_of(self, signatures: Sequence[Signature]) -> list[Placement]:
        return [self._place(signature) for signature in signatures]

    def close(self) -> None:
        """Nothing is kept."""

    def _place(self, signature: Signature) -> Placement:
        plan: Plan = plan_of(self, signature)
        self._bands.update(plan.writes.bands)
        self._sketches.update(plan.writes.signatures)
        return plan.placement

    def leaders_of(self, bands: Sequence[bytes]) -> list[bytes | None]:
        return [self._bands.get(band) for band in bands]

    def sketches_of(self, groups: Sequence[bytes]) -> list[bytes | None]:
        return [self._sketches.get(group) for group in groups]
