"""What became of the pages of a collection since a moment: new, changed, unchanged, vanished."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect

Kind = Literal["new", "changed", "unchanged", "vanished"]
KINDS: tuple[Kind, ...] = ("new", "changed", "unchanged", "vanished")
_ROWS_AT_ONCE = 10_000

# A page is what once had content. One that failed in a way that may pass, and nothing else, is none of these.
_CHANGES = """
WITH visited AS (
    SELECT url,
        min(fetched_at) FILTER (outcome IN ('stored', 'duplicate')) AS first_at,
        max(fetched_at) AS last_at,
        max(fetched_at) FILTER (outcome IN ('stored', 'duplicate')) AS version_at,
        max(fetched_at) FILTER (outcome = 'unchanged') AS unchanged_at,
        arg_max(outcome, fetched_at) AS outcome,
        arg_max(status, fetched_at) AS status,
        arg_max(reason, fetched_at) AS reason,
        arg_max(detail, fetched_at) AS detail,
        coalesce(max(changed) FILTER (fetched_at >= $since), 0) AS changed
    FROM pages WHERE outcome IN ('stored', 'duplicate', 'unchanged', 'moved', 'failed')
    GROUP BY url HAVING last_at >= $since AND first_at IS NOT NULL
), told AS (
    SELECT url, last_at, changed,
        CASE
            WHEN outcome = 'moved' THEN 'vanished'
            WHEN outcome = 'failed' AND (status IN (404, 410) OR reason = 'soft-404') THEN 'vanished'
            WHEN first_at >= $since THEN 'new'
            WHEN version_at >= $since THEN 'changed'
            WHEN unchanged_at >= $since THEN 'unchanged'
        END AS kind,
        CASE WHEN outcome = 'moved' THEN detail WHEN status > 0 AND outcome = 'failed' THEN status::VARCHAR ELSE '' END
            AS detail
    FROM visited
)
"""


class Change(msgspec.Struct, frozen=True):
    """One page, and what became of it. `changed` is how much of its text is another; `detail`, how it vanished."""

    url: str
    kind: Kind
    at: float
    changed: float = 0.0
    detail: str = ""


def count_changes(folder: CrawlFolder, since: float) -> dict[Kind, int]:
    """How many pages of each kind there were since a moment."""
    query = f"{_CHANGES} SELECT kind, count(*) FROM told WHERE kind IS NOT NULL GROUP BY kind"  # noqa: S608
    with connect(folder) as connection:
        counted = dict(connection.execute(query, {"since": _moment(since)}).fetchall())
    return {kind: counted.get(kind, 0) for kind in KINDS}


def changes_since(folder: CrawlFolder, since: float, kind: Kind | None = None) -> Iterator[Change]:
    """The pages of one kind, or of all; the last ones first."""
    query = (
        f"{_CHANGES} SELECT url, kind, epoch(last_at), changed, detail FROM told "  # noqa: S608
        "WHERE kind IS NOT NULL AND ($kind = '' OR kind = $kind) ORDER BY last_at DESC, url"
    )
    with connect(folder) as connection:
        found = connection.execute(query, {"since": _moment(since), "kind": kind or ""})
        while some := found.fetchmany(_ROWS_AT_ONCE):
            yield from (Change(url, what, at, float(changed), detail or "") for url, what, at, changed, detail in some)


def _moment(at: float) -> object:
    from datetime import UTC, datetime

    # As the tables have them: without a zone, in UTC.
    return datetime.fromtimestamp(at, UTC).replace(tzinfo=None)
