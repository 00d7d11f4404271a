"""How relevant a page is to a topic, and what a link promises of the page it leads to. Pure: terms in, figures out.

Figures lie between 0 and 1. BM25's idea of how much a further occurrence says, with weights from the topic and none
from the collection: that is why a page has the same relevance in every worker and run, and when somebody asks why.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from lycosa.page.language import language_of
from lycosa.page.stems import STEMMERS, stemmer
from lycosa.page.words import spaced_words_of
from lycosa.topic.terms import (
    HEADING_WEIGHT,
    MAX_TERM_CHARS,
    MAX_TEXT_CHARS,
    TITLE_WEIGHT,
    is_run,
    saturation,
    text_length,
)

# What each input of a link makes likely by itself: its words, those of its URL, and the page it stands on.
ANCHOR_SAYS, ADDRESS_SAYS, SOURCE_SAYS = 0.9, 0.6, 0.35
# How much of what a page was promised to be its links inherit if it is not: so much is tunnelled.
INHERITED = 0.7
# From which promise on each class is, from 2 to 9; below the first nothing is expected, and the URL comes last.
CLASS_FROM = (0.015, 0.04, 0.09, 0.16, 0.25, 0.36, 0.5, 0.7)
# Pages that lead to no more than so many others recommend each of them in full.
_FEW_LINKS = 40
# Of a short text, such as an anchor: with the weightiest so many terms it is as relevant as can be.
_FULL_TERMS = 2
MAX_ANCHOR_CHARS = 300
# Words, and short texts, of which it is remembered what they are; then all are forgotten.
_MAX_WORDS, _MAX_TEXTS = 10_000, 4_000
_MAX_LANGUAGES = 6


class Inputs(NamedTuple):
    """What a link's promise is made of."""

    anchor: float
    address: float
    source: float  # of the page it stands on
    section: float = 1.0  # how much more, or less, is found where the URL lies

    @property
    def promise(self) -> float:
        """That the page is relevant, if each input were a reason of its own."""
        against = (1 - ANCHOR_SAYS * self.anchor) * (1 - ADDRESS_SAYS * self.address)
        return 1 - against * (1 - SOURCE_SAYS * min(1.0, self.source * self.section))


def section_of(inputs: Inputs, promise: float) -> float:
    """By how much more or less was hoped for where a URL lies, so that the promise came to this."""
    against = (1 - ANCHOR_SAYS * inputs.anchor) * (1 - ADDRESS_SAYS * inputs.address)
    said = (1 - (1 - promise) / against) / SOURCE_SAYS
    return max(0.0, said / inputs.source) if inputs.source else 1.0


def source_of(relevance: float, promise: float) -> float:
    """What a page says for its links: that it is relevant, or still a little that it was promised to be."""
    return max(relevance, INHERITED * promise)


def shared_among(links: int) -> float:
    """How much of that each of so many links has: a list of everything recommends nothing."""
    return min(1.0, math.sqrt(_FEW_LINKS / max(links, 1)))


def class_of(promise: float) -> int:
    """The class in which a URL of such a promise waits; the lowest for one of which nothing is expected."""
    return 1 + sum(promise >= least for least in CLASS_FROM)


class _Words(dict[str, int]):
    """Words of one language to the number of their term, -1 for none; found once each.

    A page in another language may name the topic in the topic's own.
    """

    def __init__(self, terms: list[str], languages: Iterable[str]) -> None:
        super().__init__()
        self._stemmers = [stemmer(language) for language in languages]
        self._numbers: dict[str, int] = {}
        for number, term in enumerate(terms):
            if not is_run(term):
                for stem in self._stems_of(term):
                    self._numbers.setdefault(stem, number)
        self.texts: dict[str, float] = {}  # relevance of short ones

    def __missing__(self, word: str) -> int:
        if len(self) > _MAX_WORDS:
            self.clear()
        found = (self._numbers[stem] for stem in self._stems_of(word) if stem in self._numbers)
        number = self[word] = next(found, -1)
        return number

    def _stems_of(self, word: str) -> list[str]:
        if not word.isascii():
            word = unicodedata.normalize("NFKC", word.encode("utf-8", "replace").decode())
        return [stem(word) for stem in self._stemmers]


