"""What the tests of pages share."""

from __future__ import annotations

from importlib.util import find_spec

# Compiled at installation where there is a compiler; without it there is nothing to test.
collect_ignore = [
    test
    for module, test in (
        ("lycosa.page._native", "test_readers.py"),
        ("lycosa.page.content._native", "test_content.py"),
    )
    if not find_spec(module)
]
