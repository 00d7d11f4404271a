"""The compiled pass and the memo say the same of every page: on suites, on real pages, on anything at all."""

from __future__ import annotations

import gc
import random
import sys
import weakref
from collections.abc import Callable
from hashlib import blake2b
from itertools import islice
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.model import RawLink
from lycosa.settings import Settings
from lycosa.url.canonical import FETCHED, NO_LIMITS, UrlLimits, parse_seeds
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.links import FoundLinks, MemoLinks, PageLinks, may_name_others_by_values, page_links
from lycosa.url.memo import KnownLink, LinkPolicy, Renaming
from lycosa.url.remembered import Remembered
from lycosa.url.rules import RISKY_RULES, CanonicalRules
from lycosa.url.scope import Reach, Scope
from lycosa.wiring.worker import page_parser

from .. import suites
from .test_url_properties import bases, hrefs

compiled = pytest.importorskip("lycosa.url.compiled", reason="the compiled parts are not built")
native = pytest.importorskip("lycosa.url._native", reason="the compiled parts are not built")

SECRET = b"secret of a crawl"
SEEDS = ["http://a.com/", "http://www.example.com/?b=2&a=1", "https://b.org:8443/x"]
PAGES_PER_SET = 12
ALL_RULES = [name for name in RISKY_RULES if name != "drop_variables"]
RULES = {
    "safe": [],
    "usual": ["drop_tracking", "sort_query"],
    "queries": ["drop:a", "drop:UTM_x", "default:b=2", "default:B=é", "drop_defaults"],
    "sorted": ["sort_query"],
    "origins": ["merge_schemes", "drop_www"],
    "all": ALL_RULES,
}
LIMITS = {
    "usual": UrlLimits(),
    "none": NO_LIMITS,
    "open": FETCHED,
    "short": UrlLimits(max_length=30, max_path_depth=2),
    "tiny": UrlLimits(max_length=9),
    "flat": UrlLimits(max_path_depth=1, max_repeats=1),
}


def policy(
    rules: str = "usual", limits: str = "usual", reach: Reach = "any", patterns: tuple[str, ...] = ()
) -> LinkPolicy:
    scope = Scope(parse_seeds(SEEDS), reach, include=patterns[:1], exclude=patterns[1:])
    return LinkPolicy(
        scope, Fingerprinter(SECRET), rules=CanonicalRules.from_names(RULES[rules]), limits=LIMITS[limits]
    )


def raw(*texts: str, rel: str = "") -> list[RawLink]:
    return [RawLink(text, f"anchor {number}", rel) for number, text in enumerate(texts)]


def both(chosen: LinkPolicy, *, tells_others: bool = True) -> tuple[PageLinks, PageLinks]:
    return MemoLinks(chosen, tells_others=tells_others), compiled.CompiledLinks(chosen, tells_others=tells_others)


def decide_both(ways: tuple[PageLinks, PageLinks], base: str, links: list[RawLink], **options: Any) -> FoundLinks:
    """What both say of a page: they say the same, now, when half of it is remembered, and when that is met again."""
    memo, native_pass = ways
    found = memo.decide(base, links, **options)
    assert native_pass.decide(base, links, **options) == found
    for way in ways:
        way.remembered.add(found.fingerprints[::2])
    # What was sent is sent again when it is met for the third time, and not for the fourth.
    for _ in range(4):
        assert native_pass.decide(base, links, **options) == memo.decide(base, links, **options)
    texts = [link.href for link in links]
    assert native_pass.count_new(base, texts) == memo.count_new(base, texts)
    return found


# ---- suites and real pages


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("suite", ["urltestdata", "urltestdata-javascript-only"])
def test_cases_of_the_url_standard(
    conformance_cases: Callable[[str], list[dict[str, Any]]], suite: str, rules: str
) -> None:
    ways = both(policy(rules, "open" if rules == "usual" else "none"))
    for case in conformance_cases(f"url/{suite}.json"):
        for base in {case["base"] or "", "http://www.example.com/a/b/c?d#e"}:
            decide_both(ways, base, raw(case["input"]), also=(case["input"],))


@pytest.mark.parametrize("rules", RULES)
def test_cases_of_other_crawlers(conformance_cases: Callable[[str], list[dict[str, Any]]], rules: str) -> None:
    ways = both(policy(rules))
    for path in suites.find_all("conformance/canon/*/*.json"):
        for case in suites.load(f"conformance/{path.parent.parent.name}/{path.parent.name}/{path.name}"):
            texts = [text for text in msgspec.to_builtins(strings_of(case)) if len(text) < 3000]
            decide_both(ways, "https://www.example.com/a/b.html", raw(*texts))


def strings_of(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in inner for text in strings_of(each)]


@pytest.mark.parametrize("suite", ["toascii", "IdnaTestV2"])
def test_hosts_that_are_hard_to_read(conformance_cases: Callable[[str], list[dict[str, Any]]], suite: str) -> None:
    ways = both(policy())
    for case in conformance_cases(f"url/{suite}.json")[:400]:
        decide_both(ways, "https://b.org/", raw(f"http://{case['input']}/a%2d?b^c", f"//{case['input']}?a", "/x"))


