from __future__ import annotations

import time

import pytest

from lycosa.errors import SettingsError
from lycosa.url.canonical import ParsedUrl, parse
from lycosa.url.domain import registered_domain
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.scope import Reach, Scope, Verdict


def parsed(url: str) -> ParsedUrl:
    result = parse(url)
    assert isinstance(result, ParsedUrl)
    return result


def verdict(scope: Scope, url: str) -> Verdict:
    target = parsed(url)
    return scope.verdict(target.url, target.host, registered_domain(target.host))


SEED = "http://www.example.com/start"


@pytest.mark.parametrize(
    ("reach", "same_host", "same_domain", "elsewhere"),
    [
        ("host", Verdict.IN_SCOPE, Verdict.OUT_OF_SCOPE, Verdict.OUT_OF_SCOPE),
        ("domain", Verdict.IN_SCOPE, Verdict.IN_SCOPE, Verdict.OUT_OF_SCOPE),
        ("any", Verdict.IN_SCOPE, Verdict.IN_SCOPE, Verdict.IN_SCOPE),
    ],
)
def test_scope_reaches_as_far_as_set(
    reach: Reach, same_host: Verdict, same_domain: Verdict, elsewhere: Verdict
) -> None:
    scope = Scope([parsed(SEED)], reach)
    assert verdict(scope, "https://www.example.com:8080/x") is same_host
    assert verdict(scope, "http://shop.example.com/") is same_domain
    assert verdict(scope, "http://example.org/") is elsewhere


def test_patterns_include_and_exclude() -> None:
    scope = Scope([parsed(SEED)], include=["/a/", "/b/"], exclude=[r"\.pdf$", "(?i)/PRIVATE/"])
    assert verdict(scope, "http://example.com/a/x") is Verdict.IN_SCOPE
    assert verdict(scope, "http://example.com/b/x") is Verdict.IN_SCOPE
    assert verdict(scope, "http://example.com/c/x") is Verdict.NOT_INCLUDED
    assert verdict(scope, "http://example.com/a/x.pdf") is Verdict.EXCLUDED
    assert verdict(scope, "http://example.com/a/private/x") is Verdict.EXCLUDED
    assert verdict(scope, "http://example.com/A/x") is Verdict.NOT_INCLUDED


def test_a_seed_is_in_scope_whatever_the_patterns() -> None:
    scope = Scope([parsed(SEED)], "host", include=["/nothing/"], exclude=["start"])
    assert verdict(scope, SEED) is Verdict.IN_SCOPE


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{1001}", "[z-a]"])
def test_a_bad_pattern_is_named(pattern: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Scope([], exclude=["fine", pattern])
    assert f"exclude: the pattern {pattern!r} is not RE2" in str(caught.value)


def test_a_pattern_that_swallows_its_neighbour_is_refused() -> None:
    with pytest.raises(SettingsError, match="include: the 2 patterns taken together"):
        Scope([], include=[r"\Qa", "b"])


def test_no_pattern_takes_more_than_linear_time() -> None:
    scope = Scope([], "any", exclude=["(a+)+$", "(a|a)*b$", "(.*)*x$"])
    started = time.process_time()
    for _ in range(100):
        assert verdict(scope, "http://example.com/" + "a" * 2000 + "!") is Verdict.IN_SCOPE
    assert time.process_time() - started < 1


def test_fingerprints_lie_together_by_host_and_depend_on_the_secret() -> None:
    ours, theirs = Fingerprinter(b"1" * 16), Fingerprinter(b"2" * 16)
    keys = ["http://a/x", "http://a/y", "https://a:8443/x", "http://[::1]/x", "http://[::1]:81/x"]
    prints = [ours.fingerprint(key) for key in keys]
    assert len(set(prints)) == len(prints)
    assert {len(one) for one in prints} == {8}
    assert len({one[:2] for one in prints[:3]}) == 1
    assert prints[3][:2] == prints[4][:2] != prints[0][:2]
    assert ours.fingerprint("http://a/x") == Fingerprinter(b"1" * 16).fingerprint("http://a/x")
    assert ours.fingerprint("http://a/x") != theirs.fingerprint("http://a/x")


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="16 to 64 bytes"):
        Fingerprinter(b"short")
