"""Sitemaps as the web serves them: whole, broken, hostile."""

import gzip
import tracemalloc
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.model import NO_REASON, Note, Reason
from lycosa.page.sitemap import (
    MAX_SITEMAP_BYTES,
    Sitemap,
    SitemapEntry,
    SitemapKind,
    entries_allowed,
    parse_sitemap,
    posix_seconds,
)

URL = "https://www.example.com/sitemap.xml"
PAGE = "https://www.example.com/a"


def locs(body: bytes | str) -> list[str]:
    octets = body.encode() if isinstance(body, str) else body
    return [entry.loc for entry in parse_sitemap(octets, URL).entries]


def test_an_entry_carries_what_its_site_says() -> None:
    body = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>
        <loc> https://www.example.com/a?b=1&amp;c=2 </loc><lastmod>1970-01-02</lastmod>
        <changefreq>Weekly</changefreq><priority>0.8</priority></url></urlset>"""
    entry = SitemapEntry("https://www.example.com/a?b=1&c=2", 86_400.0, "weekly", 0.8)
    assert parse_sitemap(body, URL) == Sitemap(SitemapKind.URLSET, (entry,))


def test_the_entries_of_an_index_are_sitemaps() -> None:
    body = b"<sitemapindex><sitemap><loc>https://www.example.com/1.xml.gz</loc></sitemap></sitemapindex>"
    sitemap = parse_sitemap(body, URL)
    assert (sitemap.kind, len(sitemap.entries), sitemap.trouble) == (SitemapKind.INDEX, 1, NO_REASON)


@pytest.mark.parametrize(
    "body",
    [
        f"<urlset><url><loc>{PAGE}</loc></url></urlset>",
        f"\ufeff \n<?xml version='1.0'?><urlset><url><loc>{PAGE}</loc></url></urlset>",
        f"Warning: mysql_connect() in /var/www\n<br /><?xml version='1.0'?><urlset><url><loc>{PAGE}</loc>",
        f"<URLSET><URL><LOC>{PAGE}</LOC></URL></URLSET>",
        f"<s:urlset xmlns:s='x'><s:url><s:loc>{PAGE}</s:loc><image:loc>/i</image:loc></s:url></s:urlset>",
        f"<urlset><url><loc>{PAGE}</loc><image:image><image:loc>/i.png</image:loc></image:image></url></urlset>",
        f"<urlset><url><loc><![CDATA[{PAGE}]]></loc></url></urlset>",
        f"<urlset><!-- <url><loc>/hidden</loc></url> --><url><loc>{PAGE}</loc></url></urlset>",
        f"<urlset><url><loc>{PAGE}<lastmod>2005</url>",
        f"<urlset><url><loc>{PAGE}</loc></url><url><loc>https://www.example.com/cut-he",
        f"<urlset><loc>{PAGE}</loc></urlset>",
        f"<url><loc>{PAGE}</loc></url>",
        f"<urlset><url>{PAGE}</url></urlset>",
        f"<urlset><url><loc><url>{PAGE}</url></loc></url></urlset>",
        "<urlset><url><loc>/a</loc></url></urlset>",
        "<urlset><url><loc>//www.example.com/a</loc></url></urlset>",
        "<urlset><url><loc>www.example.com/a</loc></url></urlset>",
        f"<urlset><url><loc>javascript:alert(1)</loc></url><url><loc/></url><url><loc>{PAGE}</loc></url></urlset>",
        f"<urlset><url><loc>{PAGE}{'x' * 4000}</loc></url><url><loc>{PAGE}</loc></url></urlset>",
        f"<!DOCTYPE urlset [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><urlset><url><loc>{PAGE}&x;</loc></url></urlset>",
        f"{PAGE}\n",
        f"\ufeff{PAGE}\r\rnot a url\r",
    ],
)
def test_the_one_page_is_found_in_every_form(body: str) -> None:
    assert locs(body) == [PAGE]
    assert locs(gzip.compress(body.encode())) == [PAGE]
    assert locs(body.encode("utf-16")) == [PAGE]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?a=1&b=2", "?a=1&b=2"),
        ("?a=1&amp;b=2", "?a=1&b=2"),
        ("?a=1&b=2;c", "?a=1&b=2;c"),
        ("?a&#38;b&#x26;c", "?a&b&c"),
        ("?a&#xD800;&#0;&#99999999999;&#x;b", "?ab"),
        ("?a&undefined;b", "?ab"),
        ("<![CDATA[?a=1&b]]>=2", "?a=1&b=2"),
        ("<!-- no -->?a", "?a"),
    ],
)
def test_references_are_resolved_and_bare_ampersands_kept(written: str, meant: str) -> None:
    assert locs(f"<urlset><url><loc>{PAGE}{written}</loc></url></urlset>") == [f"{PAGE}{meant}"]


def test_the_declared_encoding_is_used_if_it_is_a_known_one() -> None:
    body = "<?xml version='1.0' encoding='{}'?><urlset><url><loc>https://www.example.com/ä</loc></url></urlset>"
    for encoding in ("iso-8859-1", "windows-1252", "utf-8", "gb18030"):
        assert locs(body.format(encoding).encode(encoding)) == ["https://www.example.com/ä"]
    for encoding in ("utf-16", "zlib", "punycode", "no-such"):
        assert locs(body.format(encoding).encode()) == ["https://www.example.com/ä"]
    assert locs(body.format("utf-8").encode("iso-8859-1")) == []


def test_a_feed_gives_its_items_and_not_itself() -> None:
    rss = f"""<rss xmlns:atom="x"><channel><link>https://www.example.com/</link><pubDate>x</pubDate>
        <atom:link href="https://www.example.com/rss" rel="self"/>
        <item><title>t</title><link>{PAGE}</link><pubDate>Thu, 01 Jan 1970 01:00:01 +0100</pubDate></item>
        <item><guid>https://www.example.com/b</guid><dc:date>1970-01-02</dc:date></item></channel></rss>"""
    sitemap = parse_sitemap(rss.encode(), URL)
    assert sitemap.kind == SitemapKind.FEED
    assert sitemap.entries == (SitemapEntry(PAGE, 1.0), SitemapEntry("https://www.example.com/b", 86_400.0))
    atom = f"""<feed><link href="https://www.example.com/"/><entry><link rel="edit" href="/e"/>
        <link rel='alternate' href='{PAGE}'/><id>urn:x</id><published>1970-01-02</published>
        <updated>1970-01-03T00:00:00Z</updated></entry></feed>"""
    assert parse_sitemap(atom.encode(), URL).entries == (SitemapEntry(PAGE, 2 * 86_400.0),)


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        (b"", Reason(Note.SITEMAP_EMPTY)),
        (b"this is a bogus sitemap", Reason(Note.SITEMAP_EMPTY)),
        (b"<!doctype html><html><body><a href='/x'>x</a></html>", Reason(Note.SITEMAP_UNKNOWN)),
        (f"<urlset><url><loc>{PAGE}</loc>".encode(), Reason(Note.SITEMAP_CUT)),
        (b"<urlset><!-- ", Reason(Note.SITEMAP_CUT, "-->")),
        (gzip.compress(f"<urlset><loc>{PAGE}</loc></urlset>".encode(), mtime=0)[:-9], Reason(Note.SITEMAP_CUT, "gzip")),
    ],
)
def test_the_first_trouble_is_told(body: bytes, trouble: Reason) -> None:
    assert parse_sitemap(body, URL).trouble == trouble


