from __future__ import annotations

import pytest

from lycosa.page.directives import Directives, directives_of, directives_of_header, refresh_of


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("noindex", Directives(noindex=True)),
        ("noai, noimageai", Directives(noai=True, noimageai=True)),
        ("tdm-reservation=1", Directives(noai=True)),
        ("tdm-reservation=0, tdm-reservation=10", Directives()),
        ("NoIndex,NOFOLLOW", Directives(noindex=True, nofollow=True)),
        ("none", Directives(noindex=True, nofollow=True)),
        ("noarchive", Directives(noarchive=True)),
        ("nocache", Directives(noarchive=True)),
        ("noindex nofollow", Directives(noindex=True, nofollow=True)),
        ("index, follow, max-snippet:20", Directives()),
        ("", Directives()),
    ],
)
def test_words_of_a_robots_meta(content: str, expected: Directives) -> None:
    assert directives_of(content) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["noindex"], Directives(noindex=True)),
        (["noindex", "nofollow"], Directives(noindex=True, nofollow=True)),
        (["otherbot: noindex, nofollow"], Directives()),
        (["lycosa: noindex, nofollow"], Directives(noindex=True, nofollow=True)),
        (["Lycosa: none"], Directives(noindex=True, nofollow=True)),
        (["otherbot: noindex, lycosa: nofollow"], Directives(nofollow=True)),
        (["nofollow, otherbot: noindex"], Directives(nofollow=True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], Directives(noindex=True)),
        (["max-snippet: 20, noarchive"], Directives(noarchive=True)),
        ([], Directives()),
    ],
)
def test_x_robots_tag_may_name_the_agent(values: list[str], expected: Directives) -> None:
    assert directives_of_header(values, "lycosa") == expected


def test_a_hostile_delay_is_a_number_all_the_same() -> None:
    refresh = refresh_of("9" * 100_000 + ";url=x")
    assert refresh is not None
    assert refresh.url == "x"
