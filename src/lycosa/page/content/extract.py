"""An HTML text to its content: the extension's findings, put into the words of a page."""

from __future__ import annotations

import pkgutil
from functools import cache
from typing import NamedTuple

import msgspec

from lycosa.page.content.dates import date_of_url, iso_date
from lycosa.page.selected import elements, tree_of
from lycosa.site_rules import NO_RULES, SiteTable

try:
    from lycosa.page._native import Model, lay_out
except ImportError:  # installed without a compiler: what is found is nothing, but for what rules choose
    from lycosa.page.content.without import Model, lay_out  # type: ignore[assignment]

MAX_AUTHOR_CHARS = 100
# A page that keeps its article in JSON-LD and shows it by script has next to no text of its own.
_LITTLE_TEXT = 200
# Pages without markup for it write "作者 somebody" on a line of its own, bulletin boards above all.
_AUTHOR_LABELS = ("作者",)
_DATE_LABELS = ("時間", "时间", "發佈於", "发布于", "发表于", "發表於")
_HEAD_CHARS = 3000
_BY = ("by ", "von ", "par ", "por ", "作者", "文/", "文／", "撰文")


class Content(msgspec.Struct, frozen=True):
    """What a page is about. `text` has one block of the page per line; what the page does not give is empty."""

    title: str = ""
    author: str = ""
    published: str = ""  # ISO 8601, as exact as the page says
    text: str = ""
    comments: str = ""  # readers' comments, where they are not themselves what the page is about
    language: str = ""  # declared by the page
    page_text: str = ""  # all text, content or not, one block per line
    rule: str = ""  # the selector that chose the text, if one did


class Block(NamedTuple):
    """One block of a page and why it is content or not."""

    text: str
    tag: str
    alone: float  # the first forest: by itself and its surroundings
    score: float  # both: the second knows what the first thought of its neighbours
    is_content: bool


class FoundContent(NamedTuple):
    """What the extension finds, before one of several titles, authors and dates is chosen."""

    text: str
    comments: str
    title: str  # <title>
    og_title: str  # for other sites to show
    ld_title: str  # of JSON-LD, as below
    heading: str  # the heading that is the title
    author: str  # by <meta>
    ld_author: str
    byline: str  # a block labelled as author
    published: str  # by <meta>
    ld_published: str
    time: str  # the first <time>
    dateline: str  # a block labelled as date
    language: str
    body: str  # articleBody of JSON-LD
    page_text: str


def extract(html: str, url: str = "", sites: SiteTable = NO_RULES) -> Content:
    """The content of any text whatever; a page without any gives an empty one."""
    found, _ = model().extract(html)
    return content_of(FoundContent._make(found), html, url, sites)


def explain(html: str, url: str = "", sites: SiteTable = NO_RULES) -> tuple[Content, list[Block]]:
    """The content, and every block of the page with its scores, in the page's order."""
    found, blocks = model().extract(html, True)
    return content_of(FoundContent._make(found), html, url, sites), [Block(*block) for block in blocks or []]


@cache
def model() -> Model:
    """The model of this package."""
    content = pkgutil.get_data(__package__, "content.model")
    assert content, "the model is part of the package"
    return Model(content)


def content_of(found: FoundContent, html: str | bytes, url: str, sites: SiteTable) -> Content:
    """What was found, put into the words of a page; `html` is read again only where a rule wants it."""
    text, chosen = found.text, ""
    if len(text) < _LITTLE_TEXT and len(found.body) > 2 * len(text):
        text = found.body.strip()
    if (selector := sites.of(url).content) and (ruled := _selected(html, selector)):
        text, chosen = ruled, selector
    return Content(
        title=_title(found),
        author=_author(found.ld_author or found.author or found.byline or _labelled(_AUTHOR_LABELS, found.page_text)),
        published=_published(found, url),
        text=text,
        comments=found.comments,
        language=found.language.strip(),
        page_text=found.page_text,
        rule=chosen,
    )


def _selected(html: str | bytes, selector: str) -> str:
    """The text of the chosen elements; one within another is not repeated."""
    chosen = elements(tree_of(html), selector)
    inside = set(chosen)
    outermost = [element for element in chosen if not any(above in inside for above in element.ancestors)]
    return "\n".join(filter(None, (lay_out(element.html) for element in outermost)))


def _title(found: FoundContent) -> str:
    """The title for other sites to show, else the heading that <title> repeats, else <title>."""
    if declared := found.og_title or found.ld_title:
        return declared
    return found.heading if found.heading and found.heading in found.title else found.title or found.heading


def _published(found: FoundContent, url: str) -> str:
    """What the page declares, then what its URL says, then what it shows."""
    for date in (found.ld_published, found.published):
        if date and (declared := iso_date(date)):
            return declared
    if date := date_of_url(url) or iso_date(found.time) or iso_date(found.dateline):
        return date
    return iso_date(_labelled(_DATE_LABELS, found.page_text))


def _labelled(labels: tuple[str, ...], page_text: str) -> str:
    """What follows a label at the beginning of one of the first lines."""
    for label in labels:
        at = page_text.find(label, 0, _HEAD_CHARS)
        if at == 0 or (at > 0 and page_text[at - 1] == "\n"):
            return page_text[at + len(label) :].partition("\n")[0].lstrip(" :：\t")
    return ""


def _author(text: str) -> str:
    author = text.strip()
    if not author:
        return ""
    for by in _BY:
        if author.lower().startswith(by):
            author = author[len(by) :].lstrip(" :：")
    return author if len(author) <= MAX_AUTHOR_CHARS else ""
