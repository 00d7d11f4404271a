from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lycosa.errors import SettingsError
from lycosa.url.canonical import ParsedUrl, Rejection, parse, parse_seed
from lycosa.url.rules import RISKY_RULES, CanonicalRules, dedup_key


def key(raw: str, *names: str) -> str:
    parsed = parse(raw)
    assert isinstance(parsed, ParsedUrl)
    return dedup_key(parsed, CanonicalRules.from_names(names))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/%7Eb", "http://a/~b"),
        ("http://a/%66oo.ht%6dl", "http://a/foo.html"),
        ("http://a/?x[y]=1", "http://a/?x%5by%5d=1"),
        ("http://a/?q=a|b", "http://a/?q=a%7Cb"),
        ("http://a/90%+x", "http://a/90%25+x"),
        ("http://a/?", "http://a/"),
        ("http://a./", "http://u@a:80/#x"),
    ],
)
def test_spellings_of_one_url_share_a_key(one: str, other: str) -> None:
    assert key(one) == key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a/x%2Fy", "http://a/x/y"),
        ("http://a/x%3Fy", "http://a/x?y"),
        ("http://a/?q=a%26b", "http://a/?q=a&b"),
        ("http://a/?q=a+b", "http://a/?q=a%2Bb"),
        ("http://a/%2541", "http://a/%41"),
        ("http://a/%%341", "http://a/%41"),
        ("http://a/x", "http://a/X"),
        ("http://a/x", "http://a/x/"),
        ("http://a/", "https://a/"),
        ("http://www.a.com/", "http://a.com/"),
        ("http://a/index.html", "http://a/"),
        ("http://a/?a&b", "http://a/?b&a"),
        ("http://a/?utm_source=x", "http://a/"),
    ],
)
def test_urls_that_may_differ_have_different_keys_by_default(one: str, other: str) -> None:
    assert key(one) != key(other)


@pytest.mark.parametrize(
    ("rule", "raw", "expected"),
    [
        ("merge_schemes", "https://a/x", "http://a/x"),
        ("merge_schemes", "https://a:8443/x", "https://a:8443/x"),
        ("drop_www", "http://www.a.com:81/", "http://a.com:81/"),
        ("drop_www", "http://www.co.uk/", "http://www.co.uk/"),
        ("drop_www", "http://www.a.b.com/", "http://a.b.com/"),
        ("drop_www", "http://wwww.a.com/", "http://wwww.a.com/"),
        ("merge_slashes", "http://a//b///c?d//e", "http://a/b/c?d//e"),
        ("drop_index", "http://a/b/index.html", "http://a/b/"),
        ("drop_index", "http://a/Default.aspx?x=1", "http://a/?x=1"),
        ("drop_index", "http://a/myindex.html", "http://a/myindex.html"),
        ("drop_index", "http://a/index.html/b", "http://a/index.html/b"),
        ("sort_query", "http://a/?b=1&&a=2&a=1&", "http://a/?a=2&a=1&b=1"),
        ("sort_query", "http://a/?article%2F1", "http://a/?article%2F1"),
        ("drop_tracking", "http://a/?utm_source=x&id=1&GCLID=2&fbclid=3", "http://a/?id=1"),
        ("drop_tracking", "http://a/?utm_source=x", "http://a/"),
        ("drop_sessions", "http://a/b;jsessionid=1A2B?c=1", "http://a/b?c=1"),
        ("drop_sessions", "http://a/b;JSESSIONID=1A2B/c", "http://a/b/c"),
        ("drop_sessions", "http://a/(S(lit3py55t21z5v55vlm25s55))/b", "http://a/b"),
        ("drop_sessions", "http://a/?PHPSESSID=abc&b=1", "http://a/?b=1"),
        ("drop_sessions", "http://a/?sid=8f14e45fceea167a5a36dedd4bea2543&b=1", "http://a/?b=1"),
        ("drop_sessions", "http://a/?sid=42", "http://a/?sid=42"),
        ("drop_sessions", "http://a/?ASPSESSIONIDQQ=x", "http://a/"),
        ("drop_defaults", "http://a/?page=1&x=1", "http://a/?x=1"),
        ("drop_defaults", "http://a/?page=10", "http://a/?page=10"),
        ("default:lang=en", "http://a/?lang=en&page=1", "http://a/?page=1"),
        ("drop:ref", "http://a/?Ref=x&referrer=y", "http://a/?referrer=y"),
    ],
)
def test_a_risky_rule_changes_the_key_when_it_is_on(rule: str, raw: str, expected: str) -> None:
    assert key(raw, rule) == expected
    parsed = parse(raw)
    assert isinstance(parsed, ParsedUrl)
    assert dedup_key(parsed) == parsed.url


