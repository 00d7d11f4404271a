"""RSS and Atom: a feed is read for the links of its entries."""

from __future__ import annotations

from turbohtml import extract

from lycosa.model import Page, RawLink
from lycosa.page.encoding import DecodedText
from lycosa.page.reading import MAX_ANCHOR_CHARS, MAX_DESCRIPTION_CHARS, MAX_TITLE_CHARS, collapsed


def read_feed(decoded: DecodedText, max_links: int) -> Page:
    """The page a feed makes: its entries as links. A feed that cannot be read has none."""
    feed = extract.feed(decoded.text)
    if feed is None:
        return Page("", "", "", [], charset=decoded.charset)
    links = [
        RawLink(entry.link.strip(), collapsed(entry.title or "", MAX_ANCHOR_CHARS), "")
        for entry in feed.entries
        if entry.link
    ]
    return Page(
        title=collapsed(feed.title or "", MAX_TITLE_CHARS),
        description=collapsed(feed.description or "", MAX_DESCRIPTION_CHARS),
        text="",
        links=links[:max_links],
        charset=decoded.charset,
        truncated=len(links) > max_links,
    )
