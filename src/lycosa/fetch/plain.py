"""Answers of protocols without heads: a file that came by FTP, or from the disk, as a response."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence

from lycosa.model import Response

# Those of the standard library, wherever it runs: the machine's own lists differ.
_TYPES = mimetypes.MimeTypes()
_OOXML, _ODF = "application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument."
for _ending, _kind in {
    ".docx": f"{_OOXML}wordprocessingml.document",
    ".xlsx": f"{_OOXML}spreadsheetml.sheet",
    ".pptx": f"{_OOXML}presentationml.presentation",
    ".odt": f"{_ODF}text",
    ".ods": f"{_ODF}spreadsheet",
    ".odp": f"{_ODF}presentation",
    ".md": "text/markdown",
}.items():
    _TYPES.add_type(_kind, _ending)
_PACKED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


def type_of(path: str) -> str:
    """The content type that a file's name tells; empty if it tells none, and the bytes decide."""
    kind, packed = _TYPES.guess_type(path.rpartition("/")[2])
    if packed:
        return _PACKED.get(packed, "application/octet-stream")
    return kind or ""


def plain_response(
    url: str,
    protocol: str,
    status: int,
    started_at: float,
    seconds: float,
    *,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"",
    address: str = "",
    truncated: str = "",
    connect_seconds: float = 0.0,
) -> Response:
    """A response of which nothing but its body came; status and headers are what it would have had by HTTP."""
    return Response(
        url=url,
        status=status,
        headers=list(headers),
        body=body,
        raw_body=body,
        head=b"",
        request_head=b"",
        address=address,
        protocol=protocol,
        started_at=started_at,
        seconds=seconds,
        truncated=truncated,
        connect_seconds=connect_seconds,
    )
