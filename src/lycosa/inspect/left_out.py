"""What a crawl left out by its own rules: how much of which host, by which rule, and what lets it in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from lycosa.model import Refusal
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect

# Rules by which a URL is not asked for although its site would let us. What is had from elsewhere, and what by all
# visits of its kind is nothing new, is not missed: only what has no end, or of which some said something, may be.
RULES = (Refusal.ENDLESS, Refusal.ALIKE, Refusal.BARREN, Refusal.MIRROR, Refusal.VARIANT)
_UNSEEN = frozenset({Refusal.ENDLESS, Refusal.ALIKE})
_REFUSED = """
FROM pages AS refused
WHERE outcome = 'refused' AND reason IN (SELECT unnest(?))
AND NOT EXISTS (
    SELECT 1 FROM pages AS later
    WHERE later.url = refused.url AND later.outcome <> 'refused' AND later.fetched_at >= refused.fetched_at
)
"""
_BY_HOST = f"SELECT host, reason, count(DISTINCT url) {_REFUSED} GROUP BY ALL ORDER BY 3 DESC, 1, 2"
_OF_HOST = f"SELECT DISTINCT url, reason, detail {_REFUSED} AND host = ? ORDER BY reason, url"


class LeftOut(msgspec.Struct, frozen=True):
    """URLs of a host that one rule left out."""

    host: str
    reason: str
    urls: int


class LeftOutUrl(msgspec.Struct, frozen=True):
    """A URL that was left out, the rule, and what it went by."""

    url: str
    reason: str
    detail: str


def left_out(folder: CrawlFolder) -> list[LeftOut]:
    """What each rule left out of each host, the most first."""
    with connect(folder) as connection:
        rows = connection.execute(_BY_HOST, [[str(rule) for rule in RULES]]).fetchall()
    return [LeftOut(*row) for row in rows]


def left_out_of(folder: CrawlFolder, host: str) -> Iterator[LeftOutUrl]:
    """The URLs of a host that were left out."""
    with connect(folder) as connection:
        rows = connection.execute(_OF_HOST, [[str(rule) for rule in RULES], host])
        while some := rows.fetchmany(1000):
            yield from (LeftOutUrl(*row) for row in some)


def unseen_share(found: Sequence[LeftOut], pages: int) -> float:
    """The share of all that could be pages of which nobody knows what it would have brought."""
    unseen = sum(each.urls for each in found if each.reason in _UNSEEN)
    return unseen / (unseen + pages) if unseen else 0.0
