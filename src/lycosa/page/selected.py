"""What selectors of the operator choose on a page. The tree is made anew: few sites have any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import turbohtml

from lycosa.model import RawLink


def tree_of(html: str | bytes) -> turbohtml.Document:
    """The tree of an HTML text."""
    return turbohtml.parse(html if isinstance(html, str) else html.decode("utf-8", "replace"), positions=False)


def links_within(html: str | bytes, links: Sequence[RawLink], selectors: Iterable[str]) -> list[RawLink]:
    """Of the links of a page those that are chosen, or stand in what is."""
    tree = tree_of(html)
    hrefs: set[str | None] = set()
    for selector in selectors:
        for chosen in tree.select(selector):
            hrefs.add(chosen.attr("href"))
            hrefs.update(link.attr("href") for link in chosen.select("[href]"))
    return [link for link in links if link.href in hrefs]
