from __future__ import annotations

import pytest

from lycosa.url.canonical import (
    ParsedUrl,
    Rejection,
    UrlLimits,
    encode_query,
    joined,
    parse,
    parse_seed,
)
from lycosa.url.domain import registered_domain
from lycosa.url.explain import explain
from lycosa.url.rules import CanonicalRules


def fetched(raw: str, base: str | None = None) -> str:
    parsed = parse(raw, base)
    assert isinstance(parsed, ParsedUrl), parsed
    return parsed.url


@pytest.mark.parametrize(
    ("raw", "url"),
    [
        ("HTTP://EXAMPLE.com/A", "http://example.com/A"),
        ("http://example.com", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/", "https://example.com/"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com/%c3%a4%2f", "http://example.com/%C3%A4%2F"),
        ("http://example.com/%7Eme", "http://example.com/%7Eme"),
        ("http://example.com/a/./b/../c", "http://example.com/a/c"),
        ("http://example.com/a/%2e%2E/c", "http://example.com/c"),
        ("http://example.com/a#b", "http://example.com/a"),
        ("http://example.com/a?#b", "http://example.com/a"),
        ("http://example.com/a??", "http://example.com/a??"),
        ("http://example.com/a?b?", "http://example.com/a?b?"),
        ("http://me:secret@example.com/", "http://example.com/"),
        ("http://example.com./", "http://example.com/"),
        ("http://bücher.de/", "http://xn--bcher-kva.de/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[0:0::1]:8080/", "http://[::1]:8080/"),
        (" \n http://exam\tple.com/a b\r\n", "http://example.com/a%20b"),
        ("http:\\\\example.com\\a", "http://example.com/a"),
        ("http://example.com/\ud800", "http://example.com/%EF%BF%BD"),
        ("http://xn--pokxncvks.example/", "http://xn--pokxncvks.example/"),
    ],
)
def test_a_url_has_one_fetch_form(raw: str, url: str) -> None:
    assert fetched(raw) == url


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("x", "http://a/b/x"),
        ("./x", "http://a/b/x"),
        ("../x", "http://a/x"),
        ("../../../x", "http://a/x"),
        ("/x", "http://a/x"),
        ("//c/x", "http://c/x"),
        ("///c/x", "http://c/x"),
        ("\\\\c\\x", "http://c/x"),
        ("?y", "http://a/b/c?y"),
        ("", "http://a/b/c?q"),
        ("#f", "http://a/b/c?q"),
        ("http:x", "http://a/b/x"),
        ("http:?y", "http://a/b/c?y"),
        ("https:x", "https://x/"),
        ("x:80", Rejection.SCHEME),
    ],
)
def test_references_are_resolved_as_in_a_browser(href: str, url: str | Rejection) -> None:
    parsed = parse(href, "http://u:p@a/b/c?q#f")
    assert (parsed.url if isinstance(parsed, ParsedUrl) else parsed) == url


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ("", Rejection.EMPTY),
        (" \n", Rejection.EMPTY),
        ("a/b", Rejection.RELATIVE),
        ("//a/b", Rejection.RELATIVE),
        ("javascript:void(0)", Rejection.SCHEME),
        ("mailto:a@example.com", Rejection.SCHEME),
        ("data:text/html," + "a" * 100_000, Rejection.SCHEME),
        ("ftp://example.com/", Rejection.SCHEME),
        ("http://", Rejection.BAD_HOST),
        ("http://a b/", Rejection.BAD_HOST),
        ("http://a..b/", Rejection.BAD_HOST),
        ("http://.a/", Rejection.BAD_HOST),
        ("http://a%00b/", Rejection.BAD_HOST),
        (f"http://{'a' * 64}.com/", Rejection.BAD_HOST),
        (f"http://{'a.' * 127}com/", Rejection.BAD_HOST),
        ("http://1.2.3.4.5/", Rejection.BAD_HOST),
        ("http://[::1/", Rejection.BAD_HOST),
        ("http://a:0/", Rejection.BAD_PORT),
        ("http://a:99999/", Rejection.BAD_PORT),
        ("http://a:b/", Rejection.BAD_PORT),
        ("http://a/" + "b" * 2048, Rejection.TOO_LONG),
        ("http://a/" + "b" * 65_536, Rejection.TOO_LONG),
        ("http://a/" + "/".join(map(str, range(21))), Rejection.TOO_DEEP),
        ("http://a/b/b/b", Rejection.REPEATED),
        ("http://a/b/c/b/c/b/c/", Rejection.REPEATED),
        ("http://a/b/x/b/y/b/z", Rejection.REPEATED),
        ("http://a/b/c/d/b/c/d/b/c/d", Rejection.REPEATED),
        ("http://a/b/b/x/b/b", Rejection.REPEATED),
        ("http://a/b//b//b//", Rejection.REPEATED),
    ],
)
def test_a_url_that_is_not_fetched_says_why(raw: str, reason: Rejection) -> None:
    assert parse(raw) is reason


