"""Whether this installation is whole. The compiled readers are optional for setuptools, and pip hides that they failed.

Whoever reads pages asks here and says it: a crawl when it begins, `lycosa status`, `lycosa parse` and the report.
"""

from __future__ import annotations

from importlib import import_module

_READERS = "lycosa.page._native"
_SIGNATURES = "lycosa.dedupe._native"
_WITHOUT_READERS = (
    "content, comments, author and date stay EMPTY on every page,"
    " and pages are read five times as slowly as they could be"
)
_WITHOUT_SIGNATURES = "near duplicates are looked for three times as slowly as they could be"
_REMEDY = (
    "To have it whole, install a wheel, or a C compiler and Python's headers (apt-get install gcc python3-dev) and then"
    " lycosa again (pip install --force-reinstall --no-deps --no-cache-dir, see docs/install.md)."
)


def what_is_missing() -> str:
    """What this installation lacks, what that means and how to get it; empty if nothing."""
    for module, meaning in ((_READERS, _WITHOUT_READERS), (_SIGNATURES, _WITHOUT_SIGNATURES)):
        try:
            import_module(module)
        except ImportError as error:
            return f"lycosa was installed without its compiled parts ({error}): {meaning}. {_REMEDY}"
    return ""
