"""A response's body to a Page: what it is, how its bytes read, what it says."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from lycosa.model import Page
from lycosa.page.directives import Directives, directives_of_header
from lycosa.page.encoding import decode
from lycosa.page.feed import read_feed
from lycosa.page.html import PageLimits, read_html
from lycosa.page.media import Media, media_of


class PageParser:
    """Parses bodies within limits, for the robot called `agent`. Keeps nothing between pages."""

    def __init__(self, limits: PageLimits, agent: str) -> None:
        self._limits = limits
        self._agent = agent.lower()

    def parse(self, body: bytes, content_type: str, x_robots: Sequence[str] = (), tld: str = "") -> Page:
        """The page of any bytes whatever; `x_robots` are the X-Robots-Tag values, `tld` helps to detect encodings."""
        directives = directives_of_header(x_robots, self._agent)
        match media_of(content_type, body):
            case Media.HTML:
                return read_html(decode(body, content_type, tld), self._limits, self._agent, directives)
            case Media.FEED:
                page = read_feed(decode(body, content_type, tld), self._limits.max_links)
            case Media.TEXT:
                page = self._text_page(body, content_type, tld)
            case Media.OTHER:
                page = Page("", "", "", [])
        return _directed(page, directives)

    def _text_page(self, body: bytes, content_type: str, tld: str) -> Page:
        text, charset, _ = decode(body, content_type, tld)
        text = text.replace("\0", "").replace("\r\n", "\n").strip()
        max_chars = self._limits.max_text_chars
        return Page("", "", text[:max_chars], [], charset=charset, truncated=len(text) > max_chars)


def _directed(page: Page, directives: Directives) -> Page:
    return msgspec.structs.replace(page, **directives._asdict())
