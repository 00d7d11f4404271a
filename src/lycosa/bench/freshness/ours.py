"""Lycosa's rules: beliefs, value and price are the product's own code, over a queue in memory."""

from __future__ import annotations

from typing import NamedTuple

from lycosa.bench.freshness.queues import HostQueues
from lycosa.bench.freshness.web import DAY, ChangingWeb
from lycosa.policy.freshness import Belief, Price, RatePool, freshness, learnt, prior_of, value, wait
from lycosa.policy.revisits import is_due, longest_wait, rest

# What a crawl expects of pages it knows nothing of: a change a month.
_USUAL_RATE = 1.0 / (30 * DAY)
# Pages of a host at its limit that are compared before it is asked.
_COMPARED = 4


class _Candidate(NamedTuple):
    page: int
    belief: Belief
    elapsed: float
    worth: float


class OurPolicy:
    """The page whose visit is worth the price; before any is, the one that is looked at first."""

    def __init__(self, web: ChangingWeb) -> None:
        self._share = web.equal_share
        self._weights: list[float] = web.weights.tolist()
        self._hosts: list[int] = web.hosts.tolist()
        self._last: list[float] = web.first.tolist()
        self._beliefs: list[Belief | None] = [None] * web.pages
        self._all_rates = RatePool()
        self._rates = [RatePool()] * len(web.gaps)
        prior = prior_of(_USUAL_RATE)
        self._price = Price(value(prior, 1.0, self._share), 1.0)
        self._host_prices: dict[int, Price] = {}  # of those that are asked as often as they may be
        self._queues = HostQueues(web, self._turn_of)
        self._taken: _Candidate | None = None
        self._now = 0.0
        pages: list[list[tuple[float, int]]] = [[] for _ in web.gaps]
        for page, host in enumerate(self._hosts):
            pages[host].append((self._last[page] + self._rest(prior, page, host, 0.0), page))
        for host, its in enumerate(pages):
            self._queues.fill(host, its)

    def take(self, now: float) -> int | None:
        self._now = now
        while (turn := self._queues.next_host(now)) is not None:
            moment, host = turn
            best = self._best_of(host)
            if best is None:
                continue
            # Nothing is due: the budget is not left unused.
            is_early = moment > now
            if is_early or is_due(best.worth, self._price.now, best.elapsed, self._share):
                self._taken = best
                return best.page
            self._put_back(host, best)
            self._queues.stand(host)
        return None

    def visited(self, page: int, now: float, *, changed: bool) -> None:
        assert self._taken
        assert self._taken.page == page, "it was taken last"
        host, belief = self._hosts[page], self._taken.belief
        after = learnt(belief, self._taken.elapsed, changed, self._prior(host))
        before = self._beliefs[page]
        self._rates[host] = self._rates[host].learnt(before, after)
        self._all_rates = self._all_rates.learnt(before, after)
        self._beliefs[page] = after
        self._pay(host, self._taken)
        self._last[page] = now
        self._queues.put(host, now + self._rest(after, page, host, 0.0), page)
        self._queues.visited(host, now)

    def estimate(self, now: float) -> float:
        """How fresh the collection is held to be."""
        fresh = (
            weight * freshness(self._beliefs[page] or self._prior(self._hosts[page]), max(0.0, now - self._last[page]))
            for page, weight in enumerate(self._weights)
        )
        return sum(fresh) / sum(self._weights)

    def _pay(self, host: int, visit: _Candidate) -> None:
        """A visit that was worth the price before its host could be asked says nothing of the budget."""
        free_after = self._queues.free_at[host] - self._last[visit.page]
        is_held = free_after > 0.0 and value(visit.belief, self._weights[visit.page], free_after) > self._price.now
        if is_held or host in self._host_prices:
            before = self._host_prices.get(host, Price(self._price.now, 1.0))
            self._host_prices[host] = before.visited_in_host(visit.worth)
        if not is_held:
            self._price = self._price.visited(visit.worth, len(self._weights))

    def _best_of(self, host: int) -> _Candidate | None:
        """A page of a host that is worth the host's price; if there is none, the best of those looked at."""
        page = self._queues.pop(host)
        if page is None:
            return None
        best = self._candidate(page, host)
        price = self._price_of(host)
        if price <= self._price.now:
            return best
        for _ in range(_COMPARED - 1):
            if is_due(best.worth, price, best.elapsed, self._share):
                break
            # The best is put back last, so that it is not popped again.
            page = self._queues.pop(host)
            if page is None:
                break
            other = self._candidate(page, host)
            if other.worth > best.worth:
                best, other = other, best
            self._put_back(host, other)
        return best

    def _candidate(self, page: int, host: int) -> _Candidate:
        belief = self._beliefs[page] or self._prior(host)
        elapsed = self._now - self._last[page]
        return _Candidate(page, belief, elapsed, value(belief, self._weights[page], elapsed))

    def _put_back(self, host: int, one: _Candidate) -> None:
        self._queues.put(host, self._now + max(self._rest(one.belief, one.page, host, one.elapsed), 1.0), one.page)

    def _rest(self, belief: Belief, page: int, host: int, elapsed: float) -> float:
        return rest(belief, self._weights[page], self._price_of(host), self._share, elapsed)

    def _prior(self, host: int) -> Belief:
        return prior_of(self._rates[host].mean(self._all_rates.mean(_USUAL_RATE)))

    def _price_of(self, host: int) -> float:
        price = self._host_prices.get(host)
        return max(self._price.now, price.now) if price else self._price.now

    def _turn_of(self, host: int, moment: float, page: int) -> float:
        """A host at its limit is asked as soon as its first page is worth the price that all others go by."""
        if self._price_of(host) <= self._price.now:
            return moment
        belief = self._beliefs[page] or self._prior(host)
        pause = wait(belief, self._weights[page], self._price.now, longest_wait(self._share))
        return min(moment, max(self._last[page] + pause, self._now + 1.0))
