from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.search.tokens import BAR, barred_tokens_of, tokens_of


@pytest.mark.parametrize(
    ("text", "language", "tokens"),
    [
        ("The Spiders' webs, running", "en", ["the", "spider", "web", "run"]),
        ("laufende Häuser", "de", ["laufend", "haus"]),
        ("max_connections=5 os.path", "en", ["max", "connect", "5", "os", "path"]),
        ("“Quoted” – naïve café¶", "", ["quoted", "naive", "cafe"]),
        ("ＷＩＤＥ", "", ["wide"]),
        ("清华大学 in Beijing", "zh", ["清华", "华大", "大学", "清华大学", "in", "beijing"]),
        ("東京タワー", "ja", ["東京", "京タ", "タワ", "ワー"]),
        ("猫", "ja", ["猫"]),
        ("안녕하세요", "ko", ["안녕", "녕하", "하세", "세요"]),
        ("йод", "", ["йод"]),
        ("!?", "en", []),
    ],
)
def test_texts_become_tokens(text: str, language: str, tokens: list[str]) -> None:
    assert tokens_of(text, language) == tokens


def test_accents_of_a_query_may_be_left_out() -> None:
    assert tokens_of("Ubersicht cafe", "") == tokens_of("Übersicht café", "")


def test_titles_and_headings_are_parted_by_bars() -> None:
    assert barred_tokens_of(["9.1. Logical Operators", "", "os — Paths"], "en") == [
        BAR, "9", "1", BAR, "logic", "oper", BAR, "os", BAR, "path", BAR
    ]  # fmt: skip
    assert barred_tokens_of(["—"], "en") == []


@given(st.text(max_size=60), st.sampled_from(["en", "zh", "ja", "de", "", "xx"]))
def test_no_text_has_a_token_that_is_a_bar(text: str, language: str) -> None:
    assert BAR not in tokens_of(text, language)


@given(st.text(max_size=40), st.text(max_size=40))
def test_parts_of_a_text_have_the_tokens_of_the_whole(one: str, other: str) -> None:
    assert tokens_of(f"{one} {other}", "en") == tokens_of(one, "en") + tokens_of(other, "en")