def test_several_gzip_members_are_one_file_and_padding_is_ignored() -> None:
    members = [gzip.compress(f"{PAGE}{number}\n".encode()) for number in range(3)]
    assert len(locs(b"".join(members) + b"\0" * 512)) == 3


def test_limits_cut_and_say_so() -> None:
    body = f"{PAGE}\n".encode() * 100
    for limited in (parse_sitemap(body, URL, max_entries=99), parse_sitemap(body, URL, max_bytes=len(body) - 1)):
        assert limited.truncated
        assert 99 <= len(limited.entries) <= 100
    assert not parse_sitemap(body, URL, max_entries=100, max_bytes=len(body)).truncated


@pytest.mark.parametrize(
    "unit",
    [
        b"\0",
        b" ",
        b"<",
        b"&amp;",
        b"<!---->",
        b"<![CDATA[x]]>",
        b"<loc>http://a/",
        b"<!ENTITY a 'b'>",
        b"<a b='",
        b"]]>",
    ],
)
def test_a_bomb_takes_little_memory(unit: bytes) -> None:
    # The tracer slows everything tenfold, so a fraction of the bytes.
    max_bytes = MAX_SITEMAP_BYTES // 20
    bomb = gzip.compress(b"<urlset><url><loc>http://a/" + unit * (4 * max_bytes // len(unit)), 1)
    tracemalloc.start()
    sitemap = parse_sitemap(bomb, URL, max_bytes=max_bytes, max_entries=100)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sitemap.truncated
    assert peak_bytes < len(bomb) + 6 * 1024 * 1024


def test_endless_tags_are_cut() -> None:
    sitemap = parse_sitemap(b"<urlset><loc>/a</loc>" + b"<" * 3_000_000, URL)
    assert (len(sitemap.entries), sitemap.truncated) == (1, True)


@given(st.binary(max_size=300) | st.text(alphabet="<>/!-[]CDATAurlsetloc:&;#x \n?'\"=é", max_size=300).map(str.encode))
@example(b"\x1f\x8b")
@example(b"\x1f\x8b\x08\0\0\0\0\0\0\0")
@example(b"<?xml encoding=")
@example(b"<")
@example(b"<urlset><url><loc>&#x;&;&#;</loc>")
def test_any_bytes_give_a_sitemap(body: bytes) -> None:
    for octets in (body, gzip.compress(body), b"<urlset><url><loc>" + body, b"<rss><item><link>" + body):
        sitemap = parse_sitemap(octets, URL)
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(sitemap), type=Sitemap) == sitemap


@given(
    st.lists(st.sampled_from(["<", "<url>", "<loc>", "</loc>", "<!--", "-->", "<![CDATA[", "]]>", "/a", PAGE, "&lt;"]))
)
def test_chunk_borders_change_nothing(parts: list[str]) -> None:
    import lycosa.page.sitemap as module

    body = "<urlset>" + "".join(parts)
    whole = parse_sitemap(body.encode(), URL)
    chunk_bytes = module._CHUNK_BYTES
    try:
        module._CHUNK_BYTES = 7
        assert parse_sitemap(body.encode(), URL) == whole
        assert parse_sitemap(gzip.compress(body.encode()), URL) == whole
    finally:
        module._CHUNK_BYTES = chunk_bytes


def seconds_of(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2009", seconds_of(2009, 1, 1)),
        ("2009-08", seconds_of(2009, 8, 1)),
        ("2009-08-16", seconds_of(2009, 8, 16)),
        ("2009-08-16T19:20+01:00", seconds_of(2009, 8, 16, 18, 20)),
        ("2009-08-16T19:20:30Z", seconds_of(2009, 8, 16, 19, 20, 30)),
        ("2009-08-16T19:20:30.5+0100", seconds_of(2009, 8, 16, 18, 20, 30) + 0.5),
        ("2009-08-16T19:20:30", seconds_of(2009, 8, 16, 19, 20, 30)),
        (" 2009-08-16 19:20:30 ", seconds_of(2009, 8, 16, 19, 20, 30)),
        ("2009-08-16 19:20:30 +01:00", seconds_of(2009, 8, 16, 18, 20, 30)),
        ("2009-08-16 19:20:30 UTC", seconds_of(2009, 8, 16, 19, 20, 30)),
        ("20090816", seconds_of(2009, 8, 16)),
        ("2009/08/16", seconds_of(2009, 8, 16)),
        ("2009-8-6 7:05", seconds_of(2009, 8, 6, 7, 5)),
        ("16.08.2009", seconds_of(2009, 8, 16)),
        ("16-08-2009 10:00", seconds_of(2009, 8, 16, 10)),
        ("16/08/2009", seconds_of(2009, 8, 16)),
        ("08/16/2009", seconds_of(2009, 8, 16)),
        ("05/06/2009", None),
        ("Sun, 16 Aug 2009 19:20:30 +0100", seconds_of(2009, 8, 16, 18, 20, 30)),
        ("16 Aug 09 19:20:30", seconds_of(2009, 8, 16, 19, 20, 30)),
        ("1250450430", seconds_of(2009, 8, 16, 19, 20, 30)),
        ("1250450430000", seconds_of(2009, 8, 16, 19, 20, 30)),
        ("0001-01-01T00:00:00+00:00", None),
        ("0000-00-00", None),
        ("2009-02-30", None),
        ("9999-12-31", None),
        ("yesterday", None),
        ("", None),
        ("²²²²", None),
    ],
)
def test_dates_are_read_in_their_many_writings(text: str, seconds: float | None) -> None:
    assert posix_seconds(text) == seconds


