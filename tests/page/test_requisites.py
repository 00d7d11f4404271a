"""What pages and stylesheets name, as browsers read them; and that odd ones take no time."""

from __future__ import annotations

from time import process_time

import pytest

from lycosa.page.parser import PageParser
from lycosa.page.requisites import candidates, css_text, is_stylesheet, requisites_of_css, requisites_of_html
from lycosa.settings import Settings
from lycosa.site_rules import SiteRules, SiteTable

MUCH = 1000


@pytest.mark.parametrize(
    ("html", "named"),
    [
        ('<link rel="stylesheet" href=a.css><link rel="alternate StyleSheet" href=b.css>', ["a.css", "b.css"]),
        ('<link rel="shortcut icon" href=i.ico><link rel=apple-touch-icon href=t.png>', ["i.ico", "t.png"]),
        ("<link rel=manifest href=m><link rel=modulepreload href=x.js>", ["m", "x.js"]),
        ('<link rel=preload as=image href=a imagesrcset="b 1x, c 2x">', ["a", "b", "c"]),
        ("<link rel=next href=n><link rel=canonical href=c><link rel=dns-prefetch href=//d><link href=x>", []),
        ("<script src=a.js></script><script>var src = 'b.js'</script>", ["a.js"]),
        ('<img src="a b.png" srcset="c.png 480w, d.png 2x"><img>', ["a b.png", "c.png", "d.png"]),
        ("<img data-src=a data-srcset='b 1x,c 2x' src=data:image/gif;base64,R0>", ["a", "b", "c"]),
        ("<picture><source srcset='a, b 2x' type=image/avif><img src=c></picture>", ["c", "a", "b"]),
        ("<video poster=p src=v><source src=s><track src=t></video><audio src=a></audio>", ["s", "p", "v", "a", "t"]),
        ("<embed src=e><object data=o></object><input type=image src=i>", ["i", "e", "o"]),
        ("<body background=b><table background=t><tr><td background=d></table>", ["b", "t", "d"]),
        ("<svg><image href=a /><image xlink:href=b /><use href='s#x'/><use href='#y'/></svg>", ["a", "b", "s#x"]),
        ("<style>@import 'a.css'; p { background: url(b.png) }</style><p style='background:url(c.png)'>", None),
        ("<p style=\"background: url(&quot;c.png&quot;)\">", ["c.png"]),
        ("<iframe src=f></iframe><a href=l>l</a><base href=b>", []),
        ("<template><img src=t></template><img src=' \n '><img src=#x>", []),
        ("<img src=a><img src=a>", ["a"]),
    ],
)  # fmt: skip
def test_what_a_page_names(html: str, named: list[str] | None) -> None:
    assert requisites_of_html(html, MUCH) == (["a.css", "b.png", "c.png"] if named is None else named)


@pytest.mark.parametrize(
    ("css", "named"),
    [
        ('@import "a.css"; @import\'b.css\' screen; @IMPORT url(c.css)', ["a.css", "b.css", "c.css"]),
        ('@import url("d.css");', ["d.css"]),
        ("@font-face { src: url(a.woff2) format('woff2'), url( 'b.woff' ) }", ["a.woff2", "b.woff"]),
        ("x { background: URL(  a.png  ) , url() , url(#b), url(data:image/png;base64,iVBO) }", ["a.png"]),
        ("/* url(a) */ x { content: 'url(b)'; content: \"/* url(c)\"; background: url(d) }", ["d"]),
        ("/* never closed url(a)", []),
        ("@namespace svg url(http://www.w3.org/2000/svg); x { background: url(a) }", ["a"]),
        (r"x { background: url(a\ b\(c\).png) url('d\27 e') url(\66 \6f\6f) }", ["a b(c).png", "d'e", "foo"]),
        ('x { background: image-set("a.png" 1x, url(b.png) 2x, "c" type("image/avif")) }', ["a.png", "b.png", "c"]),
        ('x { background: -webkit-image-set(url("a.png") 1x); content: "b" }', ["a.png"]),
        ("x { background: url('a.png", ["a.png"]),
        ("x { background: url(a.png", ["a.png"]),
        ("@media print { x { background: url(a) } } @supports (x: url(b)) {}", ["a", "b"]),
        ("not css at all <p>", []),
        ("", []),
    ],
)  # fmt: skip
def test_what_a_stylesheet_names(css: str, named: list[str]) -> None:
    assert requisites_of_css(css, MUCH) == named


