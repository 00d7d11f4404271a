"""What first: every page that is visited gives cash to those it links to; who has more waits in a higher class.

Online PageRank. It computes with fingerprints, whose first two bytes stand for the host, and with what a visit found.
It knows neither URLs nor queues: it answers in which class a link belongs, and the frontier does the rest. The loops
over links are compiled (`native/`).
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack
from typing import NamedTuple

HIGHEST, LOWEST = 10, 1
# The share of all that wait, from the top, down to which each class reaches: narrow at the top, since the next visits
# come from there. The lowest takes what is left.
REACH = (0.005, 0.015, 0.035, 0.07, 0.13, 0.22, 0.35, 0.52, 0.75)
MIN_WORTH, MAX_WORTH = 0.2, 2.0


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
    named: int  # how many of them, the first, can be moved: their URLs are at hand
    worth: float = 1.0  # of its content, 0.2 to 2
    # Of each link, 0.5 to 1.5: for a sitemap, which sets the URLs of its own host in order.
    weights: Sequence[float] = ()


class Importance:
    """The cash of all URLs of a crawl, in bounded memory, and the classes that follow from it.

    Raises `ImportError` where the compiled part was not built.
    """

    def __init__(self, max_bytes: int, max_remembered_links: int, rules: GivingRules | None = None) -> None:
        from lycosa.policy._native import Cash

        self._cash = Cash(max_bytes, max_remembered_links, rules or GivingRules(), REACH)
        self.cash_of = self._cash.cash_of  # what a URL has now; 0 for one that is not known here
        self.class_of = self._cash.class_of  # in which it waits; 0 for one that is visited or not known here

    @property
    def size_bytes(self) -> int:
        """Of the places and of the remembered links."""
        return self._cash.size_bytes()

    def settle(self, page: VisitedPage) -> bytes:
        """A page was visited: the classes in which its named links are to wait from now on, in their order.

        0 is for those that are to be left as they are: visited, or waiting in that class or a higher one; one that is
        new waits in the lowest. A class for one that waits already means that it moves up.
        """
        worth = min(max(page.worth, MIN_WORTH), MAX_WORTH)
        weights = pack(f"{len(page.weights)}f", *page.weights) if page.weights else b""
        return self._cash.settle(page.fingerprint, page.links, page.named, worth, weights)

    def arrive(self, links: bytes) -> bytes:
        """Links of pages that another machine visited: each gives as much as others' links do on the average."""
        return self._cash.arrive(links)

    def note_visited(self, fingerprint: bytes) -> None:
        """It was visited in an earlier run."""
        self._cash.forget(fingerprint, True)

    def forget(self, fingerprint: bytes) -> None:
        """It waits no longer, though it was not visited: when it is found again it is new."""
        self._cash.forget(fingerprint, False)
