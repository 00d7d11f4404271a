"""Summaries: the sentences of a text that say most, chosen by counting words. Knows no language but by its words.

Two methods are those of the lecture project this crawler began with: `frequency` and `tfidf`. How well each finds what
a page is about is measured in docs/decisions/0055.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from math import log, sqrt
from typing import Literal, NamedTuple, get_args

from lycosa.page.sentences import sentences_of
from lycosa.page.words import words_of

Method = Literal["tfidf", "frequency", "frequency-sentences", "weight", "context"]
METHODS: tuple[Method, ...] = get_args(Method)
DEFAULT_METHOD: Method = "weight"
DEFAULT_SENTENCES = 20
# Of a longer text only the beginning is read: 0.2 s at most.
MAX_CHARS = 300_000
MAX_SENTENCES = 5_000
# How far a sentence is heard in the method `context`.
NEIGHBOURS = 3


class Sentence(NamedTuple):
    """A sentence that was chosen, its place among all sentences and its score."""

    place: int
    text: str
    score: float


class TextSummary(NamedTuple):
    """The chosen sentences in the order of the text."""

    sentences: tuple[Sentence, ...]
    method: Method

    @property
    def text(self) -> str:
        """One sentence a line."""
        return "\n".join(sentence.text for sentence in self.sentences)


class Scored(NamedTuple):
    """Why a sentence scored what it did: what each of its words gave."""

    place: int
    text: str
    score: float
    is_chosen: bool
    words: dict[str, float]


def summarise(text: str, method: Method = DEFAULT_METHOD, sentences: int = DEFAULT_SENTENCES) -> TextSummary:
    """The sentences with the highest scores, of equals the earlier; all of them if there are no more."""
    texts, scores, _ = _scored(text, method)
    chosen = _best(scores, sentences)
    return TextSummary(tuple(Sentence(place, texts[place], scores[place]) for place in chosen), method)


def why(text: str, method: Method = DEFAULT_METHOD, sentences: int = DEFAULT_SENTENCES) -> list[Scored]:
    """Every sentence with its score, what its words gave, and whether it was chosen."""
    texts, scores, by_word = _scored(text, method)
    chosen = frozenset(_best(scores, sentences))
    return [
        Scored(place, sentence, scores[place], place in chosen, by_word[place]) for place, sentence in enumerate(texts)
    ]


def inverse_frequency(sentences: int, sentences_with_word: int) -> float:
    """How much a word tells: ln(sentences / sentences with the word)."""
    return log(sentences / sentences_with_word)


def damped(score: float, mean: float) -> float:
    """A score over the mean comes down to mean x (mean / score)."""
    return mean * (mean / score) if score > mean else score


def _scored(text: str, method: Method) -> tuple[list[str], list[float], list[dict[str, float]]]:
    texts = list(islice(sentences_of(text[:MAX_CHARS]), MAX_SENTENCES))
    by_word = _SCORERS[method]([Counter(words_of(sentence)) for sentence in texts])
    scores = [sum(given.values()) for given in by_word]
    match method:
        case "frequency-sentences" if scores:
            mean = sum(scores) / len(scores)
            scores = [damped(score, mean) for score in scores]
        case "context":
            scores = _with_neighbours([sqrt(score) for score in scores])
    return texts, scores, by_word


def _with_neighbours(scores: list[float]) -> list[float]:
    """Each score with half of its neighbours', less the farther they are: what matters stands together."""
    padded = [0.0] * NEIGHBOURS + scores + [0.0] * NEIGHBOURS
    return [
        score + 0.5 * sum((padded[middle - far] + padded[middle + far]) / far for far in range(1, NEIGHBOURS + 1))
        for middle, score in enumerate(scores, start=NEIGHBOURS)
    ]


def _best(scores: Sequence[float], limit: int) -> list[int]:
    """The places of the highest scores, in order of place."""
    return sorted(sorted(range(len(scores)), key=lambda place: -scores[place])[:limit])


# What each word gives to each sentence, by method.


def _frequency(sentences: list[Counter[str]]) -> list[dict[str, float]]:
    """How often the word stands in the whole text, damped; as often as it stands in the sentence."""
    counts = _counts(sentences)
    mean = counts.total() / len(counts) if counts else 0.0
    worth = {word: damped(count, mean) for word, count in counts.items()}
    return [{word: times * worth[word] for word, times in words.items()} for words in sentences]


def _plain_frequency(sentences: list[Counter[str]]) -> list[dict[str, float]]:
    """The same with words as they are: here the sentence's sum is damped."""
    counts = _counts(sentences)
    return [{word: float(times * counts[word]) for word, times in words.items()} for words in sentences]


def _tfidf(sentences: list[Counter[str]]) -> list[dict[str, float]]:
    """Its share of the sentence's words, times how much it tells."""
    worth = _inverse_frequencies(sentences)
    return [{word: times / words.total() * worth[word] for word, times in words.items()} for words in sentences]


def _weight(sentences: list[Counter[str]]) -> list[dict[str, float]]:
    """How much it tells, each time it stands there: long sentences of telling words, as prose has them."""
    worth = _inverse_frequencies(sentences)
    return [{word: times * worth[word] for word, times in words.items()} for words in sentences]


def _counts(sentences: list[Counter[str]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for words in sentences:
        counts.update(words)
    return counts


def _inverse_frequencies(sentences: list[Counter[str]]) -> dict[str, float]:
    with_word: Counter[str] = Counter()
    for words in sentences:
        with_word.update(words.keys())
    return {word: inverse_frequency(len(sentences), count) for word, count in with_word.items()}


_SCORERS: dict[Method, Callable[[list[Counter[str]]], list[dict[str, float]]]] = {
    "tfidf": _tfidf,
    "frequency": _frequency,
    "frequency-sentences": _plain_frequency,
    "weight": _weight,
    "context": _weight,
}
