from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.simweb.hostile.traps import babble
from lycosa.site.notes import Site
from lycosa.site.novelty import (
    MAX_LINES,
    MAX_PAGE_LINES,
    MAX_PICTURES,
    LineMemory,
    News,
    made_up,
    pictures_in,
)
from lycosa.url.template import template_of


def test_lines_that_were_met_say_nothing_in_any_order() -> None:
    memory = LineMemory()
    assert memory.news_in("red shoes\nblue hat\nmenu", "/1") is News.WORDS
    assert memory.news_in("menu\nblue hat\n\nred shoes", "/2") is News.NOTHING
    assert memory.news_in("menu\ngreen hat", "/3") is News.WORDS


def test_the_words_and_numbers_of_its_own_url_are_no_news() -> None:
    memory = LineMemory()
    memory.news_in("results for\nnothing found", "/search")
    assert memory.news_in("results for\nshoes\nnothing found", "/search?q=shoes") is News.NOTHING
    assert memory.news_in("results for\n17\nnothing found", "/search?q=17") is News.NOTHING


def test_other_numbers_are_less_than_words() -> None:
    memory = LineMemory()
    assert memory.news_in("temperature 21", "/day/1") is News.WORDS
    assert memory.news_in("temperature 23", "/day/2") is News.NUMBERS
    assert memory.news_in("temperature 23", "/day/3") is News.NOTHING


def test_a_text_that_was_met_says_nothing() -> None:
    memory = LineMemory()
    assert memory.news_in("temperature 21", "/day/one") is News.WORDS
    assert memory.news_in("temperature 21", "/day/two") is News.NOTHING


def test_a_text_without_anything_says_nothing() -> None:
    memory = LineMemory()
    assert memory.news_in("", "/") is News.NOTHING
    assert memory.news_in("\n \n", "/") is News.NOTHING


def test_the_memory_is_bounded_and_recent_lines_are_known() -> None:
    memory = LineMemory()
    for number in range(3 * MAX_LINES):
        memory.news_in(babble(str(number), 6), f"/{number}")
    assert len(memory) <= 2 * MAX_LINES + 2
    assert memory.news_in(babble(str(3 * MAX_LINES - 1), 6), "/again") is News.NOTHING


def test_of_a_very_long_page_the_beginning_is_looked_at() -> None:
    memory = LineMemory()
    memory.news_in("\n".join(f"line {babble(str(each), 3)}" for each in range(10 * MAX_PAGE_LINES)), "/")
    assert len(memory) <= MAX_PAGE_LINES + 1


def test_a_made_up_name_is_another_of_the_same_kind() -> None:
    for tail in (
        "/page/12",
        "/page/12/",
        "/memo99",
        "/story/a-long-title.html",
        "/list?page=3",
        "/a?page=3&sort=up",
        "/a",
    ):
        (other,) = made_up(tail)
        assert other != tail
        assert template_of(other) == template_of(tail) or tail == "/a"
    assert made_up("/story/level.html") == ["/story/levelx.html"]
    assert made_up("/list?page=3&sort=up")[0].endswith("&sort=up"), "the number is what tells pages apart"


@pytest.mark.parametrize(
    ("tail", "far"),
    [
        ("/2026/05/", "/2726/05/"),
        ("/march-2031/week-two", "/march-2731/week-two"),
        ("/day/20260513", "/day/27260513"),
        ("/events?date=2026-05-13", "/events?date=2726-05-13"),
        ("/log/1718000000", "/log/4718000000"),
    ],
)
def test_of_dates_another_year_is_asked_for_too(tail: str, far: str) -> None:
    """A calendar has every year, and yet no month of eight digits."""
    assert made_up(tail)[0] == far
    assert len(made_up(tail)) == 2


def test_a_known_sentence_with_words_of_the_url_says_nothing_new() -> None:
    memory = LineMemory()
    memory.news_in("Log in to edit Rome.", "/edit?title=Rome")
    assert memory.news_in("Log in to edit Paris.", "/edit?title=Paris") is not News.WORDS
    assert memory.news_in("Paris is a town in France.", "/wiki/Paris") is News.WORDS


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_text_and_url_can_be_looked_at(text: str, tail: str) -> None:
    memory = LineMemory()
    memory.news_in(text, tail)
    assert memory.news_in(text, tail) is not News.WORDS
    assert all(isinstance(name, str) for name in made_up(f"/{tail}"))


def test_a_line_that_merely_contains_a_word_of_the_url_is_new() -> None:
    memory = LineMemory()
    assert memory.news_in("A lantern stands beside the harbour.", "/a/12") is News.WORDS


def test_a_picture_is_news_once_and_nobody_makes_us_look_for_long() -> None:
    page = b'<IMG class=x SRC = "/files/3-5.jpg" alt=""><img src=\'/files/3-6.jpg\'><img data-src="/late.jpg">'
    site = Site("a.test", 120)
    assert len(pictures_in(page)) == 3, "one that is loaded when it comes into view is shown as well"
    assert site.has_new_picture(pictures_in(page))
    assert not site.has_new_picture(pictures_in(page))
    assert not site.has_new_picture([])
    # What is drawn anew for each request, such as a counter, is none.
    assert pictures_in(b'<img src="/pixel.gif?r=0.92">') == []
    assert len(pictures_in(b'<img src="/a.jpg">' * 1_000_000)) == MAX_PICTURES
    # Five megabytes each, which cost an ordinary pattern ten seconds and more.
    for hostile in (b"<img ", b"<img src ", b"<img src=a", b"<img x='>", b"<img\n"):
        assert len(pictures_in(hostile * (5_000_000 // len(hostile)))) <= MAX_PICTURES
