"""The compiled parts find what their twins in Python find."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lycosa.site import novelty, variants
from lycosa.site.novelty import LineMemory, LineSets
from lycosa.site.variants import links_shown, masked
from lycosa.url.template import is_drawn

pytestmark = pytest.mark.skipif(novelty.compiled_lines is None, reason="the compiled parts are not built")

ORIGIN = "https://example.com"
WORDS = st.sampled_from(
    ["shoes", "Rote", "Schuhe", "12", "3a4", "é", "中文", "٣٤", "½", "_", "-", "\u00a0", "", "\n", " ", "x" * 40]
)
TEXTS = st.lists(WORDS, max_size=30).map(" ".join)
TAILS = st.lists(st.sampled_from(["/shoes", "/12", "/a", "?q=rote", "&n=3", "/schuhe-34"]), max_size=4).map("".join)


@given(st.lists(st.tuples(TEXTS | st.text(max_size=60), TAILS), max_size=12))
def test_the_same_is_new_to_both_memories(pages: list[tuple[str, str]]) -> None:
    compiled, plain = LineMemory(), LineMemory(LineSets)
    for text, tail in pages:
        assert compiled.news_in(text, tail) is plain.news_in(text, tail)
    assert len(compiled) == len(plain)


def test_the_same_numbers_and_words_are_new_on_many_pages() -> None:
    compiled, plain = LineMemory(), LineMemory(LineSets)
    for number in range(3000):
        one, other = number * 7919 % 97, number * 104729 % 1801
        text = f"height {one} cm\ninventory {1900 + other % 90}.{other}\n{'ab' * (one % 5)} {'ba' * (other % 7)}"
        assert compiled.news_in(text, "/object") is plain.news_in(text, "/object")
    assert len(compiled) == len(plain)


def test_both_forget_the_same_lines() -> None:
    assert novelty.compiled_lines is not None
    compiled, plain = novelty.compiled_lines(10), LineSets(10)
    pages = [f"line {'abcdefghijklmnopqrstuvwxyz'[number * 7 % 26]}" for number in range(200)]
    assert [compiled.news_in(page, page, (), ()) for page in pages] == [
        plain.news_in(page, page, (), ()) for page in pages
    ]
    assert len(compiled) == len(plain) <= 22


SEGMENTS = st.text(alphabet="abcfgzAFZ0189-_.;=:", max_size=40) | st.sampled_from(
    [
        "0123456789abcdef",
        "2f1b8c9e-1111-2222-3333-444455556666",
        "sid-0a1b2c3d4e5f",
        "Talk:0123456789abcdef",
        "0123456789abcdef.html",
        "a1" * 8,
        "12345678",
        "a-" * 18,
    ]
)


@given(SEGMENTS)
@example("1" * 16)
@example("a" * 16)
@example("abcd-123456789012")
def test_what_is_drawn_by_lot_is_so_to_both(segment: str) -> None:
    segment = segment.replace(";", "").replace("=", "")
    is_masked = links_shown([f"{ORIGIN}/{segment}"], ORIGIN, ()) == links_shown([f"{ORIGIN}/*"], ORIGIN, ())
    # One in 512 shares the bit by chance; these are few, and the same in every run.
    assert is_masked >= (is_drawn(segment) or segment == "*")
    if is_masked and not is_drawn(segment):
        assert links_shown([f"{ORIGIN}/x{segment}!"], ORIGIN, ()) != links_shown([f"{ORIGIN}/x*!"], ORIGIN, ())


@given(
    st.lists(SEGMENTS, max_size=4),
    st.lists(st.tuples(SEGMENTS, SEGMENTS), max_size=4),
    st.sampled_from(["sid", "a", ""]),
)
def test_links_that_are_one_without_what_is_masked_have_one_bit(
    segments: list[str], variables: list[tuple[str, str]], name: str
) -> None:
    tail = "/" + "/".join(segments)
    if variables:
        tail += "?" + "&".join(f"{each}={value}" for each, value in variables)
    there = masked(tail, {name})
    assume(not there.endswith("?"))
    assert links_shown([ORIGIN + tail], ORIGIN, (name,)) == links_shown([ORIGIN + there], ORIGIN, (name,))


def test_links_of_other_origins_and_beyond_the_first_do_not_count() -> None:
    assert links_shown(["https://other.example/"], ORIGIN, ()) == 0
    many = [f"{ORIGIN}/page{number}" for number in range(variants.MAX_COMPARED_LINKS)]
    assert links_shown([*many, f"{ORIGIN}/another"], ORIGIN, ()) == links_shown(many, ORIGIN, ())


def test_what_is_no_text_is_refused() -> None:
    assert novelty.compiled_lines is not None
    with pytest.raises(TypeError):
        novelty.compiled_lines(10).news_in("", "", (1,), ())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="from one line"):
        novelty.compiled_lines(0)
