from __future__ import annotations

import json
from pathlib import Path

import pytest

from lycosa.cli.main import main

from .world import World


def test_pagerank_and_hits_name_who_comes_first(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", *world.place, "--pagerank", "--hits", "--json", "--top", "1"]) == 0
    pagerank, authority, hub = map(json.loads, capsys.readouterr().out.splitlines())
    assert pagerank["pagerank"][0]["url"] == world.url("/")
    assert 0 < authority["authority"][0]["score"] <= 1
    assert hub["hub"][0]["url"].startswith("http")


def test_coverage_of_a_list_counts_what_was_found(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = tmp_path / "wanted.txt"
    wanted.write_text(f"# three\n{world.url('/')}\n{world.url('/one')}\n{world.url('/never')}\n")
    assert main(["graph", *world.place, "--coverage", "--reference", str(wanted), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    shares = [row["pages"] for row in result["course"]]
    assert result["targets"] == 3
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(2 / 3)
    page = world.folder.report.read_text(encoding="utf-8")
    assert "Of 3 pages, the list wanted.txt: found 66.7%" in page
    assert page.count('<polyline class="line') >= 3
    # Nobody links to the third: it has no rank that could be missing.
    assert result["course"][-1]["page_rank"] == pytest.approx(1)


def test_coverage_of_a_truth_weighs_pages_by_its_links(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, one, lost = world.url("/"), world.url("/one"), world.url("/lost")
    pages = [{"url": root, "links": [one, lost]}, {"url": one, "links": [root]}, {"url": lost, "links": [root]}]
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps({"storable": [root, one, lost], "pages": pages}))
    assert main(["graph", *world.place, "--coverage", "--truth", str(truth), "--json"]) == 0
    last = json.loads(capsys.readouterr().out)["course"][-1]
    # r = 0.05 + 0.85 · 2o and o = 0.05 + 0.85 · r / 2, so that r = 0.135 / 0.2775.
    rank = 0.135 / 0.2775
    assert last["page_rank"] == pytest.approx(1 - (1 - rank) / 2, abs=1e-6)
    assert last["pages"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--truth", "x"], "are for --coverage"),
        (["--coverage", "--truth", "nowhere"], "cannot be read"),
        (["--coverage", "--reference", "nowhere"], "cannot be read"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    world: World, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["graph", *world.place, *options]) == 2
    assert message in capsys.readouterr().err
