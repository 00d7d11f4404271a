"""What the tests of the benchmarks share."""

from __future__ import annotations

from importlib.util import find_spec

# Compiled at installation where there is a compiler; without it there is no main content to compare.
collect_ignore = [] if find_spec("lycosa.page._native") else ["test_quality.py"]
