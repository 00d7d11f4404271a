"""Each allocation of the compiled reader fails once, Python's own among them. What comes is MemoryError, or what would
have come without it; nothing else, and nothing is lost.

`python -m tests.fuzz.allocations EXTENSION` reads the pages of `corpus/` so. The extension is what
`guided.build_instrumented` built.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .guided import LIMITS, Extension, corpus, open_instrumented

# What is kept for the next page: a tree and a search, each with its buffers.
MAX_SPARE = 16


def calls(extension: Extension, page: bytes) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """All that can be asked about a page."""
    from lycosa.model import RawLink

    native, model, _ = extension
    text = page.decode()
    return [
        (native.read, (page, "lycosa", RawLink, *LIMITS[0], model)),
        (native.read, (text, "lycosa", RawLink, *LIMITS[2], None)),
        (model.extract, (text, True)),
        (native.describe, (text,)),
        (native.lay_out, (text,)),
    ]


def fail_each(told: ctypes.PyDLL, call: Callable[..., Any], arguments: tuple[Any, ...], *, goes_on: bool) -> int:
    """How many allocations a call makes. Each of them fails in a call of its own, `goes_on`: with all after it."""
    expected = call(*arguments)
    at = 0
    while True:
        at += 1
        try:
            found = told.call_with_failure(call, arguments, at, goes_on)
        except MemoryError:
            continue
        assert found == expected, f"a wrong result after allocation {at} failed"
        if not told.failures():
            return at - 1


def fail_models(extension: Extension) -> None:
    """A model file that memory does not suffice for is not called a broken one."""
    model_bytes = b"lycosac1" + bytes(2 * extension.native.WEIGHTS) + 2 * (b"\0\0\0\0\1\0\0\0" + bytes(4))
    fail = extension.told.call_with_failure
    for at in range(1, 100):
        try:
            fail(extension.native.Model, (model_bytes,), at, 0)
        except MemoryError:
            continue
        assert not extension.told.failures()
        return
    raise AssertionError("a model makes no hundred allocations")


def main() -> int:
    extension = open_instrumented(Path(sys.argv[1]))
    failed = 0
    for page in corpus():
        for call, arguments in calls(extension, page):
            for goes_on in (False, True):
                failed += fail_each(extension.told, call, arguments, goes_on=goes_on)
                live = extension.told.live_allocations()
                call(*arguments)
                assert extension.told.live_allocations() <= live + MAX_SPARE
    fail_models(extension)
    live = extension.told.live_allocations()
    assert live <= 2 * MAX_SPARE, f"{live} allocations were not given back"
    print(f"{failed:,} allocations failed, and MemoryError was all that came of it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
