"""The links of a page, all at once: columns for the table of links, and which targets among them are new.

The compiled pass does it (`compiled.py`); where that was not built, the memo does, and says the same. Knows no pages.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import compress
from typing import NamedTuple, Protocol, cast

from lycosa.model import RawLink
from lycosa.url.memo import KnownLink, LinkMemo, LinkPolicy, Renaming
from lycosa.url.remembered import Remembered


class FoundLinks(NamedTuple):
    """Three columns of the links that lead somewhere; three of what is new among their targets, each once."""

    targets: list[str]
    anchors: list[str]
    rels: list[str]
    urls: list[str]
    hosts: list[str]
    fingerprints: list[bytes]


class Memory(Container[bytes], Protocol):
    """What `Remembered` does, compiled or not."""

    def add(self, fingerprints: Iterable[bytes], /) -> None: ...


class PageLinks(Protocol):
    """Decides the links of pages, and remembers what need not be found again."""

    @property
    def remembered(self) -> Memory: ...

    def decide(
        self,
        base: str,
        links: list[RawLink],
        also: tuple[str, ...] = (),
        encoding: str = "utf-8",
        *,
        renamed: Renaming | None = None,
        is_followed: bool = True,
        obeys_nofollow: bool = True,
    ) -> FoundLinks:
        """The links of a page with this base and encoding. What it names `also` is new whether remembered or not."""

    def count_new(self, base: str, hrefs: list[str]) -> int:
        """How many of these hrefs are in scope and not remembered."""


class MemoLinks:
    """The links of pages by memo."""

    def __init__(self, policy: LinkPolicy) -> None:
        self._policy = policy
        self._memo = LinkMemo(policy)
        self.remembered = Remembered()

    def decide(
        self,
        base: str,
        links: list[RawLink],
        also: tuple[str, ...] = (),
        encoding: str = "utf-8",
        *,
        renamed: Renaming | None = None,
        is_followed: bool = True,
        obeys_nofollow: bool = True,
    ) -> FoundLinks:
        hrefs, anchors, rels = zip(*links, strict=True) if links else ((), (), ())
        decided = self._memo.resolve_all(base, hrefs, encoding)
        is_known = [type(link) is KnownLink for link in decided]
        known = cast("list[KnownLink]", list(compress(decided, is_known)))
        if len(known) < len(decided):
            anchors, rels = tuple(compress(anchors, is_known)), tuple(compress(rels, is_known))
        columns = [link.url for link in known], list(anchors), list(rels)
        if not is_followed:
            return FoundLinks(*columns, [], [], [])
        if obeys_nofollow and any(rels):
            known = [link for link, rel in zip(known, rels, strict=True) if "nofollow" not in rel]
        if renamed:
            known = [renamed(link) for link in known]
        new = self._new(known) | self._named(base, also)
        return FoundLinks(
            *columns, [link.url for link in new.values()], [link.host for link in new.values()], list(new)
        )

    def count_new(self, base: str, hrefs: list[str]) -> int:
        decided = self._memo.resolve_all(base, hrefs)
        return sum(
            link.in_scope and link.fingerprint not in self.remembered for link in decided if isinstance(link, KnownLink)
        )

    def _new(self, links: Iterable[KnownLink]) -> dict[bytes, KnownLink]:
        remembered = self.remembered
        return {link.fingerprint: link for link in links if link.in_scope and link.fingerprint not in remembered}

    def _named(self, base: str, hrefs: Sequence[str]) -> dict[bytes, KnownLink]:
        links = (self._policy.decide(href, base) for href in hrefs)
        return {link.fingerprint: link for link in links if isinstance(link, KnownLink) and link.in_scope}


def page_links(policy: LinkPolicy) -> PageLinks:
    """Whoever decides links fastest here."""
    try:
        from lycosa.url.compiled import CompiledLinks
    except ImportError:  # installed without a compiler
        return MemoLinks(policy)
    return CompiledLinks(policy)
