"""How long a visited page rests until it is looked at again: whether a visit is worth the price by then.

A look costs little and sends nothing. Pure, as `policy/freshness.py` is. The frontier and the simulator both ask here.
"""

from __future__ import annotations

from lycosa.policy.freshness import Belief, wait

# Between two visits a page is looked at when this share of its wait is over: the price may have fallen since.
LOOKED_AT = 0.8
# A page whose visit is worth so much of the price is due: a look more would cost more than it could save.
WORTH_IT = 0.98
# No page waits longer than so many equal shares, nor than two years.
LONGEST_SHARES = 15.0
MAX_WAIT_SECONDS = 730 * 86_400.0


def equal_share_of(pages: int, rate: float, shortest: float = 0.0) -> float:
    """How long each page would wait if all were visited equally often, but none before `shortest` is over."""
    return max(max(pages, 1) / rate, shortest)


def longest_wait(equal_share: float) -> float:
    """After how long a page is visited whatever it is worth."""
    return min(LONGEST_SHARES * equal_share, MAX_WAIT_SECONDS)


def is_due(worth: float, price: float, elapsed: float, equal_share: float, shortest: float = 0.0) -> bool:
    """Whether a visit that is worth so much, so long after the last, is made."""
    return elapsed >= shortest and (worth >= WORTH_IT * price or elapsed >= longest_wait(equal_share))


def interval_of(
    belief: Belief, weight: float, price: float, equal_share: float, shortest: float = 0.0, odds: float = 1.0
) -> float:
    """How long a page waits between two visits at one price; `odds` as in `policy.freshness.freshness`."""
    return max(wait(belief, weight, price, longest_wait(equal_share), odds), shortest)


def rest(
    belief: Belief,
    weight: float,
    price: float,
    equal_share: float,
    elapsed: float = 0.0,
    shortest: float = 0.0,
    odds: float = 1.0,
) -> float:
    """For how many seconds from now a page need not be looked at, so long after its last visit.

    At most for an equal share: a page that rests for longer than that by a price of old is not seen when the price
    falls. With a tight budget that alone made the collection 5 to 9 % less fresh.
    """
    whole = interval_of(belief, weight, price, equal_share, shortest, odds)
    first = max(LOOKED_AT * whole, shortest)
    return min(max((first if elapsed < first else whole) - elapsed, 0.0), equal_share)
