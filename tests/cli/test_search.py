from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lycosa.cli.main import main

from .world import World


@pytest.fixture
def place(world: World, tmp_path: Path) -> list[str]:
    """A copy, since searching makes an index."""
    shutil.copytree(world.folder.path, tmp_path / "crawl")
    return ["--folder", str(tmp_path / "crawl")]


def test_pages_are_found_and_shown(world: World, place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "quick", "spiders", *place, "--why"]) == 0
    shown = capsys.readouterr()
    assert world.url("/one") in shown.out
    assert "quick" in shown.out
    assert "text " in shown.out
    assert " pages in " in shown.err


def test_results_for_machines(world: World, place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", '"quick brown"', *place, "--json", "--limit", "1"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert len(results["hits"]) == 1
    assert results["total"] >= 1
    assert main(["search", "fox", *place, "--opensearch"]) == 0
    assert "<opensearch:totalResults>" in capsys.readouterr().out


def test_words_with_a_dash_are_left_out(place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "fox", "-spider", *place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 0


def test_a_hostile_title_cannot_drive_the_terminal(place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for form in ([], ["--json"], ["--opensearch"]):
        assert main(["search", "owned", *place, *form]) == 0
        out = capsys.readouterr().out
        assert "owned" in out
        assert not {"\x1b", "\x07", "\u202e"} & set(out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (['"fox'], "a quotation mark is missing"),
        (["before:soon"], "is no date"),
        (["***"], "there is no word"),
        (["fox", "--limit", "0"], "from 1 to 100"),
    ],
)
def test_a_bad_query_is_explained(
    place: list[str], words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", *words, *place]) == 2
    assert message in capsys.readouterr().err


def test_the_index_is_made_beforehand(place: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["index", *place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["indexed"] > 0
    assert main(["index", *place]) == 0
    assert "0 came or changed" in capsys.readouterr().err
    assert main(["index", *place, "--follow", "0"]) == 2
