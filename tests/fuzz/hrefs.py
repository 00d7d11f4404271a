"""A fuzz run over the compiled pass, guided by coverage: it must say of any links what the memo says.

    python -m tests.fuzz.hrefs --seconds 600

Like `guided`, with the same instruments. An input is a page: its first word is the base, the others are hrefs.
A memory error, an exception and another answer end the run. With `--allocations` each allocation fails once instead.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from itertools import cycle, product, zip_longest
from pathlib import Path
from typing import Any

import lycosa.url
from lycosa.model import RawLink
from lycosa.url.canonical import NO_LIMITS, UrlLimits, parse_seeds
from lycosa.url.fingerprint import Fingerprinter
from lycosa.url.links import FoundLinks, MemoLinks, PageLinks
from lycosa.url.memo import KnownLink, LinkPolicy, OriginFacts
from lycosa.url.rules import RISKY_RULES, CanonicalRules
from lycosa.url.scope import Scope, Verdict

from .allocations import fail_each
from .guided import CORPUS, build_instrumented, changed, load_instrumented
from .sanitized import HOME, environment
from .shapes import URL_PIECES

LINKS = HOME / "url/native"
SECRET = b"secret of a crawl"
RULES = [[], ["drop_tracking", "sort_query"], [name for name in RISKY_RULES if name != "drop_variables"]]
LIMITS = [UrlLimits(), NO_LIMITS, UrlLimits(max_length=40, max_path_depth=3)]
PIECES = [*URL_PIECES, " ", " ", "/", "../", "/a/b", "b=2", "&a=1&", "utm_source=x", "http://b.test", "%2e", "%C3%a4"]
RELS = ["", "", "nofollow", "ugc"]


def corpus() -> list[bytes]:
    """The base and the lines of `links.txt`, each line a page, and all of them one."""
    base, *lines = (CORPUS / "links.txt").read_bytes().splitlines()
    return [base + b" " + line for line in [*lines, b" ".join(lines)]]


def replace_compiled(path: Path) -> ctypes.PyDLL:
    """From now on the pass is the instrumented one."""
    native, told = load_instrumented(path)
    sys.modules["lycosa.url._native"] = native
    lycosa.url._native = native
    return told


def ways() -> list[tuple[PageLinks, PageLinks]]:
    """The memo and the pass for several crawls."""
    from lycosa.url.compiled import CompiledLinks

    scopes = [Scope([], "any"), Scope(parse_seeds(["http://a.test/"]), exclude=["b$"])]
    policies = [
        LinkPolicy(scope, Fingerprinter(SECRET), rules=CanonicalRules.from_names(rules), limits=limits)
        for scope, rules, limits in product(scopes, RULES, LIMITS)
    ]
    return [
        (MemoLinks(policy, tells_others=told), CompiledLinks(policy, max_origins=99, tells_others=told))
        for policy, told in zip(policies, cycle([False, True]), strict=False)
    ]


def compare(memo: PageLinks, compiled: PageLinks, page: bytes, turn: int) -> None:
    base, _, rest = page.decode("utf-8", "replace").partition(" ")
    links = [RawLink(href, "", RELS[number % len(RELS)]) for number, href in enumerate(rest.split(" "))]
    options: dict[str, Any] = {
        "also": tuple(link.href for link in links[: turn % 3]),
        "encoding": ("utf-8", "windows-1252")[turn % 5 == 0],
        "renamed": renamed if turn % 4 == 0 else None,
        "is_followed": turn % 7 > 0,
    }
    found, other = memo.decide(base, links, **options), compiled.decide(base, links, **options)
    if found != other:
        raise AssertionError(f"{base!r}: {differing(found, other)}"[:2000])
    for each in (memo, compiled):
        each.remembered.add(found.fingerprints[turn % 2 :: 2])
    hrefs = [link.href for link in links]
    assert memo.count_new(base, hrefs) == compiled.count_new(base, hrefs)


def renamed(link: KnownLink) -> KnownLink:
    return KnownLink(link.url, link.origin, link.host, link.domain, bytes(7) + b"x", link.verdict, link.in_scope)


def differing(one: FoundLinks, other: FoundLinks) -> list[tuple[Any, Any]]:
    columns: Iterable[tuple[Any, Any]] = zip(one, other, strict=True)
    return [pair for mine, yours in columns for pair in zip_longest(mine, yours) if pair[0] != pair[1]]


def run(extension: Path, seed: int, seconds: float, inputs: int) -> None:
    told = replace_compiled(extension)
    draw, pages, pairs, tried = random.Random(seed), corpus(), ways(), 0
    for turn, page in enumerate(pages * len(pairs)):
        compare(*pairs[turn % len(pairs)], page, turn)
    told.new_edges()
    begun, until = len(pages), time.monotonic() + seconds
    while tried != inputs and time.monotonic() < until:
        page = changed(draw, pages, PIECES)
        tried += 1
        try:
            compare(*draw.choice(pairs), page, draw.randrange(1000))
        except BaseException:
            print(f"the page was {page!r}", file=sys.stderr)
            raise
        if told.new_edges():
            pages.append(page)
    print(f"{tried:,} pages, {len(pages) - begun:,} of them reached something new, no difference (seed {seed})")


# Memory that runs out


def fail_allocations(extension: Path) -> None:
    """Each allocation fails: of a decider that is made, asks for all it can be told and decides, and of a memory."""
    told = replace_compiled(extension)
    page = corpus()[-1].decode()
    base, *texts = page.split()
    links = [RawLink(href, "", "nofollow" if number % 9 == 0 else "") for number, href in enumerate(texts)]
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (decide_anew, (base, links, asks)) for asks in (False, True)
    ] + [(remember_anew, ([], 5000))]
    failed = 0
    for call, arguments in calls:
        for goes_on in (False, True):
            failed += fail_each(told, call, arguments, goes_on=goes_on)
    call, arguments = calls[0]
    held = [blocks_after(told, call, arguments) for _ in range(3)]
    assert held[2] <= held[1] + 20, f"memory is lost: {held}"
    print(f"{failed:,} allocations failed, and MemoryError was all that came of it")


def blocks_after(told: ctypes.PyDLL, call: Callable[..., Any], arguments: tuple[Any, ...]) -> int:
    """How many blocks Python has given out after each allocation of a call failed."""
    fail_each(told, call, arguments, goes_on=False)
    gc.collect()
    return sys.getallocatedblocks()


FACTS = OriginFacts("http://a.test", "a.test", "a.test", None, "http://a.test", b"12")
QUERY_RULES = CanonicalRules.from_names(RULES[1]).about_queries
KNOWN = KnownLink("http://b.test/", "http://b.test", "b.test", "b.test", b"12345678", Verdict.IN_SCOPE, True)


def decide_anew(base: str, links: list[RawLink], asks_key: bool) -> object:
    """What a new decider says. What it asks is answered without a parser: that one fails in ways of its own."""
    from lycosa.url import _native
    from lycosa.url.compiled import _kinds

    decider = _native.Decider(
        SECRET,
        (_kinds("http://a/x{}y/z"), _kinds("http://a/?x{}y")),
        (2048, 20, 2),
        QUERY_RULES,
        asks_key,
        3,
        (
            lambda origin: None if len(origin) % 5 == 0 else FACTS,
            lambda url, host, domain: Verdict.IN_SCOPE,
            lambda origin, tail: origin + tail,
            lambda base, href, encoding: KNOWN,
            lambda base, href: KNOWN,
        ),
        KnownLink,
        Verdict.IN_SCOPE,
    )
    remembered = _native.Remembered(100)
    page = base, links, ("/x", "\\y"), "utf-8", True, remembered, renamed if asks_key else None, True, True, True
    remembered.add(decider.decide(*page)[5])
    return decider.decide(*page)


def remember_anew(first: list[bytes], count: int) -> bool:
    from lycosa.url import _native

    remembered = _native.Remembered(count)
    remembered.add([*first, *(number.to_bytes(8) for number in range(count))])
    return bytes(8) in remembered


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long it may take")
    parser.add_argument("--inputs", type=int, default=-1, help="how many pages are tried; -1: as many as fit")
    parser.add_argument("--seed", type=int, default=None, help="the same one tries the same pages; else any")
    parser.add_argument("--allocations", action="store_true", help="let each allocation fail instead")
    parser.add_argument("--extension", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.extension:
        with tempfile.TemporaryDirectory() as place:
            command = [sys.executable, "-m", "tests.fuzz.hrefs", *sys.argv[1:]]
            command += ["--extension", str(build_instrumented(Path(place), LINKS))]
            return subprocess.run(command, env=environment(), cwd=HOME.parents[1], check=False).returncode
    if options.allocations:
        fail_allocations(options.extension)
    else:
        seed = random.randrange(1 << 32) if options.seed is None else options.seed
        run(options.extension, seed, options.seconds, options.inputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
