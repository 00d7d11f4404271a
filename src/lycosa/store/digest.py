"""SHA-1 and how WARC records write it; compiled where it can be, found by the standard library everywhere."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha1

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [first + second for first in _LETTERS for second in _LETTERS]
_END = b"\r\n\r\n"


def plain_base32(digest: bytes) -> str:
    """A SHA-1 in base 32, two letters at a time: `base64.b32encode` takes 7 µs, this 1."""
    number = int.from_bytes(digest, "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(150, -1, -10)])


def plain_digests(body: bytes, head: bytes, raw: bytes) -> tuple[bytes, bytes]:
    """The SHA-1 of a body, and that of a head and the body as it came."""
    block = sha1(head, usedforsecurity=False)
    block.update(raw)
    return sha1(body, usedforsecurity=False).digest(), block.digest()


def plain_record(fields: str, digest: bytes, head: bytes, body: bytes) -> bytes:
    """A WARC record: its fields, those that tell of its block, and the block, of a head and a body."""
    fields += f"WARC-Block-Digest: sha1:{plain_base32(digest)}\r\nContent-Length: {len(head) + len(body)}\r\n"
    return b"".join((f"WARC/1.1\r\n{fields}\r\n".encode("utf-8", "replace"), head, body, _END))


base32: Callable[[bytes], str]
record: Callable[[str, bytes, bytes, bytes], bytes]
digests: Callable[[bytes, bytes, bytes], tuple[bytes, bytes]]
try:
    from lycosa.store import _native
except ImportError:  # not built: what stands above finds the same
    base32, record, digests = plain_base32, plain_record, plain_digests
else:
    base32, record = _native.base32, _native.record
    # Both in the time of one, by instructions that not every processor has; without them OpenSSL is faster.
    digests = _native.digests if _native.HAS_SHA1 else plain_digests
