"""The compiled pass over the links of a page (`native/`), and what it is told of the crawl and of the URL standard.

Plain hrefs are decided there from the first byte to the fingerprint; odd ones come back and go through the memo.
"""

from __future__ import annotations

from functools import lru_cache

from lycosa.model import RawLink
from lycosa.url import _native
from lycosa.url.canonical import serialise
from lycosa.url.links import FoundLinks
from lycosa.url.memo import KnownLink, LinkMemo, LinkPolicy, Renaming
from lycosa.url.remembered import MAX_REMEMBERED
from lycosa.url.rules import UNWISE
from lycosa.url.scope import Verdict

# Of about 600 bytes each, with what they stand for.
MAX_ORIGINS = 16_384
# What becomes of a character, as in native/links.h.
_ESCAPED, _UNWISE, _PERCENT, _ODD = 1, 2, 4, 8


class CompiledLinks:
    """The links of pages by the compiled pass."""

    def __init__(self, policy: LinkPolicy, max_origins: int = MAX_ORIGINS, *, tells_others: bool = False) -> None:
        self._tells_others = tells_others
        memo = LinkMemo(policy)
        limits = policy.limits
        self.remembered = _native.Remembered(MAX_REMEMBERED)
        self._decider = _native.Decider(
            policy.secret,
            (_kinds("http://a/x{}y/z"), _kinds("http://a/?x{}y")),
            (limits.max_length, limits.max_path_depth, limits.max_repeats),
            policy.rules.about_queries,
            policy.rules.has_others,
            max_origins,
            (policy.facts, policy.verdict, policy.key, memo.resolve, lambda base, href: policy.decide(href, base)),
            KnownLink,
            Verdict.IN_SCOPE,
        )

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
        is_utf8 = encoding.lower().startswith("utf")
        return FoundLinks._make(
            self._decider.decide(
                base,
                links,
                also,
                encoding,
                is_utf8,
                self.remembered,
                renamed,
                is_followed,
                obeys_nofollow,
                self._tells_others,
            )
        )

    def count_new(self, base: str, hrefs: list[str]) -> int:
        return self._decider.count_new(base, hrefs, self.remembered)


@lru_cache(maxsize=2)
def _kinds(place: str) -> bytes:
    """What the parser makes of each octet in a path, or in a query; it is asked, so that the two cannot differ."""
    return bytes(_kind(place, chr(octet)) if octet < 0x80 else _ESCAPED for octet in range(256))


def _kind(place: str, character: str) -> int:
    made = serialise(place.format(character))
    if character == "%":
        return _PERCENT
    if made == place.format(character):
        return _UNWISE if character in UNWISE else 0
    return _ESCAPED if made == place.format(f"%{ord(character):02X}") else _ODD
