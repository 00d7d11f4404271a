"""A crawl as one WACZ file (WACZ 1.1.1): its WARC files, a list of its pages and a CDXJ index, in a zip.

Replay tools open it from a disk or over HTTP ranges, so WARC files and the index are stored, not deflated.
"""

from __future__ import annotations

import gzip
import hashlib
import ipaddress
import re
import zipfile
from collections.abc import Iterable, Iterator, Set
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import msgspec

from lycosa.store.folder import CrawlFolder
from lycosa.store.record import Record, header_lines, moment, records, split_block
from lycosa.version import VERSION

# Lines of the index per gzip member, as other writers have it; a reader fetches one member to look up a URL.
_BLOCK_LINES = 3000
_COPY_BYTES = 1024 * 1024
_WWW = re.compile(r"www\d*\.")


def write_wacz(
    folder: CrawlFolder,
    out: Path,
    pages: Iterable[dict[str, Any]],
    created: float,
    left_out: Set[tuple[str, int]] = frozenset(),
) -> int:
    """Write the closed WARC files of a crawl and the pages given; returns how many records are indexed.

    `left_out` names responses, by file and offset, that must not be in it.
    """
    with zipfile.ZipFile(out, "w", allowZip64=True) as archive, TemporaryDirectory(dir=out.parent) as beside:
        package = _Package(archive)
        lines: list[bytes] = []
        for whole in folder.warc_files():
            path = _without(whole, left_out, Path(beside))
            with path.open("rb") as stream:
                package.add(f"archive/{path.name}", iter(lambda: stream.read(_COPY_BYTES), b""))
            lines += _index_lines(path)
        lines.sort()
        data, index = _compressed(lines)
        package.add("indexes/index.cdx.gz", data)
        package.add("indexes/index.idx", index, zipfile.ZIP_DEFLATED)
        package.add("pages/pages.jsonl", _page_lines(pages), zipfile.ZIP_DEFLATED)
        package.finish(created)
    return len(lines)


def _without(path: Path, left_out: Set[tuple[str, int]], beside: Path) -> Path:
    """The same file, or a copy of the same name without some responses and their requests."""
    if not any(file == path.name for file, _ in left_out):
        return path
    ids = set[str]()
    with path.open("rb") as source, (beside / path.name).open("wb") as copy:
        for record in records(path):
            if (record.file, record.offset) in left_out:
                ids.add(record.headers.get("warc-record-id", ""))
            elif ids.isdisjoint(record.headers.get(name) for name in ("warc-concurrent-to", "warc-refers-to")):
                source.seek(record.offset)
                copy.write(source.read(record.length))
    return beside / path.name


class _Package:
    """Files on their way into the zip, each with its hash for the manifest."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._resources: list[dict[str, Any]] = []

    def add(self, path: str, chunks: Iterable[bytes], compression: int = zipfile.ZIP_STORED) -> None:
        digest, size = hashlib.sha256(), 0
        entry = zipfile.ZipInfo(path, date_time=datetime.now(UTC).timetuple()[:6])
        entry.compress_type = compression
        with self._archive.open(entry, "w", force_zip64=True) as target:
            for chunk in chunks:
                target.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        name = path.rpartition("/")[2].lower()  # as the data package standard wants it
        self._resources.append({"name": name, "path": path, "hash": f"sha256:{digest.hexdigest()}", "bytes": size})

    def finish(self, created: float) -> None:
        manifest = msgspec.json.format(
            msgspec.json.encode(
                {
                    "profile": "data-package",
                    "wacz_version": "1.1.1",
                    "software": f"lycosa {VERSION}",
                    "created": _rfc3339(created),
                    "resources": self._resources,
                }
            )
        )
        digest = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(manifest).hexdigest()}"}
        self._archive.writestr("datapackage.json", manifest, zipfile.ZIP_DEFLATED)
        self._archive.writestr("datapackage-digest.json", msgspec.json.encode(digest), zipfile.ZIP_DEFLATED)


def _page_lines(pages: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    yield msgspec.json.encode({"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}) + b"\n"
    for page in pages:
        yield msgspec.json.encode({**page, "ts": _rfc3339(page["ts"])}) + b"\n"


def _rfc3339(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---- the index


def _index_lines(path: Path) -> Iterator[bytes]:
    for record in records(path):
        if record.is_answer and record.url:
            yield cdxj_line(record)


def cdxj_line(record: Record) -> bytes:
    """The line of the index for a response, a revisit, or a file that came by itself."""
    if record.is_own_resource:
        headers, words = record.headers, [b"", b"200"]
    else:
        head = split_block(record.block)[0]
        headers = dict(reversed(header_lines(head)))  # of two equal headers the first counts
        words = head.split(b"\n", 1)[0].split(None, 2)
    media_type = headers.get("content-type", "").partition(";")[0].strip()
    fields = {
        "url": record.url,
        "mime": "warc/revisit" if record.kind == "revisit" else media_type or "unk",
        "status": words[1].decode("ascii", "replace") if len(words) > 1 else "-",
        "digest": record.headers.get("warc-payload-digest", "-"),
        "length": str(record.length),
        "offset": str(record.offset),
        "filename": record.file,
    }
    at = datetime.fromtimestamp(moment(record.headers.get("warc-date", "")), UTC).strftime("%Y%m%d%H%M%S")
    return f"{surt(record.url)} {at} ".encode() + msgspec.json.encode(fields) + b"\n"


def surt(url: str) -> str:
    """The key by which replay tools look a URL up: host parts reversed, without www, all in lower case."""
    try:
        parts = urlsplit(url.lower())
        port = parts.port
    except ValueError:
        return url.lower()
    host = _WWW.sub("", parts.hostname or "", count=1) if _WWW.match(parts.hostname or "") else parts.hostname or ""
    if not _is_address(host):
        host = ",".join(reversed(host.split(".")))
    suffix = f":{port}" if port and port != {"http": 80, "https": 443}.get(parts.scheme) else ""
    path = re.sub("/{2,}", "/", parts.path).rstrip("/") or "/"
    query = "&".join(sorted(parts.query.split("&")))
    # A space would end the key.
    return f"{host}{suffix}){path}{'?' + query if query else ''}".replace(" ", "%20")


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _compressed(lines: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """The index as gzip members, and the table that says which member begins with which key."""
    members: list[bytes] = []
    table = [b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
    offset = 0
    for start in range(0, len(lines), _BLOCK_LINES):
        member = gzip.compress(b"".join(lines[start : start + _BLOCK_LINES]), mtime=0)
        place = {"offset": offset, "length": len(member), "filename": "index.cdx.gz"}
        table.append(lines[start].partition(b" {")[0] + b" " + msgspec.json.encode(place) + b"\n")
        members.append(member)
        offset += len(member)
    return members, table
