from __future__ import annotations

from importlib.util import find_spec

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.model import Page, RawLink
from lycosa.page.parser import PageParser, last_label
from lycosa.settings import Settings
from lycosa.site_rules import SiteRules, SiteTable

LIMITS = Settings()


def parse(html: str | bytes, content_type: str = "text/html", *x_robots: str, limits: Settings = LIMITS) -> Page:
    body = html.encode() if isinstance(html, str) else html
    return PageParser(limits, "Lycosa").parse(body, content_type, x_robots)


def test_a_page_is_read_in_one_go() -> None:
    page = parse(
        """<!doctype html><html lang="de-AT"><head><meta charset=utf-8><title> Ein
        Titel </title><meta name=Description content=" Worum  es geht ">
        <base href=/b/><link rel="Canonical" href=" /c "></head>
        <body><h1>Groß</h1><p>Ein <b>fetter</b> Absatz</p><p>Noch einer<br>mit Umbruch</p>
        <script>no()</script><style>no{}</style><template>no</template><noscript>no</noscript>
        <a href="x?a=1&amp;b=2" rel="NoFollow ugc">  ein
        Link </a></body></html>""",
        "text/html",
    )
    assert msgspec.structs.replace(page, content="") == Page(
        title="Ein Titel",
        description="Worum es geht",
        text="Groß\n\nEin fetter Absatz\n\nNoch einer\nmit Umbruch\n\nein Link",
        links=[RawLink("x?a=1&b=2", "ein Link", "nofollow ugc")],
        headings="Groß",
        base="/b/",
        canonical="/c",
        language="de-AT",
        charset="utf-8",
    )


ARTICLE = f"""<!doctype html><meta property="og:title" content="A flood"><meta name=author content="Ada Smith">
<nav><a href=/>Home</a> <a href=/news>News</a></nav>
<article><h1>A flood</h1><p class=text>{"The river rose by two metres, and the town was under water. " * 5}</article>
<footer><a href=/imprint>Imprint</a></footer>"""


needs_compiled = pytest.mark.skipif(find_spec("lycosa.page._native") is None, reason="the compiled parts are not built")


@needs_compiled
def test_a_page_is_about_something() -> None:
    page = PageParser(LIMITS, "Lycosa").parse(ARTICLE.encode(), "text/html", url="https://a.org/2020/03/01/flood")
    # Whether a short page's own heading is content is the model's opinion.
    assert page.content.removeprefix("A flood\n").startswith("The river rose")
    assert "Imprint" in page.text
    assert "Imprint" not in page.content
    assert (page.title, page.author, page.published) == ("A flood", "Ada Smith", "2020-03-01")


def test_a_rule_chooses_the_content_of_its_site() -> None:
    parser = PageParser(LIMITS, "Lycosa", SiteTable({"a.org": SiteRules(content="footer")}))
    assert parser.parse(ARTICLE.encode(), "text/html", url="https://www.a.org/").content == "Imprint"
    assert parser.parse(ARTICLE.encode(), "text/html", url="https://b.org/").content != "Imprint"


@pytest.mark.parametrize(
    ("url", "label"),
    [
        ("https://example.org/a", "org"),
        ("http://user:word@www.example.co.uk:8080/x.html?y=http://b.de/", "uk"),
        ("http://127.0.0.1/", "1"),
        ("https://localhost", "localhost"),
        ("", ""),
    ],
)
def test_the_last_label_of_a_host(url: str, label: str) -> None:
    assert last_label(url) == label


@pytest.mark.parametrize(
    ("html", "links"),
    [
        ("<a href=a>one</a><a name=b>two</a>", [RawLink("a", "one", "")]),
        ("<a href=a><img alt=' a  picture '></a>", [RawLink("a", "a picture", "")]),
        ("<a href=a><img alt=x>words<img alt></a>", [RawLink("a", "x words", "")]),
        ("<a href=a title=t><i class=icon></i></a>", [RawLink("a", "t", "")]),
        ("<a href=a aria-label=l></a>", [RawLink("a", "l", "")]),
        ("<map><area href=a alt=door></map>", [RawLink("a", "door", "")]),
        ("<iframe src=a></iframe>", [RawLink("a", "", "")]),
        ("<body><noscript><iframe src=tracker></iframe><a href=a>b</a></noscript>", [RawLink("a", "b", "")]),
        ("<frameset><frame src=a><frame src=b></frameset>", [RawLink("a", "", ""), RawLink("b", "", "")]),
        ("<link rel=next href=a><link rel=prev href=b>", [RawLink("a", "", "next"), RawLink("b", "", "prev")]),
        ("<link rel=alternate hreflang=fr href=a>", [RawLink("a", "", "alternate")]),
        ("<link rel=alternate type=application/rss+xml title=News href=a>", [RawLink("a", "News", "alternate")]),
        ("<link rel=alternate type=application/json+oembed href=a>", []),
        ("<link rel='alternate stylesheet' href=a><link rel=stylesheet href=b><link rel=icon href=c>", []),
        ("<template><a href=a>b</a></template>", []),
        ("<script>'<a href=a>b</a>'</script><!-- <a href=a>b</a> -->", []),
        ("<img src=a><form action=b></form><video src=c></video>", []),
    ],
)
def test_links(html: str, links: list[RawLink]) -> None:
    assert parse(html).links == links


