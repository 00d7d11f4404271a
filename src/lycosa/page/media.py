"""What kind of document a body is, by its Content-Type and, where that is missing or lies, by its first bytes.

A small part of the WHATWG MIME sniffing standard: what is read here is HTML, plain text and feeds, so only these need
telling from the rest. PDF and office documents are known by both: what is sent as one and begins like none is none.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache


class Media(Enum):
    """The kinds of document that are told apart."""

    HTML = "html"
    TEXT = "text"
    FEED = "feed"
    PDF = "pdf"
    OFFICE = "office"
    OTHER = "other"


_SNIFF_BYTES = 1024
_LEAD = b"\xef\xbb\xbf \t\n\r\f\0"

# Formats whose first bytes no text begins with (WHATWG mimesniff 6 and 7.1, and the common ones it leaves out).
_PDF, _ZIP = b"%PDF-", b"PK\x03\x04"
_MAGIC = (
    _PDF,
    b"%!PS-Adobe-",
    b"GIF87a",
    b"GIF89a",
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"BM",
    b"RIFF",
    _ZIP,
    b"Rar!\x1a\x07",
    b"\x1f\x8b\x08",
    b"7z\xbc\xaf\x27\x1c",
    b"OggS",
    b"ID3",
    b"\x1aE\xdf\xa3",
    b"wOFF",
    b"wOF2",
    b"\0\0\x01\0",
    b"\xd0\xcf\x11\xe0",
    b"\x7fELF",
    b"MZ\x90",
)
_BINARY = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")

_HTML_START = re.compile(
    rb"<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|!--)(?=[\s>/-])",
    re.IGNORECASE,
)
_SURE_HTML = re.compile(rb"<(?:!doctype\s+html|html)(?=[\s>/])", re.IGNORECASE)
_FEED_ROOT = re.compile(rb"<(?:rss|(?:\w{1,20}:)?feed|rdf:rdf)(?=[\s>/])", re.IGNORECASE)

_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
_TEXT_TYPES = frozenset(("text/plain", "text/markdown", "text/x-markdown"))
_FEED_TYPES = frozenset(("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/x-rss+xml"))
_PDF_TYPES = frozenset(("application/pdf", "application/x-pdf"))
_XML_TYPES = frozenset(("text/xml", "application/xml"))
_OFFICE_TYPES = ("application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.")
# Servers that do not know a file say so with one of these.
_DOWNLOAD_TYPES = frozenset(("application/octet-stream", "application/x-download", "application/force-download"))
_NO_TYPES = frozenset(("", "unknown/unknown", "application/unknown", "*/*", "text", "html", "content/unknown"))


def media_of(content_type: str, body: bytes) -> Media:
    """The kind of a document; what cannot be read as text is OTHER whatever its Content-Type says."""
    essence = essence_of(content_type)
    if essence in _HTML_TYPES:
        return _kind_of_html(body)
    if essence in _TEXT_TYPES:
        return _kind_of_text(body)
    if essence in _FEED_TYPES or essence in _XML_TYPES:
        return _kind_of_xml(body)
    if essence in _NO_TYPES:
        return _kind_of_unknown(body)
    if essence in _PDF_TYPES:
        return _kind_of_pdf(body)
    if essence.startswith(_OFFICE_TYPES):
        return Media.OFFICE if body.startswith(_ZIP) else Media.OTHER
    # Servers send pages as downloads; only what certainly is one is taken for it.
    if essence in _DOWNLOAD_TYPES:
        return Media.HTML if _SURE_HTML.match(_root(body)) else _kind_of_pdf(body)
    return Media.OTHER


@lru_cache(maxsize=1024)
def essence_of(content_type: str) -> str:
    """`type/subtype` of a Content-Type, in lower case, without parameters."""
    return content_type.partition(";")[0].strip().lower()


def _kind_of_html(body: bytes) -> Media:
    # Nearly all pages begin so.
    if body[:14].lower() == b"<!doctype html":
        return Media.HTML
    if _is_binary(body):
        return Media.OTHER
    return Media.FEED if _FEED_ROOT.match(_root(body)) else Media.HTML


def _kind_of_text(body: bytes) -> Media:
    # The standard never takes plain text for HTML, to protect users; a crawler runs no script, and servers do lie.
    if _SURE_HTML.match(_root(body)):
        return Media.HTML
    if body[:2] in _UTF16_MARKS:
        return Media.TEXT
    return Media.OTHER if _is_binary(body) or _BINARY.search(body[:_SNIFF_BYTES]) else Media.TEXT


def _kind_of_xml(body: bytes) -> Media:
    root = _root(body)
    if _FEED_ROOT.match(root):
        return Media.FEED
    return Media.HTML if _SURE_HTML.match(root) else Media.OTHER


def _kind_of_unknown(body: bytes) -> Media:
    if _is_binary(body):
        return _kind_of_pdf(body)
    start = _start(body)
    if start[:5] == b"<?xml":
        return _kind_of_xml(body)
    return Media.HTML if _HTML_START.match(start) else _kind_of_text(body)


def _kind_of_pdf(body: bytes) -> Media:
    # The standard allows 1,024 bytes of anything before it.
    return Media.PDF if _PDF in body[:_SNIFF_BYTES] else Media.OTHER


def _root(body: bytes) -> bytes:
    """The first bytes from the root's tag or a doctype on, without the XML declaration and comments before it."""
    rest = _start(body)
    while True:
        if rest.startswith(b"<!--"):
            end = rest.find(b"-->")
        elif rest.startswith(b"<?") or (rest[:9].lower() == b"<!doctype" and not _SURE_HTML.match(rest)):
            end = rest.find(b">")
        else:
            return rest
        if end < 0:
            return b""
        rest = rest[end:].lstrip(b"->" + _LEAD)


def _start(body: bytes) -> bytes:
    head = body[:_SNIFF_BYTES]
    # Good enough to find ASCII markup in UTF-16.
    return (head[2:].replace(b"\0", b"") if head[:2] in _UTF16_MARKS else head).lstrip(_LEAD)


def _is_binary(body: bytes) -> bool:
    return body.startswith(_MAGIC) or body[4:8] == b"ftyp"
