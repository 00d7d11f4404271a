from __future__ import annotations

import time

import pytest

from lycosa.url.canonical import ParsedUrl, Rejection, UrlLimits, parse
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.memo import KnownLink, Link, LinkMemo, LinkPolicy, Rejected
from lycosa.url.rules import CanonicalRules
from lycosa.url.scope import Scope, Verdict


def policy(**options: object) -> LinkPolicy:
    seed = parse("http://www.example.com/")
    assert isinstance(seed, ParsedUrl)
    return LinkPolicy(Scope([seed], exclude=["/private/"]), Fingerprinter(b"secret of a crawl"), **options)  # type: ignore[arg-type]


def shown(link: Link) -> str | Rejection:
    return link.url if isinstance(link, KnownLink) else link.reason


BASE = "http://www.example.com/a/b.html?q=1"
HREFS: dict[str, str | Rejection] = {
    "c.html": "http://www.example.com/a/c.html",
    " c.html\n": "http://www.example.com/a/c.html",
    "../c": "http://www.example.com/c",
    "/c": "http://www.example.com/c",
    "\t/c": "http://www.example.com/c",
    "\\c": "http://www.example.com/c",
    "//other.org/c": "http://other.org/c",
    "/\t/other.org/c": "http://other.org/c",
    "?r": "http://www.example.com/a/b.html?r",
    " ?r": "http://www.example.com/a/b.html?r",
    "": Rejection.SAME_PAGE,
    "  ": Rejection.SAME_PAGE,
    "#": Rejection.SAME_PAGE,
    "\n#top": Rejection.SAME_PAGE,
    "http://other.org/c#d": "http://other.org/c",
    "HTTPS://other.org/c": "https://other.org/c",
    "ht\ntp://other.org/c": "http://other.org/c",
    "http:c": "http://www.example.com/a/c",
    "http:?r": "http://www.example.com/a/b.html?r",
    "http:": "http://www.example.com/a/b.html?q=1",
    "https:c": "https://c/",
    "javascript:void(0)": Rejection.SCHEME,
    "mailto:a@b": Rejection.SCHEME,
    "data:,": Rejection.SCHEME,
    "http://": Rejection.BAD_HOST,
    "http://a:99999": Rejection.BAD_PORT,
    "x" * 9000: Rejection.TOO_LONG,
}


@pytest.mark.parametrize("rounds", [1, 2])
def test_links_are_resolved_alike_when_new_and_when_remembered(rounds: int) -> None:
    memo = LinkMemo(policy())
    for _ in range(rounds):
        links = memo.resolve_all(BASE, list(HREFS))
        assert list(map(shown, links)) == list(HREFS.values())


def test_an_href_means_another_thing_on_another_page() -> None:
    memo = LinkMemo(policy())
    bases = ["http://a/b/c", "http://a/b/d", "http://a/e/c", "http://f/b/c", "https://a/b/c", "http://a:81/b/c?x#y"]
    for _ in range(2):
        for base in bases:
            direct = [policy().decide(href, base) for href in HREFS]
            assert memo.resolve_all(base, list(HREFS)) == direct


def test_a_remembered_link_is_the_same_object() -> None:
    memo = LinkMemo(policy())
    hrefs = ["c.html", "/c", "http://other.org/", "#x", "?r"]
    first = memo.resolve_all(BASE, hrefs)
    second = memo.resolve_all("http://www.example.com/a/b.html", hrefs)
    assert all(one is other for one, other in zip(first, second, strict=True))


def test_a_link_carries_all_decisions() -> None:
    links = LinkMemo(policy()).resolve_all(BASE, ["/c", "/private/c", "https://a.other.co.uk/"])
    assert all(isinstance(link, KnownLink) and len(link.fingerprint) == 8 for link in links)
    inside, excluded, outside = (link for link in links if isinstance(link, KnownLink))
    assert (inside.verdict, inside.in_scope) == (Verdict.IN_SCOPE, True)
    assert (excluded.verdict, excluded.in_scope) == (Verdict.EXCLUDED, False)
    assert (outside.verdict, outside.in_scope) == (Verdict.OUT_OF_SCOPE, False)
    assert (outside.origin, outside.host, outside.domain) == ("https://a.other.co.uk", "a.other.co.uk", "other.co.uk")


