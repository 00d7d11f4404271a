"""The compiled reader and the parser's tree agree: on cases, on pages of other projects, on real pages, on any soup.

What may differ, and why, is in docs/decisions/0029.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lycosa.page import _native, compiled, tree
from lycosa.page.content import model
from lycosa.page.encoding import decode
from lycosa.page.reading import Reading
from lycosa.settings import Settings

from .. import suites

LIMITS = Settings()
SAMPLE = 25


def read_both(html: str, limits: Settings = LIMITS) -> tuple[Reading, Reading]:
    return compiled.read(html, limits, "lycosa"), tree.read(html, limits, "lycosa")


def lines(text: str) -> str:
    """A text without what only moves words about: indents, columns of tables, more than one empty line."""
    text = "\n".join(" ".join(line.split()) for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def assert_same(html: str, limits: Settings = LIMITS) -> None:
    ours, theirs = read_both(html, limits)
    assert ours.head == theirs.head
    assert ours.links == theirs.links
    assert lines(ours.text) == lines(theirs.text)
    unshown = words_by_line(theirs.headings) - words_by_line(ours.headings)
    assert words_by_line(ours.headings) <= words_by_line(theirs.headings)
    # Where no text is shown, as in a list beside its items, the tree has headings all the same.
    assert not [heading for heading in unshown if f"\n{heading}\n" in f"\n{ours.text}\n"]
    assert ours.is_too_large == theirs.is_too_large


def words_by_line(text: str) -> set[str]:
    """The lines without their spaces, in any order: of headings in headings either may be told first."""
    return set(filter(None, ("".join(line.split()) for line in text.split("\n"))))


CASES = [
    # Blocks and words
    "<p>one<p>two<div>three</div>four <b>five</b>six<br>seven<br><br>eight",
    "<ul>stray<li>a<li>b<ul><li>c</ul>tail</ul>x<ol start=5><li>a<li value=9>b<li><p>c<p>d</ol>",
    "<ul><ul><li>a</ul><li></li><li><div>c</div>d<li> e</ul><menu><li>f</menu><li>g",
    "a<blockquote>b<p>c</blockquote>d<ul><li><blockquote>e</blockquote></ul><blockquote></blockquote>f",
    "<pre>\n a\n  b&#10;c\r\n\r\rd<b>e</b></pre>f<pre>g\n</pre><listing>\nh</listing><textarea>\n i</textarea>",
    "<table><caption>no</caption><tr><td>a<td>bbbb<tr><td>ccccc<tr></table>z<table></table>y",
    "x<table><tr><td><p>a<p>b<td><ul><li>c<li>d</ul><td><table><td>e<td>f</table>g<pre>h\ni</pre></table>j",
    "<dl><dt>a<dd>b</dl><hr><select><option>c<option>d</select><form>e<fieldset><legend>f</legend></fieldset></form>",
    "a\u00a0\u00a0b \u3000 c\u200bd\x0be\x0cf\tg",
    # What is not shown
    "<script>no</script><style>no</style><template>no<a href=no></template><noscript>no<a href=b>c</a></noscript>yes",
    "<noembed>no</noembed><noframes>no</noframes><datalist>no</datalist><rp>no</rp><iframe>yes</iframe><xmp><b></xmp>",
    "<svg><style>no</style><title>yes</title><template><a href=no>no</a></template><text>yes",
    "<div hidden>yes</div><title>no</title><math><noscript><iframe src=no></noscript></math>",
    # Text that is not in its place
    "<table>a<tr>b<td>c</td>d</tr>e</table>f<table><b>g<tr><td>h</b>i",
    "<b><p>a</b>b<i>c</p>d</i>e<a href=1><div>f<a href=2>g</div>h</a>i",
    "<p><a href=1>a<p>b<p>c</a>d<ul><li><a href=2>e<li>f</ul>g",
    "<h1>a<b>b<h2>c</h2>d</h1>e<p><b>f</p><h1>g<h2>h</h2>i</h1>j",
    "<nobr>a<nobr>b</nobr>c<font><p><font><p><font>d</font>e</font><button>f<button>g<p>h</button>i",
    "<a href=x><table><a href=y>1</a><td><a href=z>2</table>3",
    # Modes
    "<html lang=de><body><html lang=fr xml:lang=it><body>a</body>b</html>c<p>d",
    "<head></head> <meta name=description content=a>\n<title>late</title><link rel=canonical href=c>x",
    "<head><noscript><link rel=next href=a><base href=b><p>c</noscript>d",
    "<frameset><frame src=a><frame src=b><noframes><a href=no></noframes></frameset><noframes>no</noframes>",
    "<input type=hidden><frameset><frame src=a></frameset>",
    "<table><input type=hidden><input><form>a<form>b</table>c",
    "<select><div>a</div><p>b<select>c<input>d</select><p><select></p>e</select>",
    "<ruby>a<rb>b<rt>c<rtc>d<rp>e</ruby><object>f<p>g</object>h<marquee><b>i</marquee>j",
    "<template><tr><td>no</template><table><template><td>no</template><tr><td>a<template>no</table>no",
    "<svg><a href=x>y</a><link rel=next href=q><foreignObject><p>a<svg>b</p>c</foreignObject><p>d</svg>e",
    "<math><mi>a<p>b</mi><annotation-xml encoding=text/html><div>c</div></annotation-xml><mglyph>d<b>e</math>f",
    "<svg><![CDATA[a<b]]>c<font>d<font color=red>e</svg><![CDATA[no]]>f",
    "<p><table><td>a</table>b</p><!doctype html>c",
    "<!DOCTYPE html><p>a<table><td>b</table>c",
    '<!DOCTYPE html PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN"><p>a<table><td>b</table>c</p>d',
    "<plaintext>a</plaintext><b>&amp;",
    "<svg><desc><![CDATA[a\0&amp;]]></desc><title><![CDATA[b\0]]></title><![CDATA[c\0]]></svg>d",
    "<svg><![CDATA[x]]></svg><frameset><frame src=a>",
    "<svg><![CDATA[ \0]]></svg><frameset><frame src=a>",
    "<a href=1><div></a></div><pre>a<p>b</p>\n\n<p>c</pre>",
    # Tokens
    "a</>b</ c>d</3>e<!-- f --!>g<!-->h<!--->i<?j k>l<!m>n<o",
    "<script><!--<script></script>no</script>a<script><!-- --></script>b<script>'</scripts>'</script >c",
    "<title>a</titles>&amp;b</title\n>c<textarea></textarea/>d",
    "1 < 2 <3 << a<b =x='>'>c</b x='>'>d<a href=x/>e</a><a href = 'y' href=no>f</a><a/href=z>g",
    "&lt;b&gt; &notit; &notin; &amp;amp &#150;&#x4e2d;&#0;&#xD800;&#1114112; &nosuch; &NotEqualTilde; &copy= &#x;&#;",
    "<a href='?a=1&copy=2&amp;b&lt=3&para;&reg'>x</a>",
    "a\0b<p>\0<title>c\0d</title><a href='e\0f'>g\0</a><svg>h\0",
    # Links
    "<a href=a> a <img alt=no></a><a href=b><b></b><img><img alt=no></a><a href=c title=t></a><a href=d aria-label=l>",
    "<a href=a><script>x</script></a><a href><img alt=' a\u00a0 b '></a><a name=c>no</a><a href='\na\r\nb '>x</a>",
    "<area href=a alt=b rel=NoFollow><area><link rel='NEXT x' href=c><link rel=alternate type=TEXT/HTML href=d title=e>"
    "<link rel='alternate stylesheet' href=no><link rel=next><link rel=next type=image/png href=no><iframe src>",
    "a<img alt='b &amp; c\0'>d<p><img alt=e><ul><li><img alt=f>g<li><img>h</ul><pre>i<img alt='j\nk'>l</pre><img alt>m",
    "<table><td><img alt=a></table><noscript><img alt=no></noscript><template><img alt=no></template><image alt=d>",
    "<a href=a rel='Ä Ü'>x</a><a href=b>" + "w\u00f6rd " * 100,
    # The head
    "<title> a\n b </title><title>no</title><base><base href=' b '><base href=no><link rel='x CANONICAL' href=' c '>",
    "<meta name=' Description ' content=' a  b '><meta name=description content=no>",
    "<meta property=og:description content=a><meta property=og:description content=no>",
    "<meta http-equiv=refresh content='x'><meta http-equiv=REFRESH content='0;url=a'><meta name=refresh content='0;b'>",
    "<meta name=robots content=noindex><meta name=LYCOSA content=nofollow><meta name=bot content=noarchive>",
    "<meta name=robots content='noai, NoImageAI'><meta name=TDM-Reservation content=' 1 '><meta name=tdm-reservation>",
    "<meta name=tdm-reservation content=0><meta name=robots content=index><meta name=tdm-reservation content='&#49;'>",
    "<meta http-equiv=content-language content=' fr '><html lang=''><meta name='' http-equiv=robots content=none>",
]


@pytest.mark.parametrize("read", [compiled.read, tree.read])
def test_headings_are_told_one_a_line(read: Callable[[str, Settings, str], Reading]) -> None:
    html = (
        "<title>no</title><h1> One\n<b>big</b>  one </h1><p>no<table><tr><td><h2>in a &amp; cell</h2>no</table>"
        "<h4></h4><ul><li><h3>two<br>lines</h3>no</ul><a href=x><h6>linked</h6></a><noscript><h2>no</h2></noscript>"
        "<h5><img alt=i>"
    )
    expected = ["One big one", "in a & cell", "two lines", "linked", "i"]
    assert read(html, LIMITS, "lycosa").headings.split("\n") == expected


@pytest.mark.parametrize("html", CASES)
def test_both_readers_agree_on_cases(html: str) -> None:
    assert_same(html)


@pytest.mark.parametrize(
    "limits",
    [Settings(max_links=3), Settings(max_parse_nodes=40), Settings(max_parse_depth=6), Settings(max_text_chars=30)],
    ids=["links", "elements", "depth", "characters"],
)
@pytest.mark.parametrize("html", ["<a href=a>b <i>c</i></a>" * 20, "<div>" * 30 + "<a href=x>y</a>", "<p>x" * 50])
def test_both_readers_agree_on_limits(html: str, limits: Settings) -> None:
    assert_same(html, limits)


@pytest.mark.parametrize(
    ("html", "elements"),
    [
        # Of formatting elements with the same attributes three go on, however they are written.
        ("<dd><b><b><b><b /><dd>x", 12),
        ("<dd><i a=1><i a=1><i a=1><i a=2><dd>x", 13),
        # What is not closed goes on only where there is text.
        ("<p><strike><plaintext>", 6),
        ("<p><strike><plaintext>x", 7),
        ("<svg><desc><p><b></p><![CDATA[x]]>", 8),
    ],
)
def test_both_readers_make_the_same_elements(html: str, elements: int) -> None:
    for reading in read_both(html, Settings(max_parse_nodes=elements)):
        assert not reading.is_too_large
    assert compiled.read(html, Settings(max_parse_nodes=elements - 1), "lycosa").is_too_large


def test_attributes_are_the_same_in_any_order_and_writing() -> None:
    # The parser compares them in their order.
    html = "<dd><i a=1 b='2'><i b=2 A=1><i a=1 b=2 a=3><i\na=&#49; b=2 /><dd>x"
    assert not compiled.read(html, Settings(max_parse_nodes=12), "lycosa").is_too_large
    assert compiled.read(html, Settings(max_parse_nodes=11), "lycosa").is_too_large


# Pages of others


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


def test_both_readers_agree_on_the_pages_of_other_projects() -> None:
    files = suites.find_all("conformance/html/*/*.json")
    assert len(files) > 5
    for file in files:
        for html in strings(json.loads(suites.read(file))):
            if "<" in html:
                assert_same(html)


SETS = ["aeb", "cwced", "magic_article", "magic_forum", "harvest_forum", "llmwebkit", "trafilatura_eval", "wcxb_dev"]


@pytest.mark.parametrize("name", SETS)
def test_both_readers_agree_on_real_pages(name: str) -> None:
    for page in islice(suites.pages(name), SAMPLE):
        assert_same(page["html"])


@pytest.mark.full
@pytest.mark.parametrize("name", SETS)
def test_both_readers_agree_on_all_real_pages(name: str) -> None:
    file = suites.BESIDE / "extraction" / name / "html.jsonl.gz"
    if not file.exists():
        pytest.skip(f"no labelled pages at {file.parent}")
    for page in suites.rows(file):
        assert_same(page["html"])


# Any soup

TAGS = """
a abbr address applet area article aside b base big blockquote body br button caption center code col colgroup dd
details dialog dir div dl dt em embed fieldset figcaption figure font footer form frame frameset h1 h2 h3 head header
hr html i iframe image img input keygen li link listing main marquee math menu meta mi annotation-xml mtext nav nobr
noembed noframes noscript object ol optgroup option p plaintext pre rb rp rt rtc ruby s script section select small
span strike strong style sub summary sup svg foreignObject desc table tbody td template textarea tfoot th thead title
tr tt u ul var wbr xmp x-y mglyph
"""
ATTRIBUTES = [
    *(
        "",
        "",
        "",
        " href=x",
        ' href="y&amp;z"',
        " rel=nofollow",
        ' rel="Next"',
        " rel=canonical",
        ' alt="a b"',
        " title=t",
    ),
    *(' content="0;url=q"', " name=description", " name=robots content=noindex", " http-equiv=refresh", " src=s"),
    *(
        " property=og:description",
        " type=hidden",
        " start=4",
        " value=7",
        " color=red",
        " encoding=text/html",
        " /",
        "/",
    ),
]
TEXTS = [
    "x",
    "y z",
    " ",
    "\n",
    "w&amp;v",
    "&nbsp;",
    "&lt;b",
    "1 < 2",
    "&notit;",
    "&copy=",
    "é",
    "中",
    "a  b",
    "\r\n",
    "\0",
]
OTHERS = [
    "<!-- c -->",
    "<!-->",
    "<!doctype html>",
    "<?pi x>",
    "</ x>",
    "<![CDATA[k<l]]>",
    "</p>",
    "</br>",
    "<",
    "&",
    "-->",
]

_names = st.sampled_from(TAGS.split())
_starts = st.builds("<{}{}>".format, _names, st.sampled_from(ATTRIBUTES))
_pieces = st.one_of(_starts, _names.map("</{}>".format), st.sampled_from(TEXTS), st.sampled_from(OTHERS))
SOUP = st.lists(_pieces, max_size=40).map("".join)
# What a start tag makes of the markup after it, only the tree knows within these.
_TREED = {"svg", "math", "frameset", "template"}
_treeless = _pieces.filter(lambda piece: not any(f"<{name}" in piece for name in _TREED))
TREELESS_SOUP = st.lists(_treeless, max_size=40).map("".join)


@settings(max_examples=500, deadline=None)
@given(SOUP)
@example("<a><b><div></a>x<table><a>y<tr></b>z")
def test_both_readers_agree_on_any_soup(html: str) -> None:
    ours, theirs = read_both(html)
    assert ours.head == theirs.head
    assert ours.links == theirs.links
    # In soup, where a space goes is a matter of taste.
    assert "".join(ours.text.split()) == "".join(theirs.text.split())


# Bytes

BODIES = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")),
    st.text(max_size=60).map(lambda text: text.encode("utf-16", "replace")),
).flatmap(
    lambda body: st.sampled_from(
        [body, b"<meta charset=utf-8>" + body, b"<meta charset=gbk>" + body, b"\xef\xbb\xbf" + body, body + b"\0"]
    )
)
CONTENT_TYPES = ["text/html", "text/html; charset=utf-8", "text/html; charset=utf-16", "text/html; charset=latin1"]


@settings(max_examples=500, deadline=None)
@given(BODIES, st.sampled_from(CONTENT_TYPES))
def test_what_is_read_of_a_body_is_its_text(body: bytes, content_type: str) -> None:
    text, charset, _ = decode(body, content_type)
    html, read_as = compiled.source_of(body, content_type, "")
    assert read_as == charset
    assert (html if isinstance(html, str) else html.decode()) == text


@given(st.binary(max_size=40) | st.text(max_size=20).map(lambda text: text.encode("utf-8", "surrogatepass")))
@example(b"\xf4\x90\x80\x80")
@example(b"\xc0\x80")
@example(b"a" * 40 + b"\xe4\xb8")
def test_utf8_is_known_as_python_knows_it(body: bytes) -> None:
    assert _native.is_utf8(body) == (body.decode("utf-8", "ignore").encode() == body)


def test_bytes_that_are_not_utf8_are_not_read() -> None:
    with pytest.raises(ValueError, match="not UTF-8"):
        compiled.read(b"\xff", LIMITS, "lycosa")


# Main content, which is searched in passing

ONE = "The river rose by two metres overnight, and by morning the lower town, dry since May, was under water."
TWO = "Nobody was hurt, said the mayor, but forty families spent the night in the school. They will stay until Friday."


def assert_found_in_passing(html: str) -> None:
    *_, passed = compiled.read(html, LIMITS, "lycosa")
    found, _ = model().extract(html)
    if passed is not None:
        assert (*passed[:-1],) == found[:-1]


@pytest.mark.parametrize("html", CASES)
def test_the_search_finds_the_same_in_passing(html: str) -> None:
    assert_found_in_passing(html)


@pytest.mark.parametrize("name", SETS)
def test_the_search_finds_the_same_in_passing_on_real_pages(name: str) -> None:
    for page in islice(suites.pages(name), SAMPLE):
        assert_found_in_passing(page["html"])


@settings(max_examples=500, deadline=None)
@given(TREELESS_SOUP)
@example("<script/>a<textarea>b<p=c>d</>e<!-- f --!>g</title>h<noframes>i</noframes>j<plaintext>k</p>l</")
@example("<script/>a<title>b</title><script>c</script>d")
@example("<title>a<p>b<textarea>c<p>d</textarea>e")
def test_the_search_finds_the_same_in_passing_in_any_soup(html: str) -> None:
    assert_found_in_passing(html)


@given(SOUP)
@example("<svg><title>a</title>b<style>c</svg>d<title>e")
def test_the_search_in_passing_reads_any_soup(html: str) -> None:
    *_, passed = compiled.read(html, LIMITS, "lycosa")
    assert passed is not None


@pytest.mark.parametrize(
    ("html", "text"),
    [
        # What never ends is hidden by a browser and wanted by a reader.
        (f"<p>{ONE}</p><textarea><p>{TWO}", [ONE, TWO]),
        (f"<p>{ONE}</p><plaintext><p>{TWO}", [ONE, TWO]),
        (f"<p>{ONE}</p><title><p>{TWO}<textarea>x</textarea>", [ONE, TWO]),
        # Serialisers of XML write empty elements so.
        (f"<p>{ONE}</p><script/><p>{TWO}</p><script>no</script>", [ONE, TWO]),
        # In a drawing a style is like any other element, and ends with the drawing.
        (f"<p>{ONE}</p><svg><style></svg><p>{TWO}</p>", [ONE, TWO]),
        (f"<p>{ONE}</p><script><!--<script></script>no</script><p>{TWO}</p>", [ONE, TWO]),
        (f"<p>{ONE}</p><!-- no --!><p>{TWO}</p>", [ONE, TWO]),
    ],
)
def test_the_search_in_passing_goes_on_where_a_reader_would(html: str, text: list[str]) -> None:
    *_, passed = compiled.read(html, LIMITS, "lycosa")
    assert passed is not None
    assert passed.text.split("\n") == text


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_both_readers_agree_on_any_text(html: str) -> None:
    html = html.encode("utf-8", "replace").decode()
    ours, theirs = read_both(html)
    assert (ours.head, ours.links) == (theirs.head, theirs.links)
    assert "".join(ours.text.split()) == "".join(theirs.text.split())
