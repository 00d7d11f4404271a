from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.search.query import BadQuery, Term, parse_query


def at(year: int, month: int, day: int) -> float:
    return datetime(year, month, day, tzinfo=UTC).timestamp()


def test_words_phrases_and_exclusions() -> None:
    query = parse_query('spider -fly "web of silk" -"old  web" title:orb title:"two words" -title:no')
    assert query.terms == (
        Term("spider"),
        Term("fly", is_excluded=True),
        Term("web of silk", is_phrase=True),
        Term("old web", is_phrase=True, is_excluded=True),
        Term("orb", in_title=True),
        Term("two words", is_phrase=True, in_title=True),
        Term("no", in_title=True, is_excluded=True),
    )
    assert query.plain_text == "spider web of silk"


def test_fields() -> None:
    query = parse_query("site:Example.ORG/Docs/ -site:*.b.example lang:DE -lang:fr before:2031-05 after:2030 x")
    assert (query.sites, query.not_sites) == (("example.org/docs",), ("b.example",))
    assert (query.languages, query.not_languages) == (("de",), ("fr",))
    assert (query.before, query.after) == (at(2031, 5, 1), at(2030, 1, 1))
    assert parse_query("site:http://a.example/x?y=1").sites == ("a.example/x",)
    assert parse_query("site:bücher.example").sites == ("xn--bcher-kva.example",)


@pytest.mark.parametrize("text", ["std::sort", "http://a.example/x", "10:30", "c++", "a-b", "it's", "foo:bar", "x -"])
def test_what_only_looks_like_an_operator_is_words(text: str) -> None:
    query = parse_query(text)
    assert query.terms
    assert not any(term.is_excluded or term.is_phrase for term in query.terms)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the query is empty"),
        ('""', "the query is empty"),
        ("  - ", "the query is empty"),
        ('"open', "a quotation mark is missing"),
        ("-only", "only says what is not wanted"),
        ("site: x", "site: is followed by nothing"),
        ("before:soon x", "before:soon is no date"),
        ("after:2031-13-01 x", "is no date"),
        ("-before:2031 x", "say after: instead"),
        ("lang:english! x", "names no language"),
        ("x" * 2000, "at most 1,000"),
        ("x " * 60, "at most 40"),
    ],
)
def test_a_bad_query_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(BadQuery, match=message):
        parse_query(text)


@given(st.text(max_size=80) | st.lists(st.sampled_from(['"', "-", "site:", "before:", "a", " ", "中"])).map("".join))
def test_any_text_is_a_query_or_a_bad_one(text: str) -> None:
    try:
        query = parse_query(text)
    except BadQuery:
        return
    assert query.terms or query.sites or query.not_sites or query.languages or query.not_languages or query.before
