"""The words of the code: each is explained in the glossary or is plain, and a class name means one thing."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import lycosa

PACKAGE = Path(lycosa.__file__).parent
DOCS = Path(__file__).parents[1] / "docs"
ENDINGS = {
    "": [""],
    "s": [""],
    "es": [""],
    "ies": ["y"],
    "d": [""],
    "ed": [""],
    "r": [""],
    "er": [""],
    "ing": ["", "e"],
}

# Words that were given up, and the one that took their place.
RETIRED = {
    "nursery": "forkserver",
    "rulebook": "robots cache",
    "sitebook": "site judge",
    "gist": "digest",
    "errand": "probe, or a robots.txt for another origin",
}
# They say what was measured, or what was decided, in the words of that day.
PAST = {DOCS / name for name in ("benchmark.md", "quality.md", "experiments.md", "decisions/README.md")}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_names() -> set[str]:
    """The names of all modules and their folders."""
    names = {part for path in modules() for part in path.relative_to(PACKAGE).with_suffix("").parts}
    return {name for name in names if not name.startswith("_")}


def public_classes() -> Iterator[str]:
    """Every public class of the package, as often as it is defined."""
    for path in modules():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        yield from (each.name for each in tree.body if isinstance(each, ast.ClassDef) and each.name[0] != "_")


def words_of(name: str) -> list[str]:
    """`soft_404` and `SoftError` alike as words."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]


def stems_of(word: str) -> set[str]:
    """The word and what it may be a form of: leases, leased, fetcher, settling, banned, entries."""
    stems = {word.removesuffix(end) + more for end, mores in ENDINGS.items() if word.endswith(end) for more in mores}
    return stems | {stem[:-1] for stem in stems if len(stem) > 3 and stem[-1] == stem[-2]}


def explained() -> set[str]:
    """The words of the glossary's left columns, and its plain ones, in any form."""
    terms, _, plain = (DOCS / "glossary.md").read_text(encoding="utf-8").partition("## Plain words")
    cells = re.findall(r"^\| (.+?) \|", terms, re.MULTILINE)
    plain = plain.split("\n\n", 2)[2]  # without its introduction
    return {stem for text in (*cells, plain) for word in words_of(text) for stem in stems_of(word)}


def test_every_word_of_a_module_or_public_class_is_in_the_glossary() -> None:
    known = explained()
    unknown = {
        name: words
        for name in sorted(module_names() | set(public_classes()))
        if (words := [word for word in words_of(name) if stems_of(word).isdisjoint(known)])
    }
    assert not unknown, "explain it in docs/glossary.md, or take a known word"


def test_a_class_name_means_one_thing() -> None:
    assert [name for name, times in Counter(public_classes()).items() if times > 1] == []


def test_a_word_that_was_given_up_does_not_come_back() -> None:
    pattern = re.compile(rf"\b({'|'.join(RETIRED)})s?\b", re.IGNORECASE)
    for path in sorted({*modules(), *DOCS.rglob("*.md")} - PAST):
        for found in pattern.findall(path.read_text(encoding="utf-8")):
            raise AssertionError(f"{path}: say {RETIRED[found.lower()]!r} for {found!r}")
