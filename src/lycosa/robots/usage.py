"""What a site wants its pages used for, from all the ways of saying so. Where two differ, the stricter counts.

Three purposes: `search` (found and quoted in results), `archive` (kept and shown again), `ai` (training models, input
to their answers). `ai-images` speaks of pictures alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

PURPOSES = ("search", "archive", "ai")
_ALL = ("ai", "archive", "search")
# Content-Usage (IETF aipref, its drafts included) and Content-Signal (Cloudflare).
_MEANINGS: dict[str, tuple[str, ...]] = {
    "bots": _ALL,
    "search": ("search",),
    "archive": ("archive",),
    "ai": ("ai",),
    "train-ai": ("ai",),
    "train-genai": ("ai",),
    "ai-train": ("ai",),
    "ai-input": ("ai",),
    "tdm": ("ai",),
}
_ANSWERS = {"y": True, "yes": True, "n": False, "no": False}
# TDMRep: 1 reserves the rights to text and data mining.
_TDM = {"1": "tdm=n", "0": "tdm=y"}
_HEADERS = frozenset(("content-usage", "content-signal", "tdm-reservation"))


class Usage(NamedTuple):
    """The purposes a page may be used for, and those it may not, as far as somebody said so."""

    wanted: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()

    def __or__(self, other: Usage) -> Usage:
        if other is NO_USAGE:
            return self
        return Usage(self.wanted | other.wanted, self.refused | other.refused)

    def __str__(self) -> str:
        """As in the column `usage`: `ai=n, search=y`."""
        said = {**dict.fromkeys(self.wanted, "y"), **dict.fromkeys(self.refused, "n")}
        return ", ".join(f"{purpose}={said[purpose]}" for purpose in sorted(said))


NO_USAGE = Usage()


def refused(*purposes: str) -> Usage:
    return Usage(refused=frozenset(purposes))


def usage_in(statement: str) -> Usage:
    """The meaning of `train-ai=n, search=y` and the like; unknown words mean nothing."""
    usage = NO_USAGE
    for part in statement.lower().split(","):
        name, _, answer = part.partition("=")
        purposes = frozenset(_MEANINGS.get(name.strip(), ()))
        match _ANSWERS.get(answer.partition(";")[0].strip()):
            case True:
                usage |= Usage(wanted=purposes)
            case False:
                usage |= Usage(refused=purposes)
    return usage


def usage_in_headers(headers: Iterable[tuple[str, str]]) -> Usage:
    """What the headers of a response say; names are lower case."""
    usage = NO_USAGE
    for name, value in headers:
        if name in _HEADERS:
            usage |= usage_in(_TDM.get(value.strip(), "") if name == "tdm-reservation" else value)
    return usage
