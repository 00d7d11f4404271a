"""How relevant texts are, and what links promise: more of what was asked for is more, whatever stands around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.topic.relevance import (
    CLASS_FROM,
    Inputs,
    Relevance,
    class_of,
    section_of,
    shared_among,
    source_of,
)
from lycosa.topic.terms import terms_of
from lycosa.topic.yields import EXPECTED, LEAST, MAX_PARTS, MOST, Yields

REGEX = Relevance(terms_of("regular expressions"))
PROSE = "Water flows down to the sea and nobody knows why it does. "


def test_a_page_about_the_topic_is_relevant_and_one_that_mentions_it_is_less() -> None:
    about = REGEX.of_page("Regular expressions", "", "A regular expression matches. " * 20 + PROSE * 9, "en")
    mentions = REGEX.of_page("Rivers", "", "It is regular. An expression of joy. " + PROSE * 30, "en")
    assert about > 0.75
    assert 0 < mentions < 0.35
    assert REGEX.of_page("Rivers", "", PROSE * 30, "en") == 0


def test_one_of_two_words_is_not_enough_however_often_it_stands_there() -> None:
    assert REGEX.of_page("Expressions", "Expressions", "An expression. " * 200, "en") < 0.5


def test_a_long_text_must_say_it_more_often() -> None:
    said = "A regular expression. " * 3
    assert REGEX.of_page("", "", said + PROSE * 5, "en") > REGEX.of_page("", "", said + PROSE * 300, "en")


def test_words_are_found_in_all_their_forms_in_the_language_of_the_page() -> None:
    houses = Relevance(terms_of("Häuser bauen"))
    assert houses.of_anchor("Ein Haus baut man so", "de") > 0.4
    assert REGEX.of_anchor("re — Regular expression operations", "") == 1.0


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("正則表達式", "關於正則表達式的說明"),
        ("正規表現", "正規表現操作の使い方"),
        ("표현식", "파이썬의 표현식은"),
        ("การเขียนโปรแกรม", "คู่มือการเขียนโปรแกรมภาษา"),
        ("كتاب", "هذا كتاب جديد"),
        ("हिन्दी", "यह हिन्दी है"),
    ],
)
def test_topics_of_all_scripts_are_found(topic: str, text: str) -> None:
    relevance = Relevance(terms_of(topic))
    assert relevance.of_anchor(text, "") == 1.0
    assert relevance.of_page(text, "", f"{text}。" * 9, "") > 0.5
    assert relevance.of_anchor("rivers", "en") == 0


def test_addresses_are_read_by_their_words() -> None:
    assert REGEX.of_address("http://a.test/library/regular_expressions-2.html") == 1.0
    assert REGEX.of_address("http://a.test/regular/x") == 0.5
    assert Relevance(terms_of("正規表現")).of_address("http://a.test/%E6%AD%A3%E8%A6%8F%E8%A1%A8%E7%8F%BE") == 1.0
    assert REGEX.of_address("http://a.test/%ff%fe%00?%") == 0


@given(st.text(max_size=200), st.text(max_size=200), st.sampled_from(["", "en", "de", "ja", "xx"]))
def test_any_text_has_a_relevance(title: str, text: str, language: str) -> None:
    for relevance in (REGEX, Relevance(terms_of("正規表現 index"))):
        assert 0 <= relevance.of_page(title, text, text, language) <= 1
        assert 0 <= relevance.of_anchor(text, language) <= 1
        assert 0 <= relevance.of_address(f"http://a.test/{text}") <= 1


def test_what_is_remembered_of_words_is_bounded() -> None:
    relevance = Relevance(terms_of("regular expressions"))
    for number in range(30_000):
        relevance.of_anchor(f"word{number}", "en")
        relevance.of_address(f"http://a.test/{number}")
    assert relevance.of_anchor("x" * 300, "en") == 0
    words = relevance._languages["en"]
    assert max(map(len, words)) <= 40
    for language in ("de", "fr", "es", "it", "nl", "ru", "sv", "fi"):
        relevance.of_anchor("word", language)
    assert len(relevance._languages) <= 6
    assert len(words) <= 10_001
    assert len(words.texts) <= 4_000
    assert len(relevance._addresses) <= 4_000
    assert relevance.of_anchor("regular expressions", "en") == 1.0


# ---- links


SHARES = st.floats(0, 1)


@given(SHARES, SHARES, SHARES, st.floats(LEAST, MOST))
def test_every_input_of_a_promise_makes_it_greater(
    anchor: float, address: float, source: float, section: float
) -> None:
    promise = Inputs(anchor, address, source, section).promise
    assert 0 <= promise <= 1
    for more in (
        Inputs(1, address, source, section),
        Inputs(anchor, 1, source, section),
        Inputs(anchor, address, 1, section),
    ):
        assert more.promise >= promise - 1e-9


def test_what_is_promised_is_tunnelled_through_a_few_pages_and_no_more() -> None:
    promise, hops = Inputs(0, 0, 0.9).promise, 0
    while class_of(promise) > 1:
        promise = Inputs(0, 0, source_of(0.0, promise)).promise
        hops += 1
    assert 2 <= hops <= 4


def test_classes_grow_with_promise() -> None:
    assert [class_of(least) for least in CLASS_FROM] == list(range(2, 10))
    assert (class_of(0.0), class_of(1.0)) == (1, 9)


def test_a_long_list_recommends_each_of_its_links_less() -> None:
    assert shared_among(0) == shared_among(40) == 1.0
    assert 0 < shared_among(4_000) < shared_among(400) < 1


@given(SHARES, SHARES, st.floats(0.1, 1), st.floats(LEAST, 1.0))
def test_the_share_of_the_place_can_be_told_from_a_promise(
    anchor: float, address: float, source: float, section: float
) -> None:
    told = section_of(Inputs(anchor, address, source), Inputs(anchor, address, source, section).promise)
    assert told == pytest.approx(section, abs=0.01)


# ---- where relevant pages lie


def test_a_folder_that_yields_nothing_is_hoped_less_of_and_its_neighbour_too_but_not_as_much() -> None:
    yields = Yields()
    assert yields.factor("http://a.test/x/1") == 1.0
    for number in range(12):
        yields.learn(f"http://a.test/x/{number}", 0.0)
    assert LEAST <= yields.factor("http://a.test/x/99") < yields.factor("http://a.test/y/1") < 1.0
    assert yields.factor("http://b.test/x/1") == 1.0


def test_a_folder_that_yields_much_is_hoped_more_of() -> None:
    yields = Yields()
    for number in range(12):
        yields.learn(f"http://a.test/x/{number}?page=2", 0.9)
    assert 1.0 < yields.factor("http://a.test/x/99") <= MOST
    assert EXPECTED < 0.9


def test_what_is_known_of_folders_is_bounded() -> None:
    yields = Yields()
    for number in range(3 * MAX_PARTS):
        yields.learn(f"http://a.test/{number}/x/", 0.5)
    assert len(yields._young) + len(yields._old) <= 2 * (MAX_PARTS + 5)


@given(st.text(max_size=60))
def test_any_url_has_a_place(text: str) -> None:
    yields = Yields()
    yields.learn(f"http://a.test/{text}", 0.0)
    assert LEAST <= yields.factor(f"http://a.test/{text}") <= MOST
