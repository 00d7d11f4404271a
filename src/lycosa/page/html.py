"""An HTML text to a Page: what it says of itself, its links, its text, and what it is about."""

from __future__ import annotations

from lycosa.model import Page
from lycosa.page.content import NO_RULES, Content, ContentRules, extract
from lycosa.page.directives import NO_DIRECTIVES, Directives
from lycosa.page.encoding import Decoded
from lycosa.page.reading import PageLimits

try:
    from lycosa.page.compiled import read
except ImportError:  # installed without a compiler
    from lycosa.page.tree import read

_NO_CONTENT = Content()


def read_html(
    decoded: Decoded,
    limits: PageLimits,
    agent: str,
    directives: Directives = NO_DIRECTIVES,
    url: str = "",
    rules: ContentRules = NO_RULES,
) -> Page:
    """The page an HTML text makes; `directives` came with its header. Past the parse limits: links without texts."""
    head, links, text, is_too_large = read(decoded.text, limits, agent)
    is_wanted = limits.main_content and not is_too_large
    content = extract(decoded.text, url, rules) if is_wanted else _NO_CONTENT
    directives |= head.directives
    max_chars = limits.max_text_chars
    return Page(
        title=head.title or content.title,
        description=head.description,
        text=text[:max_chars],
        links=links[: limits.max_links],
        base=head.base,
        canonical=head.canonical,
        refresh=head.refresh,
        language=head.language,
        charset=decoded.charset,
        noindex=directives.noindex,
        nofollow=directives.nofollow,
        noarchive=directives.noarchive,
        truncated=is_too_large or len(text) > max_chars or len(links) > limits.max_links,
        content=content.text[:max_chars],
        comments=content.comments[:max_chars],
        author=content.author,
        published=content.published,
    )
