"""Who answers: lycosa's search, SQLite's FTS5, and tantivy as it comes. Each gives URLs, the best first."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import tantivy

from lycosa.bench.search.questions import Document
from lycosa.search import open_index
from lycosa.search.query import BadQuery
from lycosa.store.folder import CrawlFolder

DEPTH = 50
Answer = Callable[[str], list[str]]
_WORD = re.compile(r"\w+")


def lycosa(folder: CrawlFolder, documents: Iterable[Document], place: Path) -> Answer:
    """The product's own index of the crawl's folder."""
    index = open_index(folder)
    index.update()

    def answer(text: str) -> list[str]:
        # What would be read as an operator is asked for as words.
        words = re.sub(r'["“”„«»]', " ", text)
        try:
            hits = index.search(re.sub(r"(?<!\S)-+", " ", words).replace(":", " ")[:1000], limit=DEPTH).hits
        except BadQuery:
            return []
        return [url for hit in hits for url in (hit.url, *hit.also)]

    return answer


def fts5(folder: CrawlFolder, documents: Iterable[Document], place: Path) -> Answer:
    """SQLite's full-text search: porter, title times five; all words, else some of them."""
    connection = sqlite3.connect(place / "fts5.sqlite")
    connection.execute(
        "CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, text, tokenize = 'porter unicode61')"
    )
    connection.executemany("INSERT INTO page VALUES (?, ?, ?)", (document[:3] for document in documents))
    connection.commit()

    def answer(text: str) -> list[str]:
        words = [f'"{word}"' for word in _WORD.findall(text)]
        for joined in (" ".join(words), " OR ".join(words)):
            rows = connection.execute(
                "SELECT url FROM page WHERE page MATCH ? ORDER BY bm25(page, 0, 5.0, 1.0) LIMIT ?", (joined, DEPTH)
            ).fetchall()
            if rows:
                return [row[0] for row in rows]
        return []

    return answer


def plain_tantivy(folder: CrawlFolder, documents: Iterable[Document], place: Path) -> Answer:
    """tantivy with English stems over title and text, any of the words."""
    return _tantivy(documents, place / "tantivy", has_phrase=False)


def phrase_tantivy(folder: CrawlFolder, documents: Iterable[Document], place: Path) -> Answer:
    """The same, and the words as a phrase count more."""
    return _tantivy(documents, place / "tantivy-phrase", has_phrase=True)


def _tantivy(documents: Iterable[Document], place: Path, *, has_phrase: bool) -> Answer:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw")
    for name in ("title", "text"):
        builder.add_text_field(name, tokenizer_name="en_stem")
    place.mkdir(parents=True)
    index = tantivy.Index(builder.build(), str(place))
    writer = index.writer(50_000_000, 1)
    for document in documents:
        writer.add_document(tantivy.Document(url=document.url, title=document.title, text=document.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def answer(text: str) -> list[str]:
        # In lower case none of them is an operator.
        words = " ".join(_WORD.findall(text.lower()))
        query, _ = index.parse_query_lenient(f'{words} "{words}"' if has_phrase else words, ["title", "text"])
        return [str(searcher.doc(address).get_first("url")) for _, address in searcher.search(query, DEPTH).hits]

    return answer


CONTESTANTS: dict[str, Callable[[CrawlFolder, Iterable[Document], Path], Answer]] = {
    "lycosa": lycosa,
    "SQLite FTS5": fts5,
    "tantivy": plain_tantivy,
    "tantivy with phrase": phrase_tantivy,
}
