"""Taking content codings off a stored payload, as far as it goes and no further than a limit."""

from __future__ import annotations

import zlib

import brotli

_STEP = 64 * 1024


def decoded(payload: bytes, content_encoding: str, max_bytes: int) -> bytes:
    """The payload without its content codings, at most `max_bytes` of it.

    A payload cut short or broken gives what came before; one whose coding is unknown or a lie is given as it is.
    """
    body = payload
    for coding in reversed([name.strip().lower() for name in content_encoding.split(",")]):
        match coding:
            case "gzip" | "x-gzip":
                body = _inflated(body, max_bytes, window_bits=31)
            case "deflate":
                # RFC 9110 asks for the zlib form; some servers send bare deflate.
                body = _inflated(body, max_bytes, window_bits=15 if _is_zlib(body) else -15)
            case "br":
                body = _unbrotlied(body, max_bytes)
            case _:
                pass
    return body[:max_bytes]


def _is_zlib(body: bytes) -> bool:
    return len(body) >= 2 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0


def _inflated(body: bytes, max_bytes: int, window_bits: int) -> bytes:
    parts: list[bytes] = []
    room = max_bytes
    while body and room > 0:
        stream = zlib.decompressobj(window_bits)
        try:
            part = stream.decompress(body, room)
        except zlib.error:
            # What was whole before the error is lost within this call; take it again in small steps.
            part = _inflated_until_error(body, room, window_bits)
            if not parts and not part:
                return body  # the coding is a lie
            return b"".join([*parts, part])
        parts.append(part)
        room -= len(part)
        if not stream.eof:
            break
        body = stream.unused_data  # a further gzip member
    return b"".join(parts)


def _inflated_until_error(body: bytes, room: int, window_bits: int) -> bytes:
    stream = zlib.decompressobj(window_bits)
    parts: list[bytes] = []
    try:
        for start in range(0, len(body), 256):
            parts.append(stream.decompress(body[start : start + 256], room))
            room -= len(parts[-1])
            if room <= 0 or stream.eof:
                break
    except zlib.error:
        pass
    return b"".join(parts)


def _unbrotlied(body: bytes, max_bytes: int) -> bytes:
    stream = brotli.Decompressor()
    parts: list[bytes] = []
    size = 0
    try:
        for start in range(0, len(body), _STEP):
            part = stream.process(body[start : start + _STEP], output_buffer_limit=max_bytes - size)
            parts.append(part)
            size += len(part)
            if size >= max_bytes:
                break
    except brotli.error:
        if not parts:
            return body
    return b"".join(parts)
