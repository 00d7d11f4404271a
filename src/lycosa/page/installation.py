"""Whether this installation is whole. The compiled readers are optional for setuptools, and pip hides that they failed.

Whoever reads pages asks here and says it: a crawl when it begins, `lycosa status`, `lycosa parse` and the report.
"""

from __future__ import annotations

from importlib import import_module

_READERS = "lycosa.page._native"
_SIGNATURES = "lycosa.dedupe._native"
_LINKS = "lycosa.url._native"
_QUEUES = "lycosa.frontier._native"
_SITES = "lycosa.site._native"
_ORDER = "lycosa.policy._native"
_HEADS = "lycosa.fetch._native"
_RECORDS = "lycosa.store._native"
_WATCH = "lycosa.process._native"
_WITHOUT_READERS = (
    "content, comments, author and date stay EMPTY on every page,"
    " and pages are read five times as slowly as they could be"
)
_WITHOUT_SIGNATURES = "near duplicates are looked for three times as slowly as they could be"
_WITHOUT_QUEUES = "links join the queues of the frontier three times as slowly as they could"
_WITHOUT_LINKS = "the links of pages are decided five times as slowly as they could be"
_WITHOUT_SITES = "what pages say that others of their site do not is found ten times as slowly as it could be"
_WITHOUT_ORDER = "--order best fetches pages in the order in which they are found"
_WITHOUT_HEADS = "the heads of answers are read ten times as slowly as they could be"
_WITHOUT_RECORDS = "the records of WARC files take a third more time to write"
_WITHOUT_WATCH = "the kernel is asked four times a page to limit the time that it takes"
_REMEDY = (
    "To have it whole, install a wheel, or a C compiler and Python's headers (apt-get install gcc python3-dev) and then"
    " lycosa again (pip install --force-reinstall --no-deps --no-cache-dir, see docs/install.md)."
)

_PARTS = {
    _READERS: _WITHOUT_READERS,
    _SIGNATURES: _WITHOUT_SIGNATURES,
    _LINKS: _WITHOUT_LINKS,
    _QUEUES: _WITHOUT_QUEUES,
    _SITES: _WITHOUT_SITES,
    _ORDER: _WITHOUT_ORDER,
    _HEADS: _WITHOUT_HEADS,
    _RECORDS: _WITHOUT_RECORDS,
    _WATCH: _WITHOUT_WATCH,
}


def what_is_missing() -> str:
    """What this installation lacks, what that means and how to get it; empty if nothing."""
    for module, meaning in _PARTS.items():
        try:
            import_module(module)
        except ImportError as error:
            return f"lycosa was installed without its compiled parts ({error}): {meaning}. {_REMEDY}"
    return ""
