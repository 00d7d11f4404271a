from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.site.notes import Sighting, Site
from lycosa.site.variants import MAX_PARTS, Sameness, UrlPart, after_pair, is_meaningless, masked, parts_of, without
from lycosa.url.template import has_drawn_segment, template_of


def parts(key: str) -> list[UrlPart]:
    return parts_of(key, has_drawn_segment=has_drawn_segment(template_of(key)))


@pytest.mark.parametrize(
    ("key", "rests"),
    [
        ("/a", {}),
        ("/a?sid=1", {"?sid": "/a"}),
        ("/a?sid=1&x=2", {"?sid": "/a?x=2", "?x": "/a?sid=1"}),
        ("/s/0123456789abcdef/b", {"/2": "/s/*/b"}),
        ("/s/0123456789abcdef/b?x=1", {"/2": "/s/*/b?x=1", "?x": "/s/0123456789abcdef/b"}),
        ("/a/one/b", {}),
    ],
)
def test_the_parts_of_a_url_and_what_is_left_without_each(key: str, rests: dict[str, str]) -> None:
    assert {part.names[0]: part.rest for part in parts(key)} == rests
    for part in parts(key):
        assert all(without(key, {name}) == part.rest for name in part.names)


def test_a_variable_may_mean_nothing_on_one_path_only() -> None:
    assert without("/a?view=1&x=2", {"/a?view"}) == "/a?x=2"
    assert without("/b?view=1&x=2", {"/a?view"}) == "/b?view=1&x=2"


def test_only_what_is_drawn_by_lot_leaves_a_path() -> None:
    assert without("/s/0123456789abcdef/b", {"/2"}) == "/s/*/b"
    assert without("/s/news/b", {"/2"}) == "/s/news/b"


def test_a_part_is_meaningless_once_enough_pages_agree() -> None:
    counts = Sameness()
    for page in range(2):
        counts = after_pair(counts, is_same=True, is_new_page=True)
        assert is_meaningless(counts, is_drawn=True) == (page == 1)
    assert not is_meaningless(counts)
    assert is_meaningless(Sameness(4, 2, 0))


def test_one_page_alone_says_nothing_of_the_others() -> None:
    assert not is_meaningless(Sameness(same=100, pages=1), is_drawn=True)


@pytest.mark.parametrize("has_results", [True, False])
def test_searches_that_find_nothing_do_not_make_a_variable_meaningless(has_results: bool) -> None:
    """A view of results that are there: known after two of them. That nothing is found: whatever was asked for."""
    site, origin = Site("a.test", 120.0), "https://a.test"
    for search in range(4):
        shown = Sighting(search if has_results else 0, 0)
        for view in range(3):
            site.compare(origin, f"/find?q={search}&view={view}", lambda names, shown=shown: shown)  # type: ignore[misc]
    assert ("/find?view" in site.meaningless_of(origin)) is has_results


def test_one_contradiction_outweighs_twenty_agreements() -> None:
    counts = after_pair(Sameness(20, 10), is_same=False)
    assert counts == Sameness(20, 10, 1)
    assert not is_meaningless(counts, is_drawn=True)
    assert is_meaningless(Sameness(25, 10, 1))


@given(st.text(max_size=200))
def test_any_key_has_few_parts_and_a_shorter_key(text: str) -> None:
    key = f"/{text}"
    found = parts(key)
    assert len([part for part in found if part.names[0][0] == "?"]) <= MAX_PARTS
    assert without(key, [name for part in found for name in part.names]).startswith("/")


@pytest.mark.parametrize(
    ("tail", "names", "kept"),
    [
        ("/a/b", set(), "/a/b"),
        ("/a?sid=1&x=2", {"sid"}, "/a?x=2"),
        ("/a?x=2&b=1", set(), "/a?b=1&x=2"),
        ("/a?sid=0123456789abcdef&x=2", set(), "/a?x=2"),
        ("/s/0123456789abcdef/b", set(), "/s/*/b"),
        ("/s/0123456789abcdef/b?x=1", {"y"}, "/s/*/b?x=1"),
        ("/a?sid=1", {"sid"}, "/a?"),
    ],
)
def test_what_is_left_of_a_link_without_some_variables_and_what_is_drawn_by_lot(
    tail: str, names: set[str], kept: str
) -> None:
    assert masked(tail, names) == kept


@given(st.text(max_size=100), st.text(max_size=10))
def test_what_was_masked_stays_as_it_is(text: str, name: str) -> None:
    once = masked(f"/{text}", {name})
    assert masked(once, {name}).partition("?")[0] == once.partition("?")[0]
