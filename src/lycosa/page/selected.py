"""What selectors of the operator choose on a page. The tree is made anew: few sites have any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import turbohtml
from turbohtml import Element

from lycosa.model import RawLink
from lycosa.site_rules import is_xpath

Node = turbohtml.Document | Element


def tree_of(html: str | bytes) -> turbohtml.Document:
    """The tree of an HTML text."""
    return turbohtml.parse(html if isinstance(html, str) else html.decode("utf-8", "replace"), positions=False)


def elements(node: Node, selector: str) -> list[Element]:
    """The elements that a selector chooses, in CSS or XPath."""
    if not is_xpath(selector):
        return list(node.select(selector))
    found = node.xpath(selector)
    return [each for each in found if isinstance(each, Element)] if isinstance(found, list) else []


def links_within(html: str | bytes, links: Sequence[RawLink], selectors: Iterable[str]) -> list[RawLink]:
    """Of the links of a page those that are chosen, or stand in what is."""
    tree = tree_of(html)
    hrefs: set[str | None] = set()
    for selector in selectors:
        for chosen in elements(tree, selector):
            hrefs.add(chosen.attr("href"))
            hrefs.update(link.attr("href") for link in chosen.select("[href]"))
    return [link for link in links if link.href in hrefs]
