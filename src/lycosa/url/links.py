"""The links of a page, all at once: columns for the table of links, and which targets among them are new.

The compiled pass does it (`compiled.py`); where that was not built, the memo does, and says the same. Knows no pages.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from itertools import compress
from typing import NamedTuple, Protocol, cast

from lycosa.model import RawLink
from lycosa.url.memo import KnownLink, LinkMemo, LinkPolicy, Renaming
from lycosa.url.remembered import Remembered


class FoundLinks(NamedTuple):
    """Three columns of the links that lead somewhere; three of what is new among their targets, each once.

    Where it is asked for, one that is remembered is new again on some of the pages that it stands on (`remembered.py`),
    and `others` are the fingerprints of all further links that are followed, one after the other.
    """

    targets: list[str]
    anchors: list[str]
    rels: list[str]
    urls: list[str]
    hosts: list[str]
    fingerprints: list[bytes]
    others: bytes = b""


class Memory(Container[bytes], Protocol):
    """What `Remembered` does, compiled or not."""

    def add(self, fingerprints: Iterable[bytes], /) -> None: ...

    def meet(self, fingerprint: bytes, /) -> bool: ...


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

    def __init__(self, policy: LinkPolicy, *, tells_others: bool = False) -> None:
        self._tells_others = tells_others
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
        again, others = self._met(known) if self._tells_others else (set[bytes](), b"")
        new = self._new(known, again) | self._named(base, also)
        return FoundLinks(
            *columns, [link.url for link in new.values()], [link.host for link in new.values()], list(new), others
        )

    def count_new(self, base: str, hrefs: list[str]) -> int:
        decided = self._memo.resolve_all(base, hrefs)
        return sum(
            link.in_scope and link.fingerprint not in self.remembered for link in decided if isinstance(link, KnownLink)
        )

    def _new(self, links: Iterable[KnownLink], again: Container[bytes]) -> dict[bytes, KnownLink]:
        """Those not remembered, and some of the others."""
        remembered = self.remembered
        followed = ((link.fingerprint, link) for link in links if link.in_scope)
        return {mark: link for mark, link in followed if mark in again or mark not in remembered}

    def _met(self, links: Iterable[KnownLink]) -> tuple[set[bytes], bytes]:
        """Of those that are remembered: which are to be sent again, and all others."""
        marks = dict.fromkeys(
            link.fingerprint for link in links if link.in_scope and link.fingerprint in self.remembered
        )
        again = {mark for mark in marks if self.remembered.meet(mark)}
        return again, b"".join(mark for mark in marks if mark not in again)

    def _named(self, base: str, hrefs: Sequence[str]) -> dict[bytes, KnownLink]:
        links = (self._policy.decide(href, base) for href in hrefs)
        return {link.fingerprint: link for link in links if isinstance(link, KnownLink) and link.in_scope}


def may_name_others_by_values(links: Sequence[RawLink]) -> bool:
    """Whether some link may lead by another scheme than those of the web."""
    hrefs = "\n".join([each.href for each in links])
    return hrefs.count("://") > hrefs.count("http://") + hrefs.count("https://")


def _choose() -> Callable[[Sequence[RawLink]], bool]:
    try:
        from lycosa.url._native import may_name_others
    except ImportError:  # installed without a compiler
        return may_name_others_by_values
    return may_name_others


may_name_others = _choose()


def page_links(policy: LinkPolicy, *, tells_others: bool = False) -> PageLinks:
    """Whoever decides links fastest here; `tells_others`: those of links that are not new, too."""
    try:
        from lycosa.url.compiled import CompiledLinks
    except ImportError:  # installed without a compiler
        return MemoLinks(policy, tells_others=tells_others)
    return CompiledLinks(policy, tells_others=tells_others)
