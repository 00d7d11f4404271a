"""The compiled part finds what its twin in Python finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.errors import VisitError
from lycosa.fetch import head
from lycosa.fetch.head import HeadLimits, ResponseHead, any_head, read_head

pytestmark = pytest.mark.skipif(head.compiled_head is None, reason="the compiled part is not built")

LIMITS = HeadLimits(4, 200, 60)
FIRST = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200\r\n",
        b"HTTP/1.1 404 Not Found\n",
        b"HTTP/1.1 301  Moved\r\n",
        b"HTTP/1.1 100 Continue\r\n",
        b"HTTP/1.1 2000 OK\r\n",
        b"HTTP/1.1 20\r\n",
        b"HTTP/1.1  200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/2 200 \r\n",
        b"HTTP/1.1 200",
        b"HTTP/1.1 abc\r\n",
        b"\r\n",
    ]
)
PIECES = st.sampled_from(
    [b"Server", b"X-Ray", b":", b": ", b" ", b"\t", b"\r", b"\xe9", b"\xa0", b"\x85", b"\x00", b"\x7f", b"v", b"gzip"]
)
LINE = st.one_of(
    st.sampled_from([b"\r\n", b"\n", b"", b"Server: a\r\n", b'ETag:\t"a" \r\n', b" folded\r\n", b"x" * 61]),
    st.lists(PIECES, max_size=8).map(lambda pieces: b"".join(pieces) + b"\r\n"),
    st.binary(max_size=8),
)


def found(reader: object, lines: list[bytes], limits: HeadLimits) -> ResponseHead | str | None:
    assert callable(reader)
    try:
        answer: ResponseHead | None = reader(lines, limits)
    except VisitError as error:
        return str(error)
    except IndexError:
        return "an empty line"
    return answer


@given(st.lists(FIRST, max_size=2), st.lists(LINE, max_size=7), st.booleans())
def test_every_head_is_the_same(first: list[bytes], others: list[bytes], is_whole: bool) -> None:
    lines = [*first, *others, *([b"\r\n"] if is_whole else [])]
    assert found(read_head, lines, LIMITS) == found(any_head, lines, LIMITS)


@given(st.lists(st.tuples(st.text("Ab-", min_size=1), st.text('xY "/=;:,', max_size=9)), max_size=4), st.booleans())
def test_plain_heads_are_read_by_the_compiled_part(headers: list[tuple[str, str]], has_trailer: bool) -> None:
    lines = [f"{name}: {value}\r\n".encode() for name, value in headers]
    trailer = [b"Digest: x\r\n", b"\r\n"] if has_trailer else []
    lines = [b"HTTP/1.1 200 OK\r\n", *lines, b"\r\n", *trailer]
    assert head.compiled_head is not None
    plain = head.compiled_head(lines, *LIMITS)
    assert plain is not None
    assert ResponseHead(*plain, "http/1.1") == any_head(lines, LIMITS)


@pytest.mark.parametrize("lines", [[], [b"HTTP/1.1 200 OK\r\n"], ["text"], [b"HTTP/1.1 200 OK\r\n", None, b"\r\n"]])
def test_what_is_no_head_is_left_alone(lines: list[bytes]) -> None:
    assert head.compiled_head is not None
    assert head.compiled_head(lines, *LIMITS) is None