@pytest.mark.parametrize(
    "url",
    [
        "http://a/" + "b" * (2048 - 9),
        "http://a/" + "/".join(map(str, range(20))) + "/",
        "http://a/django/django/tree/main/django",
        "http://a/b/b/c",
        "http://a//b//c//d",
        "http://a/b?x=/c/c/c/c",
        "http://under_score.a-.com/",
    ],
)
def test_a_url_just_within_the_limits_is_kept(url: str) -> None:
    assert fetched(url) == url


def test_each_limit_can_be_set_and_lifted() -> None:
    assert parse("http://a/b/c", limits=UrlLimits(max_path_depth=1)) is Rejection.TOO_DEEP
    assert parse("http://a/b/", limits=UrlLimits(max_length=10)) is Rejection.TOO_LONG
    assert isinstance(parse("http://a/b/b/b", limits=UrlLimits(max_repeats=0)), ParsedUrl)
    assert isinstance(parse("http://a/b/b/b", limits=UrlLimits(max_repeats=3)), ParsedUrl)
    assert parse("http://a/b/b/b/b", limits=UrlLimits(max_repeats=3)) is Rejection.REPEATED


def test_a_parsed_url_shows_its_parts() -> None:
    assert parse("https://U@Example.COM.:8443/a?b#c") == ParsedUrl(
        "https://example.com:8443/a?b", "https", "example.com", 8443, "https://example.com:8443", "/a?b"
    )


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.com", "http://example.com/"),
        ("example.com/a?u=http://b/", "http://example.com/a?u=http://b/"),
        ("//example.com", "http://example.com/"),
        ("localhost:8080", "http://localhost:8080/"),
        ("example.com:8080/a", "http://example.com:8080/a"),
        (" https://example.com ", "https://example.com/"),
    ],
)
def test_a_seed_may_be_typed_without_its_scheme(typed: str, url: str) -> None:
    parsed = parse_seed(typed)
    assert isinstance(parsed, ParsedUrl)
    assert parsed.url == url


@pytest.mark.parametrize("typed", ["ftp://example.com/", "file:/etc/passwd", "mailto:a@b.c"])
def test_a_seed_of_another_scheme_is_refused(typed: str) -> None:
    assert parse_seed(typed) is Rejection.SCHEME


def test_a_base_that_is_no_url_resolves_nothing_relative() -> None:
    assert parse("x", "not a url") is Rejection.RELATIVE
    assert parse("x", "mailto:a@b") is Rejection.RELATIVE
    assert fetched("http://a/x", "not a url") == "http://a/x"


@pytest.mark.parametrize(
    ("href", "encoding", "expected"),
    [
        ("/ä?ä#ä", "windows-1252", "/ä?%E4#ä"),
        ("/?Россия", "windows-1251", "/?%D0%EE%F1%F1%E8%FF"),
        ("/?中", "gb2312", "/?%D6%D0"),
        ("/?✓", "windows-1252", "/?%26%2310003%3B"),
        ("/?ä", "utf-8", "/?ä"),
        ("/?ä", "UTF-16LE", "/?ä"),
        ("/?ä", "no-such-encoding", "/?ä"),
        ("/?\ud800", "latin-1", "/?%26%2365533%3B"),
    ],
)
def test_only_the_query_takes_the_page_encoding(href: str, encoding: str, expected: str) -> None:
    assert encode_query(href, encoding) == expected


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("a.b.example.co.uk", "example.co.uk"),
        ("example.com", "example.com"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("me.github.io", "me.github.io"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
        ("www.xn--bcher-kva.de", "xn--bcher-kva.de"),
        ("a.unlisted", "a.unlisted"),
    ],
)
def test_every_host_has_a_registered_domain(host: str, domain: str) -> None:
    assert registered_domain(host) == domain


def test_an_explanation_names_each_rule_that_changed_something() -> None:
    rules = CanonicalRules.from_names(["sort_query", "drop_www"])
    explained = explain("http://u@WWW.a.com./%7eb?y&x#z", None, rules)
    assert [step.rule for step in explained.steps] == [
        "whatwg",
        "plain_host",
        "drop_fragment",
        "upper_case_escapes",
        "settle_escapes",
        "drop_www",
        "sort_query",
    ]
    assert explained.url == "http://www.a.com/%7Eb?y&x"
    assert explained.key == "http://a.com/~b?x&y"
    assert explain("x", "http://a/").steps[0].rule == "resolve"
    assert explain("tel:1").rejection is Rejection.SCHEME


def test_a_reference_that_nobody_can_read_leads_to_its_page() -> None:
    assert joined("http://a.test/b/", "c") == "http://a.test/b/c"
    assert joined("http://a.test/b/", "http://[") == "http://a.test/b/"
