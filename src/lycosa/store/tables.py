"""The tables `pages`, `links` and `items` as Parquet parts, written row group by row group.

A part is one file in `pages` and, if it has links or items, one of the same name in `links` or `items`. All carry
`.open` until they are complete. Columns hold the values of `Visit` as they are: an empty string or -1 where there is
none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from sys import getsizeof
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lycosa.model import Items, Links, OutcomeKind, Texts, Visit
from lycosa.store.columns import TextColumn, new_text_column
from lycosa.store.files import OPEN, publish
from lycosa.store.folder import PARQUET, CrawlFolder
from lycosa.store.warc import microseconds

_WORD = pa.dictionary(pa.int32(), pa.string())
_TEXTS = (_WORD, pa.string())
_MOMENT = pa.timestamp("us", tz="UTC")
_TYPES: dict[str, pa.DataType] = {
    "fetched_at": _MOMENT,
    "outcome": _WORD,
    "status": pa.int32(),
    "media_type": _WORD,
    "charset": _WORD,
    "language": _WORD,
    "depth": pa.int32(),
    "priority": pa.int32(),
    "out_links": pa.int32(),
    "fetch_seconds": pa.float32(),
    "body_bytes": pa.int64(),
    "truncated": _WORD,
    "reason": _WORD,
    "warc_file": _WORD,
    "warc_offset": pa.int64(),
    "warc_length": pa.int64(),
    "noindex": pa.bool_(),
    "usage": _WORD,
    "changed": pa.float32(),
    "relevance": pa.float32(),
    "promise": pa.float32(),
}
_FIELDS = [field.name for field in msgspec.structs.fields(Visit)]
# `text` stands after the description; what came later stands at the end.
_NAMES = [name for field in _FIELDS for name in ((field, "text") if field == "description" else (field,))]
PAGES: pa.Schema = pa.schema([pa.field(name, _TYPES.get(name, pa.string())) for name in [*_NAMES, *Texts._fields[1:]]])
LINKS: pa.Schema = pa.schema(
    [
        pa.field("source", _WORD),
        pa.field("target", pa.string()),
        pa.field("anchor", pa.string()),
        pa.field("rel", _WORD),
        pa.field("fetched_at", _MOMENT),
    ]
)
ITEMS: pa.Schema = pa.schema(
    [
        pa.field("url", _WORD),
        pa.field("host", _WORD),
        pa.field("fetched_at", _MOMENT),
        pa.field("number", pa.int32()),  # of those of its page
        pa.field("item", pa.string()),  # a JSON object
        pa.field("page_row", pa.int32()),  # of `pages`, in the part of the same name
    ]
)
_OUTCOMES = {kind: kind.name.lower() for kind in OutcomeKind}

# Measured on real text: zstd 1 takes 4.0 ns a byte to 43 %, snappy 3.7 to 58 %, zstd 3 and more twice the time.
_COMPRESSION: dict[str, Any] = {"compression": "zstd", "compression_level": 1}
# Columns whose values hardly repeat within a row group: a dictionary would be built and thrown away.
_UNIQUE = {
    "url",
    "title",
    "description",
    *Texts._fields,
    "summary",
    "digest",
    "text_digest",
    "etag",
    "target",
    "anchor",
    "item",
}
# Smallest and largest value help a reader to pass over row groups only where rows arrive in some order.
_STATISTICS = ["fetched_at", "outcome", "status", "depth", "warc_offset"]

# What a buffered row takes beside its texts: 33 fields; a link: two strings and three references.
_ROW_BYTES, _LINK_BYTES = 2_000, 200
MAX_BUFFER_BYTES = 16 * 1024 * 1024


class RowBatch(NamedTuple):
    """Rows on their way to one row group of each table."""

    visits: list[tuple[Any, ...]]
    texts: tuple[TextColumn, ...]
    link_counts: list[int]
    targets: TextColumn
    anchors: TextColumn
    rels: TextColumn
    items: list[tuple[Any, ...]]


class TablePart:
    """One Parquet part of all tables: `add` and `take` on one thread; `write`, `finish`, `abandon` on another."""

    def __init__(self, folder: CrawlFolder, name: str) -> None:
        self.name = name
        self.rows = 0
        self.newest_at = 0.0
        self.buffered_bytes = 0
        # False while rows are being written, and ever after if that failed: then only the journal has them all.
        self.is_whole = True
        self._batch = _empty_batch()
        self._pages = _Table(folder.pages / (name + PARQUET + OPEN), PAGES)
        self._links = _Table(folder.links / (name + PARQUET + OPEN), LINKS)
        self._items = _Table(folder.items / (name + PARQUET + OPEN), ITEMS)

    def add(self, visit: Visit, texts: Texts, links: Links, items: Items = ()) -> None:
        """Buffer a row of `pages`, and the rows of `links` and `items` that come from it."""
        batch = self._batch
        batch.visits.append(msgspec.structs.astuple(visit))
        for column, text in zip(batch.texts, texts, strict=True):
            column.append(text)
        batch.link_counts.append(len(links.targets))
        batch.targets.extend(links.targets)
        batch.anchors.extend(links.anchors)
        batch.rels.extend(links.rels)
        batch.items.extend(
            (visit.url, visit.host, microseconds(visit.fetched_at), number, item, self.rows)
            for number, item in enumerate(items)
        )
        self.rows += 1
        self.newest_at = max(self.newest_at, visit.fetched_at)
        self.buffered_bytes += _ROW_BYTES + sum(map(getsizeof, texts)) + _LINK_BYTES * len(links.targets)
        self.buffered_bytes += sum(map(getsizeof, items)) + _LINK_BYTES * len(items)

    def take(self) -> RowBatch:
        """What was added since the last call, to be given to `write`."""
        batch, self._batch = self._batch, _empty_batch()
        self.buffered_bytes = 0
        return batch

    def write(self, batch: RowBatch) -> None:
        """Write a row group of each table."""
        self.is_whole = False
        if batch.visits:
            self._pages.write(pages_table(batch))
        if len(batch.targets):
            self._links.write(links_table(batch))
        if batch.items:
            self._items.write(items_table(batch))
        self.is_whole = True

    def finish(self) -> None:
        """Make all files appear under their names, `pages` last: its presence says that the part is complete."""
        assert self.is_whole
        self._links.finish()
        self._items.finish()
        self._pages.finish()

    def abandon(self) -> None:
        """Leave nothing behind; the journal still has the rows."""
        self.is_whole = False
        self._links.abandon()
        self._items.abandon()
        self._pages.abandon()


class _Table:
    """One Parquet file, made when the first rows come."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._schema = schema
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._writer = pq.ParquetWriter(
                self._path,
                self._schema,
                use_dictionary=[name for name in self._schema.names if name not in _UNIQUE],
                write_statistics=[name for name in self._schema.names if name in _STATISTICS],
                **_COMPRESSION,
            )
        self._writer.write_table(rows)

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
            publish(self._path)

    def abandon(self) -> None:
        if self._writer is not None:
            # The disk that refused the rows refuses the footer too.
            with suppress(OSError):
                self._writer.close()
        self._path.unlink(missing_ok=True)


