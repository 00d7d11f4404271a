"""The documents: their links lead somewhere, the files they name exist, and every decision is in the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DECISIONS = ROOT / "docs" / "decisions"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
# They speak of the past, or of files of others.
PAST = {ROOT / "CHANGELOG.md", ROOT / "docs" / "quality.md"}
NUMBERED = re.compile(r"\d{4}-.*\.md")
ROW = re.compile(r"^\| \[(\d{4})\]\((\S+)\) \| (.+?) \| (.+?) \| .+ \|$", re.MULTILINE)


def known_files() -> list[str]:
    folders = ("bench", "docs", "src", "tests", "tools")
    return [f"/{path.relative_to(ROOT)}" for folder in folders for path in (ROOT / folder).rglob("*.*")]


KNOWN_FILES = known_files()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


@pytest.mark.parametrize("page", sorted(set(PAGES) - PAST), ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    names = re.findall(r"`(?:python )?([\w/-]+\.(?:py|lua|sql|c|h))`", page.read_text(encoding="utf-8"))
    assert not [name for name in names if not any(known.endswith(f"/{name}") for known in KNOWN_FILES)]


def test_every_decision_is_in_the_index_with_its_title_and_status() -> None:
    rows = ROW.findall((DECISIONS / "README.md").read_text(encoding="utf-8"))
    files = sorted(path for path in DECISIONS.iterdir() if NUMBERED.fullmatch(path.name))
    titles = [path.read_text(encoding="utf-8").partition("\n")[0] for path in files]
    assert [(file, f"# {number}. {title}") for number, file, title, _ in rows] == [
        (path.name, title) for path, title in zip(files, titles, strict=True)
    ]
    numbers = {number for number, *_ in rows}
    for *_, status in rows:
        replaced = re.fullmatch(r"replaced by (\d{4})", status)
        assert status in ("in force", "withdrawn") or (replaced and replaced[1] in numbers)
