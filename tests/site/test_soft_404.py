from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from lycosa.simweb.hostile.traps import babble
from lycosa.site.soft_404 import SKETCH_NUMBERS, is_soft_404, sketch, without_echo

SORRY = "Oops. We could not find {}. It may have moved. " + babble("sorry", 60)
MENU = babble("menu", 400)


def test_a_page_like_the_answer_to_an_impossible_url_is_a_soft_404() -> None:
    probe = sketch(SORRY.format("/probe-zzzz"), "/probe-zzzz")
    assert is_soft_404(sketch(SORRY.format("/probe-zzzz"), "/probe-zzzz"), probe)
    assert is_soft_404(sketch(SORRY.format("/older/page"), "/older/page"), probe)
    assert not is_soft_404(sketch(babble("a real page"), "/real"), probe)


PIECES = st.sampled_from(["/", "tide", "s%2Dtide", "old", "%41bcd", "a", "?q=tide", "tables", "Abcd"])


@given(st.lists(PIECES, max_size=4).map("/".join), st.lists(PIECES, max_size=6).map("".join))
def test_whatever_is_repeated_of_a_url_is_left_out(url: str, text: str) -> None:
    text += url
    shown = without_echo(text, url)
    path = url.partition("?")[0]
    for echo in (url, path, unquote(path), path.strip("/"), path.rpartition("/")[2]):
        assert len(echo) < 4 or echo not in shown


def test_a_soft_404_may_repeat_any_url() -> None:
    probe_path = "/lycosa-probe-4a31235daee1585a"
    probe = sketch(SORRY.format(probe_path), probe_path)
    for path in ("/a", "/old/16806d912d3ee553/a/b", "/de/so/we/go"):
        assert is_soft_404(sketch(SORRY.format(path), path), probe)


def test_short_pages_below_a_large_menu_are_no_soft_404() -> None:
    probe = sketch(f"{MENU} There is nothing here.", "/probe-zzzz")
    assert is_soft_404(sketch(f"{MENU} There is nothing here.", "/gone"), probe)
    for number in range(20):
        page = f"{MENU} {babble(str(number), 12)}"
        assert not is_soft_404(sketch(page, f"/{number}"), probe)


def test_an_empty_list_below_the_menu_says_less_than_the_answer() -> None:
    probe = sketch(f"{MENU} {babble('sorry', 30)}", "/probe-zzzz")
    assert not is_soft_404(sketch(MENU, "/list"), probe)


def test_a_long_page_has_a_short_sketch() -> None:
    one, other = babble("one", 5_000), babble("other", 5_000)
    assert len(sketch(one)) == SKETCH_NUMBERS
    assert is_soft_404(sketch(one), sketch(one))
    assert not is_soft_404(sketch(one), sketch(other))
    assert not is_soft_404(sketch(f"{one} {babble('more', 2_000)}"), sketch(one))


def test_a_long_and_a_short_text_are_not_alike() -> None:
    long = babble("one", 5_000)
    assert not is_soft_404(sketch(babble("two", 40)), sketch(long))
    assert not is_soft_404(sketch(long), sketch(babble("two", 40)))


def test_texts_without_words_are_alike() -> None:
    assert sketch("") == sketch("2026")
    assert is_soft_404(sketch(""), sketch("2026"))


@given(st.text(max_size=300), st.text(max_size=30))
def test_every_text_is_like_itself(text: str, url: str) -> None:
    numbers = sketch(text, url)
    assert numbers == sorted(numbers)
    assert is_soft_404(numbers, numbers)
