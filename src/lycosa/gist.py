"""What a page's text is: its language, its signature among all texts, and its summary if one is wanted."""

from __future__ import annotations

from typing import Literal

import msgspec

from lycosa.dedupe.signature import NO_SIGNATURE, signature_of
from lycosa.model import Page
from lycosa.page.language import language_of
from lycosa.page.summary import Method, summarise

# A shorter main content says too little to stand for its page.
MIN_CONTENT_CHARS = 200


class Gist(msgspec.Struct, frozen=True):
    """`signature` is as bytes: the frontier compares it, nobody here does."""

    language: str = ""
    signature: bytes = b""
    text_digest: bytes = b""
    summary: str = ""


class GistReader:
    """Reads the gist of pages; a summary costs more than all the rest of a visit, so it is made only if asked for."""

    def __init__(self, *, has_groups: bool, summary: Method | Literal["none"], sentences: int) -> None:
        self._has_groups = has_groups
        self._summary = summary
        self._sentences = sentences

    def read(self, page: Page) -> Gist:
        """The gist of any page; of one without words, the empty one."""
        text = telling_text(page)
        if not text:
            return Gist(page.language)
        signature = signature_of(text) if self._has_groups else NO_SIGNATURE
        return Gist(
            language_of(text, page.language),
            signature.to_bytes(),
            signature.digest,
            "" if self._summary == "none" else summarise(text, self._summary, self._sentences).text,
        )


def telling_text(page: Page) -> str:
    """The main content, or where there is hardly any, all the text."""
    return page.content if len(page.content) >= MIN_CONTENT_CHARS else page.text
