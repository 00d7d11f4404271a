"""Where a crawl with a topic goes next: the class of everything that a visit found. Works in the worker that read it.

Nothing is refused here. What promises nothing comes last; and a URL that waits is sent once more when a link promises
more of it than any that this worker has met.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from lycosa.model import WAITS, Kind, Links, Page, Settlement, Target
from lycosa.policy.priority import ORDINARY
from lycosa.topic.relevance import CLASS_FROM, Inputs, Relevance, class_of, shared_among, source_of
from lycosa.topic.yields import Yields

# Links that the frontier was told of, per generation: about 400 bytes each.
MAX_TOLD = 20_000
SEED_PROMISE = 0.5
# A target that by now promises less than the first goes behind others of its host, unless its own words spoke for it.
_POSTPONED_BELOW, _SURE_FROM = CLASS_FROM[0], CLASS_FROM[4]
PROMISE_PARTS = 1000  # a promise is kept as so many parts of one


class Rated(NamedTuple):
    """What a page leads to: new targets, and ones that may move up."""

    new: list[Target]
    again: list[Target]


class _Told(NamedTuple):
    """What the frontier knows of a URL, as far as this worker has told it."""

    promise: int
    host: str
    fingerprint: bytes


def promise_of(target: Target) -> float:
    """What was promised of a target."""
    return promise_of_page(target.promise / PROMISE_PARTS, target.depth)


def promise_of_page(promise: float, depth: int) -> float:
    """What was promised of a page; a seed was named by the operator, who knows why."""
    return promise if promise or depth else SEED_PROMISE


class Guide:
    """Rates pages and links by a topic. Holds nothing that must survive."""

    def __init__(self, relevance: Relevance, on_topic_from: float, *, obeys_nofollow: bool) -> None:
        self._relevance = relevance
        self._on_topic_from = on_topic_from
        self._obeys_nofollow = obeys_nofollow
        self._yields = Yields()
        self._told: dict[str, _Told] = {}
        self._told_before: dict[str, _Told] = {}

    def is_on_topic(self, relevance: float) -> bool:
        return relevance >= self._on_topic_from

    def relevance_of(self, page: Page, language: str) -> float:
        """How relevant a page is."""
        return self._relevance.of_page(page.title, page.headings, page.content or page.text, language)

    def is_postponed(self, target: Target) -> bool:
        """Whether so little was found where a target lies that others of its host are to come first."""
        promise = promise_of(target)
        if target.kind is not Kind.PAGE or target.deferred or not target.promise or promise >= _SURE_FROM:
            return False
        return promise * self._yields.factor(target.url) < _POSTPONED_BELOW

    def learn(self, target: Target, relevance: float) -> None:
        """A page was read; a copy of another is worth nothing."""
        self._yields.learn(target.url, relevance)

    def rate(
        self, target: Target, relevance: float, language: str, links: Links, new: Sequence[Target], *, is_followed: bool
    ) -> Rated:
        """The targets found on a page in their classes; `is_followed`: whether it leads to any at all."""
        anchors = self._anchors(links, language)
        source = source_of(relevance, promise_of(target)) * shared_among(len(anchors))
        rated = [self._rated(each, self._promise(each.url, anchors.get(each.url, 0.0), source)) for each in new]
        again = self._again(target, anchors, source) if is_followed else []
        return Rated(rated, again)

    def rate_listed(self, listed: Iterable[Target]) -> list[Target]:
        """What a sitemap lists, by the words of each URL: nobody recommends it, and it has no text."""
        return [
            self._rated(each, self._promise(each.url, 0.0, 0.0)) if each.kind is Kind.PAGE else each for each in listed
        ]

    def acknowledge(self, settlement: Settlement) -> None:
        """The frontier knows these targets: only now need they not be sent again."""
        for each in settlement.discovered:
            if each.promise and each.kind is Kind.PAGE:
                self._told[each.url] = _Told(each.promise, each.host, each.fingerprint)
        if len(self._told) > MAX_TOLD:
            self._told_before, self._told = self._told, {}

    def _anchors(self, links: Links, language: str) -> dict[str, float]:
        """The most relevant words with which each URL is linked to."""
        found: dict[str, float] = {}
        for url, anchor, rel in zip(*links, strict=True):
            if self._obeys_nofollow and "nofollow" in rel:
                continue
            relevance = self._relevance.of_anchor(anchor, language) if anchor else 0.0
            if relevance >= found.get(url, 0.0):
                found[url] = relevance
        return found

    def _promise(self, url: str, anchor: float, source: float) -> int:
        inputs = Inputs(anchor, self._relevance.of_address(url), source, self._yields.factor(url))
        return max(1, round(PROMISE_PARTS * inputs.promise))

    @staticmethod
    def _rated(target: Target, promise: int) -> Target:
        """A target in its class; one that the operator ranks keeps its own."""
        if target.priority != ORDINARY:
            return msgspec.structs.replace(target, promise=promise)
        number = class_of(promise / PROMISE_PARTS)
        deferred = max(target.deferred, WAITS) if number == 1 else target.deferred
        return msgspec.structs.replace(target, promise=promise, priority=number, deferred=deferred)

    def _again(self, target: Target, anchors: dict[str, float], source: float) -> list[Target]:
        """What was told of before and is in a higher class by what this page says."""
        again = []
        for url, anchor in anchors.items():
            if (told := self._told.get(url) or self._told_before.get(url)) is None:
                continue
            promise = self._promise(url, anchor, source)
            if class_of(promise / PROMISE_PARTS) > class_of(told.promise / PROMISE_PARTS):
                found = Target(url, told.host, told.fingerprint, depth=target.depth + 1, referrer=target.url)
                again.append(self._rated(found, promise))
        return again
