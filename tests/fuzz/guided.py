"""A fuzz run guided by coverage: inputs that reach new edges of the compiled reader are kept and changed further.

    python -m tests.fuzz.guided --seconds 600

The extension is built with gcc's own instrumentation (`instrument.c`), AddressSanitizer and UndefinedBehaviorSanitizer,
and runs in a process of its own. It begins with the pages in `corpus/`. A memory error, an exception, and more steps
than a page of that length may take end the run; the input is left in a file that is named.
How to go on from there: docs/how-to/fuzz.md.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .sanitized import HOME, PAGE, build, environment, load
from .shapes import MARKUP_PIECES

CORPUS = Path(__file__).parent / "corpus"
INSTRUMENT = Path(__file__).parent / "instrument.c"
MAX_BYTES = 8_000
# Room for one input and its length, which outlives the process.
_LENGTH_BYTES = 8
LIMITS = [(2000, 512, 100_000, 1_000_000), (50, 10, 60, 300), (2, 6, 9, 20), (0, 0, 0, 0)]
# What a page may take: see native/html.h and content/native/content.h. Links look at each node once more, or twice.
MAX_STEPS = (1 << 25) + (1 << 26) + 4096
STEPS_PER_BYTE = 8 + 2

_NAMES = [f"counted_{name}" for name in ("malloc", "calloc", "realloc", "free")]
FLAGS = ("-fsanitize-coverage=trace-pc", *(f"-D{name.removeprefix('counted_')}={name}" for name in _NAMES))


class Extension(NamedTuple):
    """The compiled reader, and what `instrument.c` tells of it."""

    native: Any
    model: Any
    told: ctypes.PyDLL


def build_instrumented(place: Path, *folders: Path) -> Path:
    """The compiled reader, or what is in other folders, with sanitizers, coverage and allocations that can fail."""
    instrument, extension = place / "instrument.o", place / "_native.so"
    include = f"-I{sysconfig.get_path('include')}"
    subprocess.run(
        ["gcc", "-std=gnu11", "-O2", "-fPIC", "-c", include, str(INSTRUMENT), "-o", str(instrument)], check=True
    )
    build(extension, *(folders or PAGE), flags=FLAGS, objects=(str(instrument),))
    return extension


def open_instrumented(path: Path) -> Extension:
    native, told = load_instrumented(path)
    return Extension(native, native.Model((HOME / "page/content/content.model").read_bytes()), told)


def load_instrumented(path: Path) -> tuple[Any, ctypes.PyDLL]:
    """The extension, and what `instrument.c` tells of it."""
    native, told = load(path), ctypes.PyDLL(str(path))
    told.new_edges.restype = ctypes.c_size_t
    told.call_with_failure.restype = ctypes.py_object
    told.call_with_failure.argtypes = [ctypes.py_object, ctypes.py_object, ctypes.c_ssize_t, ctypes.c_int]
    told.failures.restype = told.live_allocations.restype = ctypes.c_ssize_t
    return native, told


def corpus() -> list[bytes]:
    """The pages to begin with."""
    return [path.read_bytes() for path in sorted(CORPUS.glob("*.html"))]


# Changes


def changed(draw: random.Random, pages: list[bytes], pieces: list[str] = MARKUP_PIECES) -> bytes:
    """One of the pages with a few changes: pieces put in, cut out, repeated, taken from another page, bytes turned."""
    data = bytearray(draw.choice(pages))
    for _ in range(draw.choice([1, 1, 2, 3, 6])):
        at = draw.randrange(len(data) + 1)
        until = min(len(data), at + draw.choice([1, 3, 10, 50]))
        match draw.randrange(6):
            case 0 | 1:
                data[at:at] = draw.choice(pieces).encode("utf-8", "ignore")
            case 2:
                del data[at:until]
            case 3:
                data[at:until] = data[at:until] * draw.choice([2, 3, 20])
            case 4:
                other = draw.choice(pages)
                start = draw.randrange(len(other) + 1)
                data[at:until] = other[start : start + draw.choice([3, 20, 200])]
            case _ if data:
                data[at % len(data)] = draw.randrange(256)
    # Only UTF-8 is given to the reader.
    return bytes(data[:MAX_BYTES]).decode("utf-8", "ignore").encode()


# The run


def read(extension: Extension, page: bytes, turn: int) -> None:
    """Everything that is read of a page, by one of the limits in turn."""
    from lycosa.model import RawLink

    native, model, _ = extension
    native.read(page, "lycosa", RawLink, *LIMITS[turn % len(LIMITS)], model if turn % 3 else None)
    if (steps := native.steps()) > MAX_STEPS + STEPS_PER_BYTE * len(page):
        raise AssertionError(f"{steps} steps for {len(page)} bytes")
    if turn % 4 == 0:
        text = page.decode()
        model.extract(text, turn % 8 == 0)
        native.describe(text)
        native.lay_out(text)


def run(extension: Extension, seed: int, noted: mmap.mmap, until: Iterator[object]) -> tuple[int, int]:
    """Read changed pages as long as there is an `until`; how many were tried, and how many of them were kept."""
    draw, pages, tried = random.Random(seed), corpus(), 0
    for turn, page in enumerate(pages * len(LIMITS)):
        read(extension, page, turn)
    extension.told.new_edges()
    begun = len(pages)
    for _ in until:
        page = changed(draw, pages)
        noted[: _LENGTH_BYTES + len(page)] = len(page).to_bytes(_LENGTH_BYTES) + page
        read(extension, page, draw.randrange(24))
        tried += 1
        if extension.told.new_edges():
            pages.append(page)
    return tried, len(pages) - begun


def _until(seconds: float, inputs: int) -> Iterator[object]:
    end = time.monotonic() + seconds
    while inputs and time.monotonic() < end:
        inputs -= 1
        yield None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long it may take")
    parser.add_argument("--inputs", type=int, default=-1, help="how many inputs are tried; -1: as many as fit")
    parser.add_argument("--seed", type=int, default=None, help="the same one tries the same inputs; else any")
    parser.add_argument("--extension", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--noted", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.extension:
        seed = random.randrange(1 << 32) if options.seed is None else options.seed
        with options.noted.open("r+b") as file, mmap.mmap(file.fileno(), 0) as noted:
            extension = open_instrumented(options.extension)
            tried, kept = run(extension, seed, noted, _until(options.seconds, options.inputs))
        print(f"{tried:,} inputs, {kept:,} of them reached something new, no error (seed {seed})")
        return 0
    return _run_apart(options)


def _run_apart(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as place:
        noted = Path(place, "input")
        noted.write_bytes(bytes(_LENGTH_BYTES + MAX_BYTES))
        command = [sys.executable, "-m", "tests.fuzz.guided", "--extension", str(build_instrumented(Path(place)))]
        command += ["--noted", str(noted), "--seconds", str(options.seconds), "--inputs", str(options.inputs)]
        if options.seed is not None:
            command += ["--seed", str(options.seed)]
        code = subprocess.run(command, env=environment(), cwd=HOME.parents[1], check=False).returncode
        if code:
            print(f"the input is in {_saved(noted.read_bytes())}", file=sys.stderr)
        return code


def _saved(noted: bytes) -> Path:
    length = int.from_bytes(noted[:_LENGTH_BYTES])
    with tempfile.NamedTemporaryFile(prefix="lycosa-fuzz-", suffix=".html", delete=False) as file:
        file.write(noted[_LENGTH_BYTES : _LENGTH_BYTES + length])
    return Path(file.name)


if __name__ == "__main__":
    sys.exit(main())