def test_links_of_real_pages() -> None:
    parser = page_parser(Settings())
    for name in ("aeb", "cwced", "magic_forum", "harvest_forum", "llmwebkit", "wcxb_dev"):
        ways = both(policy())
        for number, row in enumerate(islice(suites.pages(name), PAGES_PER_SET)):
            page = parser.parse(row["html"].encode("utf-8", "replace"), "text/html")
            found = decide_both(
                ways, f"https://www.site{number}.example/a/b/c.html?d=e", page.links, encoding=page.charset
            )
            assert len(found.targets) > len(page.links) // 2


# ---- characters and shapes

PLACES = ["{}", "/{}", "/a{}b", "/a/{}", "/a?b{}c", "?{}", "a{}b/c", "http://a.com{}", "http://a{}b.com/", "a#b{}",
          "http{}//a", "/a%{}", "/a%4{}?%{}a", "//{}", "https:/{}/a", "/./{}./b", "../{}../c",
          "/b=2&{}&a=1?x&{}&b=2", "/x/a{}/..", "a{}/../b"]  # fmt: skip


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("base", ["http://a.com/x/y?z", "https://www.b.org:8443/%7e%2f[x]/ü{}//", "http://é.org"])
def test_every_character_in_every_place(base: str, rules: str) -> None:
    ways = both(policy(rules))
    characters = [*map(chr, range(0x100)), "\u2028", "\u3002", "\ud800", "\U0001f600", "%2e", "%2E", "%2f", "..", "//"]
    for place in PLACES:
        decide_both(ways, base, raw(*(place.replace("{}", character) for character in characters)))


def test_lengths_around_every_bound() -> None:
    ways = both(policy())
    unlimited = both(policy(limits="none"))
    for length in (63, 64, 253, 300, 320, 2030, 2047, 2048, 2049, 4096, 8193):
        for text in ("/" + "a" * length, "/" + "é" * length, "?" + "^" * length, "http://" + "a" * length + "/",
                     "/" + "a/" * length, "../" * length, "/x?" + "&b=1" * length, "/#" + "a" * length):  # fmt: skip
            for links in (ways, unlimited):
                decide_both(links, "http://a.com/b/c", raw(text))
                decide_both(links, "http://a.com" + text, raw("d", "?e", "/f", "../../g"))


@pytest.mark.parametrize("reach", ["any", "domain", "host"])
@pytest.mark.parametrize("patterns", [(), ("/",), ("a", "b$", "private")])
def test_every_scope(reach: Reach, patterns: tuple[str, ...]) -> None:
    texts = [f"http://{host}/{path}" for host in ("a.com", "www.a.com", "b.org", "A.com:80", "u:p@www.example.com", "c")
             for path in ("", "private", "b", "?b=2&a=1", "?a=1&b=2")]  # fmt: skip
    found = decide_both(both(policy(reach=reach, patterns=patterns)), "http://a.com/", raw(*texts))
    assert len(found.targets) == len(texts)
    assert 0 < len(found.urls) <= len(texts)


def test_what_is_new_stands_at_the_place_of_the_first_with_the_url_of_the_last() -> None:
    links = raw("/?b&a", "/x", "/?a&b", "/y") + raw("/z", rel="ugc nofollow")
    found = decide_both(both(policy()), "http://a.com/", links, also=("/x?utm_source=1", "/w", "mailto:a"))
    assert found.urls[:3] == ["http://a.com/?a&b", "http://a.com/x?utm_source=1", "http://a.com/y"]
    assert found.targets == [f"http://a.com{tail}" for tail in ("/?b&a", "/x", "/?a&b", "/y", "/z")]
    assert found.urls[3:] == ["http://a.com/w"]


def test_nofollow_counts_only_where_it_is_obeyed() -> None:
    links = raw("/x", rel="nofollow")
    assert not decide_both(both(policy()), "http://a.com/", links, obeys_nofollow=True).urls
    assert decide_both(both(policy()), "http://a.com/", links, obeys_nofollow=False).urls == ["http://a.com/x"]
    assert not decide_both(both(policy()), "http://a.com/", links, is_followed=False, obeys_nofollow=False).urls


def fewer_names(link: KnownLink) -> KnownLink:
    return msgspec.structs.replace(link, fingerprint=bytes([link.fingerprint[0] & 1]) + link.fingerprint[:1] * 7)


options = st.fixed_dictionaries(
    {
        "also": st.lists(hrefs, max_size=2).map(tuple),
        "encoding": st.sampled_from(["utf-8", "UTF8", "windows-1252", "shift_jis", "no such"]),
        "renamed": st.sampled_from([None, None, fewer_names]),
        "is_followed": st.booleans(),
        "obeys_nofollow": st.booleans(),
    }
)
links_of_pages = st.lists(
    st.builds(RawLink, hrefs, st.text(max_size=3), st.sampled_from(["", "nofollow", "x"])), max_size=8
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(bases | hrefs, links_of_pages, options), max_size=4),
    st.sampled_from(list(RULES)),
    st.sampled_from(list(LIMITS)),
)
def test_any_page_in_any_crawl(pages: list[tuple[str, list[RawLink], dict[str, Any]]], rules: str, limits: str) -> None:
    ways = both(policy(rules, limits))
    for base, links, chosen in pages:
        decide_both(ways, base, links, **chosen)


