"""The guard tells what became slower; how fast anything is, no test says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lycosa.bench.guard import run as guard_run
from lycosa.bench.guard.__main__ import main
from lycosa.bench.guard.recording import record, recorded_pages
from lycosa.bench.guard.run import GuardPlan, calibrate, guard, interpreter, keep, read_figures, write_figures
from lycosa.bench.guard.stages import SITE_PARTS, STAGES, Costs, Recordings, make_recordings
from lycosa.simweb import WebPlan

DATA = Path(__file__).parents[1] / "data" / "extraction"
COMMITTED = Path(__file__).parents[2] / "bench" / "guard.json"


class Slow:
    """A stage that costs as many times the fixed work as it is told to."""

    def __init__(self, *times: float) -> None:
        self._times = list(times)

    def __call__(self, material: Recordings) -> Costs:
        times = self._times.pop(0) if len(self._times) > 1 else self._times[0]
        return {"slow": times, "steady": 1.0}


@pytest.fixture
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fixed work takes a second: figures are what stages say."""
    monkeypatch.setattr(guard_run, "calibrate", lambda: 1.0)


@pytest.fixture
def figures(tmp_path: Path) -> Path:
    return tmp_path / "guard.json"


def plan_of(figures: Path, *times: float) -> GuardPlan:
    return GuardPlan(figures, pages=1, rounds=1, stages=(Slow(*times),))


@pytest.mark.usefixtures("fixed")
def test_a_slower_stage_is_named_and_fails(figures: Path) -> None:
    said: list[str] = []
    assert keep(plan_of(figures, 1.0), said.append) == 0
    assert guard(plan_of(figures, 1.2), said.append) == 0
    assert not any("above" in line for line in said)
    assert guard(plan_of(figures, 1.3), said.append) == 1
    assert said[-1] == "more than 25% above the figures kept: slow"
    (row,) = [line.split() for line in said if line.endswith("  slower")]
    assert row == ["slow", "1000.000", "1300.000", "1.30", "1300000", "slower"]


@pytest.mark.usefixtures("fixed")
def test_a_stage_that_was_slow_for_a_moment_is_measured_again(figures: Path) -> None:
    write_figures(figures, {"slow": 1.0, "steady": 1.0})
    assert guard(plan_of(figures, 9.0, 8.0, 1.0), lambda _: None) == 0
    assert guard(plan_of(figures, 9.0, 8.0, 7.0, 1.0), lambda _: None) == 1


@pytest.mark.usefixtures("fixed")
def test_missing_figures_are_named_and_fail(figures: Path) -> None:
    said: list[str] = []
    write_figures(figures, {"slow": 1.0, "forgotten": 1.0})
    assert guard(plan_of(figures, 1.0), said.append) == 1
    assert said[-2].startswith(f"no figures kept on {interpreter()} of: steady (")
    assert said[-1] == "figures kept of what is not measured: forgotten"


@pytest.mark.usefixtures("fixed")
def test_figures_of_another_interpreter_are_kept_and_not_compared_with(figures: Path) -> None:
    figures.write_text(json.dumps({"Other 9.9": {"slow": 1.0}}), encoding="utf-8")
    assert read_figures(figures) == {}
    keep(plan_of(figures, 2.0), lambda _: None)
    assert read_figures(figures) == {"slow": 2.0, "steady": 1.0}
    assert json.loads(figures.read_text(encoding="utf-8"))["Other 9.9"] == {"slow": 1.0}


def test_a_file_that_holds_no_figures_is_refused(figures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    figures.write_text("[1]", encoding="utf-8")
    assert main(["--figures", str(figures), "--pages", "1", "--rounds", "1"]) == 2
    assert "not figures of the guard" in capsys.readouterr().err


async def test_a_recording_is_a_crawl_of_so_many_pages() -> None:
    recording = await record(WebPlan.named("bench", hosts=3), 30)
    urls = [lease.target.url for lease, _ in recording.pages]
    assert len(set(urls)) == len(urls) == 30
    assert len(recording.robots) == 3
    assert all(len(stored.links.targets) >= 53 for _, stored in recording.pages)


async def test_of_strewn_links_most_are_new() -> None:
    material = await make_recordings(40, None)
    navigation, strewn = (
        sum(len(stored.discovered) for _, stored in each.pages) for each in (material.navigation, material.strewn)
    )
    assert strewn > 0.7 * 53 * 40
    assert navigation < 0.2 * 53 * 40


def test_pages_of_others_are_read_where_they_are(tmp_path: Path) -> None:
    assert len(recorded_pages(DATA)) > 20
    assert recorded_pages(tmp_path) == []


def test_every_stage_has_a_committed_figure(figures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--figures", str(figures), "--pages", "4", "--rounds", "1", "--keep"]) == 0
    measured = read_figures(figures)
    assert min(measured.values()) > 0
    assert set(SITE_PARTS) < set(measured)
    assert measured["site notes"] > sum(measured[part] for part in SITE_PARTS)
    assert len(capsys.readouterr().out.splitlines()) == 2 + len(measured)
    committed = json.loads(COMMITTED.read_text(encoding="utf-8"))
    for kept in committed.values():
        assert set(kept) == {*measured, "read page, recorded"}
    assert len(STAGES) <= len(measured)


def test_the_fixed_work_takes_some_time() -> None:
    assert calibrate() > 0
