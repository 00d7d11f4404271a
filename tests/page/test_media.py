from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.page.media import Media, media_of

RSS = b'<?xml version="1.0"?>\n<!-- c --><rss version="2.0"><channel></channel></rss>'
ATOM = b'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"></feed>'
PAGE = b"<!doctype html><title>t</title>"


@pytest.mark.parametrize(
    ("content_type", "body", "media"),
    [
        ("text/html", PAGE, Media.HTML),
        ("TEXT/HTML; charset=utf-8", b"no markup at all", Media.HTML),
        ("application/xhtml+xml", b"<html xmlns='http://www.w3.org/1999/xhtml'>", Media.HTML),
        ("text/html", b"%PDF-1.7 ...", Media.OTHER),
        ("text/html", b"\x89PNG\r\n\x1a\n...", Media.OTHER),
        ("text/html", RSS, Media.FEED),
        ("text/html", b"<?xml version='1.0'?><!DOCTYPE html><html>", Media.HTML),
        ("text/plain", b"words", Media.TEXT),
        ("text/plain", PAGE, Media.HTML),
        ("text/plain", b"<b>bold</b> claims", Media.TEXT),
        ("text/plain", b"PK\x03\x04...", Media.OTHER),
        ("text/plain", b"a\x00\x01\x02b", Media.OTHER),
        ("text/plain", "\ufeffwörds".encode("utf-16le"), Media.TEXT),
        ("application/octet-stream", PAGE, Media.HTML),
        ("application/octet-stream", b"words", Media.OTHER),
        ("application/rss+xml", RSS, Media.FEED),
        ("application/xml", ATOM, Media.FEED),
        ("text/xml", b"<?xml version='1.0'?><html>", Media.HTML),
        ("text/xml", b"<?xml version='1.0'?><urlset>", Media.OTHER),
        ("", PAGE, Media.HTML),
        ("", "\ufeff<html>".encode("utf-16le"), Media.HTML),
        ("", b"   <p>hello", Media.HTML),
        ("", b"hello", Media.TEXT),
        ("", b"\x1f\x8b\x08...", Media.OTHER),
        ("", RSS, Media.FEED),
        ("application/json", b'{"a": 1}', Media.OTHER),
        ("image/png", PAGE, Media.OTHER),
        ("application/pdf", b"%PDF-", Media.PDF),
        ("text/css", b"a {}", Media.OTHER),
    ],
)
def test_what_a_body_is(content_type: str, body: bytes, media: Media) -> None:
    assert media_of(content_type, body) is media


@given(
    st.sampled_from(["", "text/html", "text/plain", "text/xml", "application/octet-stream"]), st.binary(max_size=200)
)
def test_any_bytes_are_something(content_type: str, body: bytes) -> None:
    assert isinstance(media_of(content_type, body), Media)


@pytest.mark.parametrize("piece", [b" ", b"<!---->", b"<!-- ", b"<?xml ", b"<?x>", b"<!doctype x>", b"\n\t"])
def test_a_long_prologue_is_read_in_linear_time(piece: bytes) -> None:
    # A backtracking pattern would not come back from this.
    assert media_of("text/xml", piece * 1000 + b"x") is Media.OTHER
