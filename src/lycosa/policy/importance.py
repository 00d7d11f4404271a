"""What first: every page that is visited gives cash to those it links to; who has more waits in a higher class.

Online PageRank. It computes with fingerprints, whose first two bytes stand for the host, and with what a visit found.
It knows neither URLs nor queues: it answers in which class each link belongs, and the frontier does the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lycosa.policy.cash import CLASS, USED, VISITED, CashTable, Marks, Places

HIGHEST, LOWEST = 10, 1
# The share of all that wait, from the top, down to which each class reaches: narrow at the top, since the next visits
# come from there.
REACH = (0.005, 0.015, 0.035, 0.07, 0.13, 0.22, 0.35, 0.52, 0.75, 1.0)

_HOST_SHIFT = np.uint64(48)
_HOSTS = 1 << 16
# Cash in quarters of a power of two, from 2^-40 to 2^24.
_BINS, _PER_OCTAVE, _LEAST_OCTAVE = 256, 4, -40
_LEAST_CASH, _MOST_CASH = np.float32(2.0**_LEAST_OCTAVE), 2.0**20


class GivingRules(NamedTuple):
    """How cash is given; the figures come from `lycosa bench order`."""

    base: float = 0.3  # of its own, at its visit
    passed_on: float = 0.95  # of what a page has
    foreign: float = 10.0  # a link to another host counts so many of those within
    repeated: float = 0.3  # a link from a host that had one already, of one from a host that had none
    again: int = 2  # visited pages that pass on what they got since, at each visit
    again_from: float = 0.2  # … once it is so much
    slack: float = 2.0  # a host gives in full until its share of visits is so many times that of what it got
    least_budget: float = 0.1


class VisitedPage(NamedTuple):
    """A page that was visited, and its links; fingerprints, those of the links each once and one after the other."""

    fingerprint: bytes
    links: bytes
    worth: float = 1.0  # of its content, 0.2 to 2
    # Of each link, 0.5 to 1.5: for a sitemap, which sets the URLs of its own host in order.
    weights: NDArray[np.float32] | None = None


class _Gift(NamedTuple):
    """What some pages give at once: for each link whose host gives, and how much."""

    links: Marks
    hosts: NDArray[np.int64]
    amounts: NDArray[np.float64]


class Importance:
    """The cash of all URLs of a crawl, in bounded memory, and the classes that follow from it."""

    def __init__(self, max_bytes: int, max_remembered_links: int, rules: GivingRules | None = None) -> None:
        self._rules = rules or GivingRules()
        self._table = CashTable(max_bytes)
        self._remembered = _RememberedLinks(max_remembered_links)
        self._waiting = np.zeros(_BINS, np.int64)  # how many wait with how much
        self._class_of = np.full(_BINS, (HIGHEST + LOWEST) // 2, np.uint8)
        self._until_classes = 0
        self._visits = np.zeros(_HOSTS)
        self._income = np.zeros(_HOSTS)  # from other hosts
        self._hosts = 0
        # Sums over the two, kept beside them: adding up 65,536 hosts at each call would cost more than all the rest.
        self._all_visits = self._all_income = 0.0

    @property
    def size_bytes(self) -> int:
        """Of the table and of the remembered links."""
        return self._table.size_bytes + self._remembered.size_bytes

    def cash_of(self, fingerprint: bytes) -> float:
        """What a URL has now; 0 for one that is not known here."""
        place = int(self._table.places(_marks(fingerprint))[0])
        return float(self._table.cash[place]) if place >= 0 else 0.0

    def class_of(self, fingerprint: bytes) -> int:
        """The class in which a URL waits; 0 for one that is visited or not known here."""
        place = int(self._table.places(_marks(fingerprint))[0])
        if place < 0 or self._table.state[place] & VISITED:
            return 0
        return int(self._table.state[place] & CLASS)

    def settle(self, visits: Sequence[VisitedPage]) -> list[list[int]]:
        """Pages were visited: the classes in which the links of each are to wait from now on, in their order.

        0 is for those that are to be left as they are: visited, or waiting in that class or a higher one. A class for
        one that waits already means that it moves up; one that several of the pages link to has it once.
        """
        pages = _marks(b"".join(visit.fingerprint for visit in visits))
        links = _marks(b"".join(visit.links for visit in visits))
        counts = np.array([len(visit.links) // 8 for visit in visits])
        cash = self._visit(pages)
        gift = self._gift(pages, counts, cash * _worths(visits), links, _weights(visits, counts))
        places = self._credit(gift, is_kept=True)
        for visit, mark, amount in zip(visits, pages.tolist(), cash.tolist(), strict=True):
            self._remembered.remember(mark, visit.links, amount)
        self._give_again(len(visits))
        classes = self._classes(places)
        self._until_classes -= len(visits)
        if self._until_classes < 0:
            self._divide()
        ends = np.cumsum(counts).tolist()
        return [classes[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    # ---- giving

    def _visit(self, pages: Marks) -> NDArray[np.float64]:
        """They are visited; what each had, with what it has of its own."""
        table, places = self._table, self._places(pages)
        state = np.where(places >= 0, table.state[places], 0)
        had = np.where(places >= 0, table.cash[places], 0)
        is_first = state & VISITED == 0
        self._leave(state, had)
        there = places[places >= 0]
        table.cash[there], table.state[there] = 0, USED | VISITED
        hosts = (pages >> _HOST_SHIFT).astype(np.int64)
        self._hosts += int(np.count_nonzero(self._visits[np.unique(hosts)] == 0))
        np.add.at(self._visits, hosts[is_first], 1)
        self._all_visits += float(is_first.sum())
        return had + self._rules.base * self._budgets(hosts)

    def _budgets(self, hosts: NDArray[np.int64]) -> NDArray[np.float64]:
        """From 1 down, as a host takes more visits than others' links to it bear out."""
        visits = self._visits[hosts] / max(1.0, self._all_visits)
        income = (self._income[hosts] + 1) / (self._all_income + max(1, self._hosts))
        return np.clip(self._rules.slack * income / np.maximum(visits, 1e-9), self._rules.least_budget, 1.0)

    def _gift(
        self,
        pages: Marks,
        counts: NDArray[np.int64],
        cash: NDArray[np.float64],
        links: Marks,
        weights: NDArray[np.float64] | None = None,
    ) -> _Gift:
        """Each page's cash to its links, more to those on other hosts."""
        owner = np.repeat(np.arange(len(pages)), counts)
        hosts = (pages >> _HOST_SHIFT).astype(np.int64)[owner]
        shares = np.where((links >> _HOST_SHIFT) != hosts, self._rules.foreign, 1.0)
        totals = np.bincount(owner, shares, len(pages))
        per_share = np.divide(self._rules.passed_on * cash, totals, out=np.zeros(len(pages)), where=totals > 0)
        if weights is not None:
            shares = shares * weights
        return _Gift(links, hosts, shares * per_share[owner])

    def _credit(self, gift: _Gift, *, is_kept: bool) -> Places:
        """Cash to the links; `is_kept`: those that have no place get one. Returns their places."""
        table = self._table
        whose, inverse = np.unique(gift.links, return_inverse=True)
        own = self._places(whose) if is_kept else table.places(whose)
        places, amounts = own[inverse], gift.amounts
        is_there = places >= 0
        is_foreign = np.flatnonzero(((gift.links >> _HOST_SHIFT) != gift.hosts) & is_there)
        if len(is_foreign):
            amounts = amounts.copy()
            amounts[is_foreign] *= self._freshness(gift.hosts[is_foreign], places[is_foreign])
            np.add.at(self._income, (gift.links[is_foreign] >> _HOST_SHIFT).astype(np.int64), amounts[is_foreign])
            self._all_income += float(amounts[is_foreign].sum())
        gains = np.bincount(inverse, amounts, len(whose))
        is_own = own >= 0
        at = own[is_own]
        before, state = table.cash[at], table.state[at]
        after = np.minimum(before + gains[is_own], _MOST_CASH).astype(np.float32)
        table.cash[at] = after
        self._leave(state, before)
        self._join(state, after)
        is_visited = state & VISITED != 0
        self._remembered.note(whose[is_own][is_visited], after[is_visited], self._rules.again_from)
        return places

    def _freshness(self, hosts: NDArray[np.int64], places: Places) -> NDArray[np.float64]:
        """How much links from these hosts count: less where the same host's did before, so that farms gain little."""
        linking = self._table.linking
        bits = (1 << (hosts * 40_503 >> 7 & 7)).astype(np.uint8)
        seen = linking[places]
        # With all bits set they tell nothing any more: so many hosts link to it that nobody's farm did it.
        is_repeated = (seen & bits != 0) & (seen != 0xFF)
        np.bitwise_or.at(linking, places, bits)
        return np.where(is_repeated, self._rules.repeated, 1.0)

    def _give_again(self, visits: int) -> None:
        """Visited pages that got most since their visit pass it on, some at each visit."""
        marks = self._remembered.richest(self._rules.again * visits, self._rules.again_from)
        if not marks:
            return
        pages = np.array(marks, np.uint64)
        places = self._table.places(pages)
        pages, places = pages[places >= 0], places[places >= 0]
        cash = self._table.cash[places].astype(np.float64)
        self._table.cash[places] = 0
        links = [self._remembered.links_of(mark) for mark in pages.tolist()]
        counts = np.array([len(each) // 8 for each in links], np.int64)
        self._credit(self._gift(pages, counts, cash, _marks(b"".join(links))), is_kept=False)

    def _places(self, marks: Marks) -> Places:
        """The places of URLs, made where there are none."""
        places = self._table.places(marks)
        is_new = places < 0
        if is_new.any():
            # It may grow, and then everybody stands elsewhere; in a full bucket one of these may push out another.
            self._leave(*self._table.make_places(np.unique(marks[is_new])))
            places = self._table.places(marks)
        return places

    # ---- classes

    def _leave(self, state: NDArray[np.uint8], cash: NDArray[np.float32]) -> None:
        """Those among them that wait do so no longer, with so much."""
        is_waiting = _is_waiting(state)
        if is_waiting.any():
            self._waiting -= np.bincount(_bins(cash[is_waiting]), minlength=_BINS)

    def _join(self, state: NDArray[np.uint8], cash: NDArray[np.float32]) -> None:
        """Those among them that wait do so with so much."""
        is_waiting = _is_waiting(state)
        if is_waiting.any():
            self._waiting += np.bincount(_bins(cash[is_waiting]), minlength=_BINS)

    def _classes(self, places: Places) -> list[int]:
        table = self._table
        own, first = np.unique(places, return_index=True)
        if len(own) and own[0] < 0:
            own, first = own[1:], first[1:]
        state, cash = table.state[own], table.cash[own]
        proper = self._class_of[_bins(cash)]
        is_risen = (state & VISITED == 0) & (proper > state & CLASS)
        self._leave(state[is_risen], cash[is_risen])
        table.state[own] = np.where(is_risen, USED | proper, state)
        self._join(table.state[own][is_risen], cash[is_risen])
        classes = np.zeros(len(places), np.uint8)
        classes[first] = np.where(is_risen, proper, 0)
        answer: list[int] = classes.tolist()
        return answer

    def _divide(self) -> None:
        """Which cash makes which class, by what waits now."""
        total = int(self._waiting.sum())
        if not total:
            return
        # A bin belongs where its middle does: its members are not told apart.
        above = (self._waiting[::-1].cumsum() - self._waiting[::-1] / 2)[::-1] / total
        self._class_of = (HIGHEST - np.searchsorted(REACH[:-1], above, side="right")).astype(np.uint8)
        self._until_classes = min(1_000, total // 100)


class _RememberedLinks:
    """The links of visited pages, as many as memory is given; pages that get little are forgotten first."""

    def __init__(self, max_links: int) -> None:
        self._max = max_links
        self._links: dict[int, bytes] = {}
        self._got: dict[int, float] = {}  # the most that a page had at once, fading
        self._queued: dict[int, float] = {}  # with how much a page stands in the heap
        self._heap: list[tuple[float, int]] = []
        self._size = 0

    @property
    def size_bytes(self) -> int:
        return 8 * self._size

    def remember(self, mark: int, links: bytes, cash: float) -> None:
        """Keep the links of a page that was visited with so much."""
        count = len(links) // 8 + _PAGE_LINKS
        if not links or mark in self._links or count > self._max // 16:
            return
        self._links[mark] = links
        self._got[mark] = cash
        self._size += count
        if self._size > self._max:
            self._forget()

    def links_of(self, mark: int) -> bytes:
        return self._links[mark]

    def note(self, marks: Marks, cash: NDArray[np.float32], least: float) -> None:
        """These visited pages have so much by now."""
        is_much = cash >= least
        for mark, amount in zip(marks[is_much].tolist(), cash[is_much].tolist(), strict=True):
            # A page moves in the heap when it has half as much again: so the heap stays a few times as long as pages.
            if mark in self._links and amount > 1.5 * self._queued.get(mark, 0.0):
                self._queued[mark] = amount
                self._got[mark] = max(self._got[mark], amount)
                heapq.heappush(self._heap, (-amount, mark))

    def richest(self, count: int, least: float) -> list[int]:
        """The pages that have most to pass on, without those that have too little; they leave the heap."""
        found: list[int] = []
        while len(found) < count and self._heap and -self._heap[0][0] >= least:
            amount, mark = heapq.heappop(self._heap)
            if self._queued.get(mark) == -amount:
                del self._queued[mark]
                found.append(mark)
        return found

    def _forget(self) -> None:
        """The half of them that got least."""
        ranked = sorted(self._got, key=self._got.__getitem__)
        for mark in ranked[: len(ranked) // 2 + 1]:
            self._size -= len(self._links.pop(mark)) // 8 + _PAGE_LINKS
            del self._got[mark]
            self._queued.pop(mark, None)
        self._got = {mark: amount / 2 for mark, amount in self._got.items()}
        self._heap = [(-amount, mark) for mark, amount in self._queued.items()]
        heapq.heapify(self._heap)


# What remembering a page takes beside its links, in links.
_PAGE_LINKS = 32


def _marks(fingerprints: bytes) -> Marks:
    return np.frombuffer(fingerprints, ">u8").astype(np.uint64)


def _is_waiting(state: NDArray[np.uint8]) -> NDArray[np.bool_]:
    waiting: NDArray[np.bool_] = (state & VISITED == 0) & (state & CLASS != 0)
    return waiting


def _worths(visits: Sequence[VisitedPage]) -> NDArray[np.float64]:
    return np.clip([visit.worth for visit in visits], 0.2, 2.0)


def _weights(visits: Sequence[VisitedPage], counts: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """A weight for each link, if one of the pages is a sitemap."""
    if all(visit.weights is None for visit in visits):
        return None
    pairs = zip(visits, counts, strict=True)
    columns = [np.ones(count) if visit.weights is None else visit.weights for visit, count in pairs]
    weights: NDArray[np.float64] = np.clip(np.concatenate(columns), 0.5, 1.5)
    return weights


def _bins(cash: NDArray[np.float32]) -> NDArray[np.int64]:
    octave = np.log2(np.maximum(cash, _LEAST_CASH))
    return np.minimum(((octave - _LEAST_OCTAVE) * _PER_OCTAVE).astype(np.int64), _BINS - 1)
