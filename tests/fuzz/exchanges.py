"""The compiled parts of fetching and keeping under sanitizers: heads of answers, records and columns of any bytes.

`python -m tests.fuzz.exchanges --seconds 600` builds them and tries as many as fit. Each must find what its twin in
Python finds; then each of their allocations fails once.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .allocations import fail_each
from .guided import build_instrumented, load_instrumented
from .sanitized import HOME, environment

FETCH, STORE = HOME / "fetch/native", HOME / "store/native"
LINES = [
    *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 \r\n", b"HTTP/1.1 20", b"HTTP/1.1 999", b"HTTP/2 200\r\n"),
    *(b"\r\n", b"\n", b"", b"\r", b":", b": \r\n", b"\0\0", b" folded\r\n", b"\tfolded\n", b"x" * 400 + b"\r\n"),
    *(b"Content-Type: text/html\r\n", b"Set-Cookie:\r\n", b"a\x80:\xff\r\n", b'ETag: "a"\x7f\n'),
]
TEXTS = ["", "a", "é", "漢字", "\U0001f600", "x" * 300, "\0", "\n"]


def lines(draw: random.Random) -> list[bytes]:
    found = [draw.choice(LINES) for _ in range(draw.choice([0, 1, 3, 9, 40]))]
    if found and draw.random() < 0.5:
        found[0] = LINES[0]
    if draw.random() < 0.3 and found:
        found[draw.randrange(len(found))] = draw.randbytes(draw.randrange(40))
    return [*found, b"\r\n"] if draw.random() < 0.7 else found


def some_bytes(draw: random.Random) -> bytes:
    return draw.randbytes(draw.choice([0, 1, 54, 55, 56, 63, 64, 65, 119, 120, 128, draw.randrange(1000)]))


def check_head(native: Any, draw: random.Random) -> None:
    from lycosa.errors import VisitError
    from lycosa.fetch.head import HeadLimits, any_head

    head, limits = lines(draw), HeadLimits(*draw.choice([(100, 10_000, 1_000), (3, 60, 30), (0, 0, 0)]))
    plain = native.plain_head(head, *limits)
    try:
        found = any_head(head, limits)
    except (VisitError, IndexError):
        found = None
    assert plain is None or (*plain, "http/1.1") == found, head


def check_record(native: Any, draw: random.Random) -> None:
    from lycosa.store.digest import plain_base32, plain_digests, plain_record

    body, head, raw = some_bytes(draw), some_bytes(draw), some_bytes(draw)
    if native.HAS_SHA1:
        assert native.digests(body, head, raw) == plain_digests(body, head, raw), (body, head, raw)
    digest, fields = draw.randbytes(20), "".join(draw.choices(TEXTS, k=4))
    assert native.base32(digest) == plain_base32(digest)
    assert native.record(fields, digest, head, raw) == plain_record(fields, digest, head, raw)


def check_column(native: Any, draw: random.Random) -> None:
    from lycosa.store.columns import PlainTextColumn

    compiled, plain = native.TextColumn(), PlainTextColumn()
    for _ in range(draw.randrange(4)):
        texts = draw.choices([*TEXTS, "\ud800"], k=draw.choice([0, 1, 5, 100]))
        for column in (compiled, plain):
            column.extend(texts)
            column.append("é")
        assert compiled.take() == plain.take()


def filled(native: Any) -> tuple[bytes, bytes]:
    column = native.TextColumn()
    column.extend(["a", "b" * 3000, "é"] * 40)
    taken: tuple[bytes, bytes] = column.take()
    return taken


def calls(fetch: Any, store: Any) -> list[tuple[Callable[..., Any], tuple[Any, ...]]]:
    head = [b"HTTP/1.1 200 OK\r\n", b"Server: a\r\n", b"ETag: b\r\n", b"\r\n"]
    found: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (fetch.plain_head, (head, 100, 10_000, 1_000)),
        (store.base32, (bytes(20),)),
        (store.record, ("a: b\r\n", bytes(20), b"head", b"body")),
        (filled, (store,)),
    ]
    return [*found, (store.digests, (b"body", b"head", b"raw"))] if store.HAS_SHA1 else found


def feed(places: list[Path], inputs: int, seconds: float, seed: int) -> str:
    """Try until there were so many, or the time is over."""
    (fetch, fetch_told), (store, store_told) = map(load_instrumented, places)
    draw, until, tried = random.Random(seed), time.monotonic() + seconds, 0
    while tried < inputs and time.monotonic() < until:
        check_head(fetch, draw)
        check_record(store, draw)
        check_column(store, draw)
        tried += 1
    failed = 0
    for call, arguments in calls(fetch, store):
        told = fetch_told if call is fetch.plain_head else store_told
        failed += sum(fail_each(told, call, arguments, goes_on=goes_on) for goes_on in (False, True))
    return f"{tried:,} inputs, {failed} allocations failed, no memory error"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("extensions", nargs="*", type=Path)
    parser.add_argument("--inputs", type=int, default=1 << 60)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    if options.extensions:
        print(feed(options.extensions, options.inputs, options.seconds, options.seed))
        return 0
    with tempfile.TemporaryDirectory() as place:
        built = []
        for folder in (FETCH, STORE):
            (inner := Path(place, folder.parent.name)).mkdir()
            built.append(str(build_instrumented(inner, folder)))
        command = [sys.executable, "-m", "tests.fuzz.exchanges", *built, *sys.argv[1:]]
        return subprocess.run(command, env=environment(), cwd=HOME.parents[1], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
