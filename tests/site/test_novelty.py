from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lycosa.simweb.hostile.traps import babble
from lycosa.site.novelty import MAX_LINES, MAX_PAGE_LINES, LineMemory, News, made_up
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
    for tail in ("/page/12", "/page/12/", "/story/a-long-title.html", "/list?page=3", "/list?page=3&sort=up", "/a"):
        other = made_up(tail)
        assert other != tail
        assert template_of(other).count("/") == template_of(tail).count("/")
    assert template_of(made_up("/page/12")) == template_of("/page/12")
    assert template_of(made_up("/list?page=3")) == template_of("/list?page=3")
    assert made_up("/story/level.html") == "/story/levelx.html"


@given(st.text(max_size=60), st.text(max_size=30))
def test_any_text_and_url_can_be_looked_at(text: str, tail: str) -> None:
    memory = LineMemory()
    memory.news_in(text, tail)
    assert memory.news_in(text, tail) is not News.WORDS
    assert isinstance(made_up(f"/{tail}"), str)
