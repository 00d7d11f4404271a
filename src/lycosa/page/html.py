"""An HTML body to a Page: what it says of itself, its links, its text, and what it is about."""

from __future__ import annotations

from lycosa.model import Page
from lycosa.page.content import Content, content_of
from lycosa.page.directives import NO_DIRECTIVES, Directives
from lycosa.page.reading import MAX_HEADINGS_CHARS, PageLimits
from lycosa.page.requisites import requisites_of_html
from lycosa.page.selected import links_within
from lycosa.site_rules import NO_RULES, SiteTable

try:
    from lycosa.page.compiled import read, source_of
except ImportError:  # installed without a compiler
    from lycosa.page.tree import read, source_of  # type: ignore[assignment]

_NO_CONTENT = Content()


class HtmlReader:
    """Reads HTML within limits, for the robot called `agent`, by the rules that sites have been given."""

    def __init__(self, limits: PageLimits, agent: str, sites: SiteTable = NO_RULES) -> None:
        self._limits = limits
        self._agent = agent
        self._sites = sites

    def read(
        self, body: bytes, content_type: str, tld: str = "", directives: Directives = NO_DIRECTIVES, url: str = ""
    ) -> Page:
        """The page of a body; `directives` came with its header. Past the parse limits: links without texts."""
        html, charset = source_of(body, content_type, tld)
        head, links, text, headings, is_too_large, found = read(html, self._limits, self._agent)
        content = _NO_CONTENT if found is None else content_of(found, html, url, self._sites)
        directives |= head.directives
        rules = self._sites.of(url)
        if rules.links:
            links = links_within(html, links, rules.links)
        is_shown_whole = self._limits.requisites if rules.requisites is None else rules.requisites
        max_chars, max_links = self._limits.max_text_chars, self._limits.max_links
        return Page(
            title=head.title or content.title,
            description=head.description,
            text=text[:max_chars],
            links=links[:max_links],
            base=head.base,
            canonical=head.canonical,
            refresh=head.refresh,
            language=head.language,
            charset=charset,
            noindex=directives.noindex,
            nofollow=directives.nofollow,
            noarchive=directives.noarchive,
            noai=directives.noai,
            noimageai=directives.noimageai,
            truncated=is_too_large or len(text) > max_chars or len(links) > max_links,
            content=content.text[:max_chars],
            comments=content.comments[:max_chars],
            headings=headings[:MAX_HEADINGS_CHARS],
            author=content.author,
            published=content.published,
            requisites=requisites_of_html(html, self._limits.max_requisites) if is_shown_whole else [],
        )
