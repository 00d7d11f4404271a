"""Content codings taken off a body, within limits. Knows bytes only, no connection and no media type.

Decoders are generators over pieces: what is held at once is the result and one piece per coding, whatever
the body claims to grow to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from typing import NamedTuple

import brotli
from isal import isal_zlib

from lycosa.errors import VisitError
from lycosa.model import Failure

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAX_CODINGS = 2
PIECE_BYTES = 32 * 1024
# Small pieces lose little when the decoder gives up within one of them; where only the checksum is wrong, nothing.
SALVAGE_PIECE_BYTES = 256
SALVAGE_END_BYTES = 512
# Each member may be empty, so that the length of the output limits nothing.
MAX_MEMBERS = 1024

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW_DEFLATE = 31, 15, -15
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# RFC 9659: whoever names zstd as a content coding keeps to windows of 8 MiB; a frame may ask for 2 GiB.
_ZSTD_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 23}
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\f\r\x1b")

Pieces = Iterator[bytes]


class DecodedBody(NamedTuple):
    """A body without its codings: `is_cut` at the limit, `is_damaged` if the coded bytes were broken or ended early."""

    body: bytes
    is_cut: bool = False
    is_damaged: bool = False


class _Corrupt(Exception):
    """The coded bytes make no sense; the output of the current piece is lost."""


class _EndedEarly(Exception):
    """The coded bytes stop before their end; all output was given."""


def content_codings(values: Iterable[str]) -> list[str]:
    """The codings named by Content-Encoding headers, in the order they were applied; raises `VisitError` (CODING)."""
    names = [name.strip().lower() for value in values for name in value.split(",")]
    codings = [name for name in names if name not in ("", "identity", "none")]
    if unknown := [name for name in codings if name not in _DECODERS]:
        raise VisitError(Failure.CODING, f"no decoder for {unknown[0][:40]!r}")
    if len(codings) > MAX_CODINGS:
        raise VisitError(Failure.CODING, f"{len(codings)} content codings, at most {MAX_CODINGS} are taken off")
    return codings


def decode(raw: bytes, codings: Sequence[str], max_bytes: int) -> DecodedBody:
    """The body under its codings, cut at `max_bytes`. Broken bodies give what could be read of them."""
    if not raw or not codings:
        return DecodedBody(raw[:max_bytes], is_cut=len(raw) > max_bytes)
    try:
        return _gather(_chain(_split(raw, PIECE_BYTES), codings, max_bytes), max_bytes)
    except _Corrupt:
        return _salvage(raw, codings, max_bytes)


def _salvage(raw: bytes, codings: Sequence[str], max_bytes: int) -> DecodedBody:
    kept = BytesIO()
    try:
        for piece in _chain(_small_pieces(raw), codings, max_bytes):
            kept.write(piece)
            if kept.tell() >= max_bytes:
                break
    except (_Corrupt, _EndedEarly):
        pass
    return DecodedBody(kept.getvalue()[:max_bytes], is_damaged=True)


def _gather(pieces: Pieces, max_bytes: int) -> DecodedBody:
    body, room = BytesIO(), max_bytes
    try:
        for piece in pieces:
            if len(piece) > room:
                body.write(piece[:room])
                return DecodedBody(body.getvalue(), is_cut=True)
            body.write(piece)
            room -= len(piece)
    except _EndedEarly:
        return DecodedBody(body.getvalue(), is_damaged=True)
    return DecodedBody(body.getvalue())


def _chain(pieces: Pieces, codings: Sequence[str], max_bytes: int) -> Pieces:
    *outer, innermost = reversed(codings)
    for coding in outer:
        # What lies between two codings is smaller than the page it stands for, or it is a bomb.
        pieces = _limited(_DECODERS[coding](pieces), max_bytes)
    return _DECODERS[innermost](pieces)


def _split(raw: bytes, piece_bytes: int) -> Pieces:
    return (raw[at : at + piece_bytes] for at in range(0, len(raw), piece_bytes))


def _small_pieces(raw: bytes) -> Pieces:
    end_at = max(0, len(raw) - SALVAGE_END_BYTES)
    yield from _split(raw[:end_at], SALVAGE_PIECE_BYTES)
    yield from _split(raw[end_at:], 1)


def _limited(pieces: Pieces, max_bytes: int) -> Pieces:
    for piece in pieces:
        yield piece[:max_bytes]
        max_bytes -= len(piece)
        if max_bytes <= 0:
            return


def _gunzip(pieces: Pieces) -> Pieces:
    first = next(pieces, b"")
    if first[:2] == _GZIP_MAGIC[: len(first)]:
        yield from _inflate(first, pieces, _GZIP)
    else:
        # Servers name gzip and send plain text: what came is what they meant.
        yield from _plain(first, pieces)


def _undeflate(pieces: Pieces) -> Pieces:
    """Both meanings of "deflate" met in the wild: RFC 1950 (zlib), and bare RFC 1951."""
    first = next(pieces, b"")
    if len(first) > 1 and first[0] & 15 == 8 and int.from_bytes(first[:2], "big") % 31 == 0:
        yield from _inflate(first, pieces, _ZLIB)
    else:
        yield from _or_plain(first, _inflate(first, pieces, _RAW_DEFLATE), pieces)


def _unbrotli(pieces: Pieces) -> Pieces:
    first = next(pieces, b"")
    yield from _or_plain(first, _brotli_pieces(first, pieces), pieces)


def _unzstd(pieces: Pieces) -> Pieces:
    first = next(pieces, b"")
    # Frames may be preceded by ones to be skipped (RFC 8878, 3.1.2): sixteen marks, of which nobody makes use.
    if first[:4] == _ZSTD_MAGIC[: len(first)] or first[1:4] == b"\x2a\x4d\x18":
        yield from _zstd_pieces(first, pieces)
    else:
        yield from _plain(first, pieces)


def _plain(first: bytes, rest: Pieces) -> Pieces:
    yield first
    yield from rest


def _or_plain(first: bytes, decoded: Pieces, rest: Pieces) -> Pieces:
    """A coding without a mark at its start: text that fails at once was never coded."""
    try:
        beginning = next(decoded, b"")
    except (_Corrupt, _EndedEarly):
        if not _is_text(first):
            raise
        decoded, beginning = rest, first
    yield beginning
    yield from decoded


def _is_text(start: bytes) -> bool:
    return _CONTROLS.isdisjoint(start[:512])


def _inflate(piece: bytes, rest: Pieces, window_bits: int) -> Pieces:
    decoder = isal_zlib.decompressobj(wbits=window_bits)
    members = 1
    while True:
        try:
            output = decoder.decompress(piece, PIECE_BYTES)
        except isal_zlib.error as error:  # type: ignore[misc]  # its stub calls the class an instance
            raise _Corrupt from error
        if output:
            yield output
        if decoder.eof:
            piece = decoder.unused_data or next(rest, b"")
            # Zeros and other bytes after the last member are padding.
            if window_bits != _GZIP or members == MAX_MEMBERS or not piece.startswith(_GZIP_MAGIC):
                return
            decoder = isal_zlib.decompressobj(wbits=window_bits)
            members += 1
        elif decoder.unconsumed_tail:
            piece = decoder.unconsumed_tail
        elif len(output) < PIECE_BYTES:
            # Nothing is left inside the decoder.
            piece = next(rest, b"")
            if not piece:
                raise _EndedEarly
        else:
            piece = b""


def _brotli_pieces(first: bytes, rest: Pieces) -> Pieces:
    decoder = brotli.Decompressor()
    for piece in _plain(first, rest):
        yield from _brotli_output(decoder, piece)
        if decoder.is_finished():
            return
    raise _EndedEarly


def _brotli_output(decoder: brotli.Decompressor, piece: bytes) -> Pieces:
    """All that one piece gives. The limit stops the growth of a buffer that starts at 32 KiB."""
    while True:
        try:
            output = decoder.process(piece, output_buffer_limit=PIECE_BYTES // 2)
        except brotli.error as error:
            raise _Corrupt from error
        if output:
            yield output
        # `can_accept_more_data` speaks of input kept back; output may be waiting all the same.
        if len(output) < PIECE_BYTES // 2 and decoder.can_accept_more_data():
            return
        piece = b""


def _zstd_pieces(piece: bytes, rest: Pieces) -> Pieces:
    decoder = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
    frames = 1
    while True:
        try:
            output = decoder.decompress(piece, PIECE_BYTES)
        except (zstd.ZstdError, MemoryError) as error:
            raise _Corrupt from error
        if output:
            yield output
        if decoder.eof:
            piece = decoder.unused_data or next(rest, b"")
            if not piece or frames == MAX_MEMBERS:
                return
            decoder = zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)
            frames += 1
        elif decoder.needs_input:
            piece = next(rest, b"")
            if not piece:
                raise _EndedEarly
        else:
            piece = b""


_DECODERS: dict[str, Callable[[Pieces], Pieces]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _undeflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}
