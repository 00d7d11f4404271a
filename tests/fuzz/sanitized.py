"""The compiled parts under AddressSanitizer and UndefinedBehaviorSanitizer, fed with hostile markup and models.

`python -m tests.fuzz.sanitized [SECONDS]` builds them with gcc into a temporary folder and tries as many inputs as fit.
Any memory error ends the run with the sanitizer's report. `guided` goes on from what it reaches.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import lycosa

from .shapes import MARKUP_PIECES

HOME = Path(lycosa.__file__).parent
PAGE = (HOME / "page/native", HOME / "page/content/native")
SHARED = ["-std=gnu11", "-O1", "-g", "-shared", "-fPIC"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]


def build(out: Path, *folders: Path, flags: tuple[str, ...] = (), objects: tuple[str, ...] = ()) -> None:
    """Compile one extension with sanitizers."""
    files = sorted(str(file) for folder in folders for file in folder.glob("*.c"))
    command = ["gcc", *SHARED, *SANITIZERS, *flags, f"-I{sysconfig.get_path('include')}", *files, *objects, "-lm"]
    subprocess.run([*command, "-o", str(out)], check=True)


def load(path: Path) -> Any:
    spec = spec_from_file_location("_native", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def environment() -> dict[str, str]:
    """In which Python can load what `build` has built."""
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], check=True, capture_output=True, text=True)
    # The interpreter itself leaks by design at its end; only what happens before counts.
    return {**os.environ, "LD_PRELOAD": library.stdout.strip(), "ASAN_OPTIONS": "detect_leaks=0"}


def markup(draw: random.Random) -> str:
    """A text of pieces of markup, words and any characters, cut somewhere."""
    pieces = [
        *MARKUP_PIECES,
        "\u6f22\u5b57",
        "\U0001f600",
        "\ud800",
        "x" * 300,
        "<div>" * 100,
        " word" * 50,
        '{"@type":"',
        "\\u",
    ]
    parts = [
        draw.choice(pieces) if draw.random() < 0.9 else chr(draw.randrange(0x11_0000))
        for _ in range(draw.choice([3, 10, 40, 200]))
    ]
    text = "".join(parts)
    return text[: draw.randrange(len(text) + 1)] if draw.random() < 0.3 else text


def harmed(model: bytes, draw: random.Random) -> bytes:
    """A model file cut and with bytes changed, mostly near its head."""
    data = bytearray(model[: draw.randrange(len(model)) if draw.random() < 0.5 else len(model)])
    for _ in range(draw.randrange(1, 4)):
        if data:
            data[draw.randrange(min(len(data), draw.choice([64, 400, len(data)])))] = draw.randrange(256)
    return bytes(data)


def sort_in(native: Any, words: list[str], draw: random.Random) -> None:
    """Targets as a message has them, whole or harmed, and the filter that knows them."""
    from lycosa.frontier.arrivals import message_of
    from lycosa.model import Target

    marks = [draw.randbytes(8) for _ in words]
    targets = [
        Target(
            f"http://a.test/{word}", "a.test", mark, depth=draw.choice([1, 300]), referrer=f"http://a.test/{word[:3]}"
        )
        for word, mark in zip(words, marks, strict=True)
        if word.isprintable()
    ]
    message = message_of(targets)
    store, patterns = bytearray(8 * draw.randrange(1, 9)), native.bloom_patterns(5, 6)
    native.bloom_add(store, patterns, 1, marks)
    assert all(native.bloom_has(store, patterns, 1, marks))
    native.arriving([message], set(marks[::2]))
    broken = harmed(message, draw)
    native.named_in([broken])
    native.arriving([message, broken], set(marks))


def feed(page: Path, dedupe: Path, site: Path, frontier: Path, seconds: float) -> int:
    """Try inputs until the time is over; returns how many."""
    from lycosa.dedupe import signature
    from lycosa.model import RawLink
    from lycosa.site.novelty import LineMemory, LineSets

    native, model_bytes = load(page), (HOME / "page/content/content.model").read_bytes()
    model = native.Model(model_bytes)
    signature.compiled_sign = load(dedupe).sign
    notes, queues = load(site), load(frontier)
    lines, plain = LineMemory(notes.Lines), LineMemory(LineSets)
    draw, until, tried = random.Random(), time.monotonic() + seconds, 0
    while time.monotonic() < until:
        text = markup(draw)
        try:
            limits = draw.choice([(2000, 512, 100_000, 1_000_000), (2, 6, 9, 20), (0, 0, 0, 0)])
            native.read(text, "a", RawLink, *limits, draw.choice([model, None]))
            model.extract(text, draw.random() < 0.3)
            native.lay_out(text)
            native.describe(text)
            signature.signature_of(text)
            assert lines.news_in(text, text[:40]) is plain.news_in(text, text[:40])
            words = text.split()
            notes.link_bits(
                words, draw.choice(["", "/", "<"]), tuple(words[: draw.randrange(3)]), draw.choice([0, 9, 64])
            )
            sort_in(queues, words, draw)
            if tried % 20 == 0:
                native.Model(harmed(model_bytes, draw)).extract(text)
        except (UnicodeEncodeError, ValueError):
            pass
        tried += 1
    return tried


def main() -> int:
    if len(sys.argv) == 6:
        page, dedupe, site, frontier = map(Path, sys.argv[1:5])
        print(f"{feed(page, dedupe, site, frontier, float(sys.argv[5])):,} inputs, no memory error")
        return 0
    seconds = sys.argv[1] if len(sys.argv) > 1 else "30"
    with tempfile.TemporaryDirectory() as place:
        page, dedupe, site, frontier = (Path(place, f"{name}.so") for name in ("page", "dedupe", "site", "frontier"))
        build(page, *PAGE)
        build(dedupe, HOME / "dedupe/native")
        build(site, HOME / "site/native")
        build(frontier, HOME / "frontier/native")
        places = [str(page), str(dedupe), str(site), str(frontier)]
        command = [sys.executable, "-m", "tests.fuzz.sanitized", *places, seconds]
        return subprocess.run(command, env=environment(), cwd=HOME.parents[1], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
