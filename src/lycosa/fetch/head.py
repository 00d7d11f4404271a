"""Request and response heads as text: what is asked, and what the answer's header lines say. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from lycosa.errors import PlaceRefused, VisitError
from lycosa.model import Failure, Refusal

MAX_INTERIM = 10

PlainHead = tuple[int, list[tuple[str, str]], bytes]

# Narrower than any URL standard: whatever gets here was made canonical, and what libcurl might read otherwise
# (user names, backslashes, percent signs in a host) is refused.
_URL = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{0,5}))?([/?][!-~]*)?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS = dict.fromkeys([*range(32), 127], " ")

ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


class Authority(NamedTuple):
    """Where a URL leads: the host to resolve, the value of the Host header, and the request target."""

    host: str
    host_header: str
    target: str


class HeadLimits(NamedTuple):
    """How much a response may say before its body."""

    max_lines: int
    max_bytes: int
    max_line_bytes: int


class ResponseHead(NamedTuple):
    """The final status and headers of a response; `raw` is as they came."""

    status: int
    headers: list[tuple[str, str]]
    raw: bytes
    protocol: str

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


def split_url(url: str) -> Authority:
    """Take a canonical http or https URL apart; raises `VisitError` (PROTOCOL) for any other text."""
    match = _URL.fullmatch(url.partition("#")[0])
    if match is None and not url.startswith(("http:", "https:")):
        raise PlaceRefused(Refusal.SCHEME, url.partition(":")[0])
    if match is None:
        raise VisitError(Failure.PROTOCOL, "not a URL that can be requested", sent=False)
    scheme, host, port, target = match.groups()
    host_header = f"{host}:{port}" if port and port != _DEFAULT_PORTS[scheme] else host
    return Authority(host, host_header, "/" if not target else target if target[0] == "/" else f"/{target}")


def request_lines(user_agent: str, extra: Sequence[tuple[str, str]]) -> list[bytes]:
    """The header lines of a request after Host. Those of `extra` replace ours of the same name."""
    lines = {
        "user-agent": f"User-Agent: {user_agent}",
        "accept": f"Accept: {ACCEPT}",
        "accept-language": "Accept-Language: *",
        "accept-encoding": "Accept-Encoding: gzip, deflate, br, zstd",
    }
    for name, value in extra:
        # A value that would break out of its line, such as a validator of a hostile server, is not sent.
        if _TOKEN.fullmatch(name) and value.strip() and value.isprintable():
            lines[name.lower()] = f"{name}: {value}"
    return [line.encode("latin-1", "replace") for line in lines.values()]


def request_head(where: Authority, lines: Sequence[bytes], method: str = "GET", body: bytes = b"") -> bytes:
    """The head of a request, byte for byte as libcurl writes it for HTTP/1.1."""
    if method != "GET":
        lines = [*lines, b"Content-Length: %d" % len(body)]
    return b"%b %b HTTP/1.1\r\nHost: %b\r\n%b\r\n\r\n" % (
        method.encode(),
        where.target.encode(),
        where.host_header.encode(),
        b"\r\n".join(lines),
    )


def _find_compiled_head() -> Callable[[list[bytes], int, int, int], PlainHead | None] | None:
    try:
        from lycosa.fetch._native import plain_head as compiled
    except ImportError:  # not built: plain heads are read as odd ones are
        return None
    return compiled


compiled_head = _find_compiled_head()


def read_head(lines: list[bytes], limits: HeadLimits) -> ResponseHead | None:
    """The final head among the lines of an answer; None if it is not whole. Raises `VisitError` (HEADERS)."""
    if compiled_head and (plain := compiled_head(lines, *limits)):
        return ResponseHead(*plain, "http/1.1")
    return any_head(lines, limits)


def any_head(lines: Sequence[bytes], limits: HeadLimits) -> ResponseHead | None:
    """The final head among the lines of an answer, past interim responses and before trailers; None if it is not whole.

    Raises `VisitError` (HEADERS) for an answer that says too much.
    """
    start = 0
    for _ in range(MAX_INTERIM + 1):
        end = _end_of_block(lines, start)
        if end is None:
            _check_limits(lines[start:], limits)
            return None
        status = _status_of(lines[start])
        if status is None:
            return None
        if not 100 <= status < 200:
            return _head(status, lines[start : end + 1], limits)
        start = end + 1
    raise VisitError(Failure.HEADERS, f"more than {MAX_INTERIM} interim responses")


def _end_of_block(lines: Sequence[bytes], start: int) -> int | None:
    for index in range(start, len(lines)):
        if lines[index] in (b"\r\n", b"\n"):
            return index
    return None


def _status_of(line: bytes) -> int | None:
    words = line.split(None, 2)
    if len(words) < 2 or not words[1][:3].isdigit():
        return None
    return int(words[1][:3])


def _head(status: int, lines: Sequence[bytes], limits: HeadLimits) -> ResponseHead:
    _check_limits(lines, limits)
    protocol = "http/1.1"
    first = lines[0]
    if first.startswith(b"HTTP/2"):
        # HTTP/2 has no status line; libcurl makes one up, and archives expect one of HTTP/1.1.
        protocol, first = "h2", b"HTTP/1.1 %d \r\n" % status
    elif first.startswith(b"HTTP/1.0"):
        protocol = "http/1.0"
    return ResponseHead(status, _headers(lines[1:-1]), b"".join([first, *lines[1:]]), protocol)


def _check_limits(lines: Sequence[bytes], limits: HeadLimits) -> None:
    if len(lines) - 2 > limits.max_lines:
        raise VisitError(Failure.HEADERS, f"more than {limits.max_lines} header lines")
    lengths = [len(line) for line in lines]
    if sum(lengths) > limits.max_bytes:
        raise VisitError(Failure.HEADERS, f"more than {limits.max_bytes} bytes of headers")
    if lengths and max(lengths) > limits.max_line_bytes:
        raise VisitError(Failure.HEADERS, f"a header line of more than {limits.max_line_bytes} bytes")


def _headers(lines: Sequence[bytes]) -> list[tuple[str, str]]:
    headers: list[tuple[str, str]] = []
    for line in lines:
        if line[0] in b" \t" and headers:
            # A folded line goes on with the value before it (RFC 9112, 5.2).
            name, value = headers[-1]
            headers[-1] = (name, f"{value} {_clean(line)}".strip())
        else:
            headers.append(_header(line))
    return headers


# Most lines of most answers were seen before: it halves the cost of a head. Only as many as stay in the cache.
@lru_cache(maxsize=512)
def _header(line: bytes) -> tuple[str, str]:
    name, _, value = line.partition(b":")
    return _clean(name).lower(), _clean(value)


def _clean(text: bytes) -> str:
    """Header text that is safe to write anywhere else: no line breaks, no control characters."""
    plain = text.decode("latin-1").strip()
    return plain if plain.isprintable() else plain.translate(_CONTROLS).strip()
