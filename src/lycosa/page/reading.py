"""What is read of an HTML text, however it is read."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from lycosa.model import RawLink
from lycosa.page.content import FoundContent
from lycosa.page.directives import NO_DIRECTIVES, Directives

MAX_ANCHOR_CHARS = 300
MAX_TITLE_CHARS = 1000
MAX_DESCRIPTION_CHARS = 2000
MAX_HEADINGS_CHARS = 20_000


class PageLimits(Protocol):
    """How much of a page is kept; `Settings` is one."""

    @property
    def max_links(self) -> int: ...
    @property
    def max_parse_depth(self) -> int: ...
    @property
    def max_parse_nodes(self) -> int: ...
    @property
    def max_text_chars(self) -> int: ...
    @property
    def main_content(self) -> bool: ...
    @property
    def requisites(self) -> bool: ...
    @property
    def max_requisites(self) -> int: ...


class DocumentLimits(NamedTuple):
    """How much is read of a document that is no HTML."""

    max_text_chars: int
    max_links: int
    seconds: float = 0.0  # of CPU; 0: any


class PageHead(NamedTuple):
    """What the page says of itself in <title>, <meta>, <link> and <base>."""

    title: str = ""
    description: str = ""
    base: str = ""
    canonical: str = ""
    refresh: str = ""
    language: str = ""
    directives: Directives = NO_DIRECTIVES


class Reading(NamedTuple):
    """The parts of a page. There may be one link over the limit, and the text may be longer than the limit."""

    head: PageHead
    links: list[RawLink]
    text: str
    headings: str  # one a line
    is_too_large: bool
    found: FoundContent | None  # by the search for main content; None where none was wanted, or the page is too large


def collapsed(text: str, max_chars: int) -> str:
    """A text on one line: runs of white space become one space, none at the ends."""
    text = text.strip()
    # Most short texts are in order already, and looking is cheaper than splitting.
    if "  " in text or not text.isprintable():
        text = " ".join(text.split())
    return text if len(text) <= max_chars else text[:max_chars]
