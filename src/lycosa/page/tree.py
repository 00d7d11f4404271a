"""An HTML text read from the parser's tree, in Python: what `compiled` does five times as fast.

For installations without a compiler, and for tests to compare with. The parser is linear and keeps its tree at most 512
levels deep by itself, so no input needs cutting before it (docs/decisions/0026).
"""

from __future__ import annotations

from functools import partial

import turbohtml
from turbohtml import Document, Element, Namespace, PlainText, Text

from lycosa.model import RawLink
from lycosa.page.content import FoundContent
from lycosa.page.directives import NO_DIRECTIVES, TDM_RESERVATION, directives_of, refresh_of
from lycosa.page.encoding import decode
from lycosa.page.reading import (
    MAX_ANCHOR_CHARS,
    MAX_DESCRIPTION_CHARS,
    MAX_TITLE_CHARS,
    PageHead,
    PageLimits,
    Reading,
    collapsed,
)

# The search for main content is compiled; without it only rules find any.
NOTHING = FoundContent(*[""] * len(FoundContent._fields))
# The depth at which the parser flattens a tree, as browsers do.
PARSER_DEPTH = 512
# No element is written in fewer characters.
_MIN_ELEMENT_CHARS = 3

_TEXT_LAYOUT = PlainText(layout="strict", bullet="", table_cell_separator=" ")
_CRAWLABLE_RELS = frozenset(("next", "prev", "previous", "alternate"))

# A RawLink from a tuple, at half the cost of the constructor.
_link = partial(tuple.__new__, RawLink)


def read(html: str, limits: PageLimits, agent: str) -> Reading:
    """What an HTML text says. Past the parse limits: links without texts."""
    tree = turbohtml.parse(html, positions=False)
    # A template is not part of the page, but the parser's searches look into it.
    for template in tree.find_all("template"):
        template.decompose()
    is_too_large = exceeds(tree, len(html), limits)
    head = read_head(tree, agent)
    _replace_images(tree)
    return Reading(
        head=head,
        links=read_links(tree, limits.max_links, 0 if is_too_large else limits.max_text_chars),
        headings="" if is_too_large else read_headings(tree),
        text="" if is_too_large else read_text(tree),
        is_too_large=is_too_large,
        found=NOTHING if limits.main_content and not is_too_large else None,
    )


def source_of(body: bytes, content_type: str, tld: str) -> tuple[str, str]:
    """What is read of a body, and its charset."""
    text, charset, _ = decode(body, content_type, tld)
    return text, charset


def exceeds(tree: Document, source_chars: int, limits: PageLimits) -> bool:
    """Whether a tree has more elements, or more levels, than the limits allow."""
    if limits.max_parse_depth < PARSER_DEPTH and _is_deeper(tree, limits.max_parse_depth):
        return True
    # Counting costs 35 ns an element, so it is left out where the source is too short to hold so many.
    if source_chars < limits.max_parse_nodes * _MIN_ELEMENT_CHARS:
        return False
    return sum(1 for _ in tree.iter_elements()) > limits.max_parse_nodes


def _is_deeper(tree: Document, max_depth: int) -> bool:
    depths: dict[object, int] = {}
    for element in tree.iter_elements():
        depths[element] = depth = depths.get(element.parent, 0) + 1
        if depth > max_depth:
            return True
    return False


# The head


def read_head(tree: Document, agent: str) -> PageHead:
    """What the page says of itself. Robots directives are those for all robots and those for `agent`, together."""
    description = fallback = refresh = language = ""
    directives = NO_DIRECTIVES
    for meta in tree.find_all("meta"):
        content = meta.attr("content")
        if not content:
            continue
        match (meta.attr("name") or meta.attr("http-equiv") or meta.attr("property") or "").strip().lower():
            case "description" if not description:
                description = content
            case "og:description" if not fallback:
                fallback = content
            case "refresh" if not refresh:
                refresh = _refresh_url(meta, content)
            case "content-language" if not language:
                language = content
            case name if name in ("robots", agent):
                directives |= directives_of(content)
            case name if name == TDM_RESERVATION:
                directives |= directives_of(f"{name}={content.strip()}")
    return PageHead(
        title=_title(tree),
        description=collapsed(description or fallback, MAX_DESCRIPTION_CHARS),
        base=_base(tree),
        canonical=_canonical(tree),
        refresh=refresh,
        language=_language(tree) or language.strip(),
        directives=directives,
    )


def _refresh_url(meta: Element, content: str) -> str:
    # Within <noscript> it sends visitors without scripts to an apology; `name="refresh"` means nothing.
    if meta.attr("http-equiv") is None or _is_in_noscript(meta):
        return ""
    refresh = refresh_of(content)
    return refresh.url if refresh else ""


def _is_in_noscript(element: Element) -> bool:
    return element.closest("noscript") is not None


def _title(tree: Document) -> str:
    for title in tree.find_all("title"):
        # An SVG drawing has titles of its own.
        if title.namespace is Namespace.HTML:
            return collapsed(title.text, MAX_TITLE_CHARS)
    return ""


def _language(tree: Document) -> str:
    root = tree.root
    return ((root.attr("lang") or root.attr("xml:lang") or "") if root else "").strip()


def _base(tree: Document) -> str:
    for element in tree.find_all("base"):
        if (href := element.attr("href")) is not None:
            return href.strip()
    return ""


