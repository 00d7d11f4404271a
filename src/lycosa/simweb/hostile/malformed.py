"""Answers that no standard allows: broken codings, lengths, chunks, heads, markup, charsets and links.

A crawler may keep what it can read or record a failure; it may not crash, hang or grow.
"""

from __future__ import annotations

import gzip
import zlib
from functools import cache

import brotli

from ..server import ServedExchange
from .registry import answers, hostile

# Said, not only done: a client that finds a kept connection closed might ask again, and would be seen twice.
CLOSE = "Connection: close"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\n"
PAGE = b"<!doctype html><title>a page</title><p>some words of a page</p>"


def head(*lines: str, status: str = "200 OK") -> bytes:
    """The lines of a head, without the empty line behind them."""
    return "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *lines)).encode("latin-1")


def page(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    """A whole answer of the right length."""
    given = (*lines, CLOSE, f"Content-Length: {len(body)}")
    if not any(line.lower().startswith("content-type") for line in lines):
        given = ("Content-Type: text/html; charset=utf-8", *given)
    return head(*given, status=status) + b"\r\n" + body


@cache
def _long() -> bytes:
    return b"".join(b"<p>paragraph number %d of a page</p>" % number for number in range(20_000))


def _coded(coding: str, body: bytes) -> bytes:
    return page(body, f"Content-Encoding: {coding}")


def zstd_zeros(count: int) -> bytes:
    """A Zstandard frame of `count` zeros, made of run-length blocks of at most 128 KiB (RFC 8878, 3.1.1)."""
    blocks = []
    while count > 0:
        size = min(count, 128 * 1024)
        count -= size
        is_last = count <= 0
        blocks.append((size << 3 | 1 << 1 | is_last).to_bytes(3, "little") + b"\0")
    # No content size, no checksum, a window of 128 KiB.
    return b"\x28\xb5\x2f\xfd" + b"\x00" + b"\x38" + b"".join(blocks)


# ---- content codings

answers(
    "M",
    "truncated-gzip",
    "A gzip body that stops in the middle.",
    lambda: _coded("gzip", gzip.compress(_long())[:-9_000]),
)
answers(
    "M",
    "truncated-deflate",
    "A zlib body that stops in the middle.",
    lambda: _coded("deflate", zlib.compress(_long())[:-9_000]),
)
answers(
    "M",
    "truncated-br",
    "A brotli body that stops in the middle.",
    lambda: _coded("br", brotli.compress(_long(), quality=1)[:-5_000]),
)
answers("M", "truncated-zstd", "A Zstandard body that stops in the middle.", _coded("zstd", zstd_zeros(500_000)[:-3]))
answers(
    "M",
    "corrupt-gzip",
    "A gzip body with bytes turned over.",
    lambda: _coded("gzip", gzip.compress(_long())[:5_000] + b"\xff" * 5_000),
)
answers(
    "M", "padded-gzip", "A gzip body with zeros behind its end.", _coded("gzip", gzip.compress(PAGE) + b"\0" * 5_000)
)
answers("M", "gzip-of-nothing", "A body that is said to be gzip and has no byte.", _coded("gzip", b""))
answers("M", "plain-as-gzip", "Plain text under the name of gzip.", _coded("gzip", PAGE))
answers("M", "plain-as-br", "Plain text under the name of brotli.", _coded("br", PAGE))
answers("M", "unknown-coding", "A content coding that nobody knows.", _coded("x-nonsense", PAGE))
answers("M", "many-codings", "Twenty codings, one around the other.", _coded(", ".join(["gzip"] * 20), PAGE))

# ---- lengths and chunks

answers(
    "M", "short-content-length", "A Content-Length smaller than the body.", OK + b"Content-Length: 10\r\n\r\n" + PAGE
)
answers(
    "M", "long-content-length", "A Content-Length larger than the body.", OK + b"Content-Length: 99999\r\n\r\n" + PAGE
)
answers("M", "negative-content-length", "A Content-Length below zero.", OK + b"Content-Length: -5\r\n\r\n" + PAGE)
answers(
    "M",
    "huge-content-length",
    "A Content-Length of thirty digits.",
    OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n" + PAGE,
)
answers(
    "M", "word-as-content-length", "A Content-Length that is no number.", OK + b"Content-Length: much\r\n\r\n" + PAGE
)
answers(
    "M",
    "two-content-lengths",
    "Two Content-Lengths that differ.",
    OK + b"Content-Length: 5\r\nContent-Length: %d\r\n\r\n" % len(PAGE) + PAGE,
)
answers(
    "M",
    "length-and-chunks",
    "A Content-Length beside a chunked body, as in request smuggling.",
    OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(PAGE) + PAGE + b"\r\n0\r\n\r\n",
)
_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
answers("M", "bad-chunk-size", "A chunk whose size is no number.", _CHUNKED + b"zz\r\n" + PAGE + b"\r\n0\r\n\r\n")
answers("M", "negative-chunk-size", "A chunk whose size is below zero.", _CHUNKED + b"-1\r\n" + PAGE + b"\r\n0\r\n\r\n")
answers("M", "huge-chunk-size", "A chunk of 2^64 bytes.", _CHUNKED + b"f" * 16 + b"\r\n" + PAGE)
answers("M", "no-last-chunk", "Chunks without an end.", _CHUNKED + b"%x\r\n" % len(PAGE) + PAGE + b"\r\n")
answers(
    "M",
    "chunk-extensions",
    "A chunk with 100 kB of extensions.",
    _CHUNKED + b"5;" + b"x" * 100_000 + b"\r\nhello\r\n0\r\n\r\n",
)
answers(
    "M", "many-trailers", "Ten thousand trailers behind the body.", _CHUNKED + b"0\r\n" + b"X: y\r\n" * 10_000 + b"\r\n"
)
answers(
    "M",
    "tiny-chunks",
    "A body in twenty thousand chunks of one byte.",
    lambda: _CHUNKED + b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n",
)

# ---- heads

answers("M", "garbage-before-status", "Garbage before the status line.", b"\0\xff garbage\r\n" + page(PAGE))
answers("M", "http-09", "A body without any head, as in HTTP/0.9.", PAGE)
answers("M", "status-without-number", "A status line without a status.", b"HTTP/1.1 OK\r\n\r\n" + PAGE)
answers("M", "status-of-four-digits", "A status line with 2000 for a status.", b"HTTP/1.1 2000 OK\r\n\r\n" + PAGE)
answers("M", "status-999", "A status that no standard knows.", page(PAGE, status="999 Denied"))
answers("M", "strange-version", "An HTTP version of the future.", b"HTTP/9.9 200 OK\r\n\r\n" + PAGE)
answers("M", "body-after-204", "204 No Content, with a body all the same.", page(PAGE, status="204 No Content"))
answers(
    "M", "unasked-304", "304 Not Modified to a request without conditions.", head(status="304 Not Modified") + b"\r\n"
)
answers(
    "M",
    "unasked-101",
    "A switch of protocols that nobody asked for.",
    head("Upgrade: x", "Connection: upgrade", status="101 Switching") + b"\r\n",
)
answers(
    "M",
    "unasked-206",
    "A part of the page, although all of it was asked for.",
    page(PAGE, "Content-Range: bytes 5-9/99", status="206 Partial Content"),
)
answers(
    "M",
    "interim-flood",
    "A thousand interim answers before the real one.",
    b"HTTP/1.1 102 Processing\r\n\r\n" * 1_000 + page(PAGE),
)
answers(
    "M",
    "header-flood",
    "Ten thousand header lines.",
    lambda: head(*(f"X-{n}: y" for n in range(10_000))) + b"\r\n" + PAGE,
)
answers("M", "long-header-line", "A header line of 1 MB.", lambda: head("X: " + "y" * 1_000_000) + b"\r\n" + PAGE)
answers(
    "M",
    "header-without-colon",
    "Header lines without a colon, and an empty name.",
    head("nonsense", ": value", "X: y") + b"\r\n" + PAGE,
)
answers(
    "M",
    "folded-headers",
    "Header lines folded as in 1999.",
    head("Content-Type: text/html;", "\tcharset=utf-8", "X: y") + b"\r\n" + PAGE,
)
answers(
    "M",
    "nuls-in-headers",
    "NUL bytes and bare returns in headers.",
    head("X: a\0b", "Y: a\rZ: b", "Content-Type: text/html\0") + b"\r\n" + PAGE,
)
answers("M", "bare-line-feeds", "A head whose lines end in LF alone.", page(PAGE).replace(b"\r\n", b"\n"))
answers("M", "half-a-head", "A head that stops in the middle.", b"HTTP/1.1 200 OK\r\nContent-Ty")
answers("M", "no-answer", "The connection is closed without a byte.", b"")
answers("M", "redirect-without-location", "A redirect that leads nowhere.", head(status="302 Found") + b"\r\n")
answers(
    "M",
    "redirect-to-nonsense",
    "A redirect to what is no URL.",
    head("Location: http://[::1", status="302 Found") + b"\r\n",
)
answers(
    "M",
    "two-locations",
    "A redirect with two targets.",
    head("Location: /one", "Location: /two", status="302 Found") + b"\r\n",
)
answers(
    "M",
    "long-location",
    "A redirect to a URL of 64 kB.",
    head("Location: /" + "x" * 15_000, status="302 Found") + b"\r\n",
)
answers(
    "M",
    "binary-location",
    "A redirect with raw bytes and escapes in its target.",
    head("Location: /\xff\xfe%zz%\x1b[31m", status="302 Found") + b"\r\n",
)


@hostile("M")
async def reset(exchange: ServedExchange) -> None:
    """The connection is reset in place of an answer."""
    exchange.abort()


@hostile("M")
async def reset_in_body(exchange: ServedExchange) -> None:
    """The connection is reset in the middle of the body."""
    exchange.send(OK + b"Content-Length: 100000\r\n\r\n" + PAGE)
    await exchange.drain()
    exchange.abort()


@hostile("M")
async def redirect_loop(exchange: ServedExchange) -> None:
    """Every URL redirects to the one with a further letter, and the tenth to the first."""
    path = exchange.ask.target
    to = f"{path}x" if not path.endswith("x" * 10) else path.rstrip("x") or "/"
    exchange.send(page(b"", f"Location: {to}", status="302 Found"))
    exchange.close()


@hostile("M")
async def redirect_to_itself(exchange: ServedExchange) -> None:
    """Every URL redirects to itself."""
    exchange.send(page(b"", f"Location: {exchange.ask.target}", status="302 Found"))
    exchange.close()


# ---- markup

answers("M", "nuls", "68 kB of NUL bytes as a page.", page(b"\0" * 68_000))
answers("M", "one-line", "10 MB of text in one line.", lambda: page(b"<p>" + b"word " * 2_000_000))
answers("M", "nested-divs", "A hundred thousand nested divs.", lambda: page(b"<div>" * 100_000 + b"x"))
answers(
    "M",
    "nested-tables",
    "Ten thousand nested tables with text between cells.",
    lambda: page(b"<table>x<tr><td>" * 10_000),
)
answers(
    "M", "misnested-formatting", "Formatting elements crossed a thousand times.", page(b"<b><i><p></b></i>" * 1_000)
)
answers(
    "M",
    "many-attributes",
    "One element with a million attributes.",
    lambda: page(b"<div " + b"".join(b"a%d=1 " % n for n in range(400_000)) + b">x</div>"),
)
answers("M", "endless-comment", "A comment that never ends.", lambda: page(b"<!--" + b"-x" * 500_000))
answers("M", "endless-tag", "A tag that never ends.", lambda: page(b"<a href='" + b"x" * 1_000_000))
answers("M", "many-entities", "A million entities.", lambda: page(b"&amp;&notin;&#x10ffff;&#0;" * 50_000))
answers("M", "empty-page", "A page without a byte.", page(b""))

# ---- charsets and media types

_GERMAN = "<title>Gr\u00fc\u00dfe</title><p>\u00e4\u00f6\u00fc \u20ac</p>"
answers(
    "M",
    "wrong-charset",
    "UTF-8 under the name of Latin-1.",
    page(_GERMAN.encode(), "Content-Type: text/html; charset=iso-8859-1"),
)
answers(
    "M", "missing-charset", "Windows-1252 without saying so.", page(_GERMAN.encode("cp1252"), "Content-Type: text/html")
)
answers(
    "M", "mixed-charset", "UTF-8 and Latin-1 in one page.", page(_GERMAN.encode() + "\u00e4\u00f6".encode("latin-1"))
)
answers(
    "M",
    "unknown-charset",
    "A charset that does not exist.",
    page(_GERMAN.encode(), "Content-Type: text/html; charset=klingon-8"),
)
answers(
    "M",
    "dangerous-charset",
    "A charset that is a compression in some libraries.",
    page(PAGE, "Content-Type: text/html; charset=zlib"),
)
answers(
    "M",
    "utf-7",
    "UTF-7, in which markup can hide.",
    page(b"+ADw-a href=/x+AD4-", "Content-Type: text/html; charset=utf-7"),
)
answers(
    "M",
    "lone-surrogates",
    "Half of surrogate pairs, as entities and as bytes.",
    page(b"<title>&#xd800;\xed\xa0\x80</title><a href='/\xed\xa0\x80'>x</a>"),
)
answers("M", "html-as-image", "HTML under the name of an image.", page(PAGE, "Content-Type: image/png"))
answers("M", "image-as-html", "An image under the name of HTML.", page(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 50))
answers(
    "M", "strange-content-type", "A Content-Type of nothing but nonsense.", page(PAGE, 'Content-Type: \x01;;;="charset')
)

# ---- links

_STRANGE_LINKS = [
    "/a b", "/tab\there", "\\back\\slash", "/nul\0here", "http://:80/", "http://localhost:0/", "http://x.test:99999/",
    "http://x.test:-1/", "//", "///", "http:///x", "http://[::1/", "http://[::1%25eth0]/", "http://%00/", "http://a..b/",
    "http://x.test.:80./", "javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "mailto:a@b", "?", "#", "",
    " ", "http://user:secret@x.test/", "http://\u2024\u2024/", "http://xn--/", "http://1.2.3.4.5/", "http://0x7f.1/",
    "/%", "/%zz", "/%00", "/../../../../etc/passwd", "/" + "../" * 500, "/" + "a/" * 500, "/" + "x" * 65_536,
    "http://" + "a" * 300 + ".test/", "http://" + "a." * 200 + "test/", "\ud83d\ude00", "/\u202e/x", "ht\ntp://x.test/",
]  # fmt: skip


def _links_page(links: list[str]) -> bytes:
    anchors = "".join(f'<a href="{link}">x</a>' for link in links)
    return f"<!doctype html><title>links</title>{anchors}".encode("utf-8", "replace")


answers(
    "M",
    "strange-links",
    "Links with spaces, tabs, NULs, ports out of range, 64 kB and worse.",
    page(_links_page(_STRANGE_LINKS)),
)
answers(
    "M",
    "base-elsewhere",
    "A base that sends every relative link to another host.",
    page(b'<base href="http://elsewhere.test/x/"><a href="y">y</a>'),
)
answers(
    "M",
    "base-nonsense",
    "A base that is no URL, and a second one.",
    page(b'<base href="http://["><base href="data:,"><a href="/y">y</a>'),
)
answers(
    "M", "long-base", "A base of 64 kB.", page(b'<base href="/' + b"x/" * 32_000 + b'">' + b'<a href="y">y</a>' * 2_000)
)


@hostile("M")
async def refresh_loop(exchange: ServedExchange) -> None:
    """A page that refreshes to itself and to its twin, for ever."""
    twin = "/two" if exchange.ask.target != "/two" else "/"
    body = f'<meta http-equiv="refresh" content="0"><meta http-equiv="refresh" content="0;url={twin}">'
    exchange.send(page(body.encode()))
    exchange.close()