def pages_table(batch: RowBatch) -> pa.Table:
    """The rows of `pages` of a batch."""
    columns = _columns(batch.visits)
    texts = dict(zip(Texts._fields, batch.texts, strict=True))
    return pa.table(
        [
            _text_array(texts[field.name]) if field.name in texts else _array(columns[field.name], field.type)
            for field in PAGES
        ],
        schema=PAGES,
    )


def waiting_table(visits: Sequence[Visit]) -> pa.Table:
    """Rows of `pages` whose text is not at hand, with plain strings for columns."""
    if not visits:
        return plain(PAGES).empty_table()
    columns = _columns([msgspec.structs.astuple(visit) for visit in visits])
    columns |= {name: [None] * len(visits) for name in Texts._fields}
    return pa.table([_array(columns[field.name], field.type) for field in plain(PAGES)], schema=plain(PAGES))


def visits_of(part: Path) -> Iterator[tuple[Visit, bool]]:
    """The rows of a part of `pages`, each with whether any of its texts was kept."""
    table = pq.read_table(part)
    columns = {name: table.column(name).to_pylist() for name in (*_FIELDS, *Texts._fields)}
    columns["fetched_at"] = [at / 1_000_000 for at in table.column("fetched_at").cast(pa.int64()).to_pylist()]
    columns["outcome"] = [OutcomeKind[word.upper()] for word in columns["outcome"]]
    texts = zip(*(columns[name] for name in Texts._fields), strict=True)
    for values, kept in zip(zip(*(columns[name] for name in _FIELDS), strict=True), texts, strict=True):
        yield Visit(*values), any(kept)


def outcomes_of(part: Path) -> Counter[str]:
    """How many rows of each outcome a part of `pages` has."""
    counts = pq.read_table(part, columns=["outcome"]).column("outcome").value_counts().to_pylist()
    return Counter({each["values"]: each["counts"] for each in counts})


