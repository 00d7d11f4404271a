from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from .. import suites


@pytest.fixture(scope="session")
def conformance_text() -> Callable[[str], str]:
    def read(name: str) -> str:
        return suites.read(suites.find(f"conformance/{name}")).decode()

    return read


@pytest.fixture(scope="session")
def conformance_cases(conformance_text: Callable[[str], str]) -> Callable[[str], list[dict[str, Any]]]:
    """The cases of a suite; strings between them are comments."""

    def read(name: str) -> list[dict[str, Any]]:
        return [case for case in json.loads(conformance_text(name)) if isinstance(case, dict)]

    return read
