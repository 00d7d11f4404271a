"""An HTML text read by the extension: see native/html.h. Small strings are left to Python."""

from __future__ import annotations

from lycosa.model import RawLink
from lycosa.page import _native
from lycosa.page.directives import NO_DIRECTIVES, directives_of, refresh_of
from lycosa.page.reading import Head, PageLimits, Reading


def read(html: str, limits: PageLimits, agent: str) -> Reading:
    """What an HTML text says. Past the parse limits: links without texts."""
    found, links, text, is_too_large = _native.read(
        html,
        agent,
        RawLink,
        limits.max_links,
        limits.max_parse_depth,
        limits.max_parse_nodes,
        limits.max_text_chars,
    )
    title, description, base, canonical, refreshes, language, robots = found
    directives = directives_of(robots) if robots else NO_DIRECTIVES
    refresh = _first_url(refreshes) if refreshes else ""
    return Reading(Head(title, description, base, canonical, refresh, language, directives), links, text, is_too_large)


def _first_url(refreshes: list[str]) -> str:
    return next((refresh.url for text in refreshes if (refresh := refresh_of(text)) and refresh.url), "")