def ends_of(part: Path) -> dict[str, int]:
    """Up to where each WARC file must reach, by the rows of a part of `pages`."""
    table = _places(part)
    ends = table.group_by("warc_file").aggregate([("end", "max")])
    return dict(zip(ends.column("warc_file").to_pylist(), ends.column("end_max").to_pylist(), strict=True))


def places_of(part: Path) -> Iterator[tuple[str, str, float, str, int]]:
    """Of each row with a record: URL, outcome, moment, and the file and end of the record."""
    table = _places(part, "url", "outcome", "fetched_at")
    moments = (at / 1_000_000 for at in table.column("fetched_at").cast(pa.int64()).to_pylist())
    url, outcome, file, end = (table.column(name).to_pylist() for name in ("url", "outcome", "warc_file", "end"))
    yield from zip(url, outcome, moments, file, end, strict=True)


def _places(part: Path, *others: str) -> pa.Table:
    # Imported here, since only a start that finds parts needs it.
    import pyarrow.compute as pc

    table = pq.read_table(part, columns=["warc_file", "warc_offset", "warc_length", *others])
    table = table.filter(pc.greater_equal(table.column("warc_offset"), 0))
    file = table.column("warc_file").cast(pa.string())
    end = pc.add(table.column("warc_offset").cast(pa.int64()), table.column("warc_length").cast(pa.int64()))
    return table.drop(["warc_file"]).append_column("warc_file", file).append_column("end", end)


def plain(schema: pa.Schema) -> pa.Schema:
    """A schema without dictionaries, as SQL sees it."""
    return pa.schema([field.with_type(pa.string()) if field.type == _WORD else field for field in schema])


def _columns(visits: list[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
    columns: dict[str, Sequence[Any]] = dict(zip(_FIELDS, zip(*visits, strict=True), strict=True))
    columns["fetched_at"] = [microseconds(at) for at in columns["fetched_at"]]
    columns["outcome"] = [_OUTCOMES[kind] for kind in columns["outcome"]]
    return columns


def links_table(batch: RowBatch) -> pa.Table:
    """The rows of `links` of a batch; source and moment are repeated by index, never as Python objects."""
    urls = _FIELDS.index("url")
    moments = _FIELDS.index("fetched_at")
    page_of_link = np.repeat(np.arange(len(batch.visits), dtype=np.int32), batch.link_counts)
    at = np.array([microseconds(row[moments]) for row in batch.visits], dtype=np.int64)
    sources = _array([row[urls] for row in batch.visits], pa.string())
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(page_of_link), sources),
        _text_array(batch.targets),
        _text_array(batch.anchors),
        _text_array(batch.rels).dictionary_encode(),
        pa.array(at[page_of_link], _MOMENT),
    ]
    return pa.table(columns, schema=LINKS)


def items_table(batch: RowBatch) -> pa.Table:
    """The rows of `items` of a batch."""
    columns = zip(*batch.items, strict=True)
    return pa.table([_array(column, field.type) for column, field in zip(columns, ITEMS, strict=True)], schema=ITEMS)


def waiting_items_table(visits: Sequence[tuple[Visit, Items]]) -> pa.Table:
    """Rows of `items` that are in no part yet, with plain strings for columns."""
    rows = [
        (visit.url, visit.host, microseconds(visit.fetched_at), number, item, -1)
        for visit, items in visits
        for number, item in enumerate(items)
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(ITEMS)
    schema = plain(ITEMS)
    return pa.table([_array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema)


def items_of(part: Path) -> dict[int, Items]:
    """The items of a part, by the row of `pages` that they belong to."""
    table = pq.read_table(part, columns=["page_row", "item"])
    found: dict[int, list[str]] = {}
    for row, item in zip(table.column("page_row").to_pylist(), table.column("item").to_pylist(), strict=True):
        found.setdefault(row, []).append(item)
    return {row: tuple(items) for row, items in found.items()}


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if kind not in _TEXTS or None in values:
        return pa.array(values, kind)
    # Arrow asks of every value what it is, which takes four times as long.
    column = new_text_column()
    column.extend(values)
    texts = _text_array(column)
    return texts.dictionary_encode() if kind == _WORD else texts


def _text_array(column: TextColumn) -> pa.Array:
    count, (ends, texts) = len(column), column.take()
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(texts))


def _empty_batch() -> RowBatch:
    texts = tuple(new_text_column() for _ in Texts._fields)
    return RowBatch([], texts, [], new_text_column(), new_text_column(), new_text_column(), [])
