"""The table itself: every row of the specification has a test, and every name in it is that of one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .rows import ELSEWHERE, ROWS
from .table import NOT_YET

TESTS = Path(__file__).parents[1]


def test_every_row_has_a_test() -> None:
    marked = {row for file in TESTS.glob("hostile/test_*.py") for row in re.findall(r'"([A-Z]\d*)"', file.read_text())}
    assert ROWS.keys() - marked - ELSEWHERE.keys() - NOT_YET.keys() == set()


@pytest.mark.parametrize("name", sorted({name for names in ELSEWHERE.values() for name in names}))
def test_every_name_is_that_of_a_test(name: str) -> None:
    path, _, test = name.partition("::")
    text = (TESTS / path).read_text()
    test = test.rpartition("::")[2]
    assert f"def {test}" in text or any(
        f"def {test}" in other.read_text() for other in TESTS.glob("frontier/contract*")
    )
