"""An HTML text read by the extension: see native/html.h. Small strings are left to Python."""

from __future__ import annotations

from lycosa.model import RawLink
from lycosa.page import _native
from lycosa.page.content import FoundContent, model
from lycosa.page.directives import NO_DIRECTIVES, directives_of, refresh_of
from lycosa.page.encoding import decode, is_declared_utf8
from lycosa.page.reading import PageHead, PageLimits, Reading


def read(html: str | bytes, limits: PageLimits, agent: str) -> Reading:
    """What an HTML text, or its UTF-8 bytes, say. Past the parse limits: links without texts."""
    head, links, text, headings, is_too_large, found = _native.read(
        html,
        agent,
        RawLink,
        limits.max_links,
        limits.max_parse_depth,
        limits.max_parse_nodes,
        limits.max_text_chars,
        model() if limits.main_content else None,
    )
    title, description, base, canonical, refreshes, language, robots = head
    directives = directives_of(robots) if robots else NO_DIRECTIVES
    refresh = _first_url(refreshes) if refreshes else ""
    return Reading(
        PageHead(title, description, base, canonical, refresh, language, directives),
        links,
        text,
        headings,
        is_too_large,
        None if found is None else FoundContent._make(found),
    )


def _first_url(refreshes: list[str]) -> str:
    return next((refresh.url for text in refreshes if (refresh := refresh_of(text)) and refresh.url), "")


def source_of(body: bytes, content_type: str, tld: str) -> tuple[str | bytes, str]:
    """What is read of a body, and its charset: bytes that are UTF-8 need no decoding."""
    if _native.is_utf8(body) and is_declared_utf8(body, content_type):
        return body, "utf-8"
    text, charset, _ = decode(body, content_type, tld)
    return text, charset
