from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.robots.usage import NO_USAGE, Usage, usage_in, usage_in_headers


@pytest.mark.parametrize(
    ("statement", "meaning"),
    [
        ("train-ai=n", "ai=n"),
        ("search=yes, ai-input=no, ai-train=yes", "ai=n, search=y"),
        ("Search=Y , AI-train = N;x=1", "ai=n, search=y"),
        ("bots=n", "ai=n, archive=n, search=n"),
        ("search=y, search=n", "search=n"),
        ("tdm=y", "ai=y"),
        ("search, ai-train=maybe, what=n", ""),
        ("", ""),
    ],
)
def test_statements_are_understood(statement: str, meaning: str) -> None:
    assert str(usage_in(statement)) == meaning


@pytest.mark.parametrize(
    ("headers", "meaning"),
    [
        ([("tdm-reservation", " 1 ")], "ai=n"),
        ([("tdm-reservation", "0")], "ai=y"),
        ([("tdm-reservation", "x"), ("content-type", "train-ai=n")], ""),
        ([("content-usage", "search=y"), ("content-signal", "search=no"), ("tdm-reservation", "1")], "ai=n, search=n"),
    ],
)
def test_headers_add_up_and_the_stricter_counts(headers: list[tuple[str, str]], meaning: str) -> None:
    assert str(usage_in_headers(headers)) == meaning


@given(st.text(alphabet="aisearchtrain-=yn,; ", max_size=60), st.text(max_size=30))
def test_nothing_that_is_added_makes_a_page_freer(statement: str, other: str) -> None:
    usage = usage_in(statement)
    together = usage | usage_in(other)
    assert together.refused >= usage.refused
    assert usage | NO_USAGE == usage
    assert isinstance(together, Usage)
