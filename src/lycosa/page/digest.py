"""What a page's text is: its language, its signature among all texts, and its summary if one is wanted."""

from __future__ import annotations

from typing import Literal

from lycosa.dedupe.comparison import NO_SIGNATURE
from lycosa.dedupe.signature import signature_of
from lycosa.model import Page, PageDigest
from lycosa.page.language import language_of
from lycosa.page.summary import Method, summarise

# A shorter main content says too little to stand for its page.
MIN_CONTENT_CHARS = 200


class Digester:
    """Digests pages; a summary costs more than all the rest of a visit, so it is made only if asked for."""

    def __init__(self, *, has_groups: bool, summary: Method | Literal["none"], sentences: int) -> None:
        self._has_groups = has_groups
        self._summary = summary
        self._sentences = sentences

    def read(self, page: Page) -> PageDigest:
        """The digest of any page; of one without words, the empty one."""
        text = telling_text(page)
        if not text:
            return PageDigest(page.language)
        signature = signature_of(text) if self._has_groups else NO_SIGNATURE
        return PageDigest(
            language_of(text, page.language),
            signature.to_bytes(),
            signature.digest,
            "" if self._summary == "none" else summarise(text, self._summary, self._sentences).text,
        )


def telling_text(page: Page) -> str:
    """The main content, or where there is hardly any, all the text."""
    return page.content if len(page.content) >= MIN_CONTENT_CHARS else page.text