@pytest.mark.parametrize(
    ("srcset", "hrefs"),
    [
        ("a 1x, b 2x", ["a", "b"]),
        ("a 1x,b 2x,c", ["a", "b", "c"]),
        (" a , b ", ["a", "b"]),
        ("a,b 2x", ["a,b"]),  # as browsers read it: a comma within is part of the URL
        ("a,, b 100w 50h, , c", ["a", "b", "c"]),
        ("data:image/png;base64,AA 1x, b 2x", ["data:image/png;base64,AA", "b"]),
        (",", []),
        ("", []),
    ],
)
def test_candidates_of_a_source_set(srcset: str, hrefs: list[str]) -> None:
    assert list(candidates(srcset)) == hrefs


def test_no_more_than_the_limit() -> None:
    assert len(requisites_of_html("".join(f"<img src=i{number}>" for number in range(50)), 7)) == 7
    assert len(requisites_of_css("".join(f"url(i{number})" for number in range(50)), 7)) == 7


@pytest.mark.parametrize(
    "css",
    [
        *('"' * 200_000, '\\"' * 100_000, "url(" * 60_000, "url(\\" * 60_000, "image-set(" * 20_000, "/*" * 100_000),
        *("url('" * 50_000, "@import " * 30_000, "@namespace " * 30_000, 'image-set("' * 20_000, " " * 200_000),
        *("image-set((" * 20_000, "url(" + " " * 200_000, "\\" * 200_000),
    ],
    ids=lambda css: css[:12],
)
def test_odd_stylesheets_take_no_time(css: str) -> None:
    began_at = process_time()
    requisites_of_css(css, MUCH)
    assert process_time() - began_at < 1.0, "a second for a few hundred kilobytes: it is not linear"


@pytest.mark.parametrize("srcset", ["," * 200_000, "a," * 100_000, "a ,b " * 50_000, "a 1x,b" * 50_000])
def test_odd_source_sets_take_no_time(srcset: str) -> None:
    began_at = process_time()
    assert len(list(candidates(srcset))) <= 200_000
    assert process_time() - began_at < 1.0


def test_what_is_a_stylesheet() -> None:
    assert is_stylesheet("Text/CSS; charset=x", "http://a/x")
    assert is_stylesheet("", "http://a/x.css?y")
    assert not is_stylesheet("text/html", "http://a/x.css")
    assert not is_stylesheet("", "http://a/x")


def test_a_stylesheet_in_any_charset() -> None:
    assert requisites_of_css(css_text("url(ü)".encode("utf-16"), ""), 1) == ["ü"]
    assert requisites_of_css(css_text(b'@charset "windows-1252"; url(\xfc)', "text/css"), 1) == ["ü"]
    assert requisites_of_css(css_text(b"url(\xfc)", "text/css; charset=iso-8859-1"), 1) == ["ü"]
    assert css_text(b"\xff", "text/css; charset=none-such") == "\ufffd"


def test_they_are_looked_for_where_that_is_wanted() -> None:
    sites = SiteTable({"a.test": SiteRules(requisites=True), "b.test": SiteRules(requisites=False)})

    def found(settings: Settings, url: str) -> list[str]:
        return PageParser(settings, "lycosa", sites).parse(b"<img src=x>", "text/html", url=url).requisites

    never, always = Settings(), Settings(requisites=True)
    assert [found(never, f"http://{host}.test/") for host in "abc"] == [["x"], [], []]
    assert [found(always, f"http://{host}.test/") for host in "abc"] == [["x"], [], ["x"]]