class Relevance:
    """Says how relevant texts are, by the terms of a topic. Takes any text in any language, and bounded memory."""

    def __init__(self, terms: Mapping[str, float]) -> None:
        self._terms = list(terms)
        self._weights = list(terms.values())
        self._runs = [(number, term.lower()) for number, term in enumerate(terms) if is_run(term)]
        self._has_words = len(self._runs) < len(terms)
        self._full = sum(sorted(self._weights, reverse=True)[:_FULL_TERMS]) or 1.0
        # Of words whose language nobody knows, such as those of a page without a text.
        self._own = language_of(" ".join(terms)) or "en"
        self._languages: dict[str, _Words] = {}
        self._addresses: dict[str, float] = {}

    def of_page(self, title: str, headings: str, text: str, language: str) -> float:
        """How relevant a page is."""
        found = Counter[int]()
        length = 0
        for part, weight in ((title, TITLE_WEIGHT), (headings, HEADING_WEIGHT), (text, 1)):
            counts, words = self._counts(part, language)
            length += words
            for number, count in counts.items():
                found[number] += weight * count
        scale = text_length(length)
        return min(1.0, sum(self._weights[number] * saturation(count, scale) for number, count in found.items()))

    def of_anchor(self, text: str, language: str) -> float:
        """How relevant a short text is: by which terms stand in it, not by how often."""
        text = text[:MAX_ANCHOR_CHARS]
        known = self._words_of(language).texts
        if (relevance := known.get(text)) is None:
            if len(known) >= _MAX_TEXTS:
                known.clear()
            relevance = known[text] = self._of_short(text, language)
        return relevance

    def of_address(self, url: str) -> float:
        """How relevant the words of a URL are."""
        if (relevance := self._addresses.get(url)) is None:
            if len(self._addresses) >= _MAX_TEXTS:
                self._addresses.clear()
            words = unquote(url.partition("://")[2], errors="replace")
            relevance = self._addresses[url] = self._of_short(words, "")
        return relevance

    def terms_in_address(self, url: str) -> list[str]:
        """The terms among the words of a URL."""
        return self.terms_in(unquote(url.partition("://")[2], errors="replace"), "")

    def _of_short(self, text: str, language: str) -> float:
        weight = sum(self._weights[number] for number in self._counts(text, language)[0])
        return min(1.0, weight / self._full)

    def terms_in(self, text: str, language: str) -> list[str]:
        """The terms that stand in a text."""
        return [self._terms[number] for number in sorted(self._counts(text, language)[0])]

    def _counts(self, text: str, language: str) -> tuple[Counter[int], int]:
        """How often each term stands in a text, and how many words it has."""
        text, counts, length = text[:MAX_TEXT_CHARS], Counter[int](), 0
        if self._has_words:
            numbers = self._words_of(language)
            words = spaced_words_of(text)
            length = len(words)
            for word, count in Counter(words).items():
                if len(word) <= MAX_TERM_CHARS and (number := numbers[word]) >= 0:
                    counts[number] += count
        if self._runs and not text.isascii():
            lower = text.lower()
            # A word of these scripts has two characters on the average; those around them are counted above, if any.
            length = max(length, len(text) // 2)
            for number, run in self._runs:
                if count := lower.count(run):
                    counts[number] += count
        return counts, length

    def _words_of(self, language: str) -> _Words:
        language = language or self._own
        language = language if language in STEMMERS else ""
        if (words := self._languages.get(language)) is None:
            while len(self._languages) >= _MAX_LANGUAGES:
                del self._languages[next(iter(self._languages))]
            words = self._languages[language] = _Words(self._terms, {language: None, self._own: None})
        return words
