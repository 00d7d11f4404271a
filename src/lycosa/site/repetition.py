"""Where a crawl keeps meeting what it knows: counters per host and URL template, and what they cost a target. Pure."""

from __future__ import annotations

import msgspec

MAX_PENALTY = 4
# Visits that must speak before anything is held against a host: below, the share is diluted.
_DOUBT = 10
# A new share of new content is noticed within this many visits, whatever came before.
_MEMORY = 200
_SHARES = (0.35, 0.55, 0.75, 0.9)


class Repetition(msgspec.Struct, frozen=True, array_like=True):
    """How many of the last visits to a host, or to a template of it, met content that was known already."""

    visits: int = 0
    repeats: int = 0

    def after(self, *, is_repeat: bool) -> Repetition:
        """The counters after one more visit; the past fades by halves."""
        visits, repeats = self.visits + 1, self.repeats + is_repeat
        if visits >= _MEMORY:
            visits, repeats = visits // 2, repeats // 2
        return Repetition(visits, repeats)

    @property
    def penalty(self) -> int:
        """How many classes a target loses: 0 for what brings new content, 4 for what only repeats."""
        share = self.repeats / (self.visits + _DOUBT)
        return sum(share >= limit for limit in _SHARES)


def penalised(priority: int, host: Repetition, template: Repetition, *, lowest: int = 1) -> int:
    """The class of a target after what its template has earned; its host speaks where the template has said little."""
    penalty = template.penalty if template.visits >= _DOUBT else host.penalty
    return max(lowest, priority - penalty)
