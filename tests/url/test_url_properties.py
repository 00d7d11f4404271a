"""The open web writes anything."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from lycosa.url.canonical import NO_LIMITS, ParsedUrl, Rejection, encode_query, parse
from lycosa.url.explain import explain
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.memo import LinkMemo, LinkPolicy
from lycosa.url.rules import RISKY_RULES, CanonicalRules, dedup_key
from lycosa.url.scope import Scope

# Pieces that mean something to a URL parser, strung together, find more than plain text does.
WORDS = (
    r"http: https: // / \ ? # @ : . .. %2e % %4 %41 %c3 [ ] ::1 a b www. xn-- ä 。 & = utm_source= ; | 80 0 index.html"
)
WORDS += r""" jsessionid= javascript: 0x7f 1.2 (S(a)) { ' " page=1 + ` ^"""
PIECES = [*WORDS.split(), "\u00ad", "\ud800", "\t", "\n", " ", "\x00"]
hrefs = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=10).map(lambda parts: "http://a.com/" + "".join(parts)),
    st.text(max_size=40),
    st.text(st.characters(codec=None), max_size=20),
    st.binary(max_size=40).map(lambda octets: octets.decode("utf-8", "surrogateescape")),
    st.binary(max_size=40).map(lambda octets: octets.decode("latin-1")),
)
bases = st.sampled_from(
    [
        "http://a.com/",
        "http://a.com/b/c?d#e",
        "https://u:p@a.com:8443/b//c/",
        "http://[::1]/x",
        "mailto:x",
        "",
        "http://a.com",
    ]
)
rule_sets = st.sets(st.sampled_from([name for name in RISKY_RULES if name not in ("drop_variables", "drop_www")])).map(
    CanonicalRules.from_names
)


@given(hrefs, st.none() | bases)
@example("http://a/%%341", None)
def test_the_fetch_form_of_a_fetch_form_is_itself(raw: str, base: str | None) -> None:
    parsed = parse(raw, base, NO_LIMITS)
    if isinstance(parsed, ParsedUrl):
        assert parse(parsed.url, limits=NO_LIMITS) == parsed
        assert parsed.url == parsed.origin + parsed.path_and_query
        assert parsed.url.isascii()
        assert "#" not in parsed.url
        assert parsed.host == parsed.host.lower()


@given(hrefs, bases, rule_sets)
@example("/a/..;jsessionid=1/b", "http://a/", CanonicalRules.from_names(["drop_sessions"]))
def test_the_key_of_a_key_is_itself(raw: str, base: str, rules: CanonicalRules) -> None:
    parsed = parse(raw, base, NO_LIMITS)
    if isinstance(parsed, ParsedUrl):
        key = dedup_key(parsed, rules)
        again = parse(key, limits=NO_LIMITS)
        assert isinstance(again, ParsedUrl)
        assert dedup_key(again, rules) == key


@given(hrefs, st.none() | bases, rule_sets)
def test_an_explanation_ends_where_the_rules_end(raw: str, base: str | None, rules: CanonicalRules) -> None:
    explained = explain(raw, base, rules)
    parsed = parse(raw, base)
    if isinstance(parsed, Rejection):
        assert explained.rejection is parsed
        return
    assert explained.url == parsed.url
    assert explained.key == dedup_key(parsed, rules)
    for makes, end in (("url", explained.url), ("key", explained.key)):
        steps = [step for step in explained.steps if step.makes == makes]
        assert not steps or steps[-1].after == end
        assert all(one.after == other.before for one, other in pairwise(steps))


@given(st.lists(st.tuples(bases, st.lists(hrefs, max_size=8)), max_size=5))
def test_the_memo_says_what_the_policy_says(pages: list[tuple[str, list[str]]]) -> None:
    policy = LinkPolicy(Scope([], "any"), Fingerprinter(b"secret of a crawl"))
    memo = LinkMemo(policy, max_links=20)
    for base, links in pages + pages:
        assert memo.resolve_all(base, links) == [policy.decide(href, base) for href in links]


@given(
    hrefs, st.sampled_from(["windows-1252", "shift_jis", "gbk", "iso-2022-jp", "koi8-r", "utf-8", "", "idna", "rot13"])
)
def test_any_href_can_be_spelt_in_any_encoding(href: str, encoding: str) -> None:
    spelt = encode_query(href, encoding)
    assert spelt == href or spelt.partition("?")[0] == href.partition("?")[0]
