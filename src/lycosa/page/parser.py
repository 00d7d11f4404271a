"""A response's body to a Page: what it is, how its bytes read, what it says."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lycosa.model import Page
from lycosa.page.directives import NO_DIRECTIVES, Directives, directives_of_header
from lycosa.page.encoding import decode
from lycosa.page.feed import read_feed
from lycosa.page.html import HtmlReader
from lycosa.page.media import Media, media_of
from lycosa.page.reading import DocumentLimits, PageLimits
from lycosa.site_rules import NO_RULES, SiteTable


class PageParser:
    """Parses bodies within limits, for the robot called `agent`. Keeps nothing between pages."""

    def __init__(
        self,
        limits: PageLimits,
        agent: str,
        sites: SiteTable = NO_RULES,
        *,
        documents: DocumentLimits | None = None,
    ) -> None:
        self._limits = limits
        self._documents = documents  # None: PDF and office documents are not read
        self._agent = agent.lower()
        self._html = HtmlReader(limits, self._agent, sites)

    def parse(self, body: bytes, content_type: str, x_robots: Sequence[str] = (), tld: str = "", url: str = "") -> Page:
        """The page of any bytes whatever; `x_robots` are the X-Robots-Tag values.

        `tld` is the last label of the host's name, by default that of `url`, and helps to detect encodings. `url` may
        date the page, and decides which content rule counts.
        """
        directives = directives_of_header(x_robots, self._agent) if x_robots else NO_DIRECTIVES
        tld = tld or last_label(url)
        match media_of(content_type, body):
            case Media.HTML:
                return self._html.read(body, content_type, tld, directives, url)
            case Media.FEED:
                page = read_feed(decode(body, content_type, tld), self._limits.max_links)
            case Media.TEXT:
                page = self._text_page(body, content_type, tld)
            case Media.PDF | Media.OFFICE as media if self._documents:
                page = _read_document(media, body, self._documents)
            case _:
                page = Page("", "", "", [])
        return _directed(page, directives)

    def _text_page(self, body: bytes, content_type: str, tld: str) -> Page:
        text, charset, _ = decode(body, content_type, tld)
        text = text.replace("\0", "").replace("\r\n", "\n").strip()
        max_chars = self._limits.max_text_chars
        return Page("", "", text[:max_chars], [], charset=charset, truncated=len(text) > max_chars)


def _read_document(media: Media, body: bytes, limits: DocumentLimits) -> Page:
    """Its reader is imported when the first document comes: most crawls meet none."""
    if media is Media.PDF:
        from lycosa.page.pdf import read_pdf

        return read_pdf(body, limits)
    from lycosa.page.office import read_office

    return read_office(body, limits)


def _directed(page: Page, directives: Directives) -> Page:
    return msgspec.structs.replace(page, **directives._asdict())


def last_label(url: str) -> str:
    """The last label of a URL's host: `org` of `https://example.org:8080/x`."""
    authority = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    return authority.partition(":")[0].rpartition(".")[2]
