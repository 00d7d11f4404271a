"""From a word to its stem, in the languages that have a stemmer here. Knows no texts."""

from __future__ import annotations

from collections.abc import Callable

import tantivy

STEMMERS = {
    "ar": "arabic", "da": "danish", "nl": "dutch", "en": "english", "fi": "finnish", "fr": "french", "de": "german",
    "el": "greek", "hu": "hungarian", "it": "italian", "no": "norwegian", "nb": "norwegian", "nn": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "es": "spanish", "sv": "swedish", "ta": "tamil",
    "tr": "turkish",
}  # fmt: skip


def stemmer(language: str) -> Callable[[str], str]:
    """What makes stems of words of a language, in lower case and without half surrogates; elsewhere the word itself."""
    name = STEMMERS.get(language)
    if name is None:
        return lambda word: word
    analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(tantivy.Filter.stemmer(name)).build()

    def stem(word: str) -> str:
        found: list[str] = analyzer.analyze(word)
        return found[0] if found else word

    return stem
