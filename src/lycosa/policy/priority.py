"""The class, 1 to 10, with which a target enters the front queues: 10 goes first."""

from __future__ import annotations

from typing import Literal

SEED = 10
SITEMAP = 9
ORDINARY = 5

Order = Literal["breadth", "depth", "best"]


def link_class(order: Order, *, depth: int, path_segments: int, has_query: bool, is_foreign: bool) -> int:
    """The class of a link found on a page.

    Breadth and depth keep one class, so that only arrival decides. Best prefers what is near a seed,
    near a site's root and recommended by another site.
    """
    if shared := shared_class(order):
        return shared
    score = 8 - min(depth, 4) - min(path_segments // 2, 2) - has_query + 2 * is_foreign
    return max(1, min(score, 9))


def shared_class(order: Order) -> int:
    """The class of all links, whatever they are; 0 if some are better than others."""
    return ORDINARY if order != "best" else 0


def sitemap_class(order: Order, priority: float | None) -> int:
    """The class of a URL that a sitemap names; its priority counts only within that site."""
    if order != "best":
        return ORDINARY
    return max(1, min(round(4 + 3 * (0.5 if priority is None else priority)), 8))