# ---- what it keeps, and what it is told


def test_memory_for_origins_is_bounded() -> None:
    links = compiled.CompiledLinks(policy(), max_origins=50)
    for number in range(500):
        links.decide(f"http://h{number}.com/", raw(f"http://g{number}.com/x", f"//f{number}.com", "/y"))
        assert links._decider.origins() <= 50


def test_the_two_memories_of_fingerprints_are_one() -> None:
    draw = random.Random(1)
    ours, theirs = native.Remembered(1000), Remembered(1000)
    known = [draw.randbytes(8) for _ in range(4000)] + [bytes(8), b"\1" + bytes(7), bytes(7) + b"\1"]
    for _ in range(400):
        some = draw.choices(known, k=draw.choice([0, 1, 7, 600]))
        ours.add(iter(some))
        theirs.add(iter(some))
        assert all((each in ours) == (each in theirs) for each in draw.choices(known, k=50))
    assert all((each in ours) == (each in theirs) for each in known)


def test_what_is_no_fingerprint_is_not_remembered() -> None:
    remembered = native.Remembered(10)
    remembered.add([b"", b"seven77", b"ninebytes"])
    assert all(each not in remembered for each in (b"", b"seven77", b"ninebytes", None, bytes(8)))
    with pytest.raises(ZeroDivisionError):
        remembered.add(1 // 0 for _ in "x")


@given(st.binary(min_size=1, max_size=64), st.binary(min_size=1, max_size=700), st.integers(1, 64))
def test_the_hash_is_that_of_the_library(secret: bytes, text: bytes, digest_bytes: int) -> None:
    expected = blake2b(text, digest_size=digest_bytes, key=secret).digest()
    assert native.keyed_hash(secret, text, digest_bytes) == expected


def failing(*_: object) -> Any:
    raise ZeroDivisionError


@pytest.mark.parametrize("asked", ["facts", "verdict", "key", "renamed", "odd"])
def test_an_error_of_what_is_asked_ends_the_pass_and_nothing_else(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = policy("all", patterns=("/",))
    if asked in ("facts", "verdict", "key"):
        monkeypatch.setattr(chosen, asked, failing)
    renamed: Renaming | None = failing if asked == "renamed" else None
    if asked == "odd":
        monkeypatch.setattr("lycosa.url.memo.LinkMemo.resolve", failing)
    links = compiled.CompiledLinks(chosen)
    with pytest.raises(ZeroDivisionError):
        links.decide("http://a.com/", raw("/x;y", "/\\", "/z"), renamed=renamed)


@pytest.mark.parametrize("said", ["a", (1,), ("a",) * 6, ("a", "a", "a", None, "é", b"12"), ("a",) * 4 + ("a", b"1")])
def test_what_is_said_of_an_origin_is_looked_at(said: object, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = policy()
    monkeypatch.setattr(chosen, "facts", lambda origin: said)
    with pytest.raises(TypeError):
        compiled.CompiledLinks(chosen).decide("http://a.com/", raw("/x"))


@pytest.mark.parametrize("links", [["/x"], [("/x",)], [("/x", "", None)], [(b"/x", "", "")], [(None, "", "")]])
def test_what_is_no_link_is_refused(links: Any) -> None:
    with pytest.raises(TypeError):
        compiled.CompiledLinks(policy()).decide("http://a.com/", links)


def test_a_decider_goes_with_its_crawl() -> None:
    class Watched(LinkPolicy):
        pass

    chosen = Watched(Scope([], "any"), Fingerprinter(SECRET))
    gone = weakref.ref(chosen)
    links = compiled.CompiledLinks(chosen)
    chosen.cycle = links  # type: ignore[attr-defined]
    links.decide("http://a.com/", raw("/x"))
    del chosen, links
    gc.collect()
    assert gone() is None


def test_without_the_compiled_part_the_memo_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(page_links(policy()), compiled.CompiledLinks)
    monkeypatch.setitem(sys.modules, "lycosa.url._native", None)
    monkeypatch.delattr("lycosa.url._native")
    monkeypatch.delitem(sys.modules, "lycosa.url.compiled")
    assert isinstance(page_links(policy()), MemoLinks)


SCHEMED = st.lists(st.sampled_from(["http", "https", "://", ":/", "x", "ftp", "/", "é", "HTTP"]), max_size=8).map(
    "".join
)


@given(st.lists(SCHEMED, max_size=4))
def test_links_that_may_have_other_schemes_are_seen_by_the_compiled_pass(hrefs: list[str]) -> None:
    page = [RawLink(href, "", "") for href in hrefs]
    may_name = native.may_name_others(page)
    assert may_name >= may_name_others_by_values(page)
    if all(href.isascii() for href in hrefs):
        assert may_name == may_name_others_by_values(page)
