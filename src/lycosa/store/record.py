"""Reading WARC records back: gzip members, the records in them, and the exchanges those hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
from isal import isal_zlib

from lycosa.errors import LycosaError, VisitError
from lycosa.fetch.coding import content_codings, decode
from lycosa.model import RenderCause, RenderEnd, Rendering, Response, Visit
from lycosa.store.folder import CrawlFolder

# The stubs call it an instance.
_IsalError: type[Exception] = isal_zlib.error  # type: ignore[assignment]
_GZIP = 31
_STEP = 128 * 1024
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")
_RENAMED = re.compile(rb"(?m)^X-Crawler-Transfer-Encoding:")
_STATUS = re.compile(rb"\S+ +(\d{3})(?!\d)")
_CONTROLS = dict.fromkeys([*range(32), 127], " ")
_UNKNOWN_TYPE = "application/octet-stream"
MAX_BODY_BYTES = 256 * 1024 * 1024


class RecordLost(LycosaError):
    """A WARC record is not where it should be, or not whole."""


class WarcMember(NamedTuple):
    """A whole gzip member: where it begins, where the next one begins, and what it holds."""

    offset: int
    end: int
    content: bytes


class Record(msgspec.Struct, frozen=True):
    """One WARC record. Header names are lower case."""

    file: str
    offset: int
    length: int
    headers: dict[str, str]
    block: bytes

    @property
    def kind(self) -> str:
        return self.headers.get("warc-type", "")

    @property
    def is_own_resource(self) -> bool:
        """Whether it is a file that a visit brought, and not what a browser was given for a page."""
        return self.kind == "resource" and "warc-concurrent-to" not in self.headers

    @property
    def is_answer(self) -> bool:
        """Whether it is what a visit brought."""
        return self.kind in ("response", "revisit") or self.is_own_resource

    @property
    def url(self) -> str:
        # Written in angle brackets by writers that follow the grammar of WARC 1.0 to the letter.
        return self.headers.get("warc-target-uri", "").strip("<>")


def read_record(folder: CrawlFolder, file: str, offset: int, length: int = 0) -> Record:
    """The record of a crawl at an offset; raises `RecordLost`. A length spares reading too much."""
    if "/" in file or not file or offset < 0:
        raise RecordLost(f"{file!r} at {offset}: not the place of a record")
    try:
        with folder.warc_path(file).open("rb") as stream:
            member = next(members(stream, offset, length or _STEP), None)
    except (FileNotFoundError, IsADirectoryError):
        raise RecordLost(f"{file}: there is no such file in {folder.warc}") from None
    if member is None or (length and member.end - offset != length):
        raise RecordLost(f"{file} at {offset}: the record is not whole")
    return parse_record(file, member)


def read_response(
    folder: CrawlFolder, file: str, offset: int, length: int = 0, *, max_body_bytes: int = MAX_BODY_BYTES
) -> Response:
    """The exchange kept at an offset, a revisit completed by the payload it refers to; raises `RecordLost`."""
    return complete(folder, read_record(folder, file, offset, length), max_body_bytes)


def complete(folder: CrawlFolder, record: Record, max_body_bytes: int = MAX_BODY_BYTES) -> Response:
    """The exchange a record tells of, with the payload of the original if it is a revisit; raises `RecordLost`."""
    if record.is_own_resource:
        return _response_of_resource(record, max_body_bytes)
    head, payload = split_block(record.block)
    if original := original_of(folder, record):
        payload = split_block(original.block)[1]
    return response_of(record, head, payload, max_body_bytes)


def read_visit(folder: CrawlFolder, visit: Visit, *, max_body_bytes: int = MAX_BODY_BYTES) -> Response:
    """The exchange of a visit, with what a browser made of it; raises `RecordLost`."""
    record = read_record(folder, visit.warc_file, visit.warc_offset, visit.warc_length)
    return complete_visit(folder, visit, record, max_body_bytes)


def complete_visit(folder: CrawlFolder, visit: Visit, record: Record, max_body_bytes: int) -> Response:
    """The exchange of a visit whose record is at hand; raises `RecordLost`."""
    response = complete(folder, record, max_body_bytes)
    if not visit.rendered:
        return response
    html = _rendered_html(folder, record)
    rendering = Rendering(RenderCause(visit.render_cause), RenderEnd(visit.rendered), html)
    return msgspec.structs.replace(response, rendering=rendering)


def original_of(folder: CrawlFolder, record: Record) -> Record | None:
    """The record whose payload a revisit shares, or None if the record is its own."""
    file = record.headers.get("warc-refers-to-filename", "")
    offset = record.headers.get("warc-refers-to-file-offset", "")
    if record.kind != "revisit" or not offset.isdecimal():
        return None
    return read_record(folder, file, int(offset))


def _rendered_html(folder: CrawlFolder, record: Record) -> bytes:
    """What a browser made of the response of a record, in UTF-8; empty if it was not rendered, or to no use."""
    with folder.warc_path(record.file).open("rb") as stream:
        # Behind its request.
        for member in islice(members(stream, record.offset + record.length), 2):
            found = parse_record(record.file, member)
            if found.kind == "conversion" and found.headers.get("warc-refers-to") == record.headers["warc-record-id"]:
                return found.block
    return b""


def response_of(record: Record, head: bytes, payload: bytes, max_body_bytes: int = MAX_BODY_BYTES) -> Response:
    """The exchange a record tells of; the head as it came, the body without its content codings."""
    head = _RENAMED.sub(b"Transfer-Encoding:", head)
    headers = header_lines(head)
    status = _STATUS.match(head)
    return Response(
        url=record.url,
        status=int(status[1]) if status else 0,
        headers=headers,
        body=_decoded(payload, headers, max_body_bytes),
        raw_body=payload,
        head=head,
        request_head=b"",
        address=record.headers.get("warc-ip-address", ""),
        protocol=record.headers.get("warc-protocol", ""),
        started_at=moment(record.headers.get("warc-date", "")),
        seconds=0.0,
        # On a revisit it says only that the payload lies elsewhere.
        truncated="" if record.kind == "revisit" else record.headers.get("warc-truncated", ""),
    )


def _response_of_resource(record: Record, max_body_bytes: int) -> Response:
    """A file that came by a protocol without heads."""
    kind, body = record.headers.get("content-type", ""), record.block[:max_body_bytes]
    return Response(
        url=record.url,
        status=200,
        headers=[("content-type", "" if kind == _UNKNOWN_TYPE else kind)],
        body=body,
        raw_body=body,
        head=b"",
        request_head=b"",
        address=record.headers.get("warc-ip-address", ""),
        protocol=record.url.partition(":")[0],
        started_at=moment(record.headers.get("warc-date", "")),
        seconds=0.0,
        truncated=record.headers.get("warc-truncated", ""),
    )


def records(path: Path) -> Iterator[Record]:
    """The whole records of a WARC file in order; a torn end is passed over, as in a file being written."""
    with path.open("rb") as stream:
        if stream.read(2) != b"\x1f\x8b":
            raise RecordLost(f"{path}: not a gzipped WARC file")
        for member in members(stream):
            yield parse_record(path.name, member)


def members(stream: BinaryIO, offset: int = 0, first_read: int = _STEP) -> Iterator[WarcMember]:
    """The whole gzip members of a file from an offset on; ends at the first that is torn or is no gzip."""
    stream.seek(offset)
    data = stream.read(first_read)
    while data:
        inflater = isal_zlib.decompressobj(_GZIP)
        parts: list[bytes] = []
        position = offset
        try:
            while not inflater.eof:
                if not data:
                    return
                position += len(data)
                parts.append(inflater.decompress(data))
                data = b"" if inflater.eof else stream.read(_STEP)
        except _IsalError:
            return
        data = inflater.unused_data
        end = position - len(data)
        yield WarcMember(offset, end, b"".join(parts))
        offset = end
        data = data or stream.read(_STEP)


def parse_record(file: str, member: WarcMember) -> Record:
    """The record in a member; raises `RecordLost` where its header and its length do not agree."""
    content = member.content
    if not content.startswith(b"WARC/1."):
        raise RecordLost(f"{file} at {member.offset}: not a WARC record")
    head, block = split_block(content)
    headers = dict(header_lines(head, "utf-8"))
    size = headers.get("content-length", "")
    if not size.isdecimal() or int(size) > len(block):
        raise RecordLost(f"{file} at {member.offset}: shorter than its header says")
    if block[int(size) :].strip(b"\r\n"):
        raise RecordLost(f"{file} at {member.offset}: more than one record in a gzip member")
    return Record(file, member.offset, member.end - member.offset, headers, block[: int(size)])


def split_block(block: bytes) -> tuple[bytes, bytes]:
    """Head and payload of an HTTP message or a record; the blank line between belongs to neither."""
    blank = _BLANK_LINE.search(block)
    return (block[: blank.start()], block[blank.end() :]) if blank else (block, b"")


def header_lines(head: bytes, encoding: str = "latin-1") -> list[tuple[str, str]]:
    """Names (lower case) and values below the first line; folded lines joined, control characters blanks."""
    lines: list[tuple[str, str]] = []
    for line in head.split(b"\n")[1:]:
        text = line.decode(encoding, "replace").translate(_CONTROLS)
        if text[:1] in (" ", "\t") and lines:
            name, value = lines[-1]
            lines[-1] = (name, f"{value} {text.strip()}".strip())
        else:
            name, _, value = text.partition(":")
            lines.append((name.strip().lower(), value.strip()))
    return lines


def _decoded(payload: bytes, headers: list[tuple[str, str]], max_bytes: int) -> bytes:
    """The payload without its content codings; as it came where they are not ours to take off."""
    try:
        codings = content_codings(value for name, value in headers if name == "content-encoding")
    except VisitError:
        codings = []
    return decode(payload, codings, max_bytes).body


def moment(date: str) -> float:
    """A WARC-Date as POSIX seconds; 0 where there is none that can be read."""
    try:
        return datetime.fromisoformat(date).timestamp()
    except ValueError:
        return 0.0
