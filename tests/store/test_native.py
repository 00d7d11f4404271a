"""The compiled parts find what their twins in Python find."""

from __future__ import annotations

import hashlib
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.store import tables
from lycosa.store.columns import PlainTextColumn
from lycosa.store.digest import plain_base32, plain_digests, plain_record

native = pytest.importorskip("lycosa.store._native")
with_sha1 = pytest.mark.skipif(not native.HAS_SHA1, reason="this processor has no instructions for SHA-1")
# Around the ends of blocks.
LENGTHS = [0, 1, 54, 55, 56, 57, 62, 63, 64, 65, 118, 119, 120, 127, 128, 129, 191, 192, 200, 1000]
BYTES = st.sampled_from(LENGTHS).flatmap(lambda length: st.binary(min_size=length, max_size=length)) | st.binary()
DIGESTS = st.binary(min_size=20, max_size=20)


@with_sha1
@given(BYTES, BYTES, BYTES)
def test_both_digests_are_those_of_the_standard_library(body: bytes, head: bytes, raw: bytes) -> None:
    assert native.digests(body, head, raw) == plain_digests(body, head, raw)


@with_sha1
def test_messages_of_every_length_are_digested() -> None:
    data = Random(7).randbytes(700)
    for head in range(0, 300, 7):
        for length in range(140):
            body, raw = data[: 3 * length], data[head : head + length]
            assert native.digests(body, data[:head], raw) == plain_digests(body, data[:head], raw)


@with_sha1
def test_a_long_message_is_digested() -> None:
    body = Random(1).randbytes(3_000_001)
    assert native.digests(body, b"", b"x")[0] == hashlib.sha1(body).digest()
    assert native.digests(b"x", body, body)[1] == hashlib.sha1(body + body).digest()


@given(DIGESTS)
def test_base_32_has_the_same_letters(digest: bytes) -> None:
    assert native.base32(digest) == plain_base32(digest)


FIELDS = st.text(st.characters(exclude_categories=["Cs"]))


@given(FIELDS, DIGESTS, st.binary(), st.binary())
def test_a_record_has_the_same_bytes(fields: str, digest: bytes, head: bytes, body: bytes) -> None:
    assert native.record(fields, digest, head, body) == plain_record(fields, digest, head, body)


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        native.record("\ud800", bytes(20), b"", b"")
    for digest in (b"", bytes(19), bytes(21)):
        with pytest.raises(ValueError, match="SHA-1"):
            native.record("", digest, b"", b"")
        with pytest.raises(ValueError, match="SHA-1"):
            native.base32(digest)
    with pytest.raises(TypeError):
        native.digests("text", b"", b"")


TEXTS = st.lists(st.text() | st.sampled_from(["", "a", "nofollow", "\ud800", "x" * 2000]))


@given(st.lists(TEXTS, max_size=4))
def test_a_column_has_the_same_bytes_whenever_it_is_taken(batches: list[list[str]]) -> None:
    compiled, plain = native.TextColumn(), PlainTextColumn()
    for texts in batches:
        for column in (compiled, plain):
            column.extend(texts)
            column.append("é")
        assert len(compiled) == len(plain) == len(texts) + 1
        assert compiled.take() == plain.take()
    assert len(compiled) == 0
    assert compiled.take() == plain.take() == (bytes(4), b"")


KINDS = st.sampled_from([pa.string(), pa.dictionary(pa.int32(), pa.string())])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), KINDS, st.booleans())
def test_a_column_is_that_of_arrow(values: list[str], kind: pa.DataType, is_one_missing: bool) -> None:
    texts = [*values, None] if is_one_missing else values
    made, expected = tables._array(texts, kind), pa.array(texts, kind)
    made.validate(full=True)
    assert made.type == expected.type
    assert made.equals(expected)
    assert made.to_pylist() == texts


def test_a_column_takes_texts_and_nothing_else() -> None:
    column = native.TextColumn()
    for wrong in (None, 1, b"a"):
        with pytest.raises(TypeError):
            column.append(wrong)
        with pytest.raises(TypeError):
            column.extend([wrong])
    for unfit in (None, "text", iter(["a"])):
        with pytest.raises(TypeError):
            column.extend(unfit)
    column.extend(("a", "b"))
    assert column.take() == (b"\0\0\0\0\1\0\0\0\2\0\0\0", b"ab")
