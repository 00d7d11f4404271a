"""A query to results: which pages match, in which order, and what is shown of them.

The index scores texts and gives the best few hundred; what else counts (anchors, PageRank, quality, freshness) is
looked up for these alone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import tantivy

from lycosa.search.fields import decode_facts
from lycosa.search.matching import Matcher
from lycosa.search.query import BadQuery, SearchQuery, base_code
from lycosa.search.rank import Ranks
from lycosa.search.results import Hit, Results
from lycosa.search.snippet import Marker

# How many pages the texts' scores bring to the second look, and how many their anchors.
_CANDIDATES, _BY_ANCHOR = 200, 100
# A page of ten times the rank, of perfect quality, of today: what each is worth, as a share of the text's score.
_RANK, _QUALITY, _FRESHNESS = 0.15, 0.35, 0.03
_ANCHORS = 0.3
_HALF_FRESH_SECONDS = 365 * 86_400.0
# A page stands for its copies unless one of them answers better by more than this share of its score.
_ORIGINAL = 0.05
# A language with fewer pages than this share of all is not asked what a query's words are in it.
_MIN_SHARE, _MAX_LANGUAGES = 0.005, 8


class Readers(NamedTuple):
    """What is asked."""

    pages: tantivy.Index
    anchors: tantivy.Index
    ranks: Ranks


class Candidate(NamedTuple):
    """A page that may be shown, and the parts of its score."""

    score: float
    address: tantivy.DocAddress
    key: int
    group: int
    is_copy: bool
    why: dict[str, float]


class Finder:
    """Finds what one query asks for."""

    def __init__(self, readers: Readers, query: SearchQuery, now: float) -> None:
        self._readers = readers
        self._query = query
        self._now = now
        self._searcher = readers.pages.searcher()
        self._languages = self._spoken()
        self._matcher = Matcher(readers.pages.schema, query, self._languages)

    def results(self, limit: int, offset: int) -> Results:
        """The results from one place on; `seconds` is left to whoever asks."""
        if self._query.terms and self._matcher.is_empty:
            raise BadQuery(f"there is no word in {self._query.text!r}; words are of letters and digits")
        total, candidates, is_relaxed = self._candidates(max(_CANDIDATES, 2 * (offset + limit)))
        folded = _folded(candidates)
        shown = [self._hit(group) for group in folded[offset : offset + limit]]
        pages = max(0, self._searcher.num_docs - 1)
        return Results(self._query.text, total, offset, limit, 0.0, tuple(shown), pages, is_relaxed)

    def _spoken(self) -> list[str]:
        """The languages a query's words may be of."""
        if self._query.languages:
            return list(dict.fromkeys(base_code(code) for code in self._query.languages))
        counts = sorted(self._searcher.terms_with_prefix("language", ""), key=lambda each: -each[1])
        least = _MIN_SHARE * self._searcher.num_docs
        return [name for name, count in counts if count >= least][:_MAX_LANGUAGES]

    def _candidates(self, limit: int) -> tuple[int, list[Candidate], bool]:
        result = self._searcher.search(self._matcher.pages(needs_all=True), limit)
        is_relaxed = False
        if not result.hits and self._matcher.has_several_words:
            result = self._searcher.search(self._matcher.pages(needs_all=False), limit)
            is_relaxed = bool(result.hits)
        hits: list[tuple[float, tantivy.DocAddress]] = result.hits
        total: int = result.count  # type: ignore[attr-defined]  # its stubs lack it
        anchors = self._by_anchor(needs_all=not is_relaxed)
        keys = self._values("key", hits)
        if missing := anchors.keys() - set(keys):
            more = self._searcher.search(self._matcher.among(missing), len(missing)).hits
            hits, keys = hits + more, keys + self._values("key", more)
            total += self._further(missing, total, len(more), needs_all=not is_relaxed)
        return total, self._scored(hits, keys, anchors), is_relaxed

    def _further(self, keys: Collection[int], total: int, found: int, *, needs_all: bool) -> int:
        """How many of these pages have not been counted among the `total` yet, since only links to them say it."""
        if total < _CANDIDATES:
            return found  # all that were counted are candidates already, and these are not
        counted = self._searcher.search(self._matcher.those_of(keys, needs_all=needs_all), 1)
        return found - int(counted.count)  # type: ignore[attr-defined]  # its stubs lack it

    def _by_anchor(self, *, needs_all: bool) -> dict[int, float]:
        """How well the anchors of links to a page answer the query, by the page's key."""
        wanted = self._matcher.anchors(self._readers.anchors.schema, needs_all=needs_all)
        if wanted is None:
            return {}
        searcher = self._readers.anchors.searcher()
        hits = searcher.search(wanted, _BY_ANCHOR, count=False).hits
        scores: dict[int, float] = {}
        keys: list[Any] = searcher.fast_field_values("key", [address for _, address in hits]) if hits else []
        for (score, _), key in zip(hits, keys, strict=True):
            scores[key] = max(score, scores.get(key, 0.0))
        return scores

    def _scored(
        self, hits: Sequence[tuple[float, tantivy.DocAddress]], keys: Sequence[int], anchors: dict[int, float]
    ) -> list[Candidate]:
        ranks = self._readers.ranks.of(keys)
        columns = [self._values(name, hits) for name in ("group", "copied", "quality", "dated")]
        candidates = []
        for (text, address), key, rank, group, copied, quality, dated in zip(hits, keys, ranks, *columns, strict=True):
            by_anchor = _ANCHORS * anchors.get(key, 0.0)
            fresh = math.exp2(-max(0.0, self._now - dated) / _HALF_FRESH_SECONDS)
            base = text + by_anchor
            why = {
                "text": text,
                "anchors": by_anchor,
                "rank": base * _RANK * rank,
                "quality": base * _QUALITY * quality,
                "freshness": base * _FRESHNESS * fresh,
            }
            candidates.append(Candidate(sum(why.values()), address, key, group, bool(copied), why))
        return sorted(candidates, key=lambda each: (-each.score, each.is_copy, each.key))

    def _values(self, field: str, hits: Sequence[tuple[float, tantivy.DocAddress]]) -> list[Any]:
        return list(self._searcher.fast_field_values(field, [address for _, address in hits])) if hits else []

    def _hit(self, group: list[Candidate]) -> Hit:
        best, *others = group
        document = self._searcher.doc(best.address)
        facts = decode_facts(_bytes(document, "facts"))
        text = _bytes(document, "text").decode("utf-8", "replace")
        marker = Marker(self._query, facts.language)
        return Hit(
            url=facts.url,
            title=facts.title,
            snippet=marker.snippet(text),
            title_spans=marker.marked(facts.title),
            host=facts.host,
            language=facts.language,
            fetched_at=facts.fetched_at,
            published=facts.published,
            score=best.score,
            why=best.why,
            also=tuple(decode_facts(_bytes(self._searcher.doc(each.address), "facts")).url for each in others),
        )


def _bytes(document: tantivy.Document, field: str) -> bytes:
    value: Any = document.get_first(field)
    return bytes(value)


def _folded(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Near duplicates together, whoever stands for them first, where the best of them stands."""
    groups: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(candidate.group, []).append(candidate)
    return [_led(group) for group in groups.values()]


def _led(group: list[Candidate]) -> list[Candidate]:
    """The first that is no copy before the others, if it answers about as well as the best."""
    enough = group[0].score * (1 - _ORIGINAL)
    leader = next((each for each in group if not each.is_copy and each.score >= enough), group[0])
    return [leader, *(each for each in group if each is not leader)]
