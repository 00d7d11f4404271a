"""What a search gives: frozen values, without any markup."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Span(NamedTuple):
    """A run of a snippet."""

    text: str
    is_hit: bool


Snippet = tuple[Span, ...]


class Hit(msgspec.Struct, frozen=True):
    """One page that was found, and the near duplicates that it stands for."""

    url: str
    title: str
    snippet: Snippet
    title_spans: Snippet
    host: str
    language: str
    fetched_at: float
    published: str  # as the page says; empty if it does not
    score: float
    why: dict[str, float]  # the parts of the score
    also: tuple[str, ...] = ()  # URLs of near duplicates


class Results(msgspec.Struct, frozen=True):
    """The answer to a query. `total` counts pages, before near duplicates are folded."""

    query: str
    total: int
    offset: int
    limit: int
    seconds: float
    hits: tuple[Hit, ...]
    pages: int  # in the index
    is_relaxed: bool = False  # no page has all words: these have some of them


def plain(snippet: Snippet) -> str:
    """A snippet without its marks."""
    return "".join(span.text for span in snippet)
