from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.page.words import words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Old bridge, isn't it?", ["the", "old", "bridge", "isn't", "it"]),
        ("Straße über 3,5 km - snake_case", ["straße", "über", "3,5", "km", "snake", "case"]),
        ("男友只要發脾氣就會亂摔東西", ["男友", "只要", "發脾氣", "就", "會", "亂", "摔", "東西"]),
        ("我们用Python写程序，2024。", ["我们", "用", "python", "写", "程序", "2024"]),
        ("東京タワーへ行きます", ["東京", "タワー", "へ", "行", "きます"]),
        ("우리는 도시로 간다", ["우리는", "도시로", "간다"]),
        ("Съешь ещё булок", ["съешь", "ещё", "булок"]),
        ("यह हिन्दी है", ["यह", "हिन्दी", "है"]),
        ("ไปเที่ยว", ["ไป", "เที่", "ย", "ว"]),
        ("…!?", []),
    ],
)
def test_words_of_many_scripts(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@given(st.text(max_size=300))
def test_any_text_has_words(text: str) -> None:
    for word in words_of(text):
        assert word
        assert not word.isspace()