def test_rules_work_together_in_one_order() -> None:
    names = ["sort_query", "drop_index", "drop_sessions", "drop_www", "merge_slashes", "drop_tracking"]
    expected = "http://a.com/b/?x=1&y=2"
    raw = "http://www.a.com//b/index.php;jsessionid=1?y=2&utm_medium=z&x=1"
    assert key(raw, *names) == key(raw, *reversed(names)) == expected


@pytest.mark.parametrize("name", ["sortquery", "drop", "drop:", "default:page", "drop_www:x", "drop_variables", ""])
def test_an_unknown_rule_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(SettingsError, match=r"url_rules: no such rule .*sort_query.*drop:NAME"):
        CanonicalRules.from_names([name])


def test_every_rule_says_what_it_does() -> None:
    assert all(rule.__doc__ for rule in RISKY_RULES.values())


# What other crawlers call canonical: (suite, rules of ours that theirs amount to).
OTHERS = [
    ("bubing/burl.json", ()),
    ("nutch/basic_url_normalizer.json", ("merge_slashes",)),
    ("crawler-commons/cases.json", ("merge_slashes", "drop_sessions", "sort_query")),
    ("w3lib/cases.json", ("sort_query",)),
]


@pytest.mark.parametrize(("suite", "names"), OTHERS)
def test_other_crawlers_agree_but_for_known_reasons(
    conformance_cases: Callable[[str], list[dict[str, Any]]], suite: str, names: tuple[str, ...]
) -> None:
    rules = CanonicalRules.from_names(names)
    read = parse_seed if suite.startswith("crawler-commons") else parse
    agreed = 0
    for raw, theirs in map(case_of, conformance_cases(f"canon/{suite}")):
        if raw is None:
            continue
        parsed = read(raw)
        ours = None if isinstance(parsed, Rejection) else dedup_key(parsed, rules)
        if ours == theirs:
            agreed += 1
        else:
            assert reason_to_differ(raw, theirs, parsed), (raw, theirs, ours)
    assert agreed >= 30


def case_of(case: dict[str, Any]) -> tuple[str | None, str | None]:
    """`in` and `out` of a case, in the form of any suite; None for calls that ask something else."""
    if "fn" not in case:
        return case["in"], case["out"]
    is_plain = case["fn"] == "canonicalize_url" and isinstance(case["args"][0], str) and not case["kw"]
    return (case["args"][0], case["out"]) if is_plain else (None, None)


def reason_to_differ(raw: str, theirs: str | None, parsed: ParsedUrl | Rejection) -> str | None:
    """The decision record lists these, with our reasons."""
    text = raw.strip()
    if isinstance(parsed, Rejection):
        return {
            Rejection.SCHEME: "we fetch http and https only",
            Rejection.RELATIVE: "a reference without a base is no URL",
            Rejection.BAD_HOST: "no such host can exist",
        }.get(parsed)
    if any(character in text for character in "\t\n\r"):
        return "browsers drop tabs and newlines"
    if theirs is None:
        return "browsers fetch it" if "%00" in text or "\xa0" in text or "-." in text else None
    if not theirs.isascii():
        return "hosts are ASCII"
    if "@" in theirs:
        return "userinfo is dropped"
    if "::ffff:" in text:
        return "WHATWG writes embedded IPv4 in hexadecimal"
    if "'" in text or "%2c" in text or "," in text:
        return "WHATWG escapes ' in queries; reserved characters keep their spelling"
    if " " in text or "%20" in text:
        return "space and + are not the same"
    return "the variables of a query keep their spelling and, under one name, their order" if "?" in text else None
