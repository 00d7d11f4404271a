from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CONFORMANCE = Path(__file__).parents[3] / "shared" / "data" / "conformance"


@pytest.fixture(scope="session")
def conformance_text() -> Callable[[str], str]:
    def read(name: str) -> str:
        path = CONFORMANCE / name
        if not path.exists():
            pytest.skip(f"the public conformance suites are not here: {path}")
        return path.read_text(encoding="utf-8")

    return read


@pytest.fixture(scope="session")
def conformance_cases(conformance_text: Callable[[str], str]) -> Callable[[str], list[dict[str, Any]]]:
    """The cases of a suite; strings between them are comments."""

    def read(name: str) -> list[dict[str, Any]]:
        return [case for case in json.loads(conformance_text(name)) if isinstance(case, dict)]

    return read
