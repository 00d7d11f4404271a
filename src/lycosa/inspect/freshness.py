"""How fresh a collection is, as far as is believed: the share of its pages that are still what their sites show.

From the first pages of the history, which stand there in an order of chance: so they are a fair sample of all.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from lycosa.frontier.listings import odds_of
from lycosa.frontier.records import HostRecord, Schedule
from lycosa.frontier.revisits import belief_of, prior_in
from lycosa.frontier.rules import host_of_origin
from lycosa.frontier.view import CrawlView
from lycosa.inspect.opened import opened_view
from lycosa.inspect.wording import duration
from lycosa.model import History, origin_of
from lycosa.policy.freshness import Foresight, age, freshness
from lycosa.store.folder import CrawlFolder

# Enough for half a point.
MAX_LOOKED_AT = 5_000


class CollectionFreshness(msgspec.Struct, frozen=True):
    """Estimates over `pages` pages; by importance: each counts as much as it weighs."""

    pages: int
    fresh: float
    fresh_by_importance: float
    age_seconds: float
    age_by_importance: float

    def in_words(self) -> str:
        """One line of it."""
        return (
            f"{self.fresh:.1%} of the pages are believed to be up to date, {self.fresh_by_importance:.1%} by "
            f"importance; age {duration(self.age_seconds)}, {duration(self.age_by_importance)} by importance"
        )


def collection_freshness(view: CrawlView, now: float) -> CollectionFreshness | None:
    """How fresh the pages are now; None if nobody comes back to them."""
    if not view.counts().resting:
        return None
    chances = _Chances(view)
    pages = weights = fresh = fresh_weighted = old = old_weighted = 0.0
    for past in islice((each for each in view.histories() if each.outcome.is_page), MAX_LOOKED_AT):
        chance, behind = chances.of(past, max(now - past.visited_at, 0.0))
        weight = past.weight or 1.0
        pages, weights = pages + 1, weights + weight
        fresh, fresh_weighted = fresh + chance, fresh_weighted + weight * chance
        old, old_weighted = old + behind, old_weighted + weight * behind
    if not pages:
        return None
    return CollectionFreshness(int(pages), fresh / pages, fresh_weighted / weights, old / pages, old_weighted / weights)


def freshness_of_folder(folder: CrawlFolder, now: float) -> CollectionFreshness | None:
    """The same of the crawl in a folder, also while it runs; None if its frontier is nowhere to be looked at."""
    with opened_view(folder) as view:
        return collection_freshness(view, now) if view else None


class _Chances:
    """What is believed of single pages, by them and by their hosts."""

    def __init__(self, view: CrawlView) -> None:
        self._view = view
        self._hosts: dict[str, tuple[HostRecord, Schedule | None]] = {}

    def of(self, past: History, elapsed: float) -> tuple[float, float]:
        """The chance that a page is what it was, and for how long it has probably been another."""
        record, schedule = self._around(host_of_origin(origin_of(past.url)))
        belief, odds = belief_of(past, prior_in(record, schedule, past)), odds_of(record, past)
        chance, behind = freshness(belief, elapsed, odds), age(belief, elapsed, odds)
        corrected = Foresight(*schedule.foresight).corrected(chance) if schedule else chance
        return corrected, behind * (1.0 - corrected) / (1.0 - chance) if chance < 1.0 else behind

    def _around(self, host: str) -> tuple[HostRecord, Schedule | None]:
        if host not in self._hosts:
            self._hosts[host] = self._view.host(host) or HostRecord(host, 0), self._view.schedule(host)
        return self._hosts[host]
