"""HTTP/1.1 as values: what a client asked, what it is answered, and the bytes of both.

Knows no sockets and no pages. Reading is tolerant: a test server should see what a crawler really sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlsplit

MAX_HEAD_BYTES = 64 * 1024
_REASONS = {int(status): status.phrase for status in HTTPStatus}


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `name` is the asked host in lower case without port, `target` the path with its query."""

    method: str
    name: str
    target: str
    headers: Mapping[str, str]
    is_last: bool
    body_bytes: int = 0
    body: bytes = b""
    local_address: str = ""

    @property
    def user_agent(self) -> str:
        """The client's name for itself."""
        return self.headers.get("user-agent", "")


@dataclass(frozen=True, slots=True)
class Reply:
    """One response: the lines of its head as bytes, and its body in pieces."""

    status: int
    head: bytes
    body: tuple[bytes, ...] = ()
    delay_seconds: float = field(default=0.0, kw_only=True)

    def to_bytes(self, *, has_body: bool = True, is_last: bool = False) -> bytes:
        """The response as sent."""
        end = b"Connection: close\r\n\r\n" if is_last else b"\r\n"
        return b"".join((self.head, end, *self.body)) if has_body else self.head + end


def make_reply(
    status: int,
    body: bytes | tuple[bytes, ...] = b"",
    headers: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    *,
    delay_seconds: float = 0.0,
) -> Reply:
    """A well-formed response; a Content-Length among the headers is kept, otherwise it is the true one."""
    pieces = (body,) if isinstance(body, bytes) else body
    fields = list(headers.items() if isinstance(headers, Mapping) else headers)
    has_length = any(name.lower() == "content-length" for name, _ in fields)
    if not has_length and status >= 200 and status not in (204, 304):
        fields.append(("Content-Length", str(sum(map(len, pieces)))))
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Unknown')}", *(f"{name}: {value}" for name, value in fields)]
    head = ("\r\n".join(lines) + "\r\n").encode("latin-1")
    return Reply(status, head, pieces, delay_seconds=delay_seconds)


class Unreadable(Exception):
    """The bytes are no request that any tolerance could read."""


def read_head(head: bytes, local_address: str) -> Ask:
    """The request in the bytes of its head, without the empty line."""
    first, *lines = head.decode("latin-1").split("\n")
    words = first.split()
    if len(words) < 2:
        raise Unreadable(first)
    method, target, version = words[0], words[1], words[-1]
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if colon:
            headers[name.strip().lower()] = value.strip()
    authority = headers.get("host", "")
    if not target.startswith("/"):
        parts = urlsplit(target)
        authority = parts.netloc or authority
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    connection = headers.get("connection", "").lower()
    is_last = "close" in connection or (version == "HTTP/1.0" and "keep-alive" not in connection)
    return Ask(
        method=method,
        name=_name_in(authority),
        target=target,
        headers=headers,
        is_last=is_last,
        body_bytes=_body_bytes(headers),
        local_address=local_address,
    )


def is_unchanged(ask: Ask, etag: str | None, last_modified: str | None) -> bool:
    """Whether a conditional request finds what it already has (RFC 9110, 13.2.2: an ETag goes before a date)."""
    if (wanted := ask.headers.get("if-none-match")) is not None:
        return wanted == "*" or etag in [value.strip().removeprefix("W/") for value in wanted.split(",")]
    since = ask.headers.get("if-modified-since")
    return since is not None and since == last_modified


def accepts_gzip(ask: Ask) -> bool:
    """Whether the client can read a compressed body."""
    return "gzip" in ask.headers.get("accept-encoding", "").lower()


def _name_in(authority: str) -> str:
    name = authority.rpartition("@")[2].lower()
    if not name.startswith("["):
        name = name.partition(":")[0]
    return name.rstrip(".")


def _body_bytes(headers: Mapping[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise Unreadable("a request with a chunked body")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_HEAD_BYTES:
        raise Unreadable(f"a request body of {length} bytes")
    return int(length)
