"""Exchanges as a fetcher would give them, and the page that `parse` finds in them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from lycosa.model import Links, OutcomeKind, Page, Response, Visit

NO_LINKS = Links([], [], [])
START = 1_770_000_000.0


def clock_from(start: float) -> Iterator[float]:
    return (start + second for second in count())


def response(
    url: str = "http://a.example/",
    body: bytes = b"hello",
    *,
    status: int = 200,
    headers: list[tuple[str, str]] | None = None,
    raw_body: bytes | None = None,
    head: bytes | None = None,
    truncated: str = "",
    protocol: str = "http/1.1",
) -> Response:
    headers = [("content-type", "text/html")] if headers is None else headers
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    return Response(
        url=url,
        status=status,
        headers=headers,
        body=body,
        raw_body=body if raw_body is None else raw_body,
        head=f"HTTP/1.1 {status} OK\r\n{lines}\r\n".encode("latin-1") if head is None else head,
        request_head=b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        address="192.0.2.7",
        protocol=protocol,
        started_at=START,
        seconds=0.25,
        truncated=truncated,
    )


def visit(url: str = "http://a.example/", at: float = START, outcome: OutcomeKind = OutcomeKind.STORED) -> Visit:
    return Visit(url, url.split("/")[2], at, outcome, 200, "text/html")


def parse(_: Visit, found: Response) -> tuple[Page, Links]:
    """A page of lines: those that begin with http are links, the others text."""
    lines = found.body.decode("utf-8", "replace").splitlines()
    targets = [line for line in lines if line.startswith("http")]
    text = "\n".join(line for line in lines if not line.startswith("http"))
    return Page("", "", text, []), Links(targets, [f"to {target}" for target in targets], [""] * len(targets))


def body_with(number: int, links: int = 2) -> bytes:
    """A page that `parse` can read; long enough to be worth a revisit record."""
    lines = [f"text {number} " + "x" * 600, *(f"http://a.example/{number}/{link}" for link in range(links))]
    return "\n".join(lines).encode()
