"""What the parts of sites have yielded of a topic so far: relevant pages lie together. Knows folders of URLs, no pages.

Learnt by the worker that visits a host, in bounded memory, and learnt anew after a restart: it decides the order only.
"""

from __future__ import annotations

# What a part is held to yield of which nothing is known, and how many pages that guess is worth. Of a folder, it is
# what the folder above yields.
EXPECTED = 0.25
_GUESSED_PAGES = 4
MAX_FOLDERS = 4
# Per generation: about 250 bytes each.
MAX_PARTS = 10_000
LEAST, MOST = 0.1, 1.5

_Known = dict[str, tuple[int, float]]  # pages and the sum of their relevance


class Yields:
    """How relevant the pages of hosts and folders were."""

    def __init__(self) -> None:
        self._young: _Known = {}
        self._old: _Known = {}

    def learn(self, url: str, relevance: float) -> None:
        """A page of this relevance was found."""
        for part in _parts_of(url):
            pages, total = self._of(part)
            self._young[part] = pages + 1, total + relevance
        if len(self._young) > MAX_PARTS:
            self._old, self._young = self._young, {}

    def factor(self, url: str) -> float:
        """How much more than expected, or less, may be hoped for where a URL lies: 1 where nothing is known."""
        hope = EXPECTED
        for part in _parts_of(url):
            pages, total = self._of(part)
            hope = (total + _GUESSED_PAGES * hope) / (pages + _GUESSED_PAGES)
        return min(max(hope / EXPECTED, LEAST), MOST)

    def _of(self, part: str) -> tuple[int, float]:
        return self._young.get(part) or self._old.get(part) or (0, 0.0)


def _parts_of(url: str) -> list[str]:
    """Its origin and the folders it lies in, from the top."""
    path = url.partition("?")[0]
    parts: list[str] = []
    at = path.find("/", 8)
    while at > 0 and len(parts) <= MAX_FOLDERS:
        parts.append(path[: at + 1])
        at = path.find("/", at + 1)
    return parts
