from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.url.template import family_of, has_drawn_segment, is_drawn, template_of


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("/", "/"),
        ("/about", "/about"),
        ("/2026/05/17", "/{n}/{n}/{n}"),
        ("/calendar/2026-05", "/calendar/{slug}"),
        ("/item-17", "/{slug}"),
        ("/item17", "/item{n}"),
        ("/s/afa0ba", "/s/{mixed}"),
        ("/s/9c4d1", "/s/{mixed}"),
        ("/3rd/chapter12.html", "/{n}rd/chapter{n}.html"),
        ("/blog/how-to-cook-rice.html", "/blog/{slug}.html"),
        ("/threads/how-to-cook-rice.1204/", "/threads/{slug}.{n}/"),
        ("/members/anna.17/about", "/members/{slug}.{n}/about"),
        ("/v1.2/", "/v{n}.{n}/"),
        ("/Donaudampfschifffahrtsgesellschaft", "/{slug}"),
        ("/s/0123456789abcdef/x", "/s/{hex}/x"),
        ("/d/550e8400-e29b-41d4-a716-446655440000", "/d/{hex}"),
        ("/d/aB3dE5fG7hI9jK1lM3nO", "/d/{token}"),
        ("/list?b=2&a=x", "/list?a=x&b={n}"),
        ("/list?a=x&b=9", "/list?a=x&b={n}"),
        ("/list?", "/list?"),
        ("/a/b/c/d/e/f/g/h/i/j", "/a/b/c/d/e/f/g/h/{deeper}"),
        ("/p.php?id=5&id=6", "/p.php?id={n}"),
        ("//", "//"),
    ],
)
def test_urls_that_differ_in_numbers_and_titles_have_one_template(path: str, template: str) -> None:
    assert template_of(path) == template


def test_templates_that_differ_in_their_query_are_one_family() -> None:
    assert family_of(template_of("/s?f1=1")) == family_of(template_of("/s?f2=1&f3=2"))
    assert family_of(template_of("/s")) != family_of(template_of("/s?f2=1"))


def test_what_is_drawn_by_lot_looks_so() -> None:
    assert is_drawn("0123456789abcdef")
    assert is_drawn("aB3dE5fG7hI9jK1lM3nO")
    assert not any(map(is_drawn, ("2026", "a-title", "deadbeef", "products", "")))
    assert has_drawn_segment(template_of("/s/0123456789abcdef/x"))
    assert not has_drawn_segment(template_of("/s/x?sid=0123456789abcdef"))


@given(st.text(max_size=200))
def test_any_path_has_a_template(text: str) -> None:
    template = template_of(f"/{text}")
    assert template.startswith("/")
    assert template_of(f"/{text}") == template
    assert family_of(template).startswith("/")
