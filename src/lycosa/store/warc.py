"""Writing WARC 1.1: per fetch a response (or revisit) and a request record, one gzip member each.

Records are formatted here as bytes rather than through a library: a fetch costs two joins and two deflates,
and nothing of what a server sent can reach the header of a record unchecked. It does not know what a page is.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha1
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from lycosa.model import Response
from lycosa.settings import Settings
from lycosa.store.digest import base32, digests, plain_record, record
from lycosa.store.files import OPEN, AppendFile, FileNames, publish
from lycosa.store.folder import WARC, CrawlFolder
from lycosa.version import VERSION

IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"

# Their files are kept as resources, and not as responses.
HEADLESS = frozenset(("ftp", "file"))
UNKNOWN_TYPE = "application/octet-stream"

# Level 1 of isal takes 64 µs for 25 KB of HTML; level 2 saves 2 % of the disk for 8 % more time, level 0 costs 32 %.
_LEVEL = 1
# A request is too short to earn Huffman tables of its own: 3 µs and 555 bytes instead of 13 µs and 404.
_REQUEST_LEVEL = 0
_GZIP = 31  # zlib's window bits for "with a gzip header"
_END = b"\r\n\r\n"
# A reference costs about as many bytes as so short a payload.
_MIN_REVISIT_BYTES = 512
_MAX_PAYLOADS = 20_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CONTROL = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029]")
_BLANK_LINES = re.compile(rb"(?:\r?\n){2,}")
_TRANSFER = re.compile(rb"(?im)^transfer-encoding[ \t]*:")


class Location(NamedTuple):
    """Where a record lies: a file of the `warc` folder, and the gzip member in it."""

    file: str
    offset: int
    length: int


class Payload(NamedTuple):
    """A payload this writer has written in full, to which identical ones refer."""

    url: str
    fetched_at: int
    file: str
    offset: int


class Exchange(NamedTuple):
    """What the records of one exchange have in common, fit for their headers."""

    uri: str
    date: str
    response_id: str
    request_id: str


class WarcWriter:
    """Appends exchanges to the WARC files of one worker and closes each at `warc_bytes`.

    `append`, `stage` and `finish` belong to one thread, `commit` to another (see `AppendFile`).
    """

    def __init__(self, folder: CrawlFolder, worker: int, settings: Settings, clock: Callable[[], float]) -> None:
        self._folder = folder
        self._settings = settings
        self._clock = clock
        self._names = FileNames(folder.seat, worker, clock)
        self._name = ""
        self._file: AppendFile | None = None
        self._staged: AppendFile | None = None
        # Full files, staged to their last byte.
        self._full: deque[AppendFile] = deque()
        self._payloads: dict[str, Payload] = {}
        self._ids = _many_ids()

    def append(self, response: Response, fetched_at: float, body_digest: str = "") -> Location:
        """Buffer the records of one exchange; returns where the response or revisit record will lie.

        `body_digest` is that of the body if it is known already: `sha1:` and 32 letters.
        """
        file = self._writable()
        at = microseconds(fetched_at)
        about = Exchange(clean_uri(response.url), date(at), next(self._ids), next(self._ids))
        if is_headless(response):
            member = file_record(response, about)
            return Location(self._name, file.append(member), len(member))
        digest = payload_digest(response, body_digest)
        may_be_shared = _may_be_shared(response)
        seen = self._seen(digest) if may_be_shared else None
        member = response_record(response, about, digest, seen)
        offset = file.append(member)
        if may_be_shared and seen is None:
            self._remember(digest, Payload(response.url, at, self._name, offset))
        if response.request_head:
            file.append(request_record(response, about))
        for further in rendering_records(response, about):
            file.append(further)
        return Location(self._name, offset, len(member))

    def stage(self) -> None:
        """Make everything appended so far part of the next `commit`."""
        if self._file is not None:
            self._file.stage()
        self._staged = self._file

    def commit(self) -> None:
        """Write what is staged, close full files; on return it is as durable as the settings say."""
        is_power_safe = self._settings.durability == "power"
        while self._full:
            file = self._full[0]
            file.flush()
            file.close()
            publish(file.path, durably=is_power_safe)
            self._full.popleft()
        if (staged := self._staged) is not None:
            staged.flush()
            if is_power_safe:
                staged.sync()

    def finish(self) -> None:
        """Let the next commit close the file being written."""
        if self._file is not None:
            self._file.stage()
            self._full.append(self._file)
            self._file = None

    def _writable(self) -> AppendFile:
        if self._file is not None and self._file.size >= self._settings.warc_bytes:
            self.finish()
        if self._file is None:
            name = self._names.new(self._is_taken) + WARC
            self._file = AppendFile(self._folder.warc / (name + OPEN))
            self._file.append(warcinfo_record(name, self._settings.user_agent, microseconds(self._clock())))
            self._name = name
        return self._file

    def _is_taken(self, name: str) -> bool:
        return any((self._folder.warc / (name + suffix)).exists() for suffix in (WARC, WARC + OPEN))

    def _seen(self, digest: str) -> Payload | None:
        seen = self._payloads.pop(digest, None)
        if seen is not None:
            self._payloads[digest] = seen  # now the last to be forgotten
        return seen

    def _remember(self, digest: str, payload: Payload) -> None:
        if len(self._payloads) >= _MAX_PAYLOADS:
            del self._payloads[next(iter(self._payloads))]
        self._payloads[digest] = payload


def response_record(response: Response, about: Exchange, digest: str, seen: Payload | None) -> bytes:
    """The response record of an exchange, or the revisit record where its payload need not be kept again."""
    head = response_head(response)
    if seen is not None:
        return _member(
            _fields(response, about, "revisit") + f"WARC-Payload-Digest: {digest}\r\n" + _refers_to(seen), head
        )
    if response.status == 304:
        profile = f"WARC-Profile: {NOT_MODIFIED}\r\nWARC-Refers-To-Target-URI: {about.uri}\r\n"
        return _member(_fields(response, about, "revisit") + profile, head, response.raw_body, response.block_digest)
    fields = _fields(response, about, "response") + f"WARC-Payload-Digest: {digest}\r\n"
    if response.truncated:
        fields += f"WARC-Truncated: {clean_value(response.truncated)}\r\n"
    return _member(fields, head, response.raw_body, response.block_digest)


def request_record(response: Response, about: Exchange) -> bytes:
    """The request record of an exchange."""
    fields = (
        f"WARC-Type: request\r\nWARC-Record-ID: {about.request_id}\r\nWARC-Date: {about.date}\r\n"
        f"WARC-Target-URI: {about.uri}\r\nWARC-Concurrent-To: {about.response_id}\r\n"
        "Content-Type: application/http; msgtype=request\r\n"
    )
    return _member(fields, response.request_head.rstrip(b"\r\n"), _END + response.request_body, level=_REQUEST_LEVEL)


def rendering_records(response: Response, about: Exchange) -> Iterator[bytes]:
    """What a browser made of the response, as a conversion of it, and each resource that it was given for that.

    The conversion comes first: whoever has the response finds it behind the request.
    """
    if (rendering := response.rendering) is None:
        return
    if rendering.html:
        fields = (
            f"WARC-Type: conversion\r\nWARC-Record-ID: {next(_many_ids())}\r\nWARC-Date: {about.date}\r\n"
            f"WARC-Target-URI: {about.uri}\r\nWARC-Refers-To: {about.response_id}\r\n"
            "Content-Type: text/html; charset=utf-8\r\n"
        )
        yield _member(fields, rendering.html)
    for resource in rendering.resources:
        if 200 <= resource.status < 300:
            yield _resource_record(resource, about)


def _resource_record(resource: Response, about: Exchange) -> bytes:
    """What the body was, without its coding and its head: it has no row of its own to be found by."""
    fields = (
        f"WARC-Type: resource\r\nWARC-Record-ID: {next(_many_ids())}\r\n"
        f"WARC-Date: {date(microseconds(resource.started_at))}\r\nWARC-Target-URI: {clean_uri(resource.url)}\r\n"
        f"WARC-Concurrent-To: {about.response_id}\r\n"
    )
    return _member(fields + _fields_of_body(resource), resource.body)


def _fields_of_body(response: Response) -> str:
    """What a record says of a body that stands in it without its head."""
    fields = f"Content-Type: {clean_value(response.header('content-type')) or UNKNOWN_TYPE}\r\n"
    if response.address:
        fields += f"WARC-IP-Address: {clean_value(response.address)}\r\n"
    if response.truncated:
        fields += f"WARC-Truncated: {clean_value(response.truncated)}\r\n"
    return fields


def is_headless(response: Response) -> bool:
    """Whether a response came by a protocol that has no heads: it is kept as the file it is."""
    return response.protocol in HEADLESS


def is_kept(response: Response) -> bool:
    """Whether a response has a record: of protocols without heads, what brought nothing has nothing to keep."""
    return response.protocol not in HEADLESS or response.status == 200


def file_record(response: Response, about: Exchange) -> bytes:
    """The resource record of a file that came by itself."""
    fields = (
        f"WARC-Type: resource\r\nWARC-Record-ID: {about.response_id}\r\nWARC-Date: {about.date}\r\n"
        f"WARC-Target-URI: {about.uri}\r\nWARC-Payload-Digest: {payload_digest(response)}\r\n"
    )
    return _member(fields + _fields_of_body(response), response.body)


def warcinfo_record(file: str, user_agent: str, at: int) -> bytes:
    """The record at the head of a file: who wrote it, and how to read it."""
    fields = (
        f"WARC-Type: warcinfo\r\nWARC-Record-ID: {next(_many_ids())}\r\nWARC-Date: {date(at)}\r\n"
        f"WARC-Filename: {file}\r\nContent-Type: application/warc-fields\r\n"
    )
    block = (
        f"software: lycosa/{VERSION}\r\nformat: WARC File Format 1.1\r\n"
        "conformsTo: http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n"
        f"http-header-user-agent: {clean_value(user_agent)}\r\nrobots: obey\r\n"
    )
    return _member(fields, block.encode())


def response_head(response: Response) -> bytes:
    """Status line and headers as they came, ended by one blank line.

    The body was de-chunked, so a Transfer-Encoding would mislead whoever reads the record: it is renamed, as
    browsers' archivers do. Content-Encoding stays: the payload is kept coded as it came.
    """
    head = response.head.strip(b"\r\n") or b"HTTP/1.1 %03d" % response.status
    if b"\n\r\n" in head or b"\n\n" in head:
        # A blank line within would end the headers early and make the rest part of the payload.
        head = _BLANK_LINES.sub(b"\r\n", head)
    if b"\ntransfer-encoding" in head.lower():
        head = _TRANSFER.sub(b"X-Crawler-Transfer-Encoding:", head)
    return head + _END


def digested(response: Response) -> tuple[bytes, Response]:
    """The SHA-1 of a body, and the response with that of its record: together they take hardly longer than one."""
    digest, block_digest = digests(response.body, response_head(response), response.raw_body)
    return digest, msgspec.structs.replace(response, block_digest=block_digest)


def payload_digest(response: Response, body_digest: str = "") -> str:
    """The digest of the payload as it came: what a reader can check without knowing any content coding.

    A body that came uncoded is its own payload, and has often been digested already: that saves 17 µs for 28 KB.
    """
    if response.raw_body is response.body and len(body_digest) == 37 and body_digest.startswith("sha1:"):
        return body_digest
    return f"sha1:{base32(sha1(response.raw_body, usedforsecurity=False).digest())}"


def microseconds(at: float) -> int:
    """A moment as the WARC files and the tables keep it."""
    return round(at * 1_000_000)


def date(at: int) -> str:
    """A moment in microseconds as WARC-Date; to the microsecond, so that it names one row of the tables."""
    second, fraction = divmod(at, 1_000_000)
    return f"{_second(second)}.{fraction:06d}Z"


@lru_cache(64)
def _second(at: int) -> str:
    return (_EPOCH + timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%S")


def clean_uri(url: str) -> str:
    """A URL that fits on one header line: blanks and control characters percent-encoded."""
    return url if url.isascii() and url.isprintable() and " " not in url else _CONTROL.sub(_percent, url)


def clean_value(value: str) -> str:
    """A value that fits on one header line: control characters become blanks."""
    return value if value.isascii() and value.isprintable() else _CONTROL.sub(" ", value)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode())


def _may_be_shared(response: Response) -> bool:
    return not response.truncated and response.status != 304 and len(response.raw_body) >= _MIN_REVISIT_BYTES


def _fields(response: Response, about: Exchange, kind: str) -> str:
    fields = (
        f"WARC-Type: {kind}\r\nWARC-Record-ID: {about.response_id}\r\nWARC-Date: {about.date}\r\n"
        f"WARC-Target-URI: {about.uri}\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    if response.address:
        fields += f"WARC-IP-Address: {clean_value(response.address)}\r\n"
    if response.protocol:
        fields += f"WARC-Protocol: {clean_value(response.protocol)}\r\n"
    return fields


def _refers_to(seen: Payload) -> str:
    # File name and offset are not in the standard; Heritrix writes them too, and they spare the reader an index.
    return (
        f"WARC-Profile: {IDENTICAL}\r\nWARC-Truncated: length\r\n"
        f"WARC-Refers-To-Target-URI: {clean_uri(seen.url)}\r\nWARC-Refers-To-Date: {date(seen.fetched_at)}\r\n"
        f"WARC-Refers-To-Filename: {seen.file}\r\nWARC-Refers-To-File-Offset: {seen.offset}\r\n"
    )


def _member(fields: str, head: bytes, body: bytes = b"", digest: bytes = b"", level: int = _LEVEL) -> bytes:
    """A record as a gzip member; the digest is that of its block, of a head and a body."""
    digest = digest or digests(b"", head, body)[1]
    try:
        content = record(fields, digest, head, body)
    except UnicodeEncodeError:
        # Half of a surrogate pair has no UTF-8 form.
        content = plain_record(fields, digest, head, body)
    member: bytes = isal_zlib.compress(content, level, wbits=_GZIP)
    return member


def _many_ids() -> Iterator[str]:
    """Ids of records, from the system and not from `random`: forked workers would share its state, and so their ids."""
    while True:
        # 64 at once: each call to the kernel takes a microsecond.
        bits = os.urandom(1024).hex()
        for at in range(0, 2048, 32):
            yield _urn(bits[at : at + 32])


def _urn(bits: str) -> str:
    # The marks of version 4 (random) and of the variant are set as RFC 9562 asks.
    return f"<urn:uuid:{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}>"