def test_anchor_texts_are_bounded() -> None:
    assert parse(f"<a href=a>{'word ' * 1000}</a>").links[0].anchor == ("word " * 60)


def test_the_title_of_a_drawing_is_not_the_page_s() -> None:
    assert parse("<body><svg><title>no</title></svg><title>yes</title>").title == "yes"


def test_the_language_may_be_a_meta() -> None:
    assert parse("<meta http-equiv=content-language content=fr>").language == "fr"


def test_opengraph_describes_where_nothing_else_does() -> None:
    assert parse("<meta property=og:description content=a>").description == "a"
    assert parse("<meta property=og:description content=a><meta name=description content=b>").description == "b"


@pytest.mark.parametrize(
    ("html", "x_robots", "flags"),
    [
        ("<meta name=robots content=noindex>", (), (True, False, False)),
        ("<meta name=lycosa content=nofollow><meta name=robots content=noindex>", (), (True, True, False)),
        ("<meta name=otherbot content=none>", (), (False, False, False)),
        ("", ("noarchive",), (False, False, True)),
        ("<meta name=robots content=index>", ("lycosa: none",), (True, True, False)),
    ],
)
def test_directives_of_page_and_header_add_up(
    html: str, x_robots: tuple[str, ...], flags: tuple[bool, bool, bool]
) -> None:
    page = parse(html, "text/html", *x_robots)
    assert (page.noindex, page.nofollow, page.noarchive) == flags


def test_the_header_binds_other_documents_too() -> None:
    for content_type in ("text/plain", "application/pdf", "application/rss+xml"):
        assert parse("x", content_type, "noindex").noindex


def test_a_refresh_within_noscript_is_not_followed() -> None:
    refresh = '<meta http-equiv=refresh content="0;url=a">'
    assert parse(refresh).refresh == "a"
    assert parse(f"<noscript>{refresh}</noscript>").refresh == ""


def test_plain_text_is_its_own_text() -> None:
    page = parse("one\r\ntwo\n", "text/plain; charset=utf-8")
    assert (page.text, page.links, page.charset) == ("one\ntwo", [], "utf-8")


def test_what_cannot_be_read_is_an_empty_page() -> None:
    assert parse(b"%PDF-1.7", "application/pdf") == Page("", "", "", [])


