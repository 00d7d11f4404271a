"""What of a page's text is shown: the stretch with most of the query's words, and marks around these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from lycosa.search.query import SearchQuery
from lycosa.search.results import Snippet, Span
from lycosa.search.tokens import is_spaceless, tokens_of, words_in

MAX_SNIPPET_CHARS = 260
# What is looked through of a text, and how many places of words are compared.
_MAX_CHARS, _MAX_PLACES = 60_000, 400
_LEAD_CHARS = 60
_SENTENCE_END = re.compile(r"[.!?。！？]\s+|\n")


class _Place(NamedTuple):
    begin: int
    end: int
    token: str


class Marker:
    """Marks the words of one query in texts of one language."""

    def __init__(self, query: SearchQuery, language: str) -> None:
        self._language = language
        texts = [term.text for term in query.terms if not term.is_excluded]
        words = {word for text in texts for word in words_in(text)}
        self._tokens = {token for text in texts for token in tokens_of(text, language)}
        spaced = [re.escape(_beginning(word, tokens_of(word, language))) for word in words if not is_spaceless(word)]
        spaceless = [re.escape(token) for token in self._tokens if is_spaceless(token)]
        patterns = [rf"(?<![^\W_])(?:{'|'.join(sorted(spaced))})[^\W_]*"] if spaced else []
        patterns += sorted(spaceless, key=len, reverse=True)
        self._pattern = re.compile("|".join(patterns), re.IGNORECASE) if patterns else None

    def snippet(self, text: str) -> Snippet:
        """A stretch of a text, on one line; its beginning where no word is in it."""
        text = text[:_MAX_CHARS]
        places = [place for place, _ in zip(self._places(text), range(_MAX_PLACES), strict=False)]
        begin = self._best_begin(text, places)
        end = min(len(text), begin + MAX_SNIPPET_CHARS)
        if end < len(text) and (space := text.rfind(" ", begin + MAX_SNIPPET_CHARS // 2, end)) > 0:
            end = space
        inside = [place for place in places if begin <= place.begin and place.end <= end]
        spans = _spans(text, begin, end, inside)
        if begin:
            spans.insert(0, Span("… ", False))
        if end < len(text):
            spans.append(Span(" …", False))
        return tuple(spans)

    def marked(self, text: str) -> Snippet:
        """The whole of a short text."""
        return tuple(_spans(text, 0, len(text), list(self._places(text))))

    def _places(self, text: str) -> Iterator[_Place]:
        if self._pattern is None:
            return
        for match in self._pattern.finditer(text):
            if is_spaceless(match[0]):
                yield _Place(match.start(), match.end(), match[0])
                continue
            for token in tokens_of(match[0], self._language):
                if token in self._tokens:
                    yield _Place(match.start(), match.end(), token)
                    break

    def _best_begin(self, text: str, places: list[_Place]) -> int:
        """Where to begin: as many of the words as possible, close together, early."""
        best, chosen = 0.0, 0
        for number, first in enumerate(places):
            near = [
                each
                for each in places[number : number + 40]
                if each.end <= first.begin + MAX_SNIPPET_CHARS - _LEAD_CHARS
            ]
            if not near:
                continue
            spread = (near[-1].end - first.begin) / MAX_SNIPPET_CHARS
            score = 10 * len({each.token for each in near}) + min(len(near), 6) - spread
            if score > best:
                best, chosen = score, first.begin
        return _sentence_begin(text, chosen) if best else 0


def _sentence_begin(text: str, at: int) -> int:
    """The beginning of a sentence, or at least of a word, shortly before a place."""
    least = max(0, at - _LEAD_CHARS)
    if least == 0:
        return 0
    ends = [match.end() for match in _SENTENCE_END.finditer(text, least, at)]
    if ends:
        return ends[0]
    space = text.find(" ", least, at)
    return space + 1 if space >= 0 else least if is_spaceless(text[at]) else at


def _beginning(word: str, tokens: list[str]) -> str:
    """What all forms of a word begin with, so far as its stem tells."""
    stem = tokens[0] if tokens else word
    shared = 0
    while shared < min(len(word), len(stem)) and word[shared] == stem[shared]:
        shared += 1
    return word[: max(min(3, len(word)), shared - 1)]


def _spans(text: str, begin: int, end: int, places: list[_Place]) -> list[Span]:
    spans: list[Span] = []
    at = begin
    for place in places:
        if place.begin < at:
            continue
        spans += [Span(_on_one_line(text[at : place.begin]), False), Span(text[place.begin : place.end], True)]
        at = place.end
    spans.append(Span(_on_one_line(text[at:end]), False))
    return [span for span in spans if span.text]


def _on_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