def _canonical(tree: Document) -> str:
    for link in tree.find_all("link"):
        if "canonical" in _rel(link).split() and (href := link.attr("href")):
            return href.strip()
    return ""


def _replace_images(tree: Document) -> None:
    """An image is read as its text, apart from the words around it."""
    for image in tree.find_all("img"):
        if alt := image.attr("alt"):
            image.replace_with(Text(f" {alt} "))


# Links


def read_links(tree: Document, max_links: int, max_anchor_chars: int) -> list[RawLink]:
    """The links of a page: of the text first, then <area>, frames and <link>; one over `max_links` where more exist.

    Links that are nested by force share their texts, so `max_anchor_chars` bounds what is read for all together. At 0
    no anchor is read, and what stands within links costs nothing.
    """
    elements = tree.select("a[href]")[: max_links + 1]
    hrefs = [element.attr("href") for element in elements]
    anchors = _anchors(elements, max_anchor_chars)
    # Few links have one.
    rels = {element: _rel(element) for element in tree.select("a[rel]")}
    links: list[RawLink] = [
        _link((href, anchor, rels.get(element, "")))
        for href, anchor, element in zip(hrefs, anchors, elements, strict=True)
    ]
    return (links + _other_links(tree, max_links))[: max_links + 1]


def _anchors(elements: list[Element], max_chars: int) -> list[str]:
    anchors = []
    for element in elements:
        if max_chars <= 0:
            break
        text = element.text
        max_chars -= len(text)
        anchors.append(collapsed(text, MAX_ANCHOR_CHARS) or _label(element))
    return anchors + [""] * (len(elements) - len(anchors))


def _other_links(tree: Document, max_links: int) -> list[RawLink]:
    links = [
        RawLink(area.attr("href") or "", collapsed(area.attr("alt") or "", MAX_ANCHOR_CHARS), _rel(area))
        for area in tree.find_all("area", limit=max_links)
        if area.attr("href") is not None
    ]
    for tag in ("iframe", "frame"):
        # A frame within <noscript> is a tracker's pixel.
        links += [
            RawLink(frame.attr("src") or "", collapsed(frame.attr("title") or "", MAX_ANCHOR_CHARS), "")
            for frame in tree.find_all(tag, limit=max_links)
            if frame.attr("src") and not _is_in_noscript(frame)
        ]
    return links + [
        RawLink(link.attr("href") or "", collapsed(link.attr("title") or "", MAX_ANCHOR_CHARS), _rel(link))
        for link in tree.find_all("link", limit=max_links)
        if _is_crawlable(link)
    ]


def _is_crawlable(link: Element) -> bool:
    """Whether a <link> leads to another page or feed, not to a part of this one (docs/decisions/0025)."""
    rel = frozenset(_rel(link).split())
    if rel.isdisjoint(_CRAWLABLE_RELS) or "stylesheet" in rel or not link.attr("href"):
        return False
    media_type = (link.attr("type") or "").lower()
    return not media_type or "html" in media_type or "rss" in media_type or "atom" in media_type


def _rel(element: Element) -> str:
    rel = element.attr("rel")
    return rel.lower() if rel else ""


def _label(anchor: Element) -> str:
    """What stands in for an anchor without text."""
    return collapsed(anchor.attr("title") or anchor.attr("aria-label") or "", MAX_ANCHOR_CHARS)


# Text


def read_headings(tree: Document) -> str:
    """The headings in the order in which they end, one a line."""
    shown = (heading for heading in tree.select("h1, h2, h3, h4, h5, h6") if not _is_in_noscript(heading))
    return "\n".join(filter(None, (" ".join(heading.to_text(_TEXT_LAYOUT).split()) for heading in shown)))


def read_text(tree: Document) -> str:
    """What a reader sees: each block a line of its own, paragraphs parted by an empty line.

    Comes last, since it takes <noscript> and the text of paragraphs out of the tree.
    """
    # Found first: the parser's index of tags is made anew after each change.
    paragraphs = tree.find_all("p")
    for fallback in tree.find_all("noscript"):
        fallback.decompose()
    aside = _set_aside(paragraphs)
    pieces = _laid_out(tree).split(_MARKER)
    if len(pieces) != len(aside) + 1:
        # Some paragraph is where nothing is shown, so the pieces cannot be told apart.
        for node, prose in aside:
            node.data = prose
        return _laid_out(tree).strip()
    whole = [""] * (2 * len(aside) + 1)
    whole[::2], whole[1::2] = pieces, [prose for _, prose in aside]
    return "".join(whole).strip()


def _laid_out(tree: Document) -> str:
    text = tree.to_text(_TEXT_LAYOUT)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text


# The parser drops NULs, so none is in a tree.
_MARKER = "\0"
_MIN_ASIDE_CHARS = 100


def _set_aside(paragraphs: list[Element]) -> list[tuple[Text, str]]:
    """Put a marker for the text of each long, plain paragraph.

    The parser lays text out at 18 ns a word, which for prose is twice what making the tree costs; a paragraph of one
    line needs no laying out. On pages of little prose this costs and gains nothing.
    """
    aside = []
    for paragraph in paragraphs:
        if len(paragraph) != 1:
            continue
        text = paragraph.text
        if len(text) > _MIN_ASIDE_CHARS and "\n" not in text and isinstance(node := paragraph[0], Text):
            node.data = _MARKER
            aside.append((node, text.strip()))
    return aside
