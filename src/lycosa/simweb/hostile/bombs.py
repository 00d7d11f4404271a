"""Small answers that grow beyond measure: one gigabyte in a few kilobytes, by content coding and by place.

The bytes are made of one block repeated, so that making a bomb costs nothing.
"""

from __future__ import annotations

import zlib
from functools import lru_cache

import brotli

from ..http import Reply, make_reply
from .malformed import zstd_zeros

BOMB_BYTES = 1024**3
CODINGS = ("gzip", "deflate", "br", "zstd")
PLACES = ("page", "redirect", "error", "robots", "sitemap", "gz-sitemap")
_BLOCK_BYTES = 1024**2
_RAW, _ZLIB, _GZIP = -15, 15, 31


@lru_cache(maxsize=8)
def bomb_bytes(coding: str, filler: bytes = b" ") -> bytes:
    """A body of `BOMB_BYTES` under a coding."""
    match coding:
        case "gzip":
            return _deflated(_GZIP, filler)
        case "deflate":
            return _deflated(_ZLIB, filler)
        case "br":
            # A quarter: brotli has no blocks that can be repeated, and must be made in full.
            return bytes(brotli.compress(filler * (BOMB_BYTES // 4), quality=1))
        case "zstd":
            return zstd_zeros(BOMB_BYTES)
    raise ValueError(f"no bomb under the coding {coding!r} ({', '.join(CODINGS)})")


def bomb(coding: str, place: str) -> Reply:
    """The answer with a bomb at a place: a page, the body of a redirect or error, a robots.txt, a sitemap."""
    body = bomb_bytes(coding)
    match place:
        case "page":
            return _coded(200, body, coding, "text/html")
        case "redirect":
            return _coded(302, body, coding, "text/html", ("Location", "/landed"))
        case "error":
            return _coded(404, body, coding, "text/html")
        case "robots":
            return _coded(200, body, coding, "text/plain")
        case "sitemap":
            return _coded(200, body, coding, "application/xml")
        case "gz-sitemap":
            # A compressed file, once more under a coding: the two multiply.
            return _coded(200, _again(bomb_bytes("gzip"), coding), coding, "application/gzip")
    raise ValueError(f"no place {place!r} for a bomb ({', '.join(PLACES)})")


def _coded(status: int, body: bytes, coding: str, media_type: str, *more: tuple[str, str]) -> Reply:
    return make_reply(status, body, [("Content-Type", media_type), ("Content-Encoding", coding), *more])


def _deflated(window_bits: int, filler: bytes) -> bytes:
    maker = zlib.compressobj(9, wbits=_RAW)
    block = maker.compress(filler * _BLOCK_BYTES) + maker.flush(zlib.Z_FULL_FLUSH)
    head = zlib.compressobj(9, wbits=window_bits)
    start = head.compress(b"") or head.flush(zlib.Z_SYNC_FLUSH)
    # The checksum at the end is wrong; nobody gets there.
    return start + block * (BOMB_BYTES // _BLOCK_BYTES) + b"\x03\x00" + bytes(8)


def _again(data: bytes, coding: str) -> bytes:
    match coding:
        case "gzip":
            return zlib.compress(data, 9, _GZIP)
        case "deflate":
            return zlib.compress(data, 9, _ZLIB)
        case "br":
            return bytes(brotli.compress(data, quality=1))
        case _:
            return zstd_zeros(BOMB_BYTES)
