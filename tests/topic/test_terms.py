"""The terms of a topic: from words, from examples, in any language, from any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.topic.relevance import Relevance
from lycosa.topic.terms import MAX_TERM_CHARS, MAX_TERMS, Example, terms_of


@pytest.mark.parametrize(
    ("topic", "terms"),
    [
        ("regular expressions", {"regular", "expressions"}),
        ("the history of Rome", {"history", "rome"}),
        ("the", {"the"}),
        ("正则表达式教程", {"正则表达式", "教程"}),
        ("正規表現の使い方", {"正規表現"}),
        ("정규 표현식", {"정규", "표현식"}),
        ("猫", {"猫"}),
        ("DNS: маршруты", {"dns", "маршруты"}),
        ("2024", set()),
        ("…!", set()),
    ],
)
def test_words_become_terms(topic: str, terms: set[str]) -> None:
    assert set(terms_of(topic)) == terms


def test_forms_of_one_word_are_one_term_and_weigh_together() -> None:
    assert terms_of("index indexes trees") == {"index": pytest.approx(0.6667), "trees": pytest.approx(0.3333)}


def test_examples_name_what_stands_often_in_them_and_in_their_titles() -> None:
    text = "The falcon hunts other birds. A falcon nests on cliffs. It is fast. " * 3
    terms = list(
        terms_of("", [Example("Falcon", "Nests", text), Example("Falcons", "", "Falcons hunt. They hunt birds.")])
    )
    assert terms[0].startswith("falcon")
    assert {"hunt", "birds", "nests"} & {*terms, *(term.rstrip("s") for term in terms)}
    assert not {"the", "is", "it", "on"} & {*terms}


def test_an_example_is_as_relevant_as_can_be() -> None:
    example = Example("Falcons", "Nests\nPrey", "Falcons nest on cliffs and hunt smaller birds in flight. " * 20)
    relevance = Relevance(terms_of("", [example]))
    assert relevance.of_page(*example, "en") > 0.9
    assert relevance.of_page("Rivers", "Springs", "A river begins at its spring and ends in the sea. " * 20, "en") < 0.2


def test_words_and_examples_share_the_weight() -> None:
    terms = terms_of("falcons", [Example("Cliffs", "", "Cliffs at the sea. " * 9)])
    assert terms["falcons"] == 0.5
    assert "cliffs" in terms


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_gives_few_terms_of_some_weight(topic: str, text: str) -> None:
    terms = terms_of(topic, [Example(topic, text, text)])
    assert len(terms) <= MAX_TERMS
    assert all(weight > 0 and 0 < len(term) <= MAX_TERM_CHARS for term, weight in terms.items())
    for term in terms:
        term.encode()


def test_half_characters_and_zeros_are_no_trouble() -> None:
    assert set(terms_of("\ud800falcon\x00 nest\udfff")) == {"falcon", "nest"}
