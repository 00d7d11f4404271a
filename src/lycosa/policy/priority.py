"""The class, 1 to 10, with which a target enters the front queues: 10 goes first.

In the order best it is importance that decides (`importance.py`), for all but seeds and sitemaps; in the order topic
what links promise (`topic/`).
"""

from __future__ import annotations

from typing import Literal

SEED = 10
SITEMAP = REQUISITE = 9
ORDINARY = 5

Order = Literal["breadth", "depth", "best", "topic"]


def sitemap_class(order: Order, priority: float | None) -> int:
    """The class of a URL that a sitemap names; its priority counts only within that site."""
    if order != "best":
        return ORDINARY
    return max(1, min(round(4 + 3 * (0.5 if priority is None else priority)), 8))


def sitemap_weight(number: int) -> float:
    """How much of its sitemap's cash a URL with that class gets, 0.5 to 1.5 of what it would get otherwise."""
    return 0.5 + min(max((number - 4) / 3, 0.0), 1.0)