@given(st.text(max_size=40) | st.text(alphabet="0123456789-/.:TZ+ AugSun,", max_size=40))
def test_any_text_is_a_date_or_none(text: str) -> None:
    assert posix_seconds(text) is None or posix_seconds(text) > 0.0  # type: ignore[operator]


def test_a_sitemap_speaks_for_its_own_host_and_for_those_who_name_it() -> None:
    hosts = ["www.example.com", "example.com", "WWW.EXAMPLE.COM:8443", "blog.example.com", "example.com.evil.org"]
    hosts += ["www.example.com@evil.org", "evil.org\\@www.example.com", "[::1]"]
    sitemap = Sitemap(SitemapKind.URLSET, tuple(SitemapEntry(f"http://{host}/x") for host in hosts))
    own = [entry.loc for entry in entries_allowed(sitemap, URL)]
    assert own == ["http://www.example.com/x", "http://example.com/x", "http://WWW.EXAMPLE.COM:8443/x"]
    named = {entry.loc for entry in entries_allowed(sitemap, URL, ["https://blog.example.com", "evil.org"])}
    assert named - set(own) == {
        "http://blog.example.com/x",
        "http://www.example.com@evil.org/x",
        "http://evil.org\\@www.example.com/x",
    }


def test_the_date_of_news_is_the_date_of_its_page() -> None:
    news = "<news:news><news:publication><news:name>N</news:name></news:publication>{}</news:news>"
    date = "<news:publication_date>1970-01-03</news:publication_date>"
    video = "<video:video><video:publication_date>1970-01-09</video:publication_date></video:video>"
    body = f"""<urlset xmlns:news="n"><url><loc>{PAGE}</loc>{news.format(date)}</url>
        <url><loc>{PAGE}b</loc>{news.format(date)}<lastmod>1970-01-02</lastmod></url>
        <url><loc>{PAGE}c</loc>{video}</url></urlset>"""
    entries = parse_sitemap(body.encode(), URL).entries
    assert [(entry.loc, entry.lastmod_at) for entry in entries] == [
        (PAGE, 2 * 86_400.0),
        (f"{PAGE}b", 86_400.0),
        (f"{PAGE}c", None),
    ]
