"""Questions with one answer each: headings that a single page has, or a single group of near duplicates.

Headings are read from the stored bytes by a parser that the index does not use.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import turbohtml

from lycosa.page.encoding import decode
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect, read_response

_MIN_LETTERS = 3


class Document(NamedTuple):
    """A page as every contestant gets it."""

    url: str
    title: str
    text: str
    group: str


class KnownItem(NamedTuple):
    """What is asked, and the group of the pages that answer it."""

    text: str
    group: str


def documents_of(folder: CrawlFolder) -> list[Document]:
    """The pages of a crawl in the order of their URLs; what is alike is of one group."""
    query = (
        "SELECT url, title, text, coalesce(nullif(group_id, ''), nullif(text_digest, ''), url) FROM pages"
        " WHERE outcome IN ('stored', 'duplicate') AND text <> '' QUALIFY"
        " row_number() OVER (PARTITION BY url ORDER BY fetched_at DESC) = 1 ORDER BY url"
    )
    with connect(folder) as connection:
        return [Document(*row) for row in connection.execute(query).fetchall()]


def questions_of(folder: CrawlFolder, documents: list[Document], count: int, seed: int) -> list[KnownItem]:
    """So many headings that one group alone has, drawn by a seed."""
    groups = {document.url: document.group for document in documents}
    owners: dict[str, set[str]] = {}
    query = (
        "SELECT url, media_type, charset, warc_file, warc_offset, warc_length FROM pages"
        " WHERE outcome IN ('stored', 'duplicate') AND warc_offset >= 0 ORDER BY warc_file, warc_offset"
    )
    with connect(folder) as connection:
        rows = connection.execute(query).fetchall()
    for url, media_type, charset, *place in rows:
        if url not in groups or "html" not in (media_type or ""):
            continue
        html = decode(read_response(folder, *place).body, f"{media_type}; charset={charset}").text
        for heading in turbohtml.parse(html, positions=False).select("h1, h2, h3, h4, h5, h6"):
            text = " ".join(heading.text.replace("¶", " ").split())
            if sum(character.isalnum() for character in text) >= _MIN_LETTERS:
                owners.setdefault(text, set()).add(groups[url])
    single = sorted((text, *owning) for text, owning in owners.items() if len(owning) == 1)
    drawn = random.Random(seed).sample(single, min(count, len(single)))
    return [KnownItem(text, group) for text, group in drawn]
