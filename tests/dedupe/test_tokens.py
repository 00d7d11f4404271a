from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.dedupe.tokens import text_digest, tokens_of

CHINESE = "人工智能的发展改变了我们的生活方式，许多人开始学习新的技能。"


def digest(text: str) -> bytes:
    return text_digest(tokens_of(text).tobytes())


@pytest.mark.parametrize(
    "other",
    ["the Old  Bridge", "«The old» bridge!", "\n\nthe old,\tbridge\n", "ＴＨＥ old bridge", "the — old … bridge"],
)
def test_case_width_space_and_punctuation_do_not_count(other: str) -> None:
    assert digest(other) == digest("The old bridge.")


@pytest.mark.parametrize("other", ["the bridge old", "the old bridges", "theold bridge", "the old bridge 2", "the old"])
def test_every_word_and_its_place_count(other: str) -> None:
    assert digest(other) != digest("the old bridge")


def test_letters_in_another_order_make_another_word() -> None:
    assert digest("abaca") != digest("acaba")
    assert digest("12131") != digest("13121")


def test_a_text_without_words_has_no_digest() -> None:
    assert digest("") == digest(" \n…—!") == b""


def test_there_is_one_token_for_each_word() -> None:
    assert len(tokens_of("One, two; drei! Четыре 5 six's")) == 7


def test_scripts_without_spaces_are_cut_into_short_pieces() -> None:
    assert len(CHINESE) / 6 < len(tokens_of(CHINESE)) < len(CHINESE)


def test_an_edit_changes_only_the_tokens_around_it() -> None:
    before, after = (
        set(tokens_of(CHINESE * 3).tolist()),
        set(tokens_of(CHINESE * 2 + CHINESE[:9] + "书" + CHINESE[9:]).tolist()),
    )
    assert len(after - before) <= 3


@pytest.mark.parametrize("piece", ["some words of a long text ", CHINESE])
def test_a_long_text_has_the_tokens_of_its_parts(piece: str) -> None:
    piece += "\n"
    alone = tokens_of(piece).tolist()
    assert tokens_of(piece * 3000).tolist() == alone * 3000


@given(st.text(alphabet=st.characters(codec=None, categories=None), max_size=200))
def test_any_text_has_tokens(text: str) -> None:
    tokens = tokens_of(text)
    assert len(tokens) <= 2 * len(text)
    assert tokens.tolist() == tokens_of(text).tolist()


@given(
    st.lists(st.text(alphabet="abcdefgé", min_size=1, max_size=8), max_size=30),
    st.sampled_from([" ", ", ", "\n", " - "]),
)
def test_words_are_found_whatever_parts_them(words: list[str], between: str) -> None:
    assert len(tokens_of(between.join(words))) == len(words)
    assert digest(between.join(words)) == digest(" ".join(words))