def test_the_entries_of_a_feed_are_links() -> None:
    rss = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>/</link>
    <item><title>One</title><link>http://a/1</link></item><item><title>Two</title><link>http://a/2</link></item>
    </channel></rss>"""
    page = parse(rss, "application/rss+xml")
    assert page.title == "News"
    assert page.links == [RawLink("http://a/1", "One", ""), RawLink("http://a/2", "Two", "")]
    atom = '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>A</title><link href="http://a/3"/></entry></feed>'
    assert parse(atom, "text/xml").links == [RawLink("http://a/3", "A", "")]
    assert parse("<rss><nothing", "text/xml").links == []


PROSE = "A long line of ordinary prose that goes on and on, without a break, as paragraphs in most articles do. "


def test_long_paragraphs_keep_their_places() -> None:
    one, two, three = PROSE + "One", PROSE + "Two", PROSE + "Three"
    page = parse(f"<p>{one}</p>between<p> {two} <p>{PROSE}<b>bold</b></p><ul><li><p>{three}</ul>\0end")
    assert page.text.split("\n\n") == [one, "between", two, PROSE + "bold", three, "end"]


def test_a_long_paragraph_that_is_not_shown_disturbs_none_that_is() -> None:
    page = parse(f"<p>{PROSE}One</p><noscript><p>{PROSE}Two</p></noscript><p>{PROSE}Three</p><p>{PROSE}Four</p>")
    assert "Two" not in page.text
    assert page.text.startswith(PROSE + "One")
    assert page.text.endswith(PROSE + "Four")


# Limits


def test_links_past_the_limit_are_dropped_and_said_to_be() -> None:
    page = parse("<a href=a>b</a>" * 50 + "<area href=c>" * 50, limits=Settings(max_links=30))
    assert len(page.links) == 30
    assert page.truncated
    assert not parse("<a href=a>b</a>" * 30, limits=Settings(max_links=30)).truncated


def test_long_text_is_cut() -> None:
    page = parse("<p>" + "word " * 1000, limits=Settings(max_text_chars=100))
    assert (len(page.text), page.truncated) == (100, True)


def test_a_page_of_too_many_elements_gives_links_only() -> None:
    page = parse("<title>t</title><a href=a>b</a>" + "<p>x" * 200, limits=Settings(max_parse_nodes=100))
    assert (page.title, page.text, len(page.links), page.truncated) == ("t", "", 1, True)


def test_a_page_that_is_too_deep_gives_links_only() -> None:
    page = parse("<div>" * 100 + "<a href=a>b</a>", limits=Settings(max_parse_depth=50))
    assert (page.text, len(page.links), page.truncated) == ("", 1, True)


def test_the_parser_flattens_what_is_deeper_than_512() -> None:
    page = parse("<div>" * 3000 + "<a href=a>b</a>")
    # Down there no element has content, so the anchor text stands beside its link.
    assert (page.text, page.links, page.truncated) == ("b", [RawLink("a", "", "")], False)


MIB = 1024 * 1024
HOSTILE = {
    "nested divs": "<div>" * 150_000 + "<a href=x>y</a>",
    "a million attributes": "<a " + " ".join(f"a{i}=1" for i in range(300_000)) + " href=x>y</a>",
    "one long line": "word " * MIB,
    "NULs": "\0" * 68_000,
    "a million links": "<a href=/x>y</a>" * 150_000,
    "links in links": "<a href=x>y<table><td>" * 20_000,
    "unclosed formatting": "".join(f"<b a{i}>" for i in range(2000)) + "<p>x" * 20_000,
    "unclosed link": "<a href=x>" + "<p>y" * 50_000,
    "misnested": "<b><i><p></b></i>" * 30_000,
    "open comment": "<!--" * MIB,
    "open tags": "<" * MIB,
    "open attribute": "<a href='" + "x" * MIB,
    "tables": "<table><tr><td>" * 30_000,
    "lists": "<ul><li>" * 50_000,
    "templates": "<template>" * 50_000,
    "metas": "<meta name=robots content=noindex>" * 50_000,
    "frames": "<iframe src=x></iframe>" * 50_000,
    "ends without starts": "</div></p>" * 100_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pages_are_bounded(name: str) -> None:
    page = parse(HOSTILE[name])
    assert len(page.links) <= LIMITS.max_links
    assert len(page.text) <= LIMITS.max_text_chars
    assert sum(len(link.anchor) for link in page.links) <= LIMITS.max_links * 300


def test_anchor_texts_that_overlap_are_read_only_so_far() -> None:
    page = parse("<a href=x>" + "y" * 1000 + "<table><td>", limits=Settings(max_text_chars=10_000))
    nested = parse(("<a href=x>" + "y" * 1000 + "<table><td>") * 100, limits=Settings(max_text_chars=10_000))
    assert page.links[0].anchor
    assert nested.links[-1].anchor == ""


# Any bytes

PIECES = (
    "<a href= <a href=x> </a> <base href= <meta name=robots content= <meta http-equiv=refresh content=0;url= "
    "<link rel=canonical href= <title> </title> <svg> <template> <noscript> <table> <td> <frameset> <!-- --> "
    "<![CDATA[ ]]> &#xD800; &amp <img alt= > ' \" = / < \0 <rss <feed <?xml é 中 \ufeff"
)
MARKUP = st.lists(st.sampled_from(PIECES.split(" ")) | st.text(max_size=5), max_size=40).map(" ".join)
CONTENT_TYPES = [
    "",
    "text/html",
    "text/html; charset=utf-16",
    "text/plain",
    "text/xml",
    "application/rss+xml",
    "image/png",
]


# The first texts of all make the tables for detection and content.
@settings(max_examples=300, deadline=None)
@given(
    MARKUP.map(lambda text: text.encode("utf-8", "replace")) | st.binary(max_size=400), st.sampled_from(CONTENT_TYPES)
)
def test_any_bytes_make_a_page(body: bytes, content_type: str) -> None:
    page = parse(body, content_type)
    # All of it can be written as UTF-8: no lone surrogates.
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(page)), Page) == page
    assert all(link.href is not None for link in page.links)


@needs_compiled
def test_main_content_is_left_out_where_it_is_not_wanted() -> None:
    html = (
        "<title>t</title><nav>menu</nav><article><h1>t</h1><p>" + "A long sentence of an article. " * 20 + "</article>"
    )
    assert parse(html).content
    page = parse(html, limits=Settings(main_content=False))
    assert (page.content, page.author, page.title) == ("", "", "t")
    assert "A long sentence" in page.text