def test_the_fingerprint_follows_the_key_and_the_url_does_not() -> None:
    rules = CanonicalRules.from_names(["drop_www", "sort_query"])
    memo = LinkMemo(policy(rules=rules))
    one, other = memo.resolve_all(BASE, ["http://www.a.com/?b&a", "http://a.com/?a&b"])
    assert isinstance(one, KnownLink)
    assert isinstance(other, KnownLink)
    assert one.fingerprint == other.fingerprint
    assert one.url == "http://www.a.com/?b&a"


def test_queries_take_the_encoding_of_the_page() -> None:
    links = LinkMemo(policy()).resolve_all(BASE, ["/ä?ä", "?ä"], "windows-1252")
    assert list(map(shown, links)) == ["http://www.example.com/%C3%A4?%E4", "http://www.example.com/a/b.html?%E4"]


@pytest.mark.parametrize("base", ["nonsense", "mailto:a@b", "http://a b/"])
def test_without_a_usable_base_only_absolute_links_lead_anywhere(base: str) -> None:
    links = LinkMemo(policy()).resolve_all(base, ["http://a/b", "b", "/b"])
    assert shown(links[0]) == "http://a/b"
    assert all(isinstance(link, Rejected) for link in links[1:])


def test_the_limits_of_the_policy_hold() -> None:
    memo = LinkMemo(policy(limits=UrlLimits(max_path_depth=1)))
    assert shown(memo.resolve_all(BASE, ["/a/b"])[0]) is Rejection.TOO_DEEP


def remembered(memo: LinkMemo) -> int:
    tables = [memo._shared, memo._old_shared, *memo._tables.values(), *memo._old_tables.values()]
    return sum(1 + len(table) for table in tables)


@pytest.mark.parametrize(
    "href",
    ["/{0}", "{0}", "http://a/{0}", "?{0}", "#{0}", "x{0}:y"],
    ids=["root", "near", "far", "query", "hash", "scheme"],
)
def test_memory_is_bounded_whatever_the_links(href: str) -> None:
    memo = LinkMemo(policy(), max_links=800)
    for number in range(5000):
        memo.resolve_all(f"http://a/{number % 7}/{number}", [href.format(number), "/home"])
        assert remembered(memo) <= 850


def test_memory_is_bounded_on_endless_directories() -> None:
    memo = LinkMemo(policy(), max_links=800)
    for number in range(5000):
        memo.resolve_all(f"http://a{number}/{number}/", ["http://b/"])
        assert remembered(memo) <= 850


def test_links_met_again_take_no_room() -> None:
    memo = LinkMemo(policy(), max_links=100)
    hrefs = ["?r", "/r", "r", "http://b/", "#r"]
    first = memo.resolve_all(BASE, hrefs)
    for _ in range(1000):
        assert all(one is other for one, other in zip(memo.resolve_all(BASE, hrefs), first, strict=True))
    assert not memo._old_shared
    assert not memo._old_tables


def test_an_endless_base_costs_no_more_than_a_long_one() -> None:
    base = "http://a/" + "b/" * 500_000
    started = time.process_time()
    links = LinkMemo(policy()).resolve_all(base, ["c", "?d", "/e"] * 700)
    assert time.process_time() - started < 0.5
    assert set(map(shown, links)) == {Rejection.RELATIVE}


def test_what_is_met_often_survives_when_the_rest_is_forgotten() -> None:
    memo = LinkMemo(policy(), max_links=800)
    first = memo.resolve_all(BASE, ["/home", "http://b/"])
    for number in range(5000):
        memo.resolve_all("http://a/", [f"http://c/{number}"])
        latest = memo.resolve_all(BASE, ["/home", "http://b/"])
        assert latest[0] is first[0]
        assert latest[1] is first[1]
