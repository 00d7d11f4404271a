from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.dedupe import signature

pytestmark = pytest.mark.skipif(signature.compiled_sign is None, reason="the compiled parts are not built")


@given(st.text(alphabet=st.characters(codec=None, categories=None), max_size=400))
def test_the_compiled_loop_signs_as_the_arrays_do(text: str) -> None:
    assert signature.signature_of(text) == signature.signature_of_arrays(text)


@pytest.mark.parametrize(
    "text",
    [
        "中文 𠀀字 " * 9000,
        "plain words, many of them; " * 3000,
        "a b",
        "é",
        "x" * 100,
        *("y" * length + " é" for length in range(61, 68)),
    ],
)
def test_and_on_long_and_short_texts(text: str) -> None:
    assert signature.signature_of(text) == signature.signature_of_arrays(text)


def test_tables_of_another_size_are_refused() -> None:
    assert signature.compiled_sign is not None
    with pytest.raises(ValueError, match="tables of another size"):
        signature.compiled_sign("text", b"", b"", b"", b"")
