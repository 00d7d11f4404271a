"""Why a page's content and summaries are what they are: every block and every sentence with its score."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lycosa.cli import show

if TYPE_CHECKING:
    from lycosa.page.content import Block
    from lycosa.page.summary import Method, Scored

# The two of the lecture project this crawler began with, and the one that finds most (docs/decisions/0055).
METHODS: tuple[Method, ...] = ("frequency", "tfidf", "weight")
_SHOWN_WORDS = 5


class Reasons(NamedTuple):
    """The blocks of the page, and per method all sentences of its text."""

    blocks: list[Block]
    sentences: dict[Method, list[Scored]]


def reasons(html: str, url: str, text: str, sentences: int) -> Reasons:
    """What is known of every block of a page, and of every sentence of its telling text."""
    from lycosa.page.content import explain
    from lycosa.page.summary import why

    blocks = explain(html, url)[1] if html else []
    return Reasons(blocks, {method: why(text, method, sentences) for method in METHODS})


def print_blocks(blocks: list[Block]) -> None:
    """The blocks in the page's order: kept or not, with both scores."""
    rows = [("yes" if block.is_content else "", block.score, block.alone, block.tag, block.text) for block in blocks]
    show.print_table(["kept", "score", "alone", "in", "text"], rows, title="blocks")


def print_summary(method: Method, sentences: list[Scored], *, with_words: bool) -> None:
    """The chosen sentences in the order of the text; with the words that gave them most, if asked for."""
    columns = ["sentence", "score", "text", "words that count most"]
    rows = [(one.place + 1, one.score, one.text, _words(one)) for one in sentences if one.is_chosen]
    shown = 4 if with_words else 3
    show.print_table(columns[:shown], [row[:shown] for row in rows], title=f"summary by {method}")


def _words(sentence: Scored) -> str:
    best = sorted(sentence.words.items(), key=lambda given: -given[1])[:_SHOWN_WORDS]
    return ", ".join(f"{word} {worth:.2f}" for word, worth in best)
