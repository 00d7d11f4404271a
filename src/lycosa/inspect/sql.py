"""SQL over all that a crawl knows: `pages` and `links` of the store, `history` and `hosts` of the frontier.

`pages` has a row per visit, `history` a row per URL (its last visit, and when it is due again), `hosts` a row per host
(what it is owed and what is known of it). Everything here only reads, also while the crawl runs.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import duckdb
import pyarrow as pa

from lycosa.errors import SettingsError
from lycosa.frontier.records import HostRecord
from lycosa.frontier.revisits import DAY, is_gone
from lycosa.frontier.rules import host_of_origin
from lycosa.inspect.opened import folder_settings, opened_view
from lycosa.model import History, origin_of
from lycosa.policy.region import RegionRules
from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect
from lycosa.url.domain import registered_domain

_ROWS_AT_ONCE = 50_000
_MOMENT = pa.timestamp("us")
_HISTORY = pa.schema(
    {
        "url": pa.string(),
        "outcome": pa.string(),
        "visited_at": _MOMENT,
        "status": pa.int32(),
        "reason": pa.string(),
        "detail": pa.string(),
        "visits": pa.int32(),
        "depth": pa.int32(),
        "referrer": pa.string(),
        "digest": pa.string(),
        "original": pa.string(),
        "etag": pa.string(),
        "last_modified": pa.string(),
        "next_at": _MOMENT,
        "id": pa.string(),
        "domain": pa.string(),
        "changed_at": _MOMENT,
        "changes": pa.int32(),
        "changes_per_day": pa.float64(),
        "importance": pa.float64(),
        "interval_seconds": pa.int64(),
        "content_group": pa.string(),
        "failures": pa.int32(),
        "is_gone": pa.bool_(),
    }
)
_HOSTS = pa.schema(
    {
        "host": pa.string(),
        "queued": pa.int64(),
        "visits": pa.int64(),
        "pages": pa.int64(),
        "failures": pa.int32(),
        "free_at": _MOMENT,
        "delay_seconds": pa.float64(),
        "crawl_delay_seconds": pa.float64(),
        "fetch_seconds": pa.float64(),
        "is_parked": pa.bool_(),
        "robots_expires_at": _MOMENT,
        "is_robots_pending": pa.bool_(),
        "address": pa.string(),
        "slowdown": pa.float64(),
        "ban": pa.string(),
        "ban_detail": pa.string(),
        "region": pa.string(),
        "dropped": pa.int64(),
    }
)


def connect_for(folder: CrawlFolder, sql: str) -> duckdb.DuckDBPyConnection:
    """A connection with all views that a query may name; the frontier is read only where it does."""
    connection = connect(folder)
    # Nothing is fetched from the network because a query names a file type.
    connection.execute("SET autoinstall_known_extensions = false")
    words = set(re.findall(r"\w+", sql.lower()))
    if words & {"history", "hosts", "tables", "describe"}:
        add_frontier(connection, folder, words)
    return connection


def add_frontier(connection: duckdb.DuckDBPyConnection, folder: CrawlFolder, wanted: Iterable[str]) -> None:
    """Add the views `history` and `hosts`: with rows where they are wanted, else empty."""
    history, hosts = _HISTORY.empty_table(), _HOSTS.empty_table()
    wanted = set(wanted)
    if wanted & {"history", "hosts"}:
        with opened_view(folder) as view:
            if view and "history" in wanted:
                history = _table(_HISTORY, view.history_rows(), _history_row)
            if view and "hosts" in wanted:
                regions = RegionRules(folder_settings(folder).region_rules)
                hosts = _table(_HOSTS, view.hosts(), partial(_host_row, regions))
    connection.register("history", history)
    connection.register("hosts", hosts)


def check_reads_only(sql: str) -> None:
    """Refuse SQL that does more than read; raises `SettingsError`."""
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        raise SettingsError(f"the query cannot be read: {error}") from None
    if not statements:
        raise SettingsError("the query is empty; for example: SELECT outcome, count(*) FROM pages GROUP BY ALL")
    for statement in statements:
        if statement.type is not duckdb.StatementType.SELECT:
            kind = str(statement.type).rpartition(".")[2]
            raise SettingsError(f"a query can only read (SELECT, DESCRIBE, SUMMARIZE), and this is {kind}")


def _table(schema: pa.Schema, values: Iterable[Any], row: Callable[[Any], Sequence[Any]]) -> pa.Table:
    rows = map(row, values)
    batches = []
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        batches.append(pa.record_batch(arrays, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def _history_row(row: tuple[bytes, History]) -> Sequence[Any]:
    fingerprint, past = row
    return (
        past.url,
        past.outcome.name.lower(),
        _microseconds(past.visited_at),
        past.status,
        past.reason,
        past.detail,
        past.visits,
        past.depth,
        past.referrer,
        # As in `pages`, so that the two can be joined.
        f"sha1:{b32encode(past.digest).decode()}" if past.digest else "",
        past.original,
        past.etag,
        past.last_modified,
        _microseconds(past.next_at),
        fingerprint.hex(),
        registered_domain(host_of_origin(origin_of(past.url))),
        _microseconds(past.changed_at),
        past.changes,
        DAY * past.rate_shape / past.rate_scale if past.rate_scale else None,
        past.weight or None,
        past.interval or None,
        past.group.hex(),
        past.failures,
        is_gone(past),
    )


def _host_row(regions: RegionRules, host: HostRecord) -> Sequence[Any]:
    return (
        host.name,
        host.queued,
        host.visits,
        host.pages,
        host.failures,
        _microseconds(host.free_at),
        host.delay_seconds,
        host.crawl_delay_seconds,
        host.fetch_seconds,
        bool(host.parked),
        _microseconds(max((state.expires_at for state in host.origins.values()), default=0.0)),
        any(state.is_pending for state in host.origins.values()),
        host.address,
        host.slowdown,
        host.ban.code,
        host.ban.detail,
        regions.of(host.name) or host.nearest,
        host.dropped,
    )


def _microseconds(at: float) -> int | None:
    return round(at * 1_000_000) if at else None
