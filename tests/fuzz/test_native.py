"""The compiled parts read any page; memory errors in them are looked for by `python -m tests.fuzz.sanitized`."""

from __future__ import annotations

import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .conftest import fuzz
from .shapes import MARKUP, TEXT

content = pytest.importorskip("lycosa.page.content")
signature = pytest.importorskip("lycosa.dedupe.signature")


@fuzz
@given(MARKUP | TEXT)
def test_any_page_has_a_content(text: str) -> None:
    try:
        found = content.extract(text, "http://a.test/")
    except UnicodeEncodeError:
        # What is given to it was decoded by us, and has no half surrogate pairs.
        assert any("\ud800" <= character <= "\udfff" for character in text)
        return
    found.text.encode("utf-8")


@fuzz
@given(st.text(max_size=300))
def test_the_compiled_signature_is_that_of_the_arrays(text: str) -> None:
    assert signature.signature_of(text) == signature.signature_of_arrays(text)


@pytest.mark.full
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc builds the sanitized extensions")
def test_the_compiled_parts_have_no_memory_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    from . import sanitized

    monkeypatch.setattr("sys.argv", ["sanitized", "20"])
    assert sanitized.main() == 0
