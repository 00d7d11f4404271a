"""What the tests of the hostile web share: the row each is for, figures for the table, and crawls with short limits."""

from __future__ import annotations

from typing import Any

import pytest

from ..crawl.conftest import HandCrawl, crawl, hand_settings, space, web

__all__ = ["SHORT", "HandCrawl", "crawl", "hand_settings", "space", "web"]

# Short enough that a tarpit costs a test a second, long enough for a busy machine.
SHORT: dict[str, Any] = {
    "connect_seconds": 5.0,
    "first_byte_seconds": 2.0,
    "idle_seconds": 2.0,
    "fetch_seconds": 8.0,
    "circuit_seconds": 0.0,
}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(*ids): the rows of the table of the hostile web that a test is for")
    config.addinivalue_line("markers", "full: takes long; left out of the quick run")
