"""What all tests share: which of them run when."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "full: takes minutes; runs only when asked for with `-m full`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "full" in (config.getoption("-m") or ""):
        return
    skip = pytest.mark.skip(reason="takes minutes; run with -m full")
    for item in items:
        if "full" in item.keywords:
            item.add_marker(skip)
