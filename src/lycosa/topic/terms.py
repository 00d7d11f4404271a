"""The terms of a topic: from what an operator says, and from pages that are as those that are wanted.

A term is a word, found in any of its forms; or of scripts that put no spaces between words (and of Korean, whose words
take endings) a run of characters, found wherever it stands. Knows no crawl and reads no files.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lycosa.page.language import common_words, language_of
from lycosa.page.stems import stemmer
from lycosa.page.words import spaced_words_of, words_of

# Of an example: where a word stands tells how much the page is about it.
TITLE_WEIGHT, HEADING_WEIGHT = 8, 3
MAX_TERMS = 60
MAX_TERM_CHARS = 40
MAX_TEXT_CHARS = 100_000
# Of a topic's words, and of an example's terms, where a topic has both.
_SHARE_OF_WORDS = 0.5
_MAX_EXAMPLE_TERMS = 40

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f々"
_HIRAGANA, _KATAKANA = r"\u3041-\u309f", r"\u30a1-\u30ff"
_OTHERS = r"\u0e01-\u0e4e\u0e80-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\uac00-\ud7a3"
_RUNS = re.compile(f"[{_HAN}]+|[{_HIRAGANA}]+|[{_KATAKANA}]+|[{_OTHERS}]+")
_HAS_RUNS = re.compile(f"[{_HAN}{_HIRAGANA}{_KATAKANA}{_OTHERS}]")
_HAS_KANA = re.compile(f"[{_HIRAGANA}{_KATAKANA}]")
_IS_HAN = re.compile(f"[{_HAN}]")
_IS_HIRAGANA = re.compile(f"[{_HIRAGANA}]")
_IS_NUMBER = re.compile(r"[\d.,:%]+")


class Example(NamedTuple):
    """A page that is as those that are wanted."""

    title: str
    headings: str
    text: str


def is_run(term: str) -> bool:
    """Whether a term is found by its characters, wherever they stand."""
    return bool(_HAS_RUNS.search(term))


def terms_of(topic: str, examples: Sequence[Example] = ()) -> dict[str, float]:
    """The terms of a topic with their weights, the weightiest first; empty if nothing that is said has a word.

    A page that has all that the operator named, often, is as relevant as can be; so is one that has what the examples
    have on the average.
    """
    words, likes = _by_words(topic), _by_examples(examples)
    if words and likes:
        words = {term: _SHARE_OF_WORDS * weight for term, weight in words.items()}
        likes = {term: (1 - _SHARE_OF_WORDS) * weight for term, weight in likes.items()}
    both = Counter(words)
    both.update(likes)
    return {term: round(weight, 4) for term, weight in both.most_common(MAX_TERMS) if round(weight, 4) > 0}


def tokens_of(text: str) -> list[str]:
    """The words of a text that may be terms, in lower case; of scripts without spaces, words by dictionary or runs."""
    text = text[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode()
    words = spaced_words_of(_RUNS.sub(" ", text))
    short = (word for word in words if len(word) <= MAX_TERM_CHARS)
    return [word for word in short if not _IS_NUMBER.fullmatch(word)] + _runs_of(text)


def _runs_of(text: str) -> list[str]:
    runs = _RUNS.findall(text)
    if _HAS_KANA.search(text):
        # In Japanese what is written in hiragana is grammar, mostly.
        found = [run for run in runs if not _IS_HIRAGANA.match(run)]
    else:
        ideographs = " ".join(run for run in runs if _IS_HAN.match(run))
        found = [run for run in runs if not _IS_HAN.match(run)]
        found += [word for word in words_of(ideographs) if is_run(word)] if ideographs else []
    longer = [run for run in found if len(run) > 1]
    return [run[:MAX_TERM_CHARS] for run in longer or found or runs]


def _by_words(topic: str) -> dict[str, float]:
    """What the operator named, each as weighty as the others but what is named again; without the commonest words."""
    tokens = tokens_of(topic)
    common = common_words(language_of(topic) or "en")
    named = [token for token in tokens if token not in common] or tokens
    return {term: count / len(named) for term, count in _merged(Counter(named), language_of(topic) or "en").items()}


def _by_examples(examples: Sequence[Example]) -> dict[str, float]:
    """What stands often in examples, and in many of them; scaled so that these, on the average, are fully relevant."""
    languages = [language_of(example.text or example.title) for example in examples]
    pairs = list(zip(examples, languages, strict=True))
    counts = [_merged(_weighed(each, common_words(language)), language) for each, language in pairs]
    counts = [each for each in counts if each]
    if not counts:
        return {}
    weights = Counter[str]()
    for each in counts:
        most = max(each.values())
        for term, count in each.items():
            weights[term] += math.log1p(count) / math.log1p(most) / len(counts)  # type: ignore[assignment]
    chosen = dict(weights.most_common(_MAX_EXAMPLE_TERMS))
    scale = sum(_raw(each, chosen) for each in counts) / len(counts)
    return {term: weight / scale for term, weight in chosen.items()}


def _raw(counts: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """How relevant an example would be to terms with these weights."""
    length = text_length(sum(counts.values()))
    return sum(weight * saturation(counts.get(term, 0), length) for term, weight in weights.items())


def _weighed(example: Example, common: Iterable[str]) -> Counter[str]:
    """How often each word stands in an example, that of its title counted several times."""
    counts = Counter(tokens_of(example.text))
    for text, weight in ((example.title, TITLE_WEIGHT), (example.headings, HEADING_WEIGHT)):
        for token in tokens_of(text):
            counts[token] += weight
    for word in common:
        counts.pop(word, None)
    return Counter({word: count for word, count in counts.items() if is_run(word) or len(word) > 1})


def _merged(counts: Counter[str], language: str) -> Counter[str]:
    """Forms of one word as one, under the most frequent of them."""
    stem, forms = stemmer(language), dict[str, str]()
    merged = Counter[str]()
    for word, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])):
        merged[forms.setdefault(word if is_run(word) else stem(word), word)] += count
    return merged


# ---- how often is often


def text_length(words: float) -> float:
    """How long a text is beside an ordinary one: long ones have every word sooner or later."""
    return 0.5 + 0.5 * min(words / 600, 4.0)


def saturation(count: float, length: float) -> float:
    """What so many occurrences in a text say of it, from 0 to 1: the first ones most (as in BM25)."""
    return count / (count + 3.0 * length)
