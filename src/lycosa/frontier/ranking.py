"""In which class targets wait, as the importance of their URLs grows, or as more relevant links name them.

A target moves up by standing in its queue a second time, in a higher class. The entry that is reached first is visited;
the other one is a copy by then, and passed over. What tells is the history, so that nothing is fetched twice whatever
importance has forgotten; importance only spares looking there for nearly all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from lycosa.frontier.leases import LeaseTable
from lycosa.frontier.rules import FrontierRules
from lycosa.frontier.tables import HISTORY, Tables
from lycosa.frontier.waiting import WaitingClasses
from lycosa.model import Kind, OutcomeKind, Settlement, Target
from lycosa.policy.importance import LOWEST, Importance, VisitedPage
from lycosa.policy.priority import ORDINARY, sitemap_weight

# A place has ten; buckets are never quite full. It grows as URLs are found.
BYTES_PER_URL, MAX_BYTES = 14, 256 * 1024**2
MAX_REMEMBERED_LINKS = 8 * 1024**2  # of visited pages, 8 bytes each
# Visits that pass on what their URL was given. What failed may be tried again, and what is unchanged names no links.
_GIVING = (OutcomeKind.STORED, OutcomeKind.DUPLICATE, OutcomeKind.MOVED, OutcomeKind.READ, OutcomeKind.REFUSED)

# In the order topic, where the class of a URL is forgotten, it counts as this one: who names it in a higher class lifts
# it, at the cost of a second entry.
FORGOTTEN_CLASS = 4


Classes = Importance | WaitingClasses


class Ranked(NamedTuple):
    """Targets in their classes, and which of them have a higher one than before."""

    targets: list[Target]
    risen: list[Target]


class Ranking:
    """Classes by importance, or as those who found them say. Copies that wait are passed over, whoever made them."""

    def __init__(
        self, tables: Tables, leases: LeaseTable, classes: Classes | None, *, max_queued: int, moves: bool
    ) -> None:
        self._tables = tables
        self._leases = leases
        self._classes = classes
        self._importance = None if isinstance(classes, WaitingClasses) else classes
        self._told = classes if isinstance(classes, WaitingClasses) else None
        self._max_queued = max_queued
        self._moves = moves

    @property
    def has_classes(self) -> bool:
        """Whether any target may have another class than those who found it say."""
        return self._classes is not None

    def settled(self, target: Target, settlement: Settlement) -> tuple[Settlement, list[Target]]:
        """A settlement with its discovered targets in their classes, and which of those have risen."""
        importance, outcome = self._importance, settlement.outcome
        if target.kind is Kind.REQUISITE:
            return settlement, []
        if self._told and target.fingerprint and not settlement.deferred:
            self._told.note_visited(target.fingerprint)
            return settlement, self._lifted(settlement.discovered)
        if importance is None or settlement.deferred or not target.fingerprint:
            return settlement, []
        if outcome not in _GIVING:
            if outcome is not OutcomeKind.UNCHANGED:
                importance.note_visited(target.fingerprint)
            return settlement, []
        is_sitemap = target.kind is Kind.SITEMAP
        named = [each for each in settlement.discovered if _is_ranked(each, is_sitemap=is_sitemap)]
        weights = [sitemap_weight(each.priority) for each in named] if is_sitemap else []
        links = b"".join([*(each.fingerprint for each in named), settlement.others])
        page = VisitedPage(target.fingerprint, links, len(named), settlement.worth, weights)
        classes = importance.settle(page)
        if not named:
            return settlement, []
        others = [each for each in settlement.discovered if not _is_ranked(each, is_sitemap=is_sitemap)]
        ranked = self._ranked(importance, named, classes)
        return replace(settlement, discovered=others + ranked.targets), ranked.risen

    def arrived(self, targets: Sequence[Target]) -> Ranked:
        """Targets that visits elsewhere found, in their classes, and which of them have risen."""
        if self._told:
            return Ranked(list(targets), self._lifted(targets))
        named = [each for each in targets if _is_ranked(each)]
        if self._importance is None or not named:
            return Ranked(list(targets), [])
        others = [each for each in targets if not _is_ranked(each)]
        classes = self._importance.arrive(b"".join(each.fingerprint for each in named))
        ranked = self._ranked(self._importance, named, classes)
        return Ranked(others + ranked.targets, ranked.risen)

    @staticmethod
    def _ranked(importance: Importance, targets: Iterable[Target], classes: bytes) -> Ranked:
        ranked: list[Target] = []
        risen: list[Target] = []
        for target, higher in zip(targets, classes, strict=True):
            number = higher or importance.class_of(target.fingerprint) or LOWEST
            ranked.append(target if number == target.priority else replace(target, priority=number))
            if higher and not target.deferred:
                risen.append(ranked[-1])
        return Ranked(ranked, risen)

    def _lifted(self, targets: Iterable[Target]) -> list[Target]:
        """Those that may wait in a lower class than the one they are named in; the highest of a URL comes last."""
        told = self._told
        assert told
        higher = [
            each
            for each in targets
            if each.promise
            and each.fingerprint
            and not each.deferred
            and each.priority > (told.class_of(each.fingerprint) or FORGOTTEN_CLASS)
        ]
        return sorted(higher, key=lambda each: each.priority)

    def note(self, target: Target) -> None:
        """It is new, and joins a queue."""
        if self._told and target.promise:
            self._told.note(target.fingerprint, target.priority)

    async def rising(self, risen: Iterable[Target], fresh: set[bytes]) -> list[Target]:
        """Those that wait already, and so are to stand in their queues once more: known, and not visited."""
        known = {each.fingerprint: each for each in risen if each.fingerprint not in fresh}
        if not known or self._classes is None or not self._moves:
            return []
        rows = await self._tables.get(HISTORY, list(known))
        for mark, row in zip(list(known), rows, strict=True):
            if row is not None:
                self._classes.note_visited(mark)
            if row is not None or self._leases.has(mark):
                del known[mark]
        for target in known.values():
            self.note(target)
        return list(known.values())

    async def is_copy(self, target: Target) -> bool:
        """Whether a target that is reached was visited, or is being visited, from another place in the queue."""
        mark = target.fingerprint
        if not mark or target.visits:
            return False
        if self._leases.has(mark):
            return True
        if self._classes and not self._max_queued and self._classes.class_of(mark) == target.priority:
            # It stands where it stood last, and no queue drops anything: it was not visited since.
            return False
        (row,) = await self._tables.get(HISTORY, [mark])
        return row is not None

    def is_elsewhere(self, target: Target) -> bool:
        """Whether a target is known to wait in another place than in the class in which it was reached."""
        if self._classes is None:
            return False
        return self._classes.class_of(target.fingerprint) not in (0, target.priority)

    def forget(self, target: Target) -> None:
        """It had to leave its queue, and is new when it is found again."""
        if self._classes:
            self._classes.forget(target.fingerprint)


def classes_for(rules: FrontierRules) -> Classes | None:
    """What decides or remembers the classes of a crawl by these rules; None where nothing ever moves."""
    if rules.order == "topic":
        return WaitingClasses(rules.seen_capacity)
    if rules.order != "best":
        return None
    try:
        return Importance(min(BYTES_PER_URL * rules.seen_capacity, MAX_BYTES), MAX_REMEMBERED_LINKS)
    except ImportError:  # installed without a compiler, which a crawl says when it begins
        return None


def _is_ranked(target: Target, *, is_sitemap: bool = False) -> bool:
    """Whether importance decides the class of what was found: what has another than the ordinary one keeps it.

    Seeds have, what the operator ranks by site, and where any of them leads. Of a sitemap the class tells the priority.
    """
    return target.kind is Kind.PAGE and bool(target.fingerprint) and (is_sitemap or target.priority == ORDINARY)
