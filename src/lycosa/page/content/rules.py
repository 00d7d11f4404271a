"""Rules of the operator: which part of a site's pages is their content."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import turbohtml

from lycosa.errors import SettingsError


class ContentRules:
    """Which CSS selector gives the content of which sites; a rule for a domain counts for all below it."""

    def __init__(self, selectors: Mapping[str, str]) -> None:
        self._selectors = {site.lower().strip("."): selector for site, selector in selectors.items()}
        empty = turbohtml.parse("")
        for site, selector in self._selectors.items():
            try:
                empty.select(selector)
            except ValueError as error:
                raise SettingsError(f"content_rules: {site}: {error}") from None

    def selector_for(self, url: str) -> str:
        """The selector of the nearest domain that has one, or an empty string."""
        if not self._selectors:
            return ""
        host = _host(url)
        while host:
            if selector := self._selectors.get(host):
                return selector
            host = host.partition(".")[2]
        return ""


NO_RULES = ContentRules({})


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
