"""What a crawl understands of the pages of a web whose truth is known: languages, summaries, texts that are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lycosa.simweb import Truth, WebPlan

from . import evidence
from .command import crawl
from .witness import WitnessedWeb

PLAN = WebPlan.named("clean", hosts=18, pages_per_host=20, copy_share=0.05, near_copy_share=0.2, is_prerendered=True)
HURRY = {"min_delay_seconds": 0.0, "delay_factor": 0.0, "retry_after_seconds": [], "durability": "process"}


class Understood:
    """The pages of a crawl by URL, and the truth."""

    def __init__(self, pages: dict[str, dict[str, Any]], truth: Truth) -> None:
        self.pages = pages
        self.truth = truth


@pytest.fixture(scope="module")
def understood(tmp_path_factory: pytest.TempPathFactory) -> Understood:
    space: Path = tmp_path_factory.mktemp("understood")
    with WitnessedWeb(PLAN, space) as web:
        crawl(web, space / "crawl", *web.seeds, summary="weight", summary_sentences=3, **HURRY)
        truth = web.truth()
    rows = [row for row in evidence.pages(space / "crawl") if row["outcome"] in ("stored", "duplicate")]
    return Understood({row["url"]: row for row in rows}, truth)


def pairs(groups: Iterable[object]) -> int:
    return sum(size * (size - 1) // 2 for size in Counter(groups).values())


def test_near_copies_are_in_one_group_and_nothing_else_is(understood: Understood) -> None:
    truth = understood.truth
    planted = {url: min(group) for group in (*truth.near_groups, *truth.exact_groups) for url in group}
    # A page may be both an original of copies and a near copy itself: the smallest name of all stands for it.
    names = {url: planted.get(planted.get(url, url), planted.get(url, url)) for url in understood.pages}
    found = {url: row["group_id"] for url, row in understood.pages.items()}
    assert all(found.values())
    hits = pairs((found[url], names[url]) for url in found)
    assert pairs(names.values()) > 30
    assert hits / pairs(found.values()) >= 0.95
    assert hits / pairs(names.values()) >= 0.9


def test_equal_bytes_have_equal_text_digests(understood: Understood) -> None:
    pages = understood.pages
    copies = [row for row in pages.values() if row["original"]]
    assert copies
    assert all(row["text_digest"] == pages[row["original"]]["text_digest"] for row in copies)


def test_languages_are_told(understood: Understood) -> None:
    truth = understood.truth.pages
    right = [row["language"].partition("-")[0] == truth[url].language[:2] for url, row in understood.pages.items()]
    assert sum(right) / len(right) >= 0.97


def test_summaries_are_made_where_asked_for(understood: Understood) -> None:
    for row in understood.pages.values():
        if row["noindex"]:
            continue
        lines = row["summary"].splitlines()
        assert 1 <= len(lines) <= 3
        assert all(line in row["text"] for line in lines)
