"""How fresh a collection is, as far as is believed: the share of its pages that are still what their sites show.

From the first pages of the history, which stand there in an order of chance: so they are a fair sample of all.
"""

from __future__ import annotations

from itertools import islice

import msgspec

from lycosa.frontier.revisits import USUAL_SECONDS, belief_of
from lycosa.frontier.view import CrawlView
from lycosa.policy.freshness import age, freshness, prior_of

MAX_LOOKED_AT = 20_000


class CollectionFreshness(msgspec.Struct, frozen=True):
    """Estimates over `pages` pages; by importance: each counts as much as it weighs."""

    pages: int
    fresh: float
    fresh_by_importance: float
    age_seconds: float
    age_by_importance: float


def collection_freshness(view: CrawlView, now: float) -> CollectionFreshness | None:
    """How fresh the pages are now; None if nobody comes back to them."""
    if not view.counts().resting:
        return None
    prior = prior_of(1.0 / USUAL_SECONDS)
    pages = weights = fresh = fresh_weighted = old = old_weighted = 0.0
    for past in islice((each for each in view.histories() if each.outcome.is_page), MAX_LOOKED_AT):
        belief, elapsed, weight = belief_of(past, prior), max(now - past.visited_at, 0.0), past.weight or 1.0
        chance, behind = freshness(belief, elapsed), age(belief, elapsed)
        pages, weights = pages + 1, weights + weight
        fresh, fresh_weighted = fresh + chance, fresh_weighted + weight * chance
        old, old_weighted = old + behind, old_weighted + weight * behind
    if not pages:
        return None
    return CollectionFreshness(int(pages), fresh / pages, fresh_weighted / weights, old / pages, old_weighted / weights)
