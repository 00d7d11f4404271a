"""Two origins with the same pages under the same paths: which of them is crawled. Pure."""

from __future__ import annotations

from lycosa.site.variants import Sameness

MIN_MIRRORED = 8
# Of the pages of the one that is left, so many must have been met on the other: a part of a site is no mirror of it.
_SHARE = 0.5


def are_mirrors(counts: Sameness, pages: int) -> bool:
    """Whether an origin with so many pages shows the same site as another.

    By paths that were met on both, and whether their contents were the same.
    """
    return counts.same >= max(MIN_MIRRORED, _SHARE * pages) and counts.different <= counts.same // 10


def is_before(origin: str, other: str) -> bool:
    """Whether of two mirrors the first is the one that is crawled: the shorter host, then https. A total order."""
    return _rank(origin) < _rank(other)


def _rank(origin: str) -> tuple[int, str, str]:
    scheme, _, authority = origin.partition("://")
    # "https" stands before "http" if the longer word comes first.
    return len(authority), authority, "" if scheme == "https" else scheme
