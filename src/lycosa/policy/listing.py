"""What a site itself says of its URLs, in sitemaps and feeds, and how far it is believed. Pure.

A list can only set its own URLs in order: that all of them are most important, or change every hour, says nothing. And
that a URL was modified is a signal, as good as the signals of its host have been: each visit of a listed URL shows
whether what was said was right. It knows neither sitemaps nor where a host's record of that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, log
from typing import NamedTuple

_HOUR, _DAY = 3600.0, 86_400.0
PERIODS = {
    "always": _HOUR / 4,
    "hourly": _HOUR,
    "daily": _DAY,
    "weekly": 7 * _DAY,
    "monthly": 30 * _DAY,
    "yearly": 365 * _DAY,
    "never": 3650 * _DAY,
}
# How often a URL changes beside others of its list is believed by half (of its logarithm), and no further than this.
_PACE_BELIEVED, MOST_PACE = 0.5, 4.0
LEAST_WEIGHT, MOST_WEIGHT = 0.5, 1.5
# What is expected of a host's signals before there were any: that it tells of half of its changes, and of one where
# there was none at a quarter of the visits. It counts as much as so many visits of each kind.
EXPECTED_RIGHT, EXPECTED_FALSE, EXPECTED_VISITS = 0.5, 0.25, 4.0
# Visits before the last hundred or so count little: sites change their software.
MEMORY = 0.99
# No record is so good that a signal would be proof.
MOST_ODDS = 1000.0
# A list is read so often that it takes this share of the visits of what it lists.
LISTS_SHARE = 0.05
LEAST_LIST_SECONDS = _HOUR


def paces(frequencies: Sequence[str | None]) -> list[float]:
    """How much more often each URL of a list changes than the others, by what the list says; 1 if it says nothing."""
    told = [log(PERIODS[each]) for each in frequencies if each]
    if not told:
        return [1.0] * len(frequencies)
    middle, most = fsum(told) / len(told), log(MOST_PACE)
    by_word = {
        word: exp(min(max(_PACE_BELIEVED * (middle - log(period)), -most), most)) for word, period in PERIODS.items()
    }
    return [by_word[each] if each else 1.0 for each in frequencies]


def weights(priorities: Sequence[float | None], ordinary: float) -> list[float]:
    """How much more important each URL of a list is than the others; `ordinary` is what one without priority has."""
    if not priorities:
        return []
    known = [ordinary if each is None else each for each in priorities]
    middle = 0.5 + fsum(known) / len(known)
    return [min(max((0.5 + each) / middle, LEAST_WEIGHT), MOST_WEIGHT) for each in known]


def is_signal(modified_at: float, told_before: float, visited_at: float) -> bool:
    """Whether what a list says means that a URL has changed since a visit.

    What is said anew counts, not that it is later than the visit: clocks and zones of sites go wrong. But what was
    modified before the visit was seen by it. A date without a time is some moment of that day.
    """
    if not modified_at or modified_at == told_before:
        return False
    until = modified_at + _DAY if modified_at % _DAY == 0.0 else modified_at
    return until > visited_at


class Trust(NamedTuple):
    """How the visits of a host's listed URLs ended: by whether a change was told of, and whether there was one."""

    told_changed: float = 0.0
    told_same: float = 0.0
    untold_changed: float = 0.0
    untold_same: float = 0.0

    def visited(self, *, is_told: bool, changed: bool) -> Trust:
        """With one more visit; those before it count a little less."""
        kept = Trust(*(MEMORY * each for each in self))
        match is_told, changed:
            case True, True:
                return kept._replace(told_changed=kept.told_changed + 1.0)
            case True, False:
                return kept._replace(told_same=kept.told_same + 1.0)
            case False, True:
                return kept._replace(untold_changed=kept.untold_changed + 1.0)
            case _:
                return kept._replace(untold_same=kept.untold_same + 1.0)

    @property
    def right(self) -> float:
        """The share of changes that are told of."""
        return _share(self.told_changed, self.untold_changed, EXPECTED_RIGHT)

    @property
    def false(self) -> float:
        """The share of visits that found no change, and yet one was told of."""
        return _share(self.told_same, self.untold_same, EXPECTED_FALSE)

    def odds(self, *, is_told: bool) -> float:
        """By how much the odds that a listed URL has changed are higher by what its host tells of it, or does not."""
        ratio = self.right / self.false if is_told else (1.0 - self.right) / (1.0 - self.false)
        return min(max(ratio, 1.0 / MOST_ODDS), MOST_ODDS)


def _share(some: float, others: float, expected: float) -> float:
    return (some + EXPECTED_VISITS * expected) / (some + others + EXPECTED_VISITS)


def list_interval(urls: int, equal_share: float, shortest: float = 0.0) -> float:
    """After how long a list of so many URLs is read again, where each page waits for an equal share on the average.

    It is not kept fresh for its own sake: one that changes all the time would not be chased, and nothing be heard.
    """
    wanted = equal_share / (LISTS_SHARE * max(urls, 1))
    return max(min(max(wanted, LEAST_LIST_SECONDS), equal_share), shortest)
