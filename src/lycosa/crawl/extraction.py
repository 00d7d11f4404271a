"""What the operator takes from a page beside its text: records by the rules of its site, and what hooks say of it."""

from __future__ import annotations

from typing import NamedTuple

from lycosa.crawl.discovery import Discovery
from lycosa.hooks import HookFailed, Hooks, PageView, called, encoded, yielded
from lycosa.model import Items, Links, Page, Response, Target
from lycosa.site_rules import SiteTable


class Extracted(NamedTuple):
    """Records, and the targets that the page leads to."""

    items: Items
    discovered: list[Target]


class Extraction:
    """Asks the rules of sites, and hooks."""

    def __init__(self, discovery: Discovery, sites: SiteTable, hooks: Hooks) -> None:
        self._discovery = discovery
        self._sites = sites
        self._hooks = hooks
        self._is_wanted = sites.says("fields") or bool(hooks.on_page or hooks.on_links)

    def read(self, target: Target, response: Response, page: Page, links: Links, found: list[Target]) -> Extracted:
        """What is taken from a page with these links, of which these targets are new. Raises `HookFailed`."""
        if not self._is_wanted:
            return Extracted((), found)
        view = PageView(target, response, page, links.targets)
        items = encoded(view.records(self._sites.of(target.url)))
        if self._hooks.on_links:
            found = self._chosen(target, called("on_links", self._hooks.on_links, view, view.links), links, found)
        if self._hooks.on_page:
            more, requests = yielded(self._hooks.on_page, view)
            items += encoded(more)
            try:
                # First: what is asked in another way is not to be taken for a link met before.
                found = self._discovery.of_requests(target, requests) + found
            except ValueError as error:
                raise HookFailed(f"on_page: {error}") from error
        return Extracted(items, found)

    def _chosen(self, target: Target, wanted: list[str], links: Links, found: list[Target]) -> list[Target]:
        """The new targets without those whose links are not wanted, and those that the page has no links to."""
        known = set(links.targets)
        unwanted = known.difference(wanted)
        kept = [each for each in found if each.url not in unwanted]
        return kept + self._discovery.of_urls(target, [url for url in wanted if url not in known])
