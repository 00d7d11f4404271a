"""Codings come off whole bodies, broken bodies and bombs, within bounded memory."""

from __future__ import annotations

import gzip
import random
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from functools import partial

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.errors import VisitError
from lycosa.fetch.coding import MAX_MEMBERS, DecodedBody, content_codings, decode
from lycosa.model import Failure

from .. import suites

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MIB = 1024 * 1024
PAGE = b"".join(b"<p>%d lines of text, %x</p>\n" % (n, n * n * 7919) for n in range(2000))


def raw_deflate(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "zlib": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "br": ("br", partial(brotli.compress, quality=5)),
    "zstd": ("zstd", zstd.compress),
}
each_coding = pytest.mark.parametrize(("coding", "encode"), ENCODERS.values(), ids=ENCODERS.keys())


@each_coding
@pytest.mark.parametrize("body", [b"x", b"short", PAGE, PAGE * 40], ids=["1", "5", "page", "large"])
def test_a_coding_comes_off(coding: str, encode: Callable[[bytes], bytes], body: bytes) -> None:
    assert decode(encode(body), [coding], 5 * MIB) == DecodedBody(body)


@each_coding
def test_two_codings_come_off_in_reverse_order(coding: str, encode: Callable[[bytes], bytes]) -> None:
    assert decode(gzip.compress(encode(PAGE)), [coding, "gzip"], MIB) == DecodedBody(PAGE)


@each_coding
def test_nothing_is_whole(coding: str, encode: Callable[[bytes], bytes]) -> None:
    assert decode(b"", [coding], MIB) == DecodedBody(b"")
    assert decode(encode(b""), [coding], MIB) == DecodedBody(b"")


def test_without_coding_the_body_is_the_same_object() -> None:
    assert decode(PAGE, [], MIB).body is PAGE


@each_coding
def test_the_limit_is_exact(coding: str, encode: Callable[[bytes], bytes]) -> None:
    coded = encode(PAGE)
    assert decode(coded, [coding], len(PAGE)) == DecodedBody(PAGE)
    assert decode(coded, [coding], len(PAGE) - 1) == DecodedBody(PAGE[:-1], is_cut=True)


