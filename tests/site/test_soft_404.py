from __future__ import annotations

from lycosa.simweb.hostile.traps import babble
from lycosa.site.soft_404 import SKETCH_NUMBERS, is_soft_404, likeness, sketch

SORRY = "Oops. We could not find {}. It may have moved. " + babble("sorry", 60)


def test_a_page_like_the_answer_to_an_impossible_url_is_a_soft_404() -> None:
    probe = sketch(SORRY.format("/probe-zzz"), "/probe-zzz")
    assert is_soft_404(sketch(SORRY.format("/old/page"), "/old/page"), probe)
    assert not is_soft_404(sketch(babble("a real page"), "/real"), probe)


def test_a_long_page_has_a_short_sketch() -> None:
    one, other = babble("one", 5_000), babble("other", 5_000)
    assert len(sketch(one)) == SKETCH_NUMBERS
    assert likeness(sketch(one), sketch(one)) == 1.0
    assert likeness(sketch(one), sketch(other)) < 0.2
    assert likeness(sketch(one), sketch(one + babble("more", 50))) > 0.8


def test_texts_without_words_are_alike() -> None:
    assert likeness([], []) == 1.0
    assert likeness(sketch(""), sketch("2026")) == 1.0
