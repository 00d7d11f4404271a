"""One URL, looked for in every place where a crawl may have left a trace of it. Only looks: `why` says what it means.

Asks the crawl's own parts: its limits, dedup rules, scope and secret make the fingerprint under which the frontier
knows the URL.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import msgspec

from lycosa.errors import SettingsError
from lycosa.frontier.records import Schedule
from lycosa.frontier.view import TroubledOrigin, troubled_origins_of
from lycosa.inspect.opened import OpenedCrawl
from lycosa.model import History, Target, Visit
from lycosa.robots.cache import Ruling
from lycosa.robots.parse import Rule, line_of, product_token
from lycosa.site.notes import Site
from lycosa.site.variants import without
from lycosa.store.read import RecordLost, connect, response_of_visit, versions
from lycosa.url.canonical import ParsedUrl
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.memo import LinkPolicy

# Entries of a queue that are looked through: a second's work.
MAX_LOOKED_AT = 500_000
MAX_SOURCES = 5


class Source(msgspec.Struct, frozen=True):
    """A page of the crawl that links to the URL."""

    url: str
    rel: str


class Waiting(NamedTuple):
    """A target in its host's queue, at a place of it; or among the retries, until it is due."""

    target: Target
    due_at: float = 0.0  # 0: now
    place: int = 0


class Traces:
    """What a crawl has of one URL. Raises `SettingsError` if it has nothing of any."""

    def __init__(self, crawl: OpenedCrawl, parsed: ParsedUrl) -> None:
        if crawl.view is None:
            raise SettingsError("the frontier of this crawl was kept in memory only, so nothing is known of it now")
        if not (key := crawl.view.crawl_key()):
            raise SettingsError("this crawl has not begun")
        self.folder = crawl.folder
        self._settings = crawl.settings
        self._view = crawl.view
        self._parsed = parsed
        self._fingerprinter = Fingerprinter(key)
        self._policy = LinkPolicy.from_settings(crawl.settings, crawl.seeds, self._fingerprinter)
        self.link = self._policy.judge(parsed)
        self.host = crawl.view.host(parsed.host)

    # ---- under its fingerprints

    def past(self) -> tuple[History | None, bytes]:
        """Its row of the crawl-history table, and the fingerprint under which it has one."""
        own = self.link.fingerprint
        # Reached by a redirect from a URL that counts as the same page, it has a fingerprint of its own.
        moved = self._fingerprinter.fingerprint(f"{self.link.url}#moved")
        for fingerprint in (moved, own):
            if past := self.past_of(fingerprint):
                return past, fingerprint
        shown = self._fingerprinter.of_requisite(self.link.url)
        if not self.is_known(own) and self.is_known(shown):
            return self.past_of(shown), shown
        return None, own

    def past_of(self, fingerprint: bytes) -> History | None:
        return self._view.history(self.link.host, fingerprint)

    def is_known(self, fingerprint: bytes) -> bool:
        return self._view.is_known(self.link.host, fingerprint)

    @property
    def is_exact(self) -> bool:
        """Whether every known URL is in a table, or only in a filter."""
        return self._view.is_exact

    def waiting(self, fingerprint: bytes) -> Waiting | None:
        """Where it waits to be visited; None if nowhere."""
        is_last_first = self._settings.order == "depth"
        queue = self._view.queue(self.host, is_last_first=is_last_first) if self.host else iter(())
        for place, target in enumerate(islice(queue, MAX_LOOKED_AT)):
            if target.fingerprint == fingerprint:
                return Waiting(target, place=place + 1)
        for due_at, target in islice(self._view.retries(), MAX_LOOKED_AT):
            if target.fingerprint == fingerprint:
                return Waiting(target, due_at)
        return None

    def site_notes(self) -> bytes:
        """The notes on its registered domain; empty if there are none."""
        return self._view.site(self.link.domain)

    def meaningless(self) -> list[str]:
        """What changes nothing in URLs of its origin, as the crawl has found."""
        site = Site(self.link.domain, self._settings.patience, raw=self.site_notes())
        return site.meaningless_of(self.link.origin)

    def learnt_fingerprint(self) -> bytes | None:
        """The fingerprint under which the URL is known by what was learnt of its site; None if by nothing."""
        key = self._policy.key(self.link.origin, self._parsed.path_and_query)
        path_at = key.find("/", 8)
        shorter = without(key[path_at:], self.meaningless())
        fingerprint = self._fingerprinter.fingerprint(key[:path_at] + shorter)
        return fingerprint if shorter != key[path_at:] and self.is_known(fingerprint) else None

    # ---- around it

    def schedule(self) -> Schedule | None:
        """What is known of all visits that are made again; None if none are."""
        return self._view.schedule(self.link.host)

    def troubled_origin(self) -> TroubledOrigin | None:
        """Its origin, if that is set aside."""
        troubled = troubled_origins_of(self.host) if self.host else []
        return next((each for each in troubled if each.origin == self.link.origin), None)

    def ruling(self) -> Ruling | None:
        """What the crawl holds of its origin's robots.txt; None if that was not read yet."""
        raw = self._view.robots(self.link.origin)
        return msgspec.msgpack.decode(raw, type=Ruling) if raw else None

    def robots_line(self, rule: Rule) -> int:
        """The line of robots.txt on which a rule stands; 0 if the file is not at hand any more."""
        if self.folder is None:
            return 0
        for visit in reversed(versions(self.folder, f"{self.link.origin}/robots.txt")):
            if visit.status == 200:
                try:
                    response = response_of_visit(self.folder, visit)
                except RecordLost:
                    return 0
                return line_of(response.body, product_token(self._settings.user_agent), rule) if response else 0
        return 0

    def last_visit(self) -> Visit | None:
        """Its last visit that a folder tells of."""
        found = versions(self.folder, self.link.url) if self.folder else []
        return found[-1] if found else None

    def sources(self) -> list[Source]:
        """Some of the pages that link to it, as far as a folder tells."""
        if self.folder is None:
            return []
        query = "SELECT DISTINCT source, rel FROM links WHERE target = ? ORDER BY ALL LIMIT ?"
        with connect(self.folder) as connection:
            rows = connection.execute(query, [self.link.url, MAX_SOURCES]).fetchall()
        return [Source(url, rel or "") for url, rel in rows]
