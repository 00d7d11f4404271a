"""The compiled parts are optional for users, and never missing where there is a compiler."""

from __future__ import annotations

import importlib
import shutil

import pytest


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
@pytest.mark.parametrize("name", ["lycosa.page._native", "lycosa.dedupe._native"])
def test_extensions_are_built_where_there_is_a_compiler(name: str) -> None:
    importlib.import_module(name)
