"""What the tests of pages share."""

from __future__ import annotations

from importlib.util import find_spec

# Compiled at installation where there is a compiler; without it there is nothing to test.
collect_ignore = [] if find_spec("lycosa.page._native") else ["test_content.py", "test_readers.py"]
