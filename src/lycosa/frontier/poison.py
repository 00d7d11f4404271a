"""Records that nobody here wrote: bytes that are no target and no history. They are set aside; the crawl goes on."""

from __future__ import annotations

import msgspec

from lycosa.model import History

# What decoding such bytes may raise.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)

_decode_history = msgspec.msgpack.Decoder(History).decode


def readable_history(raw: bytes | None) -> History | None:
    """What these bytes say of a URL; None if there are none, or they say nothing."""
    try:
        return _decode_history(raw) if raw else None
    except UNREADABLE:
        return None
