from __future__ import annotations

import random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.dedupe.comparison import BANDS, NO_SIGNATURE, SKETCH_BYTES, Signature, similarity
from lycosa.dedupe.signature import signature_of

WORDS = [f"word{number}" for number in range(4000)]


def reworded(words: list[str], share: float, draws: random.Random) -> list[str]:
    return [draws.choice(WORDS) if draws.random() < share else word for word in words]


def resemblance(words: list[str], others: list[str]) -> float:
    mine, theirs = (set(zip(text, text[1:], text[2:], strict=False)) for text in (words, others))
    return len(mine & theirs) / len(mine | theirs)


@pytest.mark.parametrize("length", [40, 200, 1000, 4000, 20_000])
def test_a_sketch_tells_how_alike_two_texts_are(length: int) -> None:
    draws = random.Random(length)
    errors = []
    for _ in range(20):
        words = draws.choices(WORDS, k=length)
        others = reworded(words, draws.choice((0.0, 0.01, 0.02, 0.05, 0.2)), draws)
        found = similarity(signature_of(" ".join(words)).sketch, signature_of(" ".join(others)).sketch)
        errors.append(found - resemblance(words, others))
    assert abs(fmean(errors)) < 0.01
    assert max(map(abs, errors)) < 0.05


def test_texts_that_are_alike_share_a_band() -> None:
    draws = random.Random(5)
    shared = 0
    for _ in range(100):
        words = draws.choices(WORDS, k=600)
        others = reworded(words, 0.015, draws)
        shared += not set(signature_of(" ".join(words)).bands).isdisjoint(signature_of(" ".join(others)).bands)
    assert shared >= 97


def test_texts_that_have_little_in_common_share_none() -> None:
    draws = random.Random(6)
    bands = [signature_of(" ".join(draws.choices(WORDS, k=600))).bands for _ in range(100)]
    assert len({band for each in bands for band in each}) == 100 * BANDS


def test_a_signature_survives_the_wire() -> None:
    signature = signature_of("a text of a few words")
    assert len(signature.sketch) == SKETCH_BYTES
    assert Signature.from_bytes(signature.to_bytes()) == signature
    assert Signature.from_bytes(NO_SIGNATURE.to_bytes()) == NO_SIGNATURE


def test_a_text_without_words_is_like_nothing() -> None:
    assert signature_of(" … ") == NO_SIGNATURE
    assert similarity(bytes(SKETCH_BYTES), bytes(SKETCH_BYTES)) == 0.0


@given(st.text(max_size=300), st.text(max_size=300))
def test_similarity_is_mutual_and_a_share(text: str, other: str) -> None:
    mine, theirs = signature_of(text), signature_of(other)
    found = similarity(mine.sketch, theirs.sketch)
    assert 0.0 <= found <= 1.0
    assert found == similarity(theirs.sketch, mine.sketch)
    assert not mine.digest or similarity(mine.sketch, mine.sketch) == 1.0


@given(st.text(alphabet=st.characters(codec=None, categories=None), max_size=400))
def test_any_text_has_a_signature(text: str) -> None:
    signature = signature_of(text)
    assert signature == NO_SIGNATURE or len(signature.bands) == BANDS