@each_coding
def test_a_truncated_body_keeps_what_was_decoded(coding: str, encode: Callable[[bytes], bytes]) -> None:
    body = random.Random(1).randbytes(300_000) + PAGE
    coded = encode(body)
    decoded = decode(coded[: len(coded) * 2 // 3], [coding], MIB)
    assert decoded.is_damaged
    assert len(decoded.body) > 2000
    assert body.startswith(decoded.body)


@pytest.mark.parametrize(("coding", "encode"), list(ENCODERS.values())[:4], ids=list(ENCODERS)[:4])
def test_a_corrupt_body_keeps_what_came_before(coding: str, encode: Callable[[bytes], bytes]) -> None:
    body = random.Random(1).randbytes(100_000)
    coded = bytearray(encode(body))
    coded[70_000:] = b"\xff" * (len(coded) - 70_000)
    decoded = decode(bytes(coded), [coding], MIB)
    assert decoded.is_damaged
    assert decoded.body[:60_000] == body[:60_000]


def test_members_of_gzip_are_joined_and_padding_is_dropped() -> None:
    members = gzip.compress(PAGE) + gzip.compress(b"") + gzip.compress(b"end")
    assert decode(members + b"\0" * 100, ["gzip"], MIB) == DecodedBody(PAGE + b"end")


def test_a_flood_of_empty_members_ends() -> None:
    flood = gzip.compress(b"") * (MAX_MEMBERS + 5) + gzip.compress(b"never reached")
    assert decode(flood, ["gzip"], MIB).body == b""


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("text", [b"<html><body>Hello</body></html>", "grüße an alle\n".encode() * 9000, b"x", PAGE])
def test_plain_text_under_a_false_name_is_kept(coding: str, text: bytes) -> None:
    assert decode(text, [coding], 5 * MIB).body == text


@each_coding
def test_a_bomb_is_cut_in_bounded_memory(coding: str, encode: Callable[[bytes], bytes]) -> None:
    coded = encode(b"\0" * (30 * MIB))
    tracemalloc.start()
    try:
        decoded = decode(coded, [coding], MIB)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert decoded == DecodedBody(b"\0" * MIB, is_cut=True)
    # The buffer that grows takes an eighth in advance; the decoders hold a window each.
    assert peak < MIB * 9 // 8 + 512 * 1024


def test_frames_of_zstd_are_joined_and_frames_to_be_skipped_are() -> None:
    skipped = b"\x50\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"aside"
    assert decode(skipped + zstd.compress(b"a") + zstd.compress(b"b") + skipped, ["zstd"], MIB) == DecodedBody(b"ab")


def test_a_zstd_window_larger_than_agreed_takes_no_memory() -> None:
    options: dict[int, int] = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.content_size_flag: 0}
    compressor = zstd.ZstdCompressor(options=options)
    coded = compressor.compress(b"x" * MIB) + compressor.flush()
    assert decode(coded, ["zstd"], 5 * MIB) == DecodedBody(b"", is_damaged=True)


def test_a_gzip_body_with_a_wrong_checksum_is_kept_and_damaged() -> None:
    coded = bytearray(gzip.compress(PAGE))
    coded[-5] ^= 255
    decoded = decode(bytes(coded), ["gzip"], MIB)
    assert (decoded.body, decoded.is_damaged) == (PAGE, True)


def test_a_bomb_between_two_codings_is_cut() -> None:
    empty_members = gzip.compress(b"") * 100
    decoded = decode(gzip.compress(empty_members * 50_000), ["gzip", "gzip"], MIB)
    assert decoded.body == b""


def test_names_of_codings_are_read_as_servers_write_them() -> None:
    assert content_codings([]) == []
    assert content_codings(["identity, "]) == []
    assert content_codings(["GZIP ,br"]) == ["gzip", "br"]
    assert content_codings(["gzip", "x-gzip"]) == ["gzip", "x-gzip"]


@pytest.mark.parametrize("values", [["dcz"], ["compress"], ["gzip, gzip, gzip"], ["gzip;q=1"], ["\x1b[31m"]])
def test_codings_that_cannot_come_off_fail_the_visit(values: list[str]) -> None:
    with pytest.raises(VisitError) as failure:
        content_codings(values)
    assert failure.value.reason is Failure.CODING
    assert "\x1b" not in failure.value.detail


@given(st.binary(max_size=600), st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd"]), min_size=1, max_size=2))
def test_any_bytes_give_a_bounded_body(raw: bytes, codings: list[str]) -> None:
    assert len(decode(raw, codings, 1000).body) <= 1000


@given(st.integers(0, 2**32), st.sampled_from(sorted(ENCODERS)))
def test_flipped_bits_give_a_bounded_body(seed: int, name: str) -> None:
    coding, encode = ENCODERS[name]
    chance = random.Random(seed)
    coded = bytearray(encode(PAGE[:5000]))
    for _ in range(3):
        coded[chance.randrange(len(coded))] ^= 1 << chance.randrange(8)
    assert len(decode(bytes(coded), [coding], 10_000).body) <= 10_000


@pytest.mark.parametrize(("folder", "coding", "suffix"), [("gzip", "gzip", "gz"), ("br", "br", "br")])
def test_the_bodies_of_the_web_platform_tests_come_off(folder: str, coding: str, suffix: str) -> None:
    files = suites.find_all(f"conformance/http/wpt-content-encoding/{folder}/resources/*.{suffix}")
    assert files
    for file in files:
        decoded = decode(file.read_bytes(), [coding], 64 * MIB)
        assert decoded.body, file.name
        assert not decoded.is_damaged, file.name
        assert not decoded.is_cut, file.name
