"""What the open web sends, in shapes that find more than random bytes do; and bytes cut and turned over."""

from __future__ import annotations

from hypothesis import strategies as st

TEXT = st.text(max_size=60)
BYTES = st.binary(max_size=400)

URL_PIECES = [
    "http:", "https:", "//", "/", "\\", "?", "#", "@", ":", "[", "]", "%", "%2F", "%00", "%zz", "..", ".", "a",
    "A.test", "xn--", "xn--a", "\u00df", "\u3002", "\uff0e", "127.0.0.1", "0x7f.1", "::1", "80", "0", "99999",
    "user:pw@", " ", "\t", "\n", "\0", "\ud800", "\u202e", "&", "=", ";", "+", "~", "|", "^", "{", "}", "\u200d",
    "\U0001f600", "a" * 70,
]  # fmt: skip
URLS = st.lists(st.sampled_from(URL_PIECES) | TEXT, max_size=12).map("".join)
BASES = st.sampled_from(["http://a.test/x/y?q#f", "https://b.test:8443/", "http://[::1]/", "http://a.test/" + "p/" * 9])

MARKUP_PIECES = [
    "<", ">", "</", "/>", "<!--", "-->", "<![CDATA[", "]]>", "<!doctype html>", "<a href=", "<a href='/x'>", "</a>",
    "<base href=", "<meta ", "charset=", "http-equiv=refresh ", "content='0;url=/y'", "name=robots content=noindex>",
    "<title>", "</title>", "<script>", "</script>", "<style>", "<template>", "<svg>", "<math>", "<table>", "<tr><td>",
    "<select>", "<noscript>", "<frameset>", "<iframe src=/z>", "<p>", "<b>", "<i>", "</b>", "&amp;", "&#0;",
    "&#xd800;", "&notin", "&", "\0", "\x0c", "'", '"', "=", " ", "\n", "<link rel=canonical href=/c>", "<body>",
    "<html lang=x>",
]  # fmt: skip
MARKUP = st.lists(st.sampled_from(MARKUP_PIECES) | TEXT, max_size=40).map("".join)

_XML = [
    "<?xml version='1.0' encoding='", "utf-8", "utf-16", "zlib", "'?>", "<urlset>", "</urlset>", "<sitemapindex>",
    "<url>", "</url>", "<sitemap>", "<loc>", "</loc>", "http://a.test/", "//b.test/", "/x", "<lastmod>", "2024-01-01",
    "0000-00-00", "99999-99-99T99:99", "Tue, 99 Foo 9999 99:99:99 +9999", "</lastmod>", "<priority>", "nan", "1e999",
    "-1", "</priority>", "<changefreq>", "<rss>", "<item>", "<link>", "</item>", "<feed>", "<entry>",
    "<link href='/y'/>", "<rdf:RDF>", "<sm:urlset>", "<!DOCTYPE x [", "<!ENTITY x 'y'>", "]>", "&x;", "&#x110000;",
    "&#", "&amp;", "<![CDATA[", "]]>", "<!--", "\ufeff", "\0",
]  # fmt: skip
XML = st.lists(st.sampled_from(_XML) | TEXT, max_size=40).map("".join)

_ROBOTS = [
    "User-agent: *", "User-agent: lycosa", "user agent lycosa", "Disallow: /", "Disallow:", "Allow: /a",
    "Disallow: /*a*b$", "Disallow: *", "Allow: /$", "Disallow: /%41%zz", "Allow: /index.html", "Crawl-delay: 1e9",
    "Crawl-delay: -1", "Crawl-delay: 1,5", "Sitemap: /s", "Content-Signal: x=y", "\n", "\r", "\r\n", "\0", "#",
    "\ufeff", ":", "\u00e4",
]  # fmt: skip
ROBOTS = st.lists(st.sampled_from(_ROBOTS) | TEXT, max_size=30).map("\n".join)
PATHS = st.lists(
    st.sampled_from(["/", "a", "b", "?", "%41", "%2f", "%", "*", "$", "=", "index.html", "\u00e4"]), max_size=12
).map(lambda pieces: "/" + "".join(pieces))

_LINES = [
    b"HTTP/1.1 200 OK", b"HTTP/1.1 100 Continue", b"HTTP/1.0 301", b"HTTP/2 200", b"HTTP/1.1 abc", b"",
    b"Content-Type: text/html", b"Content-Encoding: gzip", b"Location: /x", b" folded", b"\tfolded", b": empty",
    b"nocolon", b"X: \x1b[31m", b"Y:\0\xff\x85", b"Retry-After: 120", b"X-Robots-Tag: noindex",
]  # fmt: skip
HEAD_LINES = st.lists(
    (st.sampled_from(_LINES) | BYTES.map(lambda line: line.replace(b"\n", b""))).map(lambda x: x + b"\r\n"), max_size=20
)

_TYPES = [
    "text/html", "text/html; charset=utf-8", "text/html;charset=utf-7", "text/html; charset=zlib", "text/plain", "",
    "application/xml", "application/rss+xml; charset=utf-16", 'text/html; charset="x', "image/png", "html",
]  # fmt: skip
CONTENT_TYPES = st.sampled_from(_TYPES) | TEXT


def encoded(texts: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """A text in one of many encodings, or mere bytes."""
    charsets = st.sampled_from(
        ["utf-8", "utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "shift_jis", "gb18030", "utf-7"]
    )
    return st.builds(lambda text, charset: text.encode(charset, "ignore"), texts, charsets) | BYTES


def damaged(wholes: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Bytes cut somewhere, with some turned over, or with others behind them."""

    def harm(whole: bytes, cut: int, flips: list[tuple[int, int]], tail: bytes) -> bytes:
        kept = bytearray(whole[: len(whole) - cut % (len(whole) + 1)] if cut else whole)
        for place, mask in flips:
            if kept:
                kept[place % len(kept)] ^= mask
        return bytes(kept) + tail

    flips = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 255)), max_size=3)
    return st.builds(harm, wholes, st.integers(0, 1 << 16), flips, st.binary(max_size=20))
