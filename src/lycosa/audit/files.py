"""What lies in a crawl's folder, read without the code that wrote it: WARC records, table rows, files left open."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from fastwarc.warc import ArchiveIterator, WarcRecordType

from lycosa.audit.report import AuditReport, Rule
from lycosa.model import Failure
from lycosa.store.folder import CrawlFolder
from lycosa.store.logbook import RecordsLeft, RecordsLost, RowsLeft, events

_GZIP = 31
_STEP = 256 * 1024
_NEVER_SENT = {Failure.DNS, Failure.ADDRESS}


class AuditRow(NamedTuple):
    """A row of the pages table, as far as an audit needs it."""

    url: str
    host: str
    fetched_at: float
    outcome: str
    status: int
    reason: str
    warc_file: str
    warc_offset: int
    warc_length: int
    depth: int
    folder: CrawlFolder

    @property
    def record_end(self) -> int:
        """Where its record ends in its WARC file."""
        return self.warc_offset + self.warc_length

    @property
    def was_sent(self) -> bool:
        """Whether a request left for the host: names that do not exist and closed addresses are asked for nothing."""
        if self.url.startswith("file:"):
            return False
        return self.outcome != "refused" and not (self.status == 0 and self.reason in _NEVER_SENT)


class KeptRecord(NamedTuple):
    """A response or revisit record: where it lies and what it is about."""

    folder: CrawlFolder
    file: str
    offset: int
    length: int
    url: str


# Where a record lies: folder, file, offset.
Place = tuple[CrawlFolder, str, int]


class _GzipMember(NamedTuple):
    offset: int
    length: int
    content: bytes


class _Broken(Exception):
    """A gzip member is damaged or ends early."""


def rows_of(folder: CrawlFolder, report: AuditReport) -> list[AuditRow]:
    """Every row of the pages table; files that cannot be read are findings."""
    rows: list[AuditRow] = []
    for path in sorted(folder.pages.glob("*.parquet")):
        try:
            rows += _rows(folder, path)
        except (pa.ArrowException, OSError, KeyError) as error:
            report.add(Rule.INVALID_PARQUET, path.name, str(error).splitlines()[0])
    for path in sorted([*folder.links.glob("*.parquet"), *folder.items.glob("*.parquet")]):
        try:
            # Every column of every group, as a reader would.
            for _ in pq.ParquetFile(path).iter_batches():
                pass
        except (pa.ArrowException, OSError) as error:
            report.add(Rule.INVALID_PARQUET, f"{path.parent.name}/{path.name}", str(error).splitlines()[0])
    return rows


def records_of(folder: CrawlFolder, report: AuditReport) -> list[KeptRecord]:
    """Every response and revisit record; files and records that are not whole are findings."""
    kept: list[KeptRecord] = []
    for path in folder.warc_files():
        before = len(kept)
        seen = 0
        try:
            for member in _members(path):
                seen += 1
                _look_at(folder, path.name, member, kept, report)
        except _Broken as error:
            report.add(Rule.INVALID_WARC, path.name, str(error))
            continue
        if not seen:
            report.add(Rule.INVALID_WARC, path.name, "it is empty")
        elif (others := _second_count(path)) != len(kept) - before:
            report.add(Rule.INVALID_WARC, path.name, f"zlib reads {len(kept) - before} responses, fastwarc {others}")
    return kept


def uncounted_records(folder: CrawlFolder) -> list[Place]:
    """Where records lie whose visits did not count, by the logbooks of the folder: they have no rows."""
    found: list[Place] = []
    for seat in (folder, *folder.seats()):
        for event in events(seat):
            if isinstance(event, RowsLeft | RecordsLeft):
                found += [(folder, file, offset) for file, offset in event.records]
    return found


def lost_ends(folder: CrawlFolder) -> dict[tuple[CrawlFolder, str], int]:
    """Where WARC files end that were cut or taken away, by the logbook: what lay beyond was asked for again."""
    return {(folder, event.file): event.bytes for event in events(folder) if isinstance(event, RecordsLost)}


def look_for_open_files(folder: CrawlFolder, report: AuditReport) -> None:
    """Files that were not given their final names. Only wrong while no crawl runs."""
    for part in (folder.warc, folder.pages, folder.links, folder.items):
        for path in sorted(part.glob("*.open")):
            report.add(Rule.LEFT_OPEN, f"{part.name}/{path.name}", f"{path.stat().st_size:,} bytes")


def _rows(folder: CrawlFolder, path: Path) -> list[AuditRow]:
    # All columns are read, so that damage anywhere is met; few are kept.
    table = pq.read_table(path)
    columns: dict[str, list[Any]] = {name: table.column(name).to_pylist() for name in AuditRow._fields[:-1]}
    columns["fetched_at"] = [moment.timestamp() for moment in columns["fetched_at"]]
    columns["folder"] = [folder] * len(table)
    return [AuditRow(*values) for values in zip(*columns.values(), strict=True)]


def _members(path: Path) -> Iterator[_GzipMember]:
    """The gzip members of a file; raises `_Broken` at the first that is not whole."""
    with path.open("rb") as stream:
        offset, data = 0, stream.read(_STEP)
        while data:
            inflater, parts, taken = zlib.decompressobj(_GZIP), [], 0
            while not inflater.eof:
                if not data:
                    raise _Broken(f"the member at {offset} ends early")
                try:
                    parts.append(inflater.decompress(data))
                except zlib.error as error:
                    raise _Broken(f"the member at {offset} is damaged: {error}") from None
                taken += len(data)
                data = stream.read(_STEP) if not inflater.eof else b""
            length = taken - len(inflater.unused_data)
            yield _GzipMember(offset, length, b"".join(parts))
            offset += length
            data = inflater.unused_data or stream.read(_STEP)


def _look_at(folder: CrawlFolder, file: str, member: _GzipMember, kept: list[KeptRecord], report: AuditReport) -> None:
    head, blank, rest = member.content.partition(b"\r\n\r\n")
    version, *lines = head.decode("utf-8", "replace").split("\r\n")
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    size = fields.get("content-length", "")
    place = f"{file} at {member.offset}"
    if not version.startswith("WARC/1.") or not blank or not size.isdecimal():
        report.add(Rule.INVALID_WARC, place, "it does not begin like a record")
        return
    if rest[int(size) :] != b"\r\n\r\n":
        report.add(Rule.INVALID_WARC, place, "its length is not what its header says")
        return
    kind, url = fields.get("warc-type", ""), fields.get("warc-target-uri", "")
    # What came without a head is a resource; those that were fetched for another page's sake have no rows.
    is_plain = kind == "resource" and "warc-concurrent-to" not in fields
    if kind not in ("response", "revisit") and not is_plain:
        return
    kept.append(KeptRecord(folder, file, member.offset, member.length, url))
    if kind == "response" and not _is_digest_right(fields.get("warc-payload-digest", ""), rest[: int(size)]):
        report.add(Rule.INVALID_WARC, place, "its payload digest is wrong")


def _is_digest_right(digest: str, block: bytes) -> bool:
    method, _, value = digest.partition(":")
    if method != "sha1":
        return not digest
    payload = block.partition(b"\r\n\r\n")[2]
    return base64.b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode() == value


def _second_count(path: Path) -> int:
    kinds = WarcRecordType.response | WarcRecordType.revisit | WarcRecordType.resource
    with path.open("rb") as stream:
        found = ArchiveIterator(stream, record_types=kinds, parse_http=False)
        return sum("WARC-Concurrent-To" not in each.headers for each in found)
